/* SPDX-License-Identifier: MIT
 * See python.h. */
#include "analyze/torch/python.h"

#include <string.h>

#include "analyze/torch/tree.h"
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
	static const char *const begin[] = { "torch/", "contextlib.py(", "<string>(", "typing.py(",
		"functools.py(", "<frozen " };

	for (size_t i = 0; i < sizeof begin / sizeof *begin; i++)
		if (strncmp(name, begin[i], strlen(begin[i])) == 0)
			return true;
	return strstr(name, "/site-packages/torch/") != NULL;
}

void ops_python_done(struct ops_python *p)
{
	intern_done(&p->stacks);
	map_done(&p->stack_of);
	map_done(&p->source_of);
	map_done(&p->bare);
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

uint32_t ops_python_without_line(struct ops_python *p, uint32_t name)
{
	const char *text = op_events_name(p->tree->x, name), *open = NULL, *close = NULL;
	struct buf bare = BUF_INIT;
	uint64_t known;

	if (map_find(&p->bare, name, &known))
		return (uint32_t)known;
	for (const char *at = strchr(text, '('); at && !close; at = strchr(at + 1, '(')) {
		size_t n = strspn(at + 1, "0123456789");

		if (n && strncmp(at + 1 + n, "): ", 3) == 0) {
			open = at;
			close = at + 1 + n;
		}
	}
	if (close)
		buf_printf(&bare, "%.*s%s", (int)(open - text), text, close + 1);
	else
		buf_adds(&bare, text);
	known = intern_add(&p->tree->x->names, bare.data, bare.n, NULL);
	map_put(&p->bare, name, known);
	buf_done(&bare);
	return (uint32_t)known;
}

/* From where a function was called, as its trace tells; OPS_NONE where it does not. "train.py(12)" alone is in the function around it. */
static uint32_t called_from(struct ops_python *p, uint32_t node)
{
	struct op_events *x = p->tree->x;
	uint32_t name =
		node < x->sources.n && x->sources.v[node] ? x->sources.v[node] - 1 : OPS_NONE;
	const char *outer =
		p->tree->parent[node] == OPS_NONE ? "" : name_of(p, p->tree->parent[node]);
	const char *function = strstr(outer, "): ");
	struct buf text = BUF_INIT;

	if (name == OPS_NONE || strstr(op_events_name(x, name), "): "))
		return name;
	buf_printf(&text, "%s: %s", op_events_name(x, name), function ? function + 3 : "?");
	name = intern_add(&x->names, text.data, text.n, NULL);
	buf_done(&text);
	return name;
}

static struct ops_source find_source(struct ops_python *p, uint32_t up)
{
	for (unsigned i = 0; i < DEPTH && up != OPS_NONE; i++, up = p->tree->parent[up]) {
		const char *name = name_of(p, up);
		uint32_t from;

		if (!is_builtin(name) && !is_module(name) && !is_library(name))
			return (struct ops_source){ ops_node(p->tree, up)->name, true };
		from = called_from(p, up);
		if (from != OPS_NONE && !is_library(op_events_name(p->tree->x, from)))
			return (struct ops_source){ from, false };
	}
	return (struct ops_source){ OPS_NONE, false };
}

struct ops_source ops_python_source(struct ops_python *p, uint32_t node)
{
	uint32_t up = p->around ? p->around[node] : OPS_NONE;
	struct ops_source x = { OPS_NONE, false };
	uint64_t known;

	if (up == OPS_NONE)
		return x;
	if (map_find(&p->source_of, up, &known))
		return (struct ops_source){ (uint32_t)known, known >> 32 };
	x = find_source(p, up);
	map_put(&p->source_of, up, (uint64_t)x.is_function << 32 | x.name);
	return x;
}

uint32_t ops_python_module(const struct ops_python *p, uint32_t node)
{
	uint32_t up = p->around ? p->around[node] : OPS_NONE;

	for (unsigned i = 0; i < DEPTH && up != OPS_NONE; i++, up = p->tree->parent[up])
		if (is_module(name_of(p, up)))
			return ops_node(p->tree, up)->name;
	return OPS_NONE;
}
