/* SPDX-License-Identifier: MIT
 *
 * The operator tables of a PyTorch trace: which operator took how long, itself and with what it called, on the CPU and
 * on the device, and how much memory it took.
 *
 * There are two ways to count, and they share only how calls lie in each other. ops_as_torch counts exactly as
 * torch.profiler's key_averages() does, in the same floating-point steps, so that a table made of it is torch's to the
 * last digit, with its oddities: memory of other threads, negative self times where spans overlap, kernels of a
 * folded call replaced. ops_count counts whole nanoseconds: a moment belongs to the innermost span alone, and the total
 * of a row does not count calls within calls of the same row twice. */
#ifndef ANALYZE_TORCH_TABLE_H
#define ANALYZE_TORCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;

/* How releases of torch differ in what their tables hold. */
struct ops_torch {
	unsigned minor;      /* of 2.x; 1.x counts as 0 */
	bool is_guess;       /* from the trace: no release was named */
	bool python_in_tree; /* Python functions take self time from what called them */
	bool python_rows;    /* and are rows */
	bool short_units;    /* "Kb" and "b" instead of "KB" and "B" */
	bool adds_exactly;   /* sum() of Python 3.12 on carries what rounding lost */
};

/* version: "2.13", "2.13.1"; NULL: guessed by what the trace looks like. False: not a version. */
bool ops_torch_version(const struct op_events *x, const char *version, struct ops_torch *ret);

struct ops_options {
	bool by_shape;
	/* ops_count: a row for each of so many Python functions around the call; 0: not by them */
	unsigned n_stack;
};

/* ops_count: a line of Python and a module that asked for an operator, and what they have of its row. */
struct ops_place {
	/* "train.py(12): step"; "train.py: step" where the line is not known; "": nothing is */
	const char *source;
	const char *module; /* "Linear_0"; "": none, or not known */
	bool is_backward; /* it ran backward; both are of the operator forward that it belongs to */
	uint64_t n_calls;
	double self_cpu_us, cpu_us, self_device_us; /* add up to those of the row */
};

struct ops_row {
	const char *name;
	const char *shapes; /* as Python would print them; "" unless by_shape */
	bool is_device, is_annotation;
	bool is_nested; /* its first call lay in another one */
	uint64_t n_calls;
	double cpu_us, self_cpu_us, device_us, self_device_us;
	int64_t cpu_bytes, self_cpu_bytes, device_bytes, self_device_bytes;
	uint64_t flops; /* 0: none known */

	/* ops_count only. */
	double median_us, p99_us, max_us; /* of a call, on the CPU */
	double waited_us; /* of its own time, at least: ready to run while others had the CPU (waited.h) */
	uint64_t n_launches; /* kernels, copies and fills of its own calls */
	/* Python functions around it, the innermost first, with ';' between them; "" unless by them */
	const char *stack;
	const struct ops_place *places; /* by own time, falling */
	size_t n_places;                /* 0: nothing is known of them */
	/* Those of its places that have at least half of its own time; "": there is none, or it is not known. */
	const char *source, *module;
	double source_share; /* of its own time, where there is a source */
};

struct ops {
	struct ops_row *v; /* in the order of their first calls */
	size_t n;
	double self_cpu_us;    /* of all rows */
	double self_device_us; /* of all that ran on the device */
	bool has_device_time, has_device_memory, has_memory, has_flops, has_shapes;
	bool has_device; /* one was profiled */
	bool has_stack, has_source, has_module;
	/* ops_count: by event, the name of the function or line that asked for it + 1, as in source; 0: not known; NULL: of none */
	const uint32_t *asked;
};

/* The events' tracks are adjusted: a runtime call belongs to the thread of its operator. */
struct ops *ops_as_torch(struct arena *a, struct op_events *x, const struct ops_options *o,
	const struct ops_torch *torch);

/* Operators, annotations and calls of the runtime; what ran on the device counts as that of its operators. */
struct ops *ops_count(struct arena *a, struct op_events *x, const struct ops_options *o);

/* Orders rows, largest first, by one of torch's keys ("self_cuda_time_total"; NULL: as they are), and makes the sums of
 * all rows in that order. False: no such key. */
bool ops_sort(struct ops *ops, const char *key);

#endif
