/* SPDX-License-Identifier: MIT
 *
 * Collapsed stacks, as flame graph scripts and py-spy --format raw know them: one line per distinct
 * stack, root first, frames "qualname (file:line)" joined by ";", a blank, the number of samples (a thread
 * that sleeps is looked at rarely: its time counts as the samples it stands for). The count is the last word of a line, so a blank in a frame is fine; ";" and line ends in names are not
 * and become "," and " ". */
#include "formats/collapsed.h"

#include <inttypes.h>
#include <math.h>

#include "analyze/fidelity.h"
#include "analyze/stacks.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/vec.h"
#include "formats/format.h"
#include "base/banned.h"

static void add_frame(struct buf *out, const struct stack_frame *f)
{
	size_t from = out->n;

	if (f->is_synthetic)
		buf_printf(out, "%s", f->name);
	else if (f->line >= 0)
		buf_printf(out, "%s (%s:%d)", f->name, f->file, f->line);
	else
		buf_printf(out, "%s (%s)", f->name, f->file);
	for (size_t i = from; i < out->n; i++)
		if (out->data[i] == ';')
			out->data[i] = ',';
		else if ((unsigned char)out->data[i] < ' ')
			out->data[i] = ' ';
}

static uint64_t samples_of(const struct stack_place *p, double rate_hz)
{
	uint64_t n = rate_hz > 0 && p->is_off_cpu ? (uint64_t)llround(p->seconds * rate_hz) : 0;

	return n > p->n_samples ? n : p->n_samples;
}

static int emit(struct tables *t, struct buf *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	static const struct stacks_options all = { 0 };
	const struct stacks *s = stacks_build(&a, t, &all);
	struct stack_frame *frames = arena_new_n(&a, struct stack_frame, STACKS_DEPTH);
	struct intern lines =
		INTERN_INIT; /* places that differ only in the instruction are one line */
	VEC(uint64_t) counts = VEC_INIT;
	struct buf line = BUF_INIT;
	double rate_hz = fidelity_build(&a, t).rate_reached_hz;

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
		counts.v[id] += samples_of(&s->v[i], rate_hz);
	}
	for (size_t i = 0; i < counts.n; i++)
		buf_printf(out, "%s %" PRIu64 "\n",
			(const char *)intern_get(&lines, (uint32_t)i)->p, counts.v[i]);
	buf_done(&line);
	vec_done(&counts);
	intern_done(&lines);
	arena_done(&a);
	return 0;
}

const struct format format_collapsed = {
	.name = "collapsed",
	.alias = "raw",
	.suffix = ".folded",
	.summary = "one line per stack, for flame graph scripts",
	.emit = emit,
};
