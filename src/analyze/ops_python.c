/* SPDX-License-Identifier: MIT
 * See ops_python.h. */
#include "analyze/ops_python.h"

#include <string.h>

#include "analyze/ops_tree.h"
#include "base/buf.h"
#include "base/banned.h"

enum { DEPTH = 1000 }; /* of Python's own stack */

static const char *name_of(const struct ops_python *p, uint32_t node)
{
	return op_events_name(p->tree->x, ops_node(p->tree, node)->name);
}

static bool is_builtin(const char *name)
{
	return strncmp(name, "<built-in", 9) == 0;
}

static bool is_module(const char *name)
{
	return strncmp(name, "nn.Module: ", 11) == 0;
}

/* Of torch itself, or of Python's own library, which the tracer shortens in the same way. */
static bool is_library(const char *name)
{
	return strncmp(name, "torch/", 6) == 0 || strncmp(name, "contextlib.py(", 14) == 0 ||
		strncmp(name, "<string>(", 9) == 0 || strncmp(name, "typing.py(", 10) == 0;
}

void ops_python_done(struct ops_python *p)
{
	intern_done(&p->stacks);
	map_done(&p->stack_of);
}

uint32_t ops_python_stack(struct ops_python *p, uint32_t node, unsigned n)
{
	uint32_t inner = p->around ? p->around[node] : OPS_NONE, up = inner;
	struct buf text = BUF_INIT;
	uint64_t number;

	if (inner == OPS_NONE || !n)
		return 0;
	if (map_find(&p->stack_of, inner, &number))
		return (uint32_t)number;
	for (unsigned i = 0; i < DEPTH && n && up != OPS_NONE; i++, up = p->tree->parent[up]) {
		const char *name = name_of(p, up);

		if (is_builtin(name))
			continue;
		buf_printf(&text, "%s%s", text.n ? ";" : "", name);
		n--;
	}
	number = text.n ? intern_add(&p->stacks, text.data, text.n, NULL) + 1 : 0;
	map_put(&p->stack_of, inner, number);
	buf_done(&text);
	return (uint32_t)number;
}

uint32_t ops_python_source(const struct ops_python *p, uint32_t node)
{
	uint32_t up = p->around ? p->around[node] : OPS_NONE;

	for (unsigned i = 0; i < DEPTH && up != OPS_NONE; i++, up = p->tree->parent[up]) {
		const char *name = name_of(p, up);

		if (!is_builtin(name) && !is_module(name) && !is_library(name))
			return ops_node(p->tree, up)->name;
	}
	return OPS_NONE;
}

uint32_t ops_python_module(const struct ops_python *p, uint32_t node)
{
	uint32_t up = p->around ? p->around[node] : OPS_NONE;

	for (unsigned i = 0; i < DEPTH && up != OPS_NONE; i++, up = p->tree->parent[up])
		if (is_module(name_of(p, up)))
			return ops_node(p->tree, up)->name;
	return OPS_NONE;
}
