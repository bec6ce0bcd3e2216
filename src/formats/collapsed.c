/* SPDX-License-Identifier: MIT
 *
 * Collapsed stacks, as flame graph scripts and py-spy --format raw know them: one line per distinct
 * stack, root first, frames joined by ";", a blank, the number of samples (a thread that sleeps is
 * looked at rarely: its time counts as the samples it stands for; exact times are µs, bytes are bytes). The
 * count is the last word of a line, so a blank in a frame is fine; ";" and line ends in names are not and
 * become \x3b and \n. They stay so when such a file is read: other tools' files have backslashes of their own.
 *
 * Frames are written as "qualname (file:line)". Read are that, CPython's "file:qualname:line", and plain
 * names; what does not look like a place stays part of the name. */

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/dat.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/sink.h"
#include "base/banned.h"

/* ---- writing --------------------------------------------------------------------------------- */

static void add_frame(struct buf *out, const struct stack_frame *f)
{
	text_add_escaped(out, f->name, strlen(f->name), ";");
	if (f->is_synthetic)
		return;
	buf_adds(out, " (");
	text_add_escaped(out, f->file, strlen(f->file), ";");
	if (f->line >= 0)
		buf_printf(out, ":%d", f->line);
	buf_addc(out, ')');
}

static double count_of(const struct stacks *s, const struct stack_place *p, double rate_hz)
{
	double n = 0;

	if (!s->n_samples || s->unit == UNIT_BYTES)
		return p->value * (s->unit == UNIT_SECONDS ? 1e6 : 1);
	if (rate_hz > 0 && p->is_off_cpu)
		n = round(p->value * rate_hz);
	return fmax(n, (double)p->n_samples);
}

/* A whole number; what rounding takes or gives goes on to the next line, so that a thousand lines of 0.4 µs do not vanish. */
static uint64_t round_on(double value, double *carried)
{
	double exact = value + *carried;
	uint64_t n = foreign_value(exact);
	double rest = exact - (double)n;

	*carried = fabs(rest) < 1 ? rest : 0; /* it is too large to be written */
	return n;
}

static int write(struct selection *of, struct sink *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	const struct stacks *s = selection_stacks_within(of, FORMAT_FRAMES);
	struct stack_frame *frames = arena_new_n(&a, struct stack_frame, STACKS_DEPTH);
	/* places that differ only in the instruction are one line */
	struct intern lines = INTERN_INIT;
	VEC(double) counts = VEC_INIT;
	struct buf line = BUF_INIT;
	double rate_hz = of->recording->fidelity.rate_reached_hz, carried = 0;

	(void)e;
	for (size_t i = 0; i < s->n; i++) {
		bool added;
		uint32_t id;

		buf_clear(&line);
		for (size_t k = stacks_frames(s, i, frames); k-- > 0;) {
			add_frame(&line, &frames[k]);
			if (k)
				buf_addc(&line, ';');
		}
		id = intern_add(&lines, line.data, line.n, &added);
		if (added)
			vec_push(&counts, 0);
		counts.v[id] += count_of(s, &s->v[i], rate_hz);
	}
	for (size_t i = 0; i < counts.n; i++) {
		buf_printf(&out->text, "%s %" PRIu64 "\n",
			(const char *)intern_get(&lines, (uint32_t)i)->p,
			round_on(counts.v[i], &carried));
		sink_flush(out);
	}
	buf_done(&line);
	vec_done(&counts);
	intern_done(&lines);
	arena_done(&a);
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Where the count begins: the digits behind the last blank; NULL when there are none, or nothing before. */
static const char *count_in(const char *line, size_t n)
{
	const char *at = line + n;

	while (at > line && isdigit((unsigned char)at[-1]))
		at--;
	if (at == line + n || line + n - at > 18 || at - line < 2 || at[-1] != ' ')
		return NULL;
	return at;
}

static bool is_text(const char *line, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)line[i] < ' ' && line[i] != '\t')
			return false;
	return true;
}

/* An object, or an array of objects: one long line of it may be cut behind a number. */
static bool is_json(const char *head, size_t n)
{
	size_t i = 0;

	while (i < n && strchr("[ \t\r\n", head[i]))
		i++;
	return i < n && head[i] == '{';
}

/* Every line that is whole must be a stack. */
static bool recognise(const char *head, size_t n)
{
	size_t n_lines = 0;

	if (is_json(head, n) || dat_recognise(head, n))
		return false;
	while (n) {
		const char *end = memchr(head, '\n', n);
		size_t length = end ? (size_t)(end - head) : n;
		size_t text = length && head[length - 1] == '\r' ? length - 1 : length;

		if (!end && n_lines)
			break;
		if (!is_text(head, text) || !count_in(head, text))
			return false;
		n_lines++;
		head += length + (end != NULL);
		n -= length + (end != NULL);
	}
	return n_lines > 0;
}

/* The number behind the last ":" of s[0..n); *ret_n: what stands before. 0 without one. */
static uint64_t line_behind(const char *s, size_t n, size_t *ret_n)
{
	uint64_t line = 0;
	size_t at = n;

	while (at && isdigit((unsigned char)s[at - 1]))
		at--;
	if (at == n || n - at > 9 || at < 2 || s[at - 1] != ':')
		return 0;
	for (size_t i = at; i < n; i++)
		line = line * 10 + (uint64_t)(s[i] - '0');
	*ret_n = at - 1;
	return line;
}

static bool is_path(const char *s, size_t n)
{
	return n && (memchr(s, '/', n) || memchr(s, '.', n) || *s == '<');
}

static uint32_t frame_of(struct foreign *to, const char *s, size_t n)
{
	const char *open = n && s[n - 1] == ')' ? memrchr(s, '(', n) : NULL, *colon;
	size_t place_n, name_n;
	uint64_t line;

	if (open && open - s > 1 && open[-1] == ' ') { /* name (file:line) */
		const char *file = open + 1;

		place_n = n - (size_t)(file - s) - 1;
		line = line_behind(file, place_n, &place_n);
		if (line || is_path(file, place_n))
			return foreign_frame_n(
				to, s, (size_t)(open - s) - 1, file, place_n, line, 0);
	}
	line = line_behind(s, n, &name_n); /* file:name:line */
	colon = line ? memrchr(s, ':', name_n) : NULL;
	if (colon && colon + 1 < s + name_n && is_path(s, (size_t)(colon - s)))
		return foreign_frame_n(to, colon + 1, (size_t)(s + name_n - colon) - 1, s,
			(size_t)(colon - s), line, 0);
	return foreign_frame_n(to, s, n, "", 0, 0, 0);
}

static uint32_t stack_of(struct foreign *to, const char *s, size_t n)
{
	uint32_t stack = 0;

	for (size_t depth = 0; depth < STACKS_DEPTH; depth++) {
		const char *end = memchr(s, ';', n);
		size_t length = end ? (size_t)(end - s) : n;

		if (length)
			stack = foreign_stack(to, stack, frame_of(to, s, length));
		if (!end)
			break;
		s += length + 1;
		n -= length + 1;
	}
	return stack;
}

static int read(struct input *in, struct foreign *to, struct err *e)
{
	uint32_t thread = foreign_thread(to, 0, 0, "all threads");
	char *line;
	size_t n;
	int status;

	foreign_unit(to, FOREIGN_COUNT, "");
	while ((status = input_line(in, &line, &n, e)) > 0) {
		const char *count = count_in(line, n);
		uint64_t value = 0;

		if (n == 0)
			continue;
		if (!count)
			return err_set(e, ERR_BAD_FILE,
				"line %" PRIu64 " does not end in a space and a count",
				in->n_lines);
		for (const char *at = count; at < line + n; at++)
			value = value * 10 + (uint64_t)(*at - '0');
		foreign_weight(to, thread, stack_of(to, line, (size_t)(count - line) - 1), 0, value,
			value);
	}
	return status;
}

const struct format format_collapsed = {
	.name = "collapsed",
	.alias = "raw",
	.suffixes = { ".folded", ".collapsed" },
	.summary = "one line per stack, for flame graph scripts",
	.recognise = recognise,
	.read = read,
	.write = write,
};
