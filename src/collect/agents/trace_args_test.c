/* SPDX-License-Identifier: MIT
 * trace_args: sketches in memories made by hand, right ones and others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "collect/agents/trace_args.h"

struct granule {
	struct trace_granule head;
	struct args_sketch sketch;
	unsigned char rest[TRACE_GRANULE_BYTES - sizeof(struct trace_granule) -
		sizeof(struct args_sketch)];
};

static void count(void *ctx, int32_t tid, const struct args_sketch *s)
{
	assert_int_equal(tid, 7);
	assert_int_equal(s->function, 3);
	assert_true(strnlen(s->frequent[0].text, ARGS_TEXT) < ARGS_TEXT);
	++*(int *)ctx;
}

static int found(const struct granule *g, size_t n_bytes)
{
	struct buf area = BUF_INIT;
	int n = 0;

	buf_add(&area, g, n_bytes);
	trace_args_each(&area, count, &n);
	buf_done(&area);
	return n;
}

static void only_what_is_whole_and_sound_is_taken(void **state)
{
	struct granule g = {
		.head = { .magic = TRACE_GRANULE_MAGIC, .kind = TRACE_GRANULE_ARGS, .tid = 7 },
		.sketch = { .function = 3 }
	};

	(void)state;
	memset(g.sketch.frequent[0].text, 'x', ARGS_TEXT); /* does not end */
	assert_int_equal(found(&g, sizeof g), 1);
	assert_int_equal(found(&g, sizeof g - 1), 0);
	g.sketch.level = ARGS_LEVEL_MAX + 1;
	assert_int_equal(found(&g, sizeof g), 0);
	g.sketch.level = 0;
	g.head.kind = TRACE_GRANULE_NODES;
	assert_int_equal(found(&g, sizeof g), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_is_whole_and_sound_is_taken),
	};

	return cmocka_run_group_tests_name("collect/agents/trace_args", tests, NULL, NULL);
}
