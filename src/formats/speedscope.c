/* SPDX-License-Identifier: MIT
 *
 * Writes speedscope's own format: one profile per thread, as samples in the order of time (stacks root
 * first, weights), or as events that open and close frames. Values are whole ns, so that they never run
 * backwards. What was measured exactly is always written as events. A frame is a function with the line it begins at: speedscope tells frames apart by their line,
 * so lines of samples would split a function. */
#include "formats/speedscope.h"

#include <string.h>

#include "analyze/recording.h"
#include "base/arena.h"
#include "base/json_write.h"
#include "formats/format.h"
#include "formats/function_table.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/spans.h"
#include "base/banned.h"

struct page {
	struct arena a;
	struct spans *spans;
	struct function_table used;
	struct sink *out;
	struct json_writer w;
	struct stack_frame *frames;
};

static const char *unit_name(enum unit unit)
{
	return unit == UNIT_SECONDS ? "nanoseconds" : unit == UNIT_BYTES ? "bytes" : "none";
}

static void write_frames(struct page *p)
{
	json_key(&p->w, "shared");
	json_object_begin(&p->w);
	json_key(&p->w, "frames");
	json_array_begin(&p->w);
	for (size_t i = 0; i < p->used.n; i++) {
		const struct stack_function *f =
			frames_function(p->spans->stacks->frames, p->used.functions[i]);

		json_object_begin(&p->w);
		json_kv_string(&p->w, "name", f->name);
		if (*f->file)
			json_kv_string(&p->w, "file", f->file);
		if (f->first_line)
			json_kv_u64(&p->w, "line", f->first_line);
		json_object_end(&p->w);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
	json_object_end(&p->w);
}

static void begin_profile(
	struct page *p, size_t thread, const char *type, uint64_t begin, uint64_t end)
{
	const struct stacks *s = p->spans->stacks;

	json_object_begin(&p->w);
	json_kv_string(&p->w, "type", type);
	json_kv_string(&p->w, "name", label_thread(&p->a, s, thread));
	json_kv_string(&p->w, "unit", unit_name(s->unit));
	json_kv_u64(&p->w, "startValue", begin);
	json_kv_u64(&p->w, "endValue", end);
}

static void write_samples(struct page *p, size_t thread)
{
	struct buf *out = &p->out->text;
	struct span_iter it;
	bool is_first = true;

	begin_profile(p, thread, "sampled", 0, p->spans->threads[thread].value);
	json_key(&p->w, "samples");
	json_array_begin(&p->w);
	it = spans_of(p->spans, thread);
	for (struct span x; span_next(&it, &x); is_first = false) {
		size_t n = spans_frames(p->spans, &x, p->frames);

		if (!is_first)
			buf_addc(out, ',');
		if (!n)
			buf_addc(out, '[');
		for (size_t k = n; k-- > 0;)
			sink_add_u64(
				out, k == n - 1 ? '[' : ',', p->used.index[p->frames[k].function]);
		buf_addc(out, ']');
		sink_flush(p->out);
	}
	json_array_end(&p->w);
	json_key(&p->w, "weights");
	json_array_begin(&p->w);
	it = spans_of(p->spans, thread);
	is_first = true;
	for (struct span x; span_next(&it, &x); is_first = false) {
		sink_add_u64(out, is_first ? ' ' : ',', x.value);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
	json_object_end(&p->w);
}

static void write_event(struct page *p, const char *type, uint32_t function, uint64_t at)
{
	json_object_begin(&p->w);
	json_kv_string(&p->w, "type", type);
	json_kv_u64(&p->w, "frame", p->used.index[function]);
	json_kv_u64(&p->w, "at", at);
	json_object_end(&p->w);
	sink_flush(p->out);
}

static void open_frame(void *ctx, uint32_t function, uint64_t t_ns)
{
	write_event(ctx, "O", function, t_ns);
}

static void close_frame(void *ctx, uint32_t function, uint64_t t_ns)
{
	write_event(ctx, "C", function, t_ns);
}

static void write_events(struct page *p, size_t thread)
{
	const struct spans_thread *t = &p->spans->threads[thread];
	const struct spans_replay replay = { p, open_frame, close_frame };

	begin_profile(p, thread, "evented", t->t_ns, t->end_ns);
	json_key(&p->w, "events");
	json_array_begin(&p->w);
	spans_replay(p->spans, thread, &replay);
	json_array_end(&p->w);
	json_object_end(&p->w);
}

static void put_name(struct page *p, const struct selection *s)
{
	struct buf what = BUF_INIT;

	selection_describe(s, &what);
	json_kv_string(&p->w, "name",
		what.n ? arena_printf(&p->a, "%s (%s)", label_command(s), buf_str(&what))
		       : label_command(s));
	buf_done(&what);
}

/* The thread to show first, among those that are written. */
static size_t first_profile(const struct page *p)
{
	size_t first = label_first_thread(p->spans->stacks), n = 0;

	for (size_t i = 0; i < first; i++)
		n += spans_has_thread(p->spans, i);
	return n;
}

static int write_file(struct selection *s, struct sink *out, bool is_evented, struct err *e)
{
	struct page p = { .a = ARENA_INIT, .out = out };
	int status = spans_build(&p.spans, &p.a, s, e);

	if (status < 0) {
		arena_done(&p.a);
		return status;
	}
	p.used = function_table_build_spans(&p.a, p.spans);
	is_evented |= !p.spans->stacks->n_samples && p.spans->stacks->unit == UNIT_SECONDS;
	p.frames = arena_new_n(&p.a, struct stack_frame, STACKS_DEPTH);
	json_init(&p.w, &out->text, false);
	json_object_begin(&p.w);
	json_kv_string(&p.w, "$schema", "https://www.speedscope.app/file-format-schema.json");
	json_kv_string(&p.w, "exporter", "leadline " LEADLINE_VERSION);
	put_name(&p, s);
	json_kv_u64(&p.w, "activeProfileIndex", first_profile(&p));
	write_frames(&p);
	json_key(&p.w, "profiles");
	json_array_begin(&p.w);
	for (size_t i = 0; i < p.spans->stacks->n_threads; i++)
		if (spans_has_thread(p.spans, i))
			(is_evented ? write_events : write_samples)(&p, i);
	json_array_end(&p.w);
	json_object_end(&p.w);
	buf_addc(&out->text, '\n');
	status = spans_close(p.spans, e);
	arena_done(&p.a);
	return status;
}

static int write_sampled(struct selection *s, struct sink *out, struct err *e)
{
	return write_file(s, out, false, e);
}

static int write_evented(struct selection *s, struct sink *out, struct err *e)
{
	return write_file(s, out, true, e);
}

const struct format format_speedscope = {
	.name = "speedscope",
	.suffixes = { ".speedscope.json", ".speedscope" },
	.summary = "for speedscope: samples in time order, one profile per thread",
	.recognise = speedscope_recognise,
	.read = speedscope_read,
	.write = write_sampled,
};

const struct format format_speedscope_evented = {
	.name = "speedscope-evented",
	.summary = "the same as events that open and close frames",
	.write = write_evented,
};
