/* SPDX-License-Identifier: MIT
 * See lines.h. The shadow stack is address space of its own: pages no recursion reaches cost
 * nothing, and nothing is allocated while the program runs. */
#include "agent/lines/lines.h"

#include <sys/mman.h>

static size_t stack_bytes(void)
{
	return (LINES_DEPTH_MAX + 1) * sizeof(struct lines_frame);
}

bool leadline_lines_init(struct lines_thread *t, uint64_t *last)
{
	void *p = mmap(NULL, stack_bytes(), PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	*t = (struct lines_thread){ .last = last };
	if (p == MAP_FAILED)
		return false;
	t->bottom = t->top = p; /* its key, NULL, is no activation's */
	t->limit = t->bottom + LINES_DEPTH_MAX + 1;
	return true;
}

void leadline_lines_done(struct lines_thread *t)
{
	if (t->bottom)
		munmap(t->bottom, stack_bytes());
	*t = (struct lines_thread){ 0 };
}

bool leadline_lines_find(struct lines_thread *t, const void *key, uint64_t now)
{
	struct lines_frame *f = t->top;

	while (f != t->bottom && f->key != key)
		f--;
	if (f == t->bottom)
		return false;
	while (t->top != f)
		lines_leave(t, now);
	return true;
}

void leadline_lines_close_all(struct lines_thread *t, uint64_t now)
{
	while (t->top != t->bottom)
		lines_leave(t, now);
}
