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

#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/foreign.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "formats/used.h"
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
	size_t seen; /* the last place that counted it, + 1 */
};

struct file {
	const struct stacks *s;
	struct sink *out;
	struct arena *a;
	uint32_t n_numbers; /* of functions */
	struct intern keys;
	VEC(struct row) rows;
	bool *has_name;          /* by number: it was defined */
	size_t *entered;         /* by function: the last place that has it, + 1 */
	struct intern files;     /* numbers of files, + 1 */
	uint64_t value, samples; /* of all */
};

static void add(struct file *f, struct key key, size_t place, uint64_t value, uint64_t samples)
{
	bool added;
	uint32_t i = intern_add(&f->keys, &key, sizeof key, &added);

	if (added)
		vec_push(&f->rows, (struct row){ .key = key });
	if (f->rows.v[i].seen == place + 1)
		return;
	f->rows.v[i].seen = place + 1;
	f->rows.v[i].value += value;
	f->rows.v[i].samples += samples;
}

/* Of the call that was added last under this key. */
static void add_calls(struct file *f, const struct key *key, uint64_t calls)
{
	f->rows.v[intern_add(&f->keys, key, sizeof *key, NULL)].calls += calls;
}

/* Numbers of the frames of a place, leaf first. */
static void number(
	struct file *f, size_t place, const struct stack_frame *frames, size_t n, uint32_t *to)
{
	for (size_t k = n; k-- > 0;) {
		uint32_t function = frames[k].function;

		to[k] = function * 2 + (f->entered[function] == place + 1);
		f->entered[function] = place + 1;
	}
}

static void gather(struct file *f, struct stack_frame *frames, uint32_t *numbers)
{
	double scale = f->s->unit == UNIT_SECONDS ? 1e9 : 1;

	for (size_t i = 0; i < f->s->n; i++) {
		size_t n = stacks_frames(f->s, i, frames);
		uint64_t value = foreign_value(f->s->v[i].seconds * scale),
			 samples = f->s->v[i].n_samples;
		struct key root = { .function = f->n_numbers + f->s->v[i].thread };

		if (!n)
			continue;
		number(f, i, frames, n, numbers);
		for (size_t k = 0; k < n; k++) {
			struct key key = { .function = numbers[k],
				.callee = k ? numbers[k - 1] : UINT32_MAX,
				.line = frames[k].line > 0 ? frames[k].line
							   : (int32_t)frames[k].first_line };

			add(f, key, i, value, samples);
			if (k == 1)
				add_calls(f, &key, f->s->v[i].n_calls);
		}
		root.callee = numbers[n - 1];
		add(f, root, i, value, samples);
		if (n == 1)
			add_calls(f, &root, f->s->v[i].n_calls);
		f->value += value;
		f->samples += samples;
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
	return number >= f->n_numbers ? used_thread_name(f->a, f->s, number - f->n_numbers)
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

static void add_head(struct file *f, const char *command)
{
	const char *event = f->s->unit == UNIT_SECONDS ? "ns"
		: f->s->unit == UNIT_BYTES             ? "Bytes"
						       : "Count";
	struct buf *out = &f->out->text;

	buf_adds(out,
		"# callgrind format\nversion: 1\ncreator: leadline " LEADLINE_VERSION "\ncmd: ");
	add_text(out, command);
	buf_adds(out, "\n" CALLGRIND_ESCAPES "\n");
	if (*sink_damage(f->out))
		buf_printf(out, "desc: Damage: %s\n", sink_damage(f->out));
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

static int write(struct tables *t, struct sink *out, struct err *e)
{
	static const struct stacks_options all = { 0 };
	struct arena a = ARENA_INIT;
	struct file f = { .s = stacks_build(&a, t, &all), .out = out, .a = &a };

	(void)e;
	f.n_numbers = 2 * (uint32_t)frames_n_functions(f.s->frames);
	f.has_name = arena_new_n(&a, bool, f.n_numbers + f.s->n_threads);
	f.entered = arena_new_n(&a, size_t, frames_n_functions(f.s->frames));
	gather(&f, arena_new_n(&a, struct stack_frame, STACKS_DEPTH),
		arena_new_n(&a, uint32_t, STACKS_DEPTH));
	add_head(&f, used_command(&a, t));
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
