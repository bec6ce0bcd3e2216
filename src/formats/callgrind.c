/* SPDX-License-Identifier: MIT
 *
 * callgrind's profile, for KCachegrind and callgrind_annotate: self cost by line, and for each call site what
 * it cost inclusive. Costs are whole ns (or bytes, counts) and, where there are samples, their number. How
 * often something was called only traced recordings know; for samples calls= says 1 for each call site. A function that a
 * stack enters again is another one there, "name'2", as callgrind itself does it: else the readers, which add
 * up calls, would count recursion twice. Each thread is a function, too, which calls its roots: readers take
 * what a function is called for as its inclusive cost, so nothing may be without a caller. */
#include "formats/callgrind.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/paths.h"
#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/saturate.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/labels.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "base/banned.h"

/* Functions are numbered 2 × their number, + 1 where the stack has them already; then come threads. */
struct key {
	uint32_t function; /* the caller, or whose own code it is */
	uint32_t callee;   /* UINT32_MAX: its own code */
	int32_t line;      /* of function */
};

struct row {
	struct key key;
	uint64_t value, samples, calls;
	size_t n_open; /* how often it is on the path at hand */
};

struct file {
	const struct stacks *s;
	struct sink *out;
	struct arena *a;
	uint32_t n_numbers; /* of functions */
	struct intern keys;
	VEC(struct row) rows;
	bool *has_name;          /* by number: it was defined */
	struct intern files;     /* numbers of files, + 1 */
	uint64_t value, samples; /* of all */
};

static uint32_t row_of(struct file *f, struct key key)
{
	bool added;
	uint32_t i = intern_add(&f->keys, &key, sizeof key, &added);

	if (added)
		vec_push(&f->rows, (struct row){ .key = key });
	return i;
}

static void add(struct file *f, uint32_t row, uint64_t value, uint64_t samples)
{
	saturated_add(&f->rows.v[row].value, value);
	saturated_add(&f->rows.v[row].samples, samples);
}

/* What a path took itself, with all below it, and how often it was called. */
struct cost {
	uint64_t value, samples, total_value, total_samples, calls;
	bool has_places;
	uint32_t number;
	uint32_t root; /* path */
	uint32_t call; /* row, + 1 */
};

static struct cost *costs_of(struct file *f)
{
	const struct paths *p = f->s->paths;
	double scale = f->s->unit == UNIT_SECONDS ? 1e9 : 1;
	struct cost *costs = arena_new_n(f->a, struct cost, p->n);

	for (size_t i = 0; i < f->s->n; i++) {
		struct cost *c = &costs[p->of_place[i]];

		saturated_add(&c->value, foreign_value(f->s->v[i].value * scale));
		saturated_add(&c->samples, f->s->v[i].n_samples);
		saturated_add(&c->calls, f->s->v[i].n_calls);
		c->has_places = true;
	}
	for (size_t i = 1; i < p->n; i++)
		costs[i].root = p->v[i].parent ? costs[p->v[i].parent].root : (uint32_t)i;
	for (size_t i = p->n; i-- > 1;) {
		struct cost *c = &costs[i], *parent = &costs[p->v[i].parent];

		saturated_add(&c->total_value, c->value);
		saturated_add(&c->total_samples, c->samples);
		saturated_add(&parent->total_value, c->total_value);
		saturated_add(&parent->total_samples, c->total_samples);
	}
	return costs;
}

/* Its own code, and the call from its caller, which counts once however often it recurs. */
static void enter(struct file *f, struct cost *costs, uint32_t at)
{
	struct stack_frame frame = paths_frame(f->s, at);
	struct cost *c = &costs[at];
	uint32_t parent = f->s->paths->v[at].parent;
	struct key call = { .callee = c->number };

	if (c->has_places)
		add(f,
			row_of(f,
				(struct key){ c->number, UINT32_MAX,
					frame.line > 0 ? frame.line : (int32_t)frame.first_line }),
			c->value, c->samples);
	if (!parent)
		return;
	frame = paths_frame(f->s, parent);
	call.function = costs[parent].number;
	call.line = frame.line > 0 ? frame.line : (int32_t)frame.first_line;
	c->call = row_of(f, call) + 1;
	if (!f->rows.v[c->call - 1].n_open++)
		add(f, c->call - 1, c->total_value, c->total_samples);
	saturated_add(&f->rows.v[c->call - 1].calls, c->calls);
}

static void gather_paths(struct file *f, struct cost *costs)
{
	const struct path *v = f->s->paths->v;
	struct paths_walk w = paths_walk(f->s->paths);
	size_t *n_open = arena_new_n(f->a, size_t, f->n_numbers + 1);

	for (uint32_t at; paths_next(&w, &at);) {
		size_t *open = &n_open[v[at].function];

		if (w.is_entering) {
			costs[at].number = v[at].function * 2 + (*open > 0);
			enter(f, costs, at);
			++*open;
		} else {
			--*open;
			if (costs[at].call)
				f->rows.v[costs[at].call - 1].n_open--;
		}
	}
	paths_walk_done(&w);
}

static void gather(struct file *f)
{
	double scale = f->s->unit == UNIT_SECONDS ? 1e9 : 1;
	struct cost *costs = costs_of(f);

	gather_paths(f, costs);
	for (size_t i = 0; i < f->s->n; i++) {
		const struct stack_place *p = &f->s->v[i];
		uint64_t value = foreign_value(p->value * scale);
		uint32_t leaf = f->s->paths->of_place[i], root = costs[leaf].root, row;

		if (!leaf)
			continue;
		row = row_of(f, (struct key){ f->n_numbers + p->thread, costs[root].number, 0 });
		add(f, row, value, p->n_samples);
		if (leaf == root)
			saturated_add(&f->rows.v[row].calls, p->n_calls);
		saturated_add(&f->value, value);
		saturated_add(&f->samples, p->n_samples);
	}
}

static int by_function(const void *a, const void *b)
{
	const struct row *x = a, *y = b;

	if (x->key.function != y->key.function)
		return x->key.function < y->key.function ? -1 : 1;
	if (x->key.callee != y->key.callee) /* own code first */
		return x->key.callee > y->key.callee ? -1 : 1;
	return x->key.line < y->key.line ? -1 : x->key.line > y->key.line;
}

/* "f'2": called so by the program. */
static bool ends_as_again(const char *s)
{
	const char *mark = strrchr(s, '\'');

	return mark && mark[1] && !mark[1 + strspn(mark + 1, "0123456789")];
}

/* So that it is one line, and comes back as it was: readers leave out blanks at the beginning. */
static void add_text(struct buf *out, const char *s)
{
	const char *also = ends_as_again(s) ? "'" : "";

	if (*s == ' ')
		buf_adds(out, "\\x20");
	s += *s == ' ';
	text_add_escaped(out, s, strlen(s), also);
}

/* "(1) name" the first time, "(1)" later. */
static void add_file(struct file *f, const char *word, const char *path)
{
	bool added;
	uint32_t i = intern_add(&f->files, path, strlen(path), &added);

	buf_printf(&f->out->text, "%s=(%u)", word, i + 1);
	if (added) {
		buf_addc(&f->out->text, ' ');
		add_text(&f->out->text, *path ? path : "???");
	}
	buf_addc(&f->out->text, '\n');
}

static const char *name_of(struct file *f, uint32_t number)
{
	return number >= f->n_numbers ? label_thread(f->a, f->s, number - f->n_numbers)
				      : frames_function(f->s->frames, number / 2)->name;
}

static void add_function(struct file *f, const char *word, uint32_t function)
{
	const char *name = name_of(f, function);

	buf_printf(&f->out->text, "%s=(%u)", word, function + 1);
	if (!f->has_name[function]) {
		buf_addc(&f->out->text, ' ');
		add_text(&f->out->text, *name ? name : "???");
		if (function < f->n_numbers && function % 2)
			buf_adds(&f->out->text, "'2");
	}
	f->has_name[function] = true;
	buf_addc(&f->out->text, '\n');
}

static void add_cost(struct file *f, const struct row *r, int line)
{
	buf_printf(&f->out->text, "%d %" PRIu64, line, r->value);
	if (f->samples)
		buf_printf(&f->out->text, " %" PRIu64, r->samples);
	buf_addc(&f->out->text, '\n');
}

static void add_rows(struct file *f)
{
	uint32_t last = UINT32_MAX;

	if (f->rows.n)
		qsort(f->rows.v, f->rows.n, sizeof *f->rows.v, by_function);
	vec_each (&f->rows, r) {
		const struct stack_function *callee;

		if (r->key.function != last) {
			buf_addc(&f->out->text, '\n');
			add_file(f, "fl",
				r->key.function >= f->n_numbers
					? ""
					: frames_function(f->s->frames, r->key.function / 2)->file);
			add_function(f, "fn", r->key.function);
		}
		last = r->key.function;
		if (r->key.callee != UINT32_MAX) {
			callee = frames_function(f->s->frames, r->key.callee / 2);
			add_file(f, "cfi", callee->file);
			add_function(f, "cfn", r->key.callee);
			buf_printf(&f->out->text, "calls=%" PRIu64 " %u\n", r->calls ? r->calls : 1,
				callee->first_line);
		}
		add_cost(f, r, r->key.line);
		sink_flush(f->out);
	}
}

static void add_head(struct file *f, const struct selection *s)
{
	const char *event = f->s->unit == UNIT_SECONDS ? "ns"
		: f->s->unit == UNIT_BYTES             ? "Bytes"
						       : "Count";
	struct buf *out = &f->out->text, what = BUF_INIT;

	selection_describe(s, &what);
	buf_adds(out,
		"# callgrind format\nversion: 1\ncreator: leadline " LEADLINE_VERSION "\ncmd: ");
	add_text(out, label_command(s));
	buf_adds(out, "\n" CALLGRIND_ESCAPES "\n");
	if (*sink_damage(f->out))
		buf_printf(out, "desc: Damage: %s\n", sink_damage(f->out));
	if (what.n)
		buf_printf(out, "desc: Chosen: %s\n", buf_str(&what));
	buf_done(&what);
	buf_adds(out, "positions: line\n");
	buf_printf(out, "event: %s : %s\n", event,
		f->s->unit == UNIT_SECONDS ? "time in nanoseconds" : event);
	if (f->samples)
		buf_adds(out, "event: Samples : samples\n");
	buf_printf(out, "events: %s%s\n", event, f->samples ? " Samples" : "");
	buf_printf(out, "summary: %" PRIu64, f->value);
	if (f->samples)
		buf_printf(out, " %" PRIu64, f->samples);
	buf_addc(out, '\n');
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct file f = { .s = s->stacks, .out = out, .a = &a };

	(void)e;
	f.n_numbers = 2 * (uint32_t)frames_n_functions(f.s->frames);
	f.has_name = arena_new_n(&a, bool, f.n_numbers + f.s->n_threads);
	gather(&f);
	add_head(&f, s);
	add_rows(&f);
	buf_printf(&out->text, "\ntotals: %" PRIu64, f.value);
	if (f.samples)
		buf_printf(&out->text, " %" PRIu64, f.samples);
	buf_addc(&out->text, '\n');
	intern_done(&f.keys);
	intern_done(&f.files);
	vec_done(&f.rows);
	arena_done(&a);
	return 0;
}

const struct format format_callgrind = {
	.name = "callgrind",
	.suffixes = { ".callgrind", "callgrind.out" },
	.summary = "for KCachegrind, QCachegrind and callgrind_annotate",
	.recognise = callgrind_recognise,
	.read = callgrind_read,
	.write = write,
};
