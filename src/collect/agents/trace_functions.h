/* SPDX-License-Identifier: MIT
 *
 * The functions of one traced process, as its agent tells them (wire/trace.h): gathered from records that may
 * lie, kept as long as the process, and written as rows of the recording. */
#ifndef COLLECT_AGENTS_TRACE_FUNCTIONS_H
#define COLLECT_AGENTS_TRACE_FUNCTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"

struct sources;
struct writer;

enum {
	TRACE_FUNCTIONS_MOST = 4 << 20,        /* of one process; more are not believed */
	TRACE_FUNCTION_BYTES_MOST = 64 << 20,  /* of one */
	TRACE_FUNCTIONS_BYTES_MOST = 256 << 20 /* of all */
};

struct trace_function;

struct trace_functions {
	VEC(struct trace_function *) all; /* by number; NULL: not told */
	uint64_t n_bytes;
	const char *interpreter; /* borrowed */
	struct sources *sources; /* borrowed, may be NULL */
	unsigned source_process;
};

/* What a node says of its function: rows of the writer's current segment. */
struct trace_function_row {
	uint32_t code, builtin; /* one of them; both 0: not known */
	bool is_own;            /* of the package that traces, not of the program */
};

/* A record of the agent; false when it makes no sense. Kinds that tell no function are ignored. */
bool trace_functions_add(
	struct trace_functions *f, uint16_t kind, const void *data, uint32_t n_bytes);
struct trace_function_row trace_functions_row(
	struct trace_functions *f, uint32_t number, struct writer *w);
void trace_functions_done(struct trace_functions *f);

#endif
