/* SPDX-License-Identifier: MIT
 *
 * Growing array of any type. The vector owns its storage; items are plain values.
 *
 *	VEC(struct process) procs = VEC_INIT;
 *	vec_push(&procs, (struct process){ .pid = 1 });
 *	vec_each(&procs, p) use(p->pid);
 *	vec_done(&procs);
 *
 * Pointers to items are valid until the next push. */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>
#include <stdlib.h>

#include "base/xalloc.h"

#define VEC(type)                   \
	struct {                    \
		type *v;            \
		size_t n, capacity; \
	}
#define VEC_INIT  \
	{         \
		0 \
	}

/* Makes room for `more` further items. */
#define vec_reserve(vec, more)                                                    \
	do {                                                                      \
		if ((vec)->n + (more) > (vec)->capacity) {                        \
			size_t want_ = (vec)->capacity ? (vec)->capacity * 2 : 8; \
			if (want_ < (vec)->n + (more))                            \
				want_ = (vec)->n + (more);                        \
			(vec)->v = xrealloc((vec)->v, want_, sizeof *(vec)->v);   \
			(vec)->capacity = want_;                                  \
		}                                                                 \
	} while (0)

#define vec_push(vec, ...)                            \
	do {                                          \
		vec_reserve((vec), 1);                \
		(vec)->v[(vec)->n++] = (__VA_ARGS__); \
	} while (0)

/* The last item moves into the gap: order is not kept. */
#define vec_remove_swap(vec, index) ((vec)->v[index] = (vec)->v[--(vec)->n])

#define vec_each(vec, item) \
	for (__typeof__((vec)->v) item = (vec)->v; (vec)->n && item < (vec)->v + (vec)->n; item++)

#define vec_clear(vec) ((void)((vec)->n = 0))

#define vec_done(vec)                           \
	do {                                    \
		free((vec)->v);                 \
		(vec)->v = NULL;                \
		(vec)->n = (vec)->capacity = 0; \
	} while (0)

#endif
