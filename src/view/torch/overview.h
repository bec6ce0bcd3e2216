/* SPDX-License-Identifier: MIT
 * Pages of a PyTorch trace beside its operators: where the time of the steps went and what to change, the steps one by
 * one, and what ran on the device. */
#ifndef VIEW_TORCH_OVERVIEW_H
#define VIEW_TORCH_OVERVIEW_H

struct buf;
struct advice;
struct op_events;
struct op_kernels;
struct op_slow;
struct op_phases;
struct op_steps;
struct op_streams;
struct ops_view;

void op_overview_print(const struct op_events *x, const struct op_steps *steps,
	const struct op_phases *phases, const struct advice *advice, const struct ops_view *v,
	struct buf *out);
void op_steps_print(const struct op_steps *steps, const struct ops_view *v, struct buf *out);
/* Below the steps: what slow ones had more of; nothing where there are none. */
void op_slow_print(const struct op_slow *slow, const struct op_steps *steps,
	const struct ops_view *v, struct buf *out);
void op_kernels_print(const struct op_kernels *kernels, const struct ops_view *v, struct buf *out);
void op_streams_print(const struct op_streams *streams, const struct ops_view *v, struct buf *out);

/* Without what all kernels of torch begin with: it tells nothing. */
const char *op_kernel_short_name(const char *name);

#endif
