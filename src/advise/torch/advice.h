/* SPDX-License-Identifier: MIT
 *
 * What a PyTorch trace says should be changed, as findings: rules (rule.h), each with the figure it looks at, the threshold from
 * which on it speaks, and a page in docs/advice. A rule that lacks its data says nothing.
 *
 * A finding has a file and line where one of them asked for at least half of its time: the line itself in light recordings
 * (run --torch), the first line of the function where Python functions were traced (no line of one that was running when
 * profiling began). It is a heuristic, whatever its rule can claim,
 * where the trace has fewer than OP_ADVICE_STEPS steps, or events of it are missing. */
#ifndef ADVISE_TORCH_ADVICE_H
#define ADVISE_TORCH_ADVICE_H

struct advice;
struct arena;
struct op_events;
struct op_host;
struct op_kernels;
struct op_steps;
struct ops;
struct torch;

enum { OP_ADVICE_STEPS = 3 }; /* from so many on, one that is unlike the others does not decide */

/* Made when first asked for, as other results of a trace are, and kept with them. */
const struct advice *torch_advice(struct torch *t);

/* ops: as ops_count makes them; host: what the recording says beside its operators, NULL: nothing. */
const struct advice *op_advice_build(struct arena *a, struct op_events *x,
	const struct op_steps *steps, const struct op_kernels *kernels, const struct ops *ops,
	const struct op_host *host);

#endif
