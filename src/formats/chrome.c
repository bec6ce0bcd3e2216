/* SPDX-License-Identifier: MIT
 *
 * Chrome's trace events as JSON, for Perfetto, chrome://tracing and all that reads them: functions begin and end ("B", "E"),
 * properly nested in their thread. One event for both ("X") would be shorter, but of two of the same length nobody could tell who
 * called whom. Times are µs from the recording's begin on, with the nanoseconds behind the point. */
#include "formats/chrome.h"

#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/json_write.h"
#include "base/vec.h"
#include "formats/format.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/spans.h"
#include "base/banned.h"

struct parts { /* what is the same in all events of a function; NULL: not made yet */
	const char *begin, *end;
};

struct trace {
	struct arena a;
	struct spans *spans;
	struct sink *out;
	VEC(struct parts) parts; /* by function */
	const char *thread;      /* ,"pid":1,"tid":2 */
	bool has_events;
};

/* ,"name":"f","cat":"python","args":{"file":"x.py","line":3}} or, of an end, ,"name":"f"} */
static const char *make_part(struct trace *t, const struct stack_function *f, bool is_begin)
{
	struct buf text = BUF_INIT;
	struct json_writer w;
	const char *part;

	json_init(&w, &text, false);
	json_object_begin(&w);
	json_kv_string(&w, "name", f->name);
	if (is_begin)
		json_kv_string(&w, "cat",
			f->is_builtin           ? "c"
				: f->is_library ? "library"
						: "python");
	if (is_begin && *f->file) {
		json_key(&w, "args");
		json_object_begin(&w);
		json_kv_string(&w, "file", f->file);
		json_kv_u64(&w, "line", f->first_line);
		json_object_end(&w);
	}
	json_object_end(&w);
	text.data[0] = ','; /* in the place of { */
	part = arena_strndup(&t->a, text.data, text.n);
	buf_done(&text);
	return part;
}

static const struct parts *parts_of(struct trace *t, uint32_t function)
{
	while (t->parts.n <= function)
		vec_push(&t->parts, (struct parts){ 0 });
	if (!t->parts.v[function].begin) {
		const struct stack_function *f =
			frames_function(t->spans->stacks->frames, function);

		t->parts.v[function] =
			(struct parts){ make_part(t, f, true), make_part(t, f, false) };
	}
	return &t->parts.v[function];
}

static void begin_event(struct trace *t)
{
	buf_adds(&t->out->text, t->has_events ? ",\n" : "\n");
	t->has_events = true;
}

static void put_event(struct trace *t, char phase, uint64_t t_ns, const char *part)
{
	begin_event(t);
	buf_printf(&t->out->text, "{\"ph\":\"%c\",\"ts\"", phase);
	sink_add_fixed(&t->out->text, ':', t_ns, 3);
	buf_adds(&t->out->text, t->thread);
	buf_adds(&t->out->text, part);
	sink_flush(t->out);
}

static void open_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	put_event(ctx, 'B', t_ns, parts_of(ctx, function)->begin);
}

static void close_call(void *ctx, uint32_t function, uint64_t t_ns)
{
	put_event(ctx, 'E', t_ns, parts_of(ctx, function)->end);
}

static void name_it(struct trace *t, const char *what, uint32_t pid, uint32_t tid, const char *name)
{
	struct json_writer w;

	begin_event(t);
	json_init(&w, &t->out->text, false);
	json_object_begin(&w);
	json_kv_string(&w, "ph", "M");
	json_kv_string(&w, "name", what);
	json_kv_u64(&w, "pid", pid);
	json_kv_u64(&w, "tid", tid);
	json_key(&w, "args");
	json_object_begin(&w);
	json_kv_string(&w, "name", name);
	json_object_end(&w);
	json_object_end(&w);
}

static void put_threads(struct trace *t, const char *command)
{
	const struct stacks *s = t->spans->stacks;
	const struct spans_replay replay = { t, open_call, close_call };

	for (size_t i = 0; i < s->n_threads; i++) {
		const struct stack_thread *x = &s->threads[i];
		uint32_t pid = x->pid ? x->pid : 1, tid = x->tid ? x->tid : (uint32_t)i + 1;

		if (!spans_has_thread(t->spans, i))
			continue;
		name_it(t, "process_name", pid, tid, command);
		name_it(t, "thread_name", pid, tid, label_thread(&t->a, s, i));
		t->thread = arena_printf(&t->a, ",\"pid\":%u,\"tid\":%u", pid, tid);
		spans_replay(t->spans, i, &replay);
	}
}

static void put_choice(const struct selection *s, struct sink *out)
{
	struct json_writer w;
	struct buf what = BUF_INIT;

	selection_describe(s, &what);
	if (what.n) {
		buf_adds(&out->text, ",\"chosen\":");
		json_init(&w, &out->text, false);
		json_string(&w, buf_str(&what));
	}
	buf_done(&what);
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct trace t = { .a = ARENA_INIT, .out = out };
	int status = spans_build_time(&t.spans, &t.a, s, e);

	if (status == 0) {
		buf_adds(&out->text,
			"{\"displayTimeUnit\":\"ns\",\"otherData\":{\"exporter\":\"leadline " LEADLINE_VERSION
			"\"");
		if (*sink_damage(out)) /* words of ours: nothing in them needs an escape */
			buf_printf(&out->text, ",\"damage\":\"%s\"", sink_damage(out));
		put_choice(s, out);
		buf_adds(&out->text, "},\"traceEvents\":[");
		put_threads(&t, label_command(s));
		buf_adds(&out->text, "\n]}\n");
		status = spans_close(t.spans, e);
	}
	vec_done(&t.parts);
	arena_done(&t.a);
	return status;
}

const struct format format_chrome = {
	.name = "chrome",
	.suffixes = { ".trace.json" },
	.summary = "Chrome's trace events, for Perfetto and chrome://tracing",
	.recognise = chrome_recognise,
	.read = chrome_read,
	.write = write,
};
