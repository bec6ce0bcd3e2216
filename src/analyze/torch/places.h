/* SPDX-License-Identifier: MIT
 *
 * The places that operators were asked for from, a line of Python and a module of the model each, and what of an operator's row they have.
 * What autograd does has the place of the operator forward it goes back to (backward.h), where that is known; otherwise that of the
 * call of backward(). */
#ifndef ANALYZE_TORCH_PLACES_H
#define ANALYZE_TORCH_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/torch/python.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct arena;
struct ops;
struct ops_nest;

struct ops_asked { /* names' numbers + 1; 0: not known */
	uint32_t source, module;
	uint32_t is_backward; /* 1: they are of the operator forward */
};

struct ops_place_sum {
	uint32_t row, asked; /* in keys */
	uint64_t n_calls;
	int64_t self_ns, cpu_ns, device_ns;
};

struct ops_places {
	struct ops_nest *nest;
	struct ops_python python;
	uint32_t *forward;  /* by event: the operator it goes back to + 1; NULL: of none */
	bool *is_one;       /* likewise: its module is known */
	uint32_t *place;    /* by node: in sums + 1; 0: it is in no row */
	struct intern keys; /* struct ops_asked */
	struct map sum_of;  /* row and number in keys → number in sums */
	VEC(struct ops_place_sum) sums;
};

void ops_places_init(struct ops_places *p, struct ops_nest *nest);
void ops_places_done(struct ops_places *p);

/* *ret_who: as ops.asked. */
struct ops_asked ops_places_asked(struct ops_places *p, uint32_t node, uint32_t *ret_who);
/* A call of a row's. is_outer: its time is not that of another call of the row, too. */
void ops_places_add(struct ops_places *p, uint32_t node, uint32_t row,
	const struct ops_asked *asked, bool is_outer);
/* Launched by a node that was added. */
void ops_places_launched(struct ops_places *p, uint32_t node, int64_t ns);

/* Gives the rows their places, and the line and the module that have at least half of their own time. */
void ops_places_tell(struct ops_places *p, struct arena *a, struct ops *ops);

#endif
