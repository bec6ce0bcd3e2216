/* SPDX-License-Identifier: MIT
 *
 * Places by what they were gathered from, for what tells samples in the order of time: a sample that does not count in the
 * stacks (another thread's, of another time or state, of an idle thread, in a stack that a shape drops) has no place here.
 *
 *	struct places p;
 *	places_init(&p, stacks, &options, zero_ns);
 *	for (…)
 *		if (places_of_sample(&p, sample, &place)) …         stacks->v[place]
 *	places_done(&p); */
#ifndef ANALYZE_PLACES_H
#define ANALYZE_PLACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

struct rec_sample;
struct rec_weight;
struct stacks;
struct stacks_options;

struct places {
	const struct stacks *s;
	struct intern keys; /* id: place */
	uint64_t from_ns, to_ns;
	const struct stacks_options *o;
};

/* Of stacks that were built with these options (NULL: only places are asked for); zero_ns: where times begin, 0 for another tool's.
 * Both are borrowed. */
void places_init(
	struct places *p, const struct stacks *s, const struct stacks_options *o, uint64_t zero_ns);
bool places_of_sample(const struct places *p, const struct rec_sample *x, size_t *ret);
bool places_of_weight(const struct places *p, const struct rec_weight *x, size_t *ret);
/* The one that stands for the same in other stacks of the same recording. */
bool places_of_place(const struct places *p, const struct stacks *from, size_t place, size_t *ret);
void places_done(struct places *p);

#endif
