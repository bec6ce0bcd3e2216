/* SPDX-License-Identifier: MIT
 *
 * A trace for Perfetto: a track per thread on which functions begin and end, in the order of time. Names and
 * source locations are interned once at the begin; packets follow one another, so a trace of any length is
 * written piece by piece. Times are ns from the recording's begin on. */

#include <string.h>

#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "formats/codec/protobuf.h"
#include "formats/format.h"
#include "formats/function_table.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/spans.h"
#include "base/banned.h"

enum { TRACE_PACKET = 1 };
enum packet {
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_TRACK_DESCRIPTOR = 60,
};
enum sequence_flags { STATE_CLEARED = 1, NEEDS_STATE = 2 };
enum interned { INTERNED_EVENT_NAMES = 2, INTERNED_SOURCE_LOCATIONS = 4 };
enum event_name { NAME_IID = 1, NAME_NAME };
enum source_location { SOURCE_IID = 1, SOURCE_FILE, SOURCE_FUNCTION, SOURCE_LINE };
enum descriptor { TRACK_UUID = 1, TRACK_PROCESS = 3, TRACK_THREAD, TRACK_PARENT };
enum process { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum thread { THREAD_PID = 1, THREAD_TID, THREAD_NAME = 5 };
enum track_event { EVENT_TYPE = 9, EVENT_NAME_IID, EVENT_TRACK, EVENT_SOURCE_IID = 34 };
enum event_type { SLICE_BEGIN = 1, SLICE_END };

struct trace {
	struct arena a;
	struct sink *out;
	struct spans *spans;
	struct function_table used;
	struct buf packet, part, inner;
	uint64_t track; /* of the thread at hand */
};

static void put_packet(struct trace *t)
{
	pb_put_u64(&t->packet, PACKET_SEQUENCE_ID, 1);
	pb_put_bytes(&t->out->text, TRACE_PACKET, t->packet.data, t->packet.n);
	buf_clear(&t->packet);
	sink_flush(t->out);
}

/* Adds the message in `inner` to the one in `to`, and empties it. */
static void put_inner(struct trace *t, struct buf *to, unsigned field)
{
	pb_put_bytes(to, field, t->inner.data, t->inner.n);
	buf_clear(&t->inner);
}

static void put_names(struct trace *t)
{
	buf_clear(&t->part);
	for (size_t i = 0; i < t->used.n; i++) {
		const struct stack_function *f =
			frames_function(t->spans->stacks->frames, t->used.functions[i]);

		pb_put_u64(&t->inner, NAME_IID, i + 1);
		pb_put_text(&t->inner, NAME_NAME, f->name, strlen(f->name));
		put_inner(t, &t->part, INTERNED_EVENT_NAMES);
		pb_put_u64(&t->inner, SOURCE_IID, i + 1);
		pb_put_text(&t->inner, SOURCE_FILE, f->file, strlen(f->file));
		pb_put_text(&t->inner, SOURCE_FUNCTION, f->name, strlen(f->name));
		if (f->first_line)
			pb_put_u64(&t->inner, SOURCE_LINE, f->first_line);
		put_inner(t, &t->part, INTERNED_SOURCE_LOCATIONS);
	}
	pb_put_bytes(&t->packet, PACKET_INTERNED_DATA, t->part.data, t->part.n);
	pb_put_u64(&t->packet, PACKET_SEQUENCE_FLAGS, STATE_CLEARED | NEEDS_STATE);
	put_packet(t);
}

static void put_process(struct trace *t, uint32_t pid, const char *command)
{
	buf_clear(&t->part);
	pb_put_u64(&t->part, TRACK_UUID, pid);
	pb_put_u64(&t->inner, PROCESS_PID, pid);
	pb_put_text(&t->inner, PROCESS_NAME, command, strlen(command));
	put_inner(t, &t->part, TRACK_PROCESS);
	pb_put_bytes(&t->packet, PACKET_TRACK_DESCRIPTOR, t->part.data, t->part.n);
	put_packet(t);
}

static void put_thread(struct trace *t, size_t thread, uint32_t pid)
{
	const struct stack_thread *x = &t->spans->stacks->threads[thread];

	buf_clear(&t->part);
	pb_put_u64(&t->part, TRACK_UUID, t->track);
	pb_put_u64(&t->part, TRACK_PARENT, pid);
	pb_put_u64(&t->inner, THREAD_PID, pid);
	pb_put_u64(&t->inner, THREAD_TID, x->tid ? x->tid : thread + 1);
	pb_put_text(&t->inner, THREAD_NAME, x->name, strlen(x->name));
	put_inner(t, &t->part, TRACK_THREAD);
	pb_put_bytes(&t->packet, PACKET_TRACK_DESCRIPTOR, t->part.data, t->part.n);
	put_packet(t);
}

static void put_event(struct trace *t, enum event_type type, uint32_t function, uint64_t t_ns)
{
	pb_put_u64(&t->inner, EVENT_TYPE, type);
	pb_put_u64(&t->inner, EVENT_TRACK, t->track);
	if (type == SLICE_BEGIN) {
		pb_put_u64(&t->inner, EVENT_NAME_IID, t->used.index[function] + 1);
		pb_put_u64(&t->inner, EVENT_SOURCE_IID, t->used.index[function] + 1);
	}
	pb_put_u64(&t->packet, PACKET_TIMESTAMP, t_ns);
	put_inner(t, &t->packet, PACKET_TRACK_EVENT);
	pb_put_u64(&t->packet, PACKET_SEQUENCE_FLAGS, NEEDS_STATE);
	put_packet(t);
}

static void begin_slice(void *ctx, uint32_t function, uint64_t t_ns)
{
	put_event(ctx, SLICE_BEGIN, function, t_ns);
}

static void end_slice(void *ctx, uint32_t function, uint64_t t_ns)
{
	put_event(ctx, SLICE_END, function, t_ns);
}

static void put_threads(struct trace *t, const char *command)
{
	const struct stacks *s = t->spans->stacks;
	const struct spans_replay replay = { t, begin_slice, end_slice };

	for (size_t i = 0; i < s->n_threads; i++) {
		uint32_t pid = s->threads[i].pid ? s->threads[i].pid : 1;
		bool is_new = true;

		if (!spans_has_thread(t->spans, i))
			continue;
		for (size_t k = 0; k < i; k++)
			is_new &= s->threads[k].pid != s->threads[i].pid ||
				!spans_has_thread(t->spans, k);
		if (is_new)
			put_process(t, pid, command);
		t->track = ((uint64_t)i + 1) << 32; /* pids are below */
		put_thread(t, i, pid);
		spans_replay(t->spans, i, &replay);
	}
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct trace t = { .a = ARENA_INIT, .out = out };
	int status = spans_build_time(&t.spans, &t.a, s, e);

	if (status == 0) {
		t.used = function_table_build_spans(&t.a, t.spans);
		put_names(&t);
		put_threads(&t, label_command(s));
		status = spans_close(t.spans, e);
	}
	buf_done(&t.packet);
	buf_done(&t.part);
	buf_done(&t.inner);
	arena_done(&t.a);
	return status;
}

const struct format format_perfetto = {
	.name = "perfetto",
	.suffixes = { ".perfetto-trace", ".pftrace" },
	.summary = "a timeline for ui.perfetto.dev: which functions each thread was in, when",
	.write = write,
};
