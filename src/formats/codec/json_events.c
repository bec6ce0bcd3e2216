/* SPDX-License-Identifier: MIT
 *
 * All of a profile as plain JSON, for scripts: functions, threads, and each distinct stack with what was measured of it.
 * Nothing is summed up, and what was left out is told; `leadline report --json` has the sums. */

#include <math.h>

#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/json_write.h"
#include "formats/format.h"
#include "formats/function_table.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "base/banned.h"

struct page {
	struct arena a;
	const struct stacks *s;
	struct function_table used;
	struct sink *out;
	struct json_writer w;
	struct stack_frame *frames;
};

static void put_functions(struct page *p)
{
	json_key(&p->w, "functions");
	json_array_begin(&p->w);
	for (size_t i = 0; i < p->used.n; i++) {
		const struct stack_function *f =
			frames_function(p->s->frames, p->used.functions[i]);

		json_object_begin(&p->w);
		json_kv_string(&p->w, "name", f->name);
		json_kv_string(&p->w, "file", f->file);
		json_kv_u64(&p->w, "first_line", f->first_line);
		json_kv_bool(&p->w, "is_library", f->is_library);
		json_object_end(&p->w);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
}

static void put_threads(struct page *p)
{
	json_key(&p->w, "threads");
	json_array_begin(&p->w);
	for (size_t i = 0; i < p->s->n_threads; i++) {
		json_object_begin(&p->w);
		json_kv_u64(&p->w, "pid", p->s->threads[i].pid);
		json_kv_u64(&p->w, "tid", p->s->threads[i].tid);
		json_kv_string(&p->w, "name", p->s->threads[i].name);
		json_kv_bool(&p->w, "is_idle", p->s->threads[i].is_idle);
		json_object_end(&p->w);
	}
	json_array_end(&p->w);
}

static void put_stack(struct page *p, size_t place)
{
	const struct stack_place *x = &p->s->v[place];
	size_t n = stacks_frames(p->s, place, p->frames);

	json_object_begin(&p->w);
	json_kv_u64(&p->w, "thread", x->thread);
	if (p->s->unit == UNIT_SECONDS)
		json_kv_i64(&p->w, "ns", llround(x->value * 1e9));
	else
		json_kv_i64(&p->w, p->s->unit == UNIT_BYTES ? "bytes" : "count", llround(x->value));
	if (x->n_samples)
		json_kv_u64(&p->w, "samples", x->n_samples);
	if (x->n_calls)
		json_kv_u64(&p->w, "calls", x->n_calls);
	json_key(&p->w, "functions");
	json_array_begin(&p->w);
	for (size_t i = n; i-- > 0;)
		json_u64(&p->w, p->used.index[p->frames[i].function]);
	json_array_end(&p->w);
	json_key(&p->w, "lines");
	json_array_begin(&p->w);
	for (size_t i = n; i-- > 0;)
		json_i64(&p->w, p->frames[i].line > 0 ? p->frames[i].line : 0);
	json_array_end(&p->w);
	json_object_end(&p->w);
	sink_flush(p->out);
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct page p = { .a = ARENA_INIT, .out = out };
	struct buf what = BUF_INIT;

	(void)e;
	p.s = selection_stacks_within(s, FORMAT_FRAMES);
	p.used = function_table_build(&p.a, p.s);
	p.frames = arena_new_n(&p.a, struct stack_frame, STACKS_DEPTH);
	json_init(&p.w, &out->text, false);
	json_object_begin(&p.w);
	json_kv_string(&p.w, "exporter", "leadline " LEADLINE_VERSION);
	json_kv_string(&p.w, "command", label_command(s));
	if (*sink_damage(out))
		json_kv_string(&p.w, "damage", sink_damage(out));
	selection_describe(s, &what);
	if (what.n)
		json_kv_string(&p.w, "chosen", buf_str(&what));
	buf_done(&what);
	json_kv_u64(&p.w, "lost_samples", p.s->n_lost);
	put_threads(&p);
	put_functions(&p);
	json_key(&p.w, "stacks");
	json_array_begin(&p.w);
	for (size_t i = 0; i < p.s->n; i++)
		put_stack(&p, i);
	json_array_end(&p.w);
	json_object_end(&p.w);
	buf_addc(&out->text, '\n');
	arena_done(&p.a);
	return 0;
}

const struct format format_json = {
	.name = "json",
	.suffixes = { ".json" },
	.summary = "functions, threads and each distinct stack, for scripts",
	.write = write,
};
