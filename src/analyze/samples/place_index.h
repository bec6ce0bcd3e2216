/* SPDX-License-Identifier: MIT
 *
 * Places by what they were gathered from, for what tells samples in the order of time: a sample that does not count in the
 * stacks (another thread's, of another time or state, of an idle thread, in a stack that a shape drops) has no place here.
 *
 *	struct place_index p;
 *	place_index_init(&p, stacks, &options, zero_ns);
 *	for (…)
 *		if (place_index_of_sample(&p, sample, on_cpu, &place, &part)) …         stacks->v[place]
 *	place_index_done(&p); */
#ifndef ANALYZE_SAMPLES_PLACE_INDEX_H
#define ANALYZE_SAMPLES_PLACE_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

struct rec_sample;
struct rec_weight;
struct stacks;
struct stacks_options;

struct place_index {
	const struct stacks *s;
	struct intern keys; /* id: place */
	uint64_t from_ns, to_ns;
	const struct stacks_options *o;
};

/* Of stacks that were built with these options (NULL: only places are asked for); zero_ns: where times begin, 0 for another tool's.
 * Both are borrowed. */
void place_index_init(struct place_index *p, const struct stacks *s, const struct stacks_options *o,
	uint64_t zero_ns);
/* on_cpu: weights_on_cpu; *ret_part: stacks_part. */
bool place_index_of_sample(const struct place_index *p, const struct rec_sample *x, double on_cpu,
	size_t *ret, double *ret_part);
bool place_index_of_weight(const struct place_index *p, const struct rec_weight *x, size_t *ret);
/* The one that stands for the same in other stacks of the same recording. */
bool place_index_of_place(
	const struct place_index *p, const struct stacks *from, size_t place, size_t *ret);
void place_index_done(struct place_index *p);

#endif
