/* SPDX-License-Identifier: MIT
 *
 * How much arithmetic the steps of a PyTorch trace did, and what share of the device's peak that is (model FLOPs utilisation). Counted is
 * what flops_own.h has formulas for. */
#ifndef ANALYZE_TORCH_WORK_H
#define ANALYZE_TORCH_WORK_H

struct arena;
struct op_events;
struct op_steps;

struct op_work {
	double flops;      /* of all steps */
	double per_s;      /* of the steps' time */
	double peak_per_s; /* of the device; NAN: not known */
	const char *peak;  /* which peak, in words; "" */
	double share;      /* of the peak; NAN: not known */
};

/* NULL where nothing is known: no shapes, or no such operator. */
const struct op_work *op_work_build(
	struct arena *a, struct op_events *x, const struct op_steps *steps);

/* The share of the steps' time that collecting their operators took, estimated from what one costs (collected.h); NAN: not known. */
double op_work_collecting(const struct op_events *x, const struct op_steps *steps);

#endif
