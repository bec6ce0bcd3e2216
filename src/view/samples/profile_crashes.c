/* SPDX-License-Identifier: MIT
 * See profile.h: the last stacks of a process that a signal killed. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/crash_stacks.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "view/kit/style.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "base/banned.h"

enum { FRAMES_MOST = 20, THREADS_MOST = 16 };

static void print_frame(const struct stack_frame *f, const struct profile_view *v, struct buf *out)
{
	struct buf name = BUF_INIT, place = BUF_INIT, cut = BUF_INIT;
	size_t used;

	text_add_printable(&name, f->name, strlen(f->name));
	if (!f->is_synthetic) {
		const char *path = profile_path(v, f->file);

		text_add_printable(&place, path, strlen(path));
		if (f->line >= 0)
			buf_printf(&place, ":%d", f->line);
	}
	buf_adds(out, "    ");
	text_add_cut(out, buf_str(&name), v->width > 24 ? v->width - 4 : 20, TEXT_CUT_END);
	used = 4 + text_width(buf_str(&name)) + 2;
	if (place.n && used + 10 <= v->width) {
		text_add_cut(&cut, buf_str(&place), v->width - used, TEXT_CUT_START);
		buf_adds(out, "  ");
		style_add(out, STYLE_DIM, v->colour, "%s", buf_str(&cut));
	}
	buf_addc(out, '\n');
	buf_done(&name);
	buf_done(&place);
	buf_done(&cut);
}

static void print_thread(const struct crash_thread *x, const struct stacks *s,
	const struct profile_view *v, struct stack_frame *frames, struct buf *out)
{
	const struct stack_thread *t = &s->threads[x->thread];
	size_t n = stacks_last_frames(s, x->thread, frames);
	struct buf name = BUF_INIT;
	char age[UNITS_TEXT];

	text_add_printable(&name, t->name, strlen(t->name));
	buf_printf(out, "  %s%sthread %u, seen %s before the end\n", buf_str(&name),
		name.n ? ", " : "", t->tid, units_format(age, UNIT_SECONDS, x->age_s));
	for (size_t i = 0; i < n && i < FRAMES_MOST; i++)
		print_frame(&frames[i], v, out);
	if (n > FRAMES_MOST)
		style_add(out, STYLE_DIM, v->colour, "    ⋯ %zu more\n", n - FRAMES_MOST);
	buf_done(&name);
}

void profile_print_crashes(const struct crash_stacks *e, size_t n, const struct stacks *s,
	const struct profile_view *v, struct buf *out)
{
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);

	for (size_t i = 0; i < n; i++) {
		buf_addc(out, '\n');
		style_add(out, STYLE_WARNING, v->colour, "Process %u was killed by signal %d (%s)",
			e[i].pid, e[i].signal, strsignal(e[i].signal));
		buf_adds(out, ": last stacks, newest frame first\n");
		for (size_t k = 0; k < e[i].n_threads && k < THREADS_MOST; k++)
			print_thread(&e[i].threads[k], s, v, frames, out);
		profile_more(v, THREADS_MOST, e[i].n_threads, out);
	}
	free(frames);
}
