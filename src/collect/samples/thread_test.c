/* SPDX-License-Identifier: MIT
 * Which bytes of the newest chunk a look copied between its two readings of the top: the walker believes only
 * those of frames that the thread may just have left. On a memory made by hand whose thread takes a new chunk,
 * grows in it and gives it back. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "collect/samples/code.h"
#include "collect/samples/thread.h"
#include "cpython/layout.h"
#include "cpython/mem.h"
#include "wire/py_layout.h"

enum {
	BASE = 0x10000,
	THREAD = BASE,
	FIRST = BASE + 0x1000,
	SECOND = BASE + 0x6000,
	CHUNK = 0x4000, /* bytes of each */
	ALL = 0xc000,
};

struct rig {
	struct py_layout l;
	struct mem mem;
	struct py_view view;
	struct py_thread *t;
	struct walk *walk;
	/* bytes of the first chunk in use from the next copy on, after the top was asked for; 0: as it is */
	uint64_t grows_to;
	unsigned char bytes[ALL];
};

static void stand(struct rig *r, uint64_t chunk, uint64_t used);

static int read_rig(void *ctx, uint64_t address, void *to, size_t n)
{
	const struct rig *r = ctx;

	if (address < BASE || address - BASE > ALL || n > ALL - (address - BASE))
		return -EFAULT;
	memcpy(to, r->bytes + (address - BASE), n);
	return 0;
}

static ssize_t readv_rig(void *ctx, const struct iovec *to, const struct iovec *from, size_t n)
{
	struct rig *r = ctx;
	ssize_t all = 0;

	if (r->grows_to)
		stand(r, FIRST, r->grows_to);
	for (size_t i = 0; i < n; i++) {
		if (read_rig(ctx, (uintptr_t)from[i].iov_base, to[i].iov_base, to[i].iov_len) < 0)
			return all ? all : -EFAULT;
		all += (ssize_t)to[i].iov_len;
	}
	return all;
}

static void put(struct rig *r, uint64_t address, uint64_t value)
{
	memcpy(r->bytes + (address - BASE), &value, sizeof value);
}

static void put_chunk(struct rig *r, uint64_t address, uint64_t previous)
{
	put(r, address + r->l.chunk_previous, previous);
	put(r, address + r->l.chunk_size, CHUNK);
}

/* The thread's stack ends in this chunk, after `used` bytes of it. */
static void stand(struct rig *r, uint64_t chunk, uint64_t used)
{
	put(r, THREAD + r->l.thread_datastack_chunk, chunk);
	put(r, THREAD + r->l.thread_datastack_top, chunk + used);
}

static int begin(void **state)
{
	struct rig *r = xcalloc(1, sizeof *r);
	struct err e = ERR_INIT;

	assert_int_equal(layout_from_version(&r->l, 0x030c01f0, &e), 0);
	r->mem = (struct mem){ read_rig, readv_rig, r };
	r->view = (struct py_view){ .l = &r->l, .mem = &r->mem };
	r->view.codes = py_codes_new(&r->l, &r->mem, "3.12");
	put_chunk(r, FIRST, 0);
	put_chunk(r, SECOND, FIRST);
	stand(r, FIRST, 0x400);
	r->t = xcalloc(1, sizeof *r->t);
	r->walk = xcalloc(1, sizeof *r->walk);
	py_thread_init(r->t, &r->view, THREAD, r->bytes);
	*state = r;
	return 0;
}

static int end(void **state)
{
	struct rig *r = *state;

	py_thread_done(r->t);
	py_codes_free(r->view.codes);
	free(r->t);
	free(r->walk);
	free(r);
	return 0;
}

static void look(struct rig *r)
{
	assert_int_not_equal(py_thread_look(r->t, &r->view, r->walk), PY_LOOK_FAILED);
}

static void a_chunk_that_is_known_is_copied_at_once(void **state)
{
	struct rig *r = *state;

	look(r);
	look(r);
	assert_int_equal(r->t->n_chunks, 1);
	assert_true(r->t->n_at_once >= 0x400 && r->t->n_at_once < CHUNK);
}

static void what_a_stack_grew_by_is_copied_late(void **state)
{
	struct rig *r = *state;

	look(r);
	look(r);
	r->grows_to = 0x3000;
	look(r);
	assert_true(r->t->n_at_once < 0x3000 && r->t->chunks[0].n >= 0x3000);
	look(r);
	assert_true(r->t->n_at_once >= 0x3000);
}

static void a_new_chunk_is_copied_late_as_a_whole(void **state)
{
	struct rig *r = *state;

	look(r);
	look(r);
	stand(r, SECOND, 0x200);
	look(r);
	assert_int_equal(r->t->n_chunks, 2);
	assert_int_equal(r->t->n_at_once, 0);
	assert_true(r->t->chunks[1].n >= 0x200);
	look(r);
	assert_true(r->t->n_at_once >= 0x200);
}

/* Given back during the look: the older chunk was planned, and copied, before both. */
static void an_older_chunk_was_copied_early_as_a_whole(void **state)
{
	struct rig *r = *state;

	stand(r, SECOND, 0x200);
	look(r);
	look(r);
	stand(r, FIRST, 0x3f00);
	look(r);
	assert_int_equal(r->t->n_chunks, 1);
	assert_int_equal(r->t->n_at_once, CHUNK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_chunk_that_is_known_is_copied_at_once, begin, end),
		cmocka_unit_test_setup_teardown(what_a_stack_grew_by_is_copied_late, begin, end),
		cmocka_unit_test_setup_teardown(a_new_chunk_is_copied_late_as_a_whole, begin, end),
		cmocka_unit_test_setup_teardown(
			an_older_chunk_was_copied_early_as_a_whole, begin, end),
	};

	return cmocka_run_group_tests_name("py_thread", tests, NULL, NULL);
}
