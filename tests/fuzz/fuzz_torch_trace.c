/* SPDX-License-Identifier: MIT
 * Trace events against anything: reading, counting both ways and printing must not crash, our own count has no negative
 * times, a recording made of a trace gives back its events, and in its stacks no thread is in two places at a time. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "analyze/torch/events.h"
#include "analyze/torch/record.h"
#include "analyze/torch/stacks.h"
#include "analyze/torch/event_json.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/input.h"
#include "formats/torch/trace.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "look_at_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void check_same(const struct op_events *x, const struct op_events *y)
{
	if (x->v.n != y->v.n || x->memory.n != y->memory.n || x->marks.n != y->marks.n ||
		x->zero_ns != y->zero_ns || x->numbers.n != y->numbers.n)
		abort();
	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *a = &x->v.v[i], *b = &y->v.v[i];
		struct buf first = BUF_INIT, second = BUF_INIT;

		if (a->start_ns != b->start_ns || a->duration_ns != b->duration_ns ||
			a->link != b->link || a->category != b->category ||
			a->detail != b->detail ||
			strcmp(op_events_name(x, a->name), op_events_name(y, b->name)) != 0)
			abort();
		op_event_json_print(x, i, &first);
		op_event_json_print(y, i, &second);
		if (strcmp(buf_str(&first), buf_str(&second)) != 0)
			abort();
		buf_done(&first);
		buf_done(&second);
	}
}

static void record(const struct op_events *x)
{
	struct op_events y = { .keeps_all = true };
	struct err e = ERR_INIT;
	struct writer *w;
	struct reader *r;
	struct tables *t;
	int fd;

	if (writer_open(&w, NULL, NULL, &e) < 0)
		abort();
	op_record_write(x, w);
	if (writer_close_keep_fd(w, &fd, &e) < 0 || reader_open_fd(&r, fd, "x", &e) < 0 ||
		tables_load(&t, r, &e) < 0 || op_record_read(t, &y, &e) < 0)
		abort();
	check_same(x, &y);
	tables_free(t);
	reader_close(r);
	op_events_done(&y);
}

/* Spans further apart than 2^63 ns end there. */
static void check_weights(struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_weight);
	uint64_t end = 0;
	uint32_t thread = 0;

	for (const struct rec_weight *w; (w = record_next(&it));) {
		if (w->thread != thread)
			end = 0;
		if (!w->value || w->value > INT64_MAX || w->t_ns > INT64_MAX ||
			(w->t_ns < end && w->t_ns + w->value < INT64_MAX))
			abort();
		thread = w->thread;
		end = w->t_ns + w->value;
	}
	record_iter_done(&it);
}

static void stack_up(const struct op_events *x)
{
	static const struct stacks_options all = { 0 };
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct reader *r = NULL;
	struct tables *t = NULL;

	if (op_stacks_open(&r, x, "x", &e) < 0) {
		if (x->v.n || x->others.n_spans)
			abort();
		return;
	}
	if (tables_load(&t, r, &e) < 0)
		abort();
	check_weights(t);
	profile_build(&a, stacks_build(&a, t, &all));
	tables_free(t);
	reader_close(r);
	arena_done(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct op_events x = { .keeps_all = true };
	struct err e = ERR_INIT;
	struct input in;
	int fd = memfd_create("trace", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, n) != (ssize_t)n || lseek(fd, 0, SEEK_SET) != 0)
		abort();
	input_init(&in, fd);
	if (torch_trace_read_any(&in, &x, &e) == 0) {
		stack_up(&x);
		if (torch_trace_check(&x, &e) == 0) {
			look_at_all_ops(&x);
			record(&x);
		}
	}
	input_done(&in);
	op_events_done(&x);
	return 0;
}
