/* SPDX-License-Identifier: MIT
 *
 * The options that say what of a recording is meant, for every command that shows one.
 *
 *	struct options {
 *		struct choosing choosing;      of this name
 *		…
 *	};
 *	static const struct opt table[] = { CHOOSING_ROWS, … };         FIELD(f) is offsetof(struct options, f)
 *
 *	choosing_parse(&o.choosing, &choice, &e);                        after opts_parse */
#ifndef CMD_CHOOSING_H
#define CMD_CHOOSING_H

#include <stdbool.h>
#include <stdint.h>

#include "analyze/memory/memory.h"

struct choice;
struct err;

struct choosing {
	const char *thread, *process, *filter, *phase, *memory_view;
	uint64_t from_ns, to_ns;
	int state;
	bool only_mine, idle, imports, has_to, memory;
};

#define CHOOSING_STATE                                                                             \
	{                                                                                          \
		.name = "state", .kind = OPT_CHOICE, .value = "STATE",                             \
		.help = "which samples count (all, on-CPU, holding the GIL, off-CPU, waiting for " \
			"a CPU)",                                                                  \
		.offset = FIELD(choosing.state), .choices = choice_states                          \
	}
#define CHOOSING_IDLE                                                        \
	{                                                                    \
		.name = "idle", .kind = OPT_FLAG,                            \
		.help = "also count idle threads, which only wait for work", \
		.offset = FIELD(choosing.idle)                               \
	}
#define CHOOSING_IMPORTS                                                           \
	{                                                                          \
		.name = "imports", .kind = OPT_FLAG,                               \
		.help = "show imports function by function instead of in one row", \
		.offset = FIELD(choosing.imports)                                  \
	}
#define CHOOSING_ONLY_MINE                                                                   \
	{                                                                                    \
		.heading = "What counts", .name = "only-mine", .kind = OPT_FLAG,             \
		.help = "hide library code; its time counts as self time of your code that " \
			"called it",                                                         \
		.offset = FIELD(choosing.only_mine)                                          \
	}
#define CHOOSING_PHASE                                                                       \
	{                                                                                    \
		.name = "phase", .kind = OPT_STRING, .value = "NAME",                        \
		.help = "count only this phase of a PyTorch training run: imports, set-up, " \
			"training, validation, saving or other",                             \
		.offset = FIELD(choosing.phase)                                              \
	}
/* Of commands that show one thing; report has an option of its own. */
#define CHOOSING_MEMORY                                                                               \
	{                                                                                             \
		.name = "memory", .kind = OPT_STRING, .value = "VIEW", .optional_value = true,        \
		.help = "bytes that were allocated (run --memory) instead of time: =peak (default), " \
			"=growth, =leaks or =churn",                                                  \
		.offset = FIELD(choosing.memory_view), .given_offset = FIELD(choosing.memory)         \
	}
#define CHOOSING_ROWS                                                                            \
	CHOOSING_ONLY_MINE,                                                                      \
		{ .name = "filter",                                                              \
			.kind = OPT_STRING,                                                      \
			.value = "RE",                                                           \
			.help = "show only rows whose \"qualname (file:line)\" matches; shares " \
				"still refer to everything",                                     \
			.offset = FIELD(choosing.filter) },                                      \
		{ .name = "thread",                                                              \
			.kind = OPT_STRING,                                                      \
			.value = "LIST",                                                         \
			.help = "count only these threads: tids, numbers such as #1, or names, " \
				"separated by commas",                                           \
			.offset = FIELD(choosing.thread) },                                      \
		{ .name = "process",                                                             \
			.kind = OPT_STRING,                                                      \
			.value = "LIST",                                                         \
			.help = "count only these processes: pids, separated by commas",         \
			.offset = FIELD(choosing.process) },                                     \
		CHOOSING_STATE, CHOOSING_IDLE, CHOOSING_IMPORTS, CHOOSING_PHASE,                 \
		{ .name = "from",                                                                \
			.kind = OPT_DURATION,                                                    \
			.value = "T",                                                            \
			.help = "begin this long after the start: 1.5s, 200ms, 2m",              \
			.offset = FIELD(choosing.from_ns) },                                     \
	{                                                                                        \
		.name = "to", .kind = OPT_DURATION, .value = "T",                                \
		.help = "end this long after the start", .offset = FIELD(choosing.to_ns),        \
		.given_offset = FIELD(choosing.has_to)                                           \
	}

/* Whether any of them was given. */
bool choosing_is_any(const struct choosing *o);
/* By its name; "" or NULL: MEMORY_NONE. */
int choosing_memory(const char *view, enum memory_view *ret, struct err *e);
/* The filter is left to whoever shows rows, or chooses stacks by it. */
int choosing_parse(const struct choosing *o, struct choice *ret, struct err *e);

#endif
