/* SPDX-License-Identifier: MIT
 * What a recording says of how PyTorch's operators were collected (`run --torch`), and which of them were not seen. */
#ifndef ANALYZE_TORCH_COLLECTED_H
#define ANALYZE_TORCH_COLLECTED_H

#include <stdbool.h>
#include <stdint.h>

struct tables;

struct op_collected {
	bool is_asked;    /* somebody wanted them */
	char version[40]; /* of torch; "": see cannot */
	char cannot[304]; /* why there are none; "": torch was never imported */
	uint64_t n_operators, n_processes, n_lost;
	uint64_t n_gaps, gap_ns; /* the program's own profiler was on */
	uint64_t n_threads_unseen;
	uint64_t cost_ns; /* of collecting one operator, to the thread that runs it; 0: not known */
	double slowdown;  /* of the thread that ran most of them; UNITS_UNKNOWN */
};

struct op_collected op_collected_build(struct tables *t);

#endif
