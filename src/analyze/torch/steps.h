/* SPDX-License-Identifier: MIT
 *
 * The steps of a training in a PyTorch trace, and what each of their moments went to. A moment belongs to one part only: to
 * the first of enum op_part that anything ran of at that moment, on whatever thread or stream; what remains is OTHER. Without a
 * device, communication is passed over while an operator computes (computing.h): it is what nothing covers.
 *
 * A step is what torch.profiler marked as ProfilerStep#N, or what op_periods finds, until the last kernel launched in it has ended,
 * without what the step before it still holds; a trace in which nothing is found is one step. Steps are of one process, and what
 * others ran meanwhile on the host is no part of them. */
#ifndef ANALYZE_TORCH_STEPS_H
#define ANALYZE_TORCH_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/torch/periods.h"

struct arena;
struct op_events;

enum op_part {
	OP_PART_KERNEL,
	OP_PART_COPY,
	OP_PART_SET,
	OP_PART_COMMUNICATION,
	OP_PART_RUNTIME,
	OP_PART_DATALOADER,
	OP_PART_COMPILE, /* torch.compile at work */
	OP_PART_CPU,
	OP_PART_OTHER,
	OP_N_PARTS
};

extern const char *const op_part_names[OP_N_PARTS];

struct op_step {
	const char *name; /* "ProfilerStep#3"; "step 3"; "all" */
	int64_t start_ns, end_ns;
	int64_t host_start_ns, host_end_ns; /* as marked or found */
	double parts_s[OP_N_PARTS];         /* together its length */
};

struct op_steps {
	const struct op_step *v; /* in the order of time */
	size_t n;
	enum op_steps_how how;
	bool is_marked; /* by torch.profiler */
	double seconds; /* of all steps */
	double parts_s[OP_N_PARTS];
	double median_s, p99_s, max_s;     /* of a step */
	double median_parts_s[OP_N_PARTS]; /* each part's own */

	uint32_t pid;         /* whose steps; 0: not known */
	unsigned n_processes; /* that make steps so; the others' are not among these */
	unsigned n_calls;     /* of optimizers in a step; 0: not known */
	unsigned n_micro;     /* batches whose gradients a step adds up; 0: not known */
	bool is_training;     /* with backward passes, or an optimizer */
	const struct op_validation *validations; /* between steps, in the order of time */
	size_t n_validations;

	/* On the device, of all events. */
	double busy_s;        /* a kernel, copy or fill ran, within steps */
	double kernel_s;      /* kernels, all streams added up */
	double tensor_core_s; /* of those, kernels known to use tensor cores */
	double sm_efficiency; /* share of the steps; NAN: not known */
	double occupancy;     /* share, by kernel time; NAN: not known */
	double peak_share;    /* of the device's memory; NAN: not known */
	uint64_t peak_bytes;  /* most that was allocated on a device; 0: not known */
};

const struct op_steps *op_steps_build(struct arena *a, struct op_events *x);

/* By name: communication between processes; tensor cores (of all generations up to Blackwell, as known in 2026). */
bool op_is_communication(const char *name);
bool op_uses_tensor_cores(const char *kernel);

#endif
