/* SPDX-License-Identifier: MIT
 *
 * The files cProfile writes and pstats, snakeviz and gprof2dot read: the marshal of a dict
 *
 *	{(file, line, name): (primitive calls, calls, self s, total s, callers)}
 *
 * where callers is {(file, line, name): (calls, primitive calls, self s, total s)}, in that order, or a
 * mere count in files of the pure-Python profiler. C functions are ("~", 0, "<built-in method …>"). They
 * become call_total records. Written are the corrected times that `report` shows, resumptions counted as
 * calls; only exact calls can be: a sampled call has no number. */

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "analyze/calls/callstats.h"
#include "analyze/calls/exact.h"
#include "analyze/code/pattern.h"
#include "analyze/recording.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/codec/marshal.h"
#include "formats/sink.h"
#include "store/tables.h"
#include "store/writer.h"
#include "base/banned.h"

enum { FILE_BYTES = 1 << 30 };

/* ---- writing --------------------------------------------------------------------------------- */

static void add_function(struct buf *out, const struct callstat *f)
{
	marshal_tuple(out, 3);
	marshal_string(out, f->file);
	marshal_int(out, f->line);
	marshal_string(out, f->name);
}

static void add_callers(struct buf *out, const struct callstats *s, const struct callstat *f)
{
	marshal_dict_begin(out);
	for (size_t i = 0; i < f->n_callers; i++) {
		const struct callstat_cost *c = &f->callers[i].cost;

		add_function(out, &s->v[f->callers[i].other]);
		marshal_tuple(out, 4);
		marshal_int(out, c->calls);
		marshal_int(out, c->primitive_calls);
		marshal_float(out, c->self_s);
		marshal_float(out, c->total_s);
	}
	marshal_dict_end(out);
}

/* Functions that match, and which of them called each other: readers look for every caller among the functions. */
static int choose_rows(struct arena *a, const struct exact **x, const char *filter, struct err *e)
{
	struct exact *to = arena_copy(a, *x, sizeof **x);
	struct exact_function *functions = arena_new_n(a, struct exact_function, to->n_functions);
	struct exact_edge *edges = arena_new_n(a, struct exact_edge, to->n_edges);
	uint32_t *now = arena_new_n(a, uint32_t, to->n_functions); /* index + 1; 0: left out */
	struct pattern *pattern;

	if (pattern_new(&pattern, filter, e) < 0)
		return -(int)e->code;
	to->n_functions = to->n_edges = 0;
	for (size_t i = 0; i < (*x)->n_functions; i++) {
		const struct exact_function *f = &(*x)->functions[i];

		if (!pattern_matches(pattern, f->name, f->file, f->first_line))
			continue;
		functions[to->n_functions++] = *f;
		now[i] = (uint32_t)to->n_functions;
	}
	for (size_t i = 0; i < (*x)->n_edges; i++) {
		struct exact_edge edge = (*x)->edges[i];

		if (!now[edge.caller] || !now[edge.callee])
			continue;
		edge.caller = now[edge.caller] - 1;
		edge.callee = now[edge.callee] - 1;
		edges[to->n_edges++] = edge;
	}
	pattern_free(pattern);
	to->functions = functions;
	to->edges = edges;
	*x = to;
	return 0;
}

static int write(struct selection *of, struct sink *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	const struct exact *x = of->exact;
	const struct callstats *s;

	if (of->memory)
		return err_set(e, ERR_USAGE, "a pstats file holds times, not memory");
	if (!x || x->unit != UNIT_SECONDS)
		return err_set(e, ERR_USAGE,
			x ? "a pstats file holds times, and this file has counts of something else"
			  : "a pstats file counts calls, and this recording has none: it needs "
			    "leadline run --trace");
	if (out->options->filter && choose_rows(&a, &x, out->options->filter, e) < 0)
		return err_note(e, "--filter");
	s = callstats_build(&a, x);
	marshal_dict_begin(&out->text);
	for (size_t i = 0; i < s->n; i++) {
		const struct callstat *f = &s->v[i];

		if (!f->is_listed)
			continue;
		add_function(&out->text, f);
		marshal_tuple(&out->text, 5);
		marshal_int(&out->text, f->cost.primitive_calls);
		marshal_int(&out->text, f->cost.calls);
		marshal_float(&out->text, f->cost.self_s);
		marshal_float(&out->text, f->cost.total_s);
		add_callers(&out->text, s, f);
		sink_flush(out);
	}
	marshal_dict_end(&out->text);
	arena_done(&a);
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A dict whose first key is a tuple of three, or of one (the mark of CPython's sampler). */
static bool recognise(const char *head, size_t n)
{
	const unsigned char *at = (const unsigned char *)head;

	if (n < 8 || (at[0] & 127) != '{')
		return false;
	if ((at[1] & 127) == ')')
		return at[2] == 3 || at[2] == 1;
	return (at[1] & 127) == '(' && (at[2] == 3 || at[2] == 1) && !at[3] && !at[4] && !at[5];
}

struct function { /* rows of a function in the recording */
	uint32_t code, builtin;
};

static const struct marshal_value *item(const struct marshal_value *v, size_t i, size_t n)
{
	return v->kind == MARSHAL_TUPLE && v->n == n ? v->items[i] : NULL;
}

static bool get_count(const struct marshal_value *v, uint64_t *ret)
{
	if (v && v->kind == MARSHAL_INT && v->integer >= 0)
		*ret = (uint64_t)v->integer;
	else if (v && v->kind == MARSHAL_FLOAT && v->real >= 0 && v->real < 0x1p63)
		*ret = (uint64_t)v->real;
	else
		return false;
	return true;
}

static bool get_seconds(const struct marshal_value *v, double *ret)
{
	if (v && v->kind == MARSHAL_FLOAT && isfinite(v->real))
		*ret = v->real;
	else if (v && v->kind == MARSHAL_INT)
		*ret = (double)v->integer;
	else
		return false;
	return true;
}

static bool get_function(struct foreign *to, const struct marshal_value *key, struct function *ret)
{
	const struct marshal_value *file = item(key, 0, 3), *line = item(key, 1, 3),
				   *name = item(key, 2, 3);
	uint64_t number;

	if (!file || file->kind != MARSHAL_STRING || name->kind != MARSHAL_STRING)
		return false;
	if (!get_count(line, &number) || number > UINT32_MAX)
		number = 0; /* a line that is none: -1 in some tools' files */
	*ret = (struct function){ 0 };
	if (number == 0 && file->n == 1 && *file->text == '~')
		ret->builtin = writer_string_n(to->w, name->text, name->n);
	else
		ret->code = writer_row(to->w, RECORD_code,
			&(struct rec_code){ .file = writer_string_n(to->w, file->text, file->n),
				.qualname = writer_string_n(to->w, name->text, name->n),
				.first_line = (uint32_t)number });
	return true;
}

/* The order of the two counts differs between functions and callers. */
static bool get_cost(
	const struct marshal_value *v, size_t n, bool is_caller, struct rec_call_total *to)
{
	return get_count(item(v, is_caller ? 0 : 1, n), &to->calls) &&
		get_count(item(v, is_caller ? 1 : 0, n), &to->primitive_calls) &&
		get_seconds(item(v, 2, n), &to->self_s) && get_seconds(item(v, 3, n), &to->total_s);
}

static bool read_function(
	struct foreign *to, const struct marshal_value *key, const struct marshal_value *value)
{
	struct rec_call_total r = { 0 };
	struct function f;

	if (!get_function(to, key, &f) || !get_cost(value, 5, false, &r) ||
		value->items[4]->kind != MARSHAL_DICT)
		return false;
	r.code = f.code;
	r.builtin = f.builtin;
	writer_add(to->w, RECORD_call_total, &r);
	return true;
}

static bool read_callers(
	struct foreign *to, const struct marshal_value *key, const struct marshal_value *callers)
{
	struct function callee, caller;

	get_function(to, key, &callee);
	for (uint32_t i = 0; i + 1 < callers->n; i += 2) {
		const struct marshal_value *value = callers->items[i + 1];
		struct rec_call_total r = { .is_edge = 1 };

		if (!get_function(to, callers->items[i], &caller))
			return false;
		if (!get_cost(value, 4, true, &r)) {
			if (!get_count(value, &r.calls)) /* a count alone */
				return false;
			r.primitive_calls = r.calls;
		}
		r.code = callee.code;
		r.builtin = callee.builtin;
		r.caller_code = caller.code;
		r.caller_builtin = caller.builtin;
		writer_add(to->w, RECORD_call_total, &r);
	}
	return true;
}

/* ("__sampled__",): True stands among the functions of CPython's sampler, whose calls are samples. */
static bool is_mark(const struct marshal_value *key)
{
	return key->kind == MARSHAL_TUPLE && key->n == 1;
}

static int read_stats(
	struct foreign *to, const struct marshal_value *stats, size_t n_bytes, struct err *e)
{
	uint64_t n_callers = 0;

	if (stats->kind != MARSHAL_DICT)
		return err_set(e, ERR_BAD_FILE, "it holds no dict");
	/* Functions first, so that rows stay in the file's order. */
	for (uint32_t i = 0; i + 1 < stats->n; i += 2) {
		if (is_mark(stats->items[i]))
			foreign_note(to, "calls are samples");
		else if (!read_function(to, stats->items[i], stats->items[i + 1]))
			return err_set(e, ERR_BAD_FILE, "entry %u is no function with its counts",
				i / 2 + 1);
	}
	for (uint32_t i = 0; i + 1 < stats->n; i += 2) {
		if (is_mark(stats->items[i]))
			continue;
		/* A caller takes several bytes; parts that are shared must not multiply. */
		n_callers += stats->items[i + 1]->items[4]->n / 2;
		if (n_callers > n_bytes)
			return err_set(e, ERR_BAD_FILE,
				"entry %u: more callers than the file can hold", i / 2 + 1);
		if (!read_callers(to, stats->items[i], stats->items[i + 1]->items[4]))
			return err_set(
				e, ERR_BAD_FILE, "entry %u has a caller that is none", i / 2 + 1);
	}
	return 0;
}

static int read(struct input *in, struct foreign *to, struct err *e)
{
	const struct marshal_value *stats;
	struct arena a = ARENA_INIT;
	struct buf bytes = BUF_INIT;
	int status = input_load(in, &bytes, FILE_BYTES, e);

	foreign_unit(to, FOREIGN_NS, "");
	if (status == 0)
		status = marshal_parse(&a, bytes.data, bytes.n, &stats, e);
	if (status == 0)
		status = read_stats(to, stats, bytes.n, e);
	buf_done(&bytes);
	arena_done(&a);
	return status;
}

const struct format format_pstats = {
	.name = "pstats",
	.alias = "prof",
	.suffixes = { ".prof", ".pstats" },
	.summary = "calls as cProfile counts them, for pstats, snakeviz and gprof2dot",
	.recognise = recognise,
	.read = read,
	.takes_totals = true,
	.choice = FORMAT_OF_ROWS,
	.write = write,
};
