/* SPDX-License-Identifier: MIT
 *
 * Numbers of a training: what leadline.torch.step() told, of all processes (ranks) together. */
#ifndef ANALYZE_TORCH_TRAINING_H
#define ANALYZE_TORCH_TRAINING_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct tables;

struct training {
	uint64_t n_steps, n_processes;
	uint64_t samples, tokens; /* 0: not said */
	double steps_per_s;       /* of one process, in the mean */
	double samples_per_s;     /* of all processes together, as the next */
	double tokens_per_s;
	double median_s, p99_s, max_s; /* of a step */
};

/* NULL: no steps were told. */
const struct training *training_build(struct arena *a, struct tables *t);

#endif
