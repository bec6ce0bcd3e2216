/* SPDX-License-Identifier: MIT
 *
 * The modules of the model (nn.Module) in a PyTorch trace, as they called each other: needs Python functions (with_stack=True).
 * A row is a module called from one place of the tree; torch's names tell instances apart ("Linear_0", "Linear_1").
 *
 * Recordings of run --torch have no calls of modules, but the module of each operator. There a row is a module, below the one that has it as
 * an attribute, and times are of operators alone.
 *
 * What autograd did is of the module whose operator it belongs to (backward.h). */
#ifndef ANALYZE_TORCH_MODULES_H
#define ANALYZE_TORCH_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;

struct op_module {
	const char *name; /* "Linear_0" */
	/* as an attribute of the model, "layers.3.qkv"; "": the model itself, or not known */
	const char *path;
	size_t depth;           /* 0: no module called it */
	size_t parent;          /* its row; itself at depth 0 */
	uint64_t n_calls;       /* where op_modules.has_calls */
	double seconds, self_s; /* on the host, forward; self: without the modules it called */
	/* called in it and in no other one inside, operators of operators too */
	uint64_t n_operators;
	double backward_s, self_backward_s; /* on the host */
	double share; /* forward and backward, of the time from the first to the last event */
	/* allocated less released while it ran forward, on all devices */
	int64_t bytes, self_bytes;
	double device_s, self_device_s; /* kernels, copies and fills, forward and backward */
	double self_device_backward_s;  /* the part of self_device_s that is backward */
	uint64_t n_launches, n_self_launches;
};

struct op_modules {
	/* each after its caller, otherwise in the order of first calls */
	const struct op_module *v;
	size_t n;
	bool has_calls; /* were recorded, and times are from call to return; otherwise of operators */
	bool has_device, has_backward, has_memory;
	double outside_device_s; /* of no module: the loss, the optimizer, copies … */
};

const struct op_modules *op_modules_build(struct arena *a, struct op_events *x);

#endif
