/* SPDX-License-Identifier: MIT
 *
 * The phases of a training: which of the time of its process went to imports, to set-up, to steps, to validation between them and to
 * saving. Steps and validation are known by operators; imports and saving by samples of the main thread (or by a trace's own
 * Python functions). Where these are not there, their time is not known and counts for what it lies in.
 *
 * A moment is of one phase only. Outside the steps, saving comes before validation and imports, and what is left is set-up before
 * the first step and OTHER after it. What torch's profiler was not on for is UNSEEN, unless samples tell. */
#ifndef ANALYZE_TORCH_PHASES_H
#define ANALYZE_TORCH_PHASES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;
struct op_steps;

enum op_phase {
	OP_PHASE_IMPORTS,
	OP_PHASE_SET_UP,
	OP_PHASE_TRAINING, /* or steps without a backward pass: is_training */
	OP_PHASE_VALIDATION,
	OP_PHASE_SAVING,
	OP_PHASE_OTHER,
	OP_PHASE_UNSEEN,
	OP_N_PHASES
};

/* "imports" …, NULL after the last; "training" for steps. */
extern const char *const op_phase_names[OP_N_PHASES + 1];

struct op_phase_span {
	int64_t start_ns, end_ns; /* as of operators */
	enum op_phase phase;
};

struct op_phases {
	uint32_t pid;
	bool is_training;
	bool has_imports, has_saving; /* they are known, though there may be none */
	double seconds[OP_N_PHASES];
	size_t n_times[OP_N_PHASES];   /* stretches; of training: steps */
	uint64_t n_passes;             /* of validation, about; 0: not known */
	const struct op_phase_span *v; /* in the order of time, from the first moment to the last */
	size_t n;
};

/* NULL: no steps were found, so there is nothing to tell apart. */
const struct op_phases *op_phases_build(
	struct arena *a, const struct op_events *x, const struct op_steps *steps);

/* "training" only of a training, "steps" of either; false: there is none of that name. */
bool op_phases_find(const struct op_phases *p, const char *name, enum op_phase *ret);

#endif
