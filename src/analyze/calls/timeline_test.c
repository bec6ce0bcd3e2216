/* SPDX-License-Identifier: MIT
 * Calls in the order of time, on blocks made by hand. Functions are letters; what a visitor is told is a text:
 * "a5 b6 /b8 /a9" is a call of a at 5 ns, in it one of b from 6 to 8. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/calls/timeline.h"
#include "analyze/code/frames.h"
#include "analyze/samples/stacks_rig.h"
#include "base/buf.h"
#include "store/writer.h"
#include "wire/events.h"
#include "wire/records.h"

enum { IMAGE = 3, BASE = 1000 };

struct block {
	unsigned char bytes[256];
	size_t n;
	uint32_t first_ref, ref, n_events;
};

static void put(struct block *b, uint64_t v)
{
	b->n = (size_t)(event_put_varint(b->bytes + b->n, v) - b->bytes);
}

static void begin(struct block *b, unsigned ticks, char function, enum event_how how)
{
	uint32_t ref = (uint32_t)function;

	put(b, ticks);
	put(b, (uint64_t)event_zigzag((int32_t)(ref - b->ref)) << EVENT_HOW_BITS | how);
	b->ref = ref;
	b->n_events++;
}

static void end(struct block *b, unsigned ticks)
{
	put(b, ticks | 1);
	b->n_events++;
}

static void add(struct rig *m, size_t thread, uint64_t t_ns, uint64_t sequence, uint32_t depth,
	const struct block *b)
{
	struct rec_call_events r = { .t_ns = t_ns,
		.thread = m->threads[thread],
		.image = IMAGE,
		.sequence = sequence,
		.tick = (uint64_t)1 << 32,
		.depth = depth,
		.ref = b->first_ref,
		.n_events = b->n_events,
		.events = { b->bytes, (uint32_t)b->n } };

	writer_add(m->w, RECORD_call_events, &r);
}

static void add_node(struct rig *m, char function)
{
	rig_node(m, 0, function,
		(struct rec_node){ .id = (uint32_t)function,
			.calls = 1,
			.place = (uint64_t)IMAGE << 32 | (uint32_t)function });
}

struct told {
	struct frames *frames;
	struct buf text;
};

static void on_begin(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct told *t = ctx;

	buf_printf(&t->text, "%s%s%u", t->text.n ? " " : "",
		frames_function(t->frames, function)->name, (unsigned)(t_ns - BASE));
}

static void on_end(void *ctx, uint32_t function, uint64_t t_ns)
{
	struct told *t = ctx;

	buf_printf(&t->text, " /%s%u", frames_function(t->frames, function)->name,
		(unsigned)(t_ns - BASE));
}

static const struct timeline *build(struct rig *m, struct told *t)
{
	rig_finish(m);
	*t = (struct told){ .frames = frames_new(&m->arena, m->tables) };
	return timeline_build(&m->arena, m->tables, t->frames);
}

static void assert_told(struct told *t, const struct timeline *l, size_t thread,
	struct timeline_window w, const char *wanted)
{
	struct timeline_visitor v = { .ctx = t, .begin = on_begin, .end = on_end };

	buf_clear(&t->text);
	timeline_visit(l, l->threads[thread].row, &w, &v);
	assert_string_equal(buf_str(&t->text), wanted);
}

/* a [2, 22): b [4, 8), generator g [10, 12) and [14, 16) */
static void add_plain(struct rig *m)
{
	struct block one = { 0 }, two = { .first_ref = 'b', .ref = 'b' };

	begin(&one, 2, 'a', EVENT_CALL);
	begin(&one, 2, 'b', EVENT_CALL);
	end(&one, 4);
	begin(&two, 2, 'g', EVENT_CALL);
	end(&two, 2);
	begin(&two, 2, 'g', EVENT_RESUME);
	end(&two, 2);
	end(&two, 6);
	add(m, 0, BASE, 1, 0, &one);
	add(m, 0, BASE + 8, 2, 1, &two);
	add_node(m, 'a');
	add_node(m, 'b');
	add_node(m, 'g');
}

static void test_spans(void **state)
{
	struct told t;
	const struct timeline *l;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_plain(&m);
	l = build(&m, &t);
	assert_int_equal(l->n_threads, 1);
	assert_int_equal(l->n_events, 8);
	assert_int_equal(l->threads[0].n_calls, 3);
	assert_int_equal(l->threads[0].n_resumes, 1);
	assert_int_equal(l->threads[0].n_ends, 4);
	assert_int_equal(l->threads[0].n_gaps, 0);
	assert_int_equal(l->threads[0].deepest, 2);
	assert_int_equal(l->threads[0].t_ns, BASE);
	assert_int_equal(l->threads[0].end_ns, BASE + 22);
	assert_told(&t, l, 0, (struct timeline_window){ 0 }, "a2 b4 /b8 g10 /g12 g14 /g16 /a22");
	buf_done(&t.text);
	rig_done(&m);
}

static void test_window(void **state)
{
	struct told t;
	const struct timeline *l;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_plain(&m);
	l = build(&m, &t);
	/* What began before has its true begin, what goes on behind ends with the window. */
	assert_told(&t, l, 0, (struct timeline_window){ BASE + 9, BASE + 15 },
		"a2 g10 /g12 g14 /g15 /a15");
	assert_told(&t, l, 0, (struct timeline_window){ BASE + 5, BASE + 7 }, "a2 b4 /b7 /a7");
	assert_told(&t, l, 0, (struct timeline_window){ BASE + 17, 0 }, "a2 /a22");
	assert_told(&t, l, 0, (struct timeline_window){ BASE + 30, 0 }, "");
	buf_done(&t.text);
	rig_done(&m);
}

/* A block is missing: two unknown calls are open, nothing of them is told; what is open at the end ends. */
static void test_gap(void **state)
{
	struct block one = { 0 }, three = { 0 };
	struct told t;
	const struct timeline *l;
	struct rig m;

	(void)state;
	rig_begin(&m);
	begin(&one, 2, 'a', EVENT_SEEN);
	begin(&three, 2, 'b', EVENT_CALL);
	end(&three, 2);
	end(&three, 2);
	begin(&three, 2, 'b', EVENT_CALL);
	begin(&three, 2, 'x', EVENT_CALL); /* has no node */
	end(&three, 2);
	add(&m, 0, BASE, 1, 0, &one);
	add(&m, 0, BASE + 10, 3, 2, &three);
	add_node(&m, 'a');
	add_node(&m, 'b');
	l = build(&m, &t);
	assert_int_equal(l->threads[0].n_gaps, 1);
	assert_int_equal(l->threads[0].n_seen, 1);
	assert_told(&t, l, 0, (struct timeline_window){ 0 }, "a2 /a2 b12 /b14 b18 /b22");
	buf_done(&t.text);
	rig_done(&m);
}

/* Ends without begins, times that run over, varints without end, references to nowhere. */
static void test_nonsense(void **state)
{
	struct block bad = { 0 };
	struct told t;
	const struct timeline *l;
	struct rig m;

	(void)state;
	rig_begin(&m);
	end(&bad, 2);
	begin(&bad, 2, 'b', 3);
	put(&bad, UINT64_MAX - 1);
	put(&bad, UINT64_MAX);
	memset(bad.bytes + bad.n, 0xff, 12);
	bad.n += 12;
	add(&m, 1, BASE, 7, UINT32_MAX, &bad);
	add_node(&m, 'b');
	l = build(&m, &t);
	assert_int_equal(l->n_threads, 1);
	assert_int_equal(l->threads[0].n_ends, 1);
	timeline_visit(l, l->threads[0].row, &(struct timeline_window){ 0 },
		&(struct timeline_visitor){ .ctx = &t, .begin = on_begin, .end = on_end });
	buf_done(&t.text);
	rig_done(&m);
}

static void test_none(void **state)
{
	struct told t;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_node(&m, 'a');
	assert_null(build(&m, &t));
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_window),
		cmocka_unit_test(test_gap),
		cmocka_unit_test(test_nonsense),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
