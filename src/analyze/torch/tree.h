/* SPDX-License-Identifier: MIT
 *
 * How the spans of a trace lie in each other: their order in time, each one's caller, and what they launched. Nodes
 * are numbers of events; those from tree->n_events on are in `extra`. */
#ifndef ANALYZE_TORCH_TREE_H
#define ANALYZE_TORCH_TREE_H

#include "analyze/torch/events.h"

enum { OPS_NONE = UINT32_MAX };

struct ops_tree {
	struct op_events *x;
	size_t n_events;
	VEC(struct op_event) extra; /* allocations outside of all calls, as spans without length */
	uint32_t *order;            /* nodes by start, the longer first; then as in the file */
	size_t n;
	uint32_t *parent;    /* by node; OPS_NONE: none */
	uint8_t *n_children; /* by node: 0, 1, 2 for more */
	uint8_t *name_flags; /* by name: OPS_NAME_... */
	uint32_t step;       /* the name all steps count under; OPS_NONE: there are none */
	/* by an operator's number less first_link: its node; NULL: nothing is linked */
	uint32_t *owners;
	uint32_t first_link;
	size_t n_owners;
	struct op_sum *memory; /* sums of the allocations up to each; NULL: there are none */
};

enum { OPS_NAME_HIDDEN = 1, OPS_NAME_STEP = 2, OPS_NAME_FLOPS = 4 };

struct op_sum {
	int64_t t_ns;
	int64_t cpu, device;
	uint32_t index; /* in x->memory */
};

/* with_python: Python functions are nodes, too. */
void ops_tree_init(struct ops_tree *t, struct op_events *x, bool with_python);
void ops_tree_done(struct ops_tree *t);

static inline const struct op_event *ops_node(const struct ops_tree *t, uint32_t node)
{
	return node < t->n_events ? &t->x->v.v[node] : &t->extra.v[node - t->n_events];
}

static inline uint32_t ops_name(const struct ops_tree *t, uint32_t name)
{
	return t->name_flags[name] & OPS_NAME_STEP ? t->step : name;
}

/* The operator that a runtime call or something on the device belongs to; OPS_NONE. */
static inline uint32_t ops_owner(const struct ops_tree *t, const struct op_event *e)
{
	if (!e->link || e->category < OP_RUNTIME || e->link < t->first_link ||
		e->link - t->first_link >= t->n_owners)
		return OPS_NONE;
	return t->owners[e->link - t->first_link];
}

/* What was allocated while the span lasted, in any thread. */
void ops_tree_memory(
	const struct ops_tree *t, const struct op_event *e, int64_t *ret_cpu, int64_t *ret_device);

/* Bytes of an allocation on the device, or of others on the CPU; 0 for kinds that torch counts as neither. */
static inline int64_t ops_cpu_bytes(const struct op_memory *m)
{
	return m->device_type == 0 || m->device_type == 2 || m->device_type == 5 ? m->bytes : 0;
}

static inline int64_t ops_device_bytes(const struct op_memory *m)
{
	return m->device_type == 1 || m->device_type == 6 || m->device_type == 12 ||
			m->device_type == 20
		? m->bytes
		: 0;
}

#endif
