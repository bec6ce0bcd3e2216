/* SPDX-License-Identifier: MIT
 *
 * The files of line_profiler (kernprof -l) that `python -m line_profiler` shows: the pickle of an object LineStats
 *
 *	timings  {(file, first line, name): [(line, hits, ticks), …]}
 *	unit     seconds of a tick
 *
 * They become line_count records; how long a line ran by itself, and its longest run, such files do not say. Written
 * is protocol 2 under the name that line_profiler had the class under in all versions. */

#include <math.h>
#include <string.h>

#include "analyze/calls/exact_lines.h"
#include "analyze/code/pattern.h"
#include "analyze/recording.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/codec/pickle.h"
#include "formats/sink.h"
#include "store/tables.h"
#include "store/writer.h"
#include "base/banned.h"

enum { FILE_BYTES = 1 << 30 };

/* ---- writing --------------------------------------------------------------------------------- */

static void add_u32(struct buf *out, uint32_t v)
{
	for (int i = 0; i < 4; i++, v >>= 8)
		buf_addc(out, (char)(v & 255));
}

static void add_string(struct buf *out, const char *s)
{
	buf_addc(out, 'X');
	add_u32(out, (uint32_t)strlen(s));
	buf_adds(out, s);
}

static void add_int(struct buf *out, uint64_t v)
{
	if (v <= INT32_MAX) {
		buf_addc(out, 'J');
		add_u32(out, (uint32_t)v);
		return;
	}
	v = v > INT64_MAX ? INT64_MAX : v;
	buf_adds(out, "\x8a\x08"); /* so many bytes, with a sign */
	add_u32(out, (uint32_t)v);
	add_u32(out, (uint32_t)(v >> 32));
}

static void add_float(struct buf *out, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, 8);
	buf_addc(out, 'G');
	for (int i = 56; i >= 0; i -= 8)
		buf_addc(out, (char)(bits >> i & 255));
}

static void add_function(struct buf *out, const struct exact_lines_function *f)
{
	add_string(out, f->file);
	add_int(out, f->first_line);
	add_string(out, f->name);
	buf_adds(out, "\x87](");
	for (size_t i = 0; i < f->n_lines; i++) {
		add_int(out, f->lines[i].line);
		add_int(out, f->lines[i].hits);
		add_int(out, (uint64_t)llround(f->lines[i].total_s * 1e9));
		buf_addc(out, '\x87');
	}
	buf_addc(out, 'e');
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	static const char head[] = "\x80\x02"
				   "cline_profiler._line_profiler\nLineStats\n)\x81}(";
	const struct exact_lines *l = s->exact_lines;
	struct pattern *pattern = NULL;

	if (!l || !l->is_timed)
		return err_set(e, ERR_USAGE,
			"a .lprof file counts and times lines, and this recording %s: it needs leadline run --lines",
			l ? "has no times" : "has none");
	if (out->options->filter && pattern_new(&pattern, out->options->filter, e) < 0)
		return err_note(e, "--filter");
	buf_add(&out->text, head, sizeof head - 1);
	add_string(&out->text, "timings");
	buf_adds(&out->text, "}(");
	for (size_t i = 0; i < l->n_functions; i++) {
		const struct exact_lines_function *f = &l->functions[i];

		if (!pattern || pattern_matches(pattern, f->name, f->file, f->first_line))
			add_function(&out->text, f);
		sink_flush(out);
	}
	buf_addc(&out->text, 'u');
	add_string(&out->text, "unit");
	add_float(&out->text, 1e-9);
	buf_adds(&out->text, "ub.");
	pattern_free(pattern);
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

static const char class_name[] = "LineStats";

/* A pickle (protocol 2 or later) in whose first instructions that class is named. */
static bool recognise(const char *head, size_t n)
{
	return n > 16 && (unsigned char)head[0] == 0x80 && head[1] >= 2 && head[1] <= 5 &&
		memmem(head, n < 200 ? n : 200, class_name, sizeof class_name - 1);
}

static bool is_line_stats(const char *module, size_t n_module, const char *name, size_t n_name)
{
	static const char *const modules[] = { "line_profiler.line_profiler",
		"line_profiler._line_profiler", "_line_profiler", "line_profiler" };

	if (n_name != sizeof class_name - 1 || memcmp(name, class_name, n_name) != 0)
		return false;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (strlen(modules[i]) == n_module && memcmp(module, modules[i], n_module) == 0)
			return true;
	return false;
}

static bool get_number(const struct pickle_value *v, double *ret)
{
	if (v->kind != PICKLE_INT && v->kind != PICKLE_FLOAT)
		return false;
	*ret = v->kind == PICKLE_INT ? (double)v->integer : v->real;
	return *ret >= 0 && isfinite(*ret);
}

static bool read_line(
	struct foreign *to, const struct pickle_value *v, double unit_s, struct rec_line_count r)
{
	double line, hits, ticks;

	if (v->kind != PICKLE_TUPLE || v->n != 3 || !get_number(v->items[0], &line) ||
		!get_number(v->items[1], &hits) || !get_number(v->items[2], &ticks) || line < 1 ||
		line > UINT32_MAX)
		return false;
	r.line = (uint32_t)line;
	r.hits = foreign_value(hits);
	r.total_ns = foreign_value(ticks * unit_s * 1e9);
	r.own_ns = r.callees_ns = r.max_ns = RECORD_UNKNOWN;
	writer_add(to->w, RECORD_line_count, &r);
	return true;
}

static bool read_function(struct foreign *to, const struct pickle_value *key,
	const struct pickle_value *lines, double unit_s)
{
	struct rec_line_count r = { .thread = foreign_thread(to, 0, 0, "all threads") };
	double first_line;

	if (key->kind != PICKLE_TUPLE || key->n != 3 || lines->kind != PICKLE_LIST ||
		key->items[0]->kind != PICKLE_STRING || key->items[2]->kind != PICKLE_STRING ||
		!get_number(key->items[1], &first_line) || first_line > UINT32_MAX)
		return false;
	r.code = writer_row(to->w, RECORD_code,
		&(struct rec_code){
			.file = writer_string_n(to->w, key->items[0]->text, key->items[0]->n),
			.qualname = writer_string_n(to->w, key->items[2]->text, key->items[2]->n),
			.first_line = (uint32_t)first_line });
	for (uint32_t i = 0; i < lines->n; i++)
		if (!read_line(to, lines->items[i], unit_s, r))
			return false;
	return true;
}

static int read_stats(
	struct foreign *to, const struct pickle_value *stats, size_t n_bytes, struct err *e)
{
	const struct pickle_value *state = stats->kind == PICKLE_OBJECT && stats->n
		? stats->items[0]
		: NULL,
				  *timings = pickle_get(state, "timings"),
				  *unit = pickle_get(state, "unit");
	uint64_t n_lines = 0;
	double unit_s;

	if (!timings || timings->kind != PICKLE_DICT || !unit || !get_number(unit, &unit_s))
		return err_set(e, ERR_BAD_FILE, "it holds no timings with their unit");
	for (uint32_t i = 0; i + 1 < timings->n; i += 2) {
		/* A line takes several bytes; lists that are shared must not multiply. */
		n_lines +=
			timings->items[i + 1]->kind == PICKLE_LIST ? timings->items[i + 1]->n : 0;
		if (n_lines > n_bytes ||
			!read_function(to, timings->items[i], timings->items[i + 1], unit_s))
			return err_set(e, ERR_BAD_FILE, "entry %u is not a function with its lines",
				i / 2 + 1);
	}
	return 0;
}

static int read(struct input *in, struct foreign *to, struct err *e)
{
	const struct pickle_value *stats;
	struct arena a = ARENA_INIT;
	struct buf bytes = BUF_INIT;
	int status = input_load(in, &bytes, FILE_BYTES, e);

	foreign_unit(to, FOREIGN_NS, "");
	if (status == 0)
		status = pickle_parse(&a, bytes.data, bytes.n, is_line_stats, &stats, e);
	if (status == 0)
		status = read_stats(to, stats, bytes.n, e);
	buf_done(&bytes);
	arena_done(&a);
	return status;
}

const struct format format_lprof = {
	.name = "lprof",
	.suffixes = { ".lprof" },
	.summary = "counted lines, for python -m line_profiler",
	.recognise = recognise,
	.read = read,
	.choice = FORMAT_OF_LINES,
	.write = write,
};
