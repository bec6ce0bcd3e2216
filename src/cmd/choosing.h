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

struct choice;
struct err;

struct choosing {
	const char *thread, *process, *filter;
	uint64_t from_ns, to_ns;
	int state;
	bool only_mine, idle, has_to;
};

#define CHOOSING_STATE                                                                       \
	{                                                                                    \
		0, "state", OPT_CHOICE, "STATE", false,                                      \
			"count samples of all time, on a CPU, holding the GIL, or not on a " \
			"CPU",                                                               \
			FIELD(choosing.state), SIZE_MAX, choice_states                       \
	}
#define CHOOSING_IDLE                                                                           \
	{                                                                                       \
		0, "idle", OPT_FLAG, NULL, false, "count threads that only wait for work, too", \
			FIELD(choosing.idle), SIZE_MAX, NULL                                    \
	}
#define CHOOSING_ONLY_MINE                                                                      \
	{                                                                                       \
		0, "only-mine", OPT_FLAG, NULL, false,                                          \
			"leave out library code; its time counts as self of the code of yours " \
			"that called it",                                                       \
			FIELD(choosing.only_mine), SIZE_MAX, NULL                               \
	}
#define CHOOSING_ROWS                                                                             \
	CHOOSING_ONLY_MINE,                                                                       \
		{ 0, "filter", OPT_STRING, "RE", false,                                           \
			"show rows whose \"qualname (file:line)\" matches; shares stay those of " \
			"all",                                                                    \
			FIELD(choosing.filter), SIZE_MAX, NULL },                                 \
		{ 0, "thread", OPT_STRING, "LIST", false,                                         \
			"count only these threads: tids, numbers as #1, names; with commas",      \
			FIELD(choosing.thread), SIZE_MAX, NULL },                                 \
		{ 0, "process", OPT_STRING, "LIST", false,                                        \
			"count only these processes: pids, with commas", FIELD(choosing.process), \
			SIZE_MAX, NULL },                                                         \
		CHOOSING_STATE, CHOOSING_IDLE,                                                    \
		{ 0, "from", OPT_DURATION, "T", false,                                            \
			"begin this long after the start: 1.5s, 200ms, 2m",                       \
			FIELD(choosing.from_ns), SIZE_MAX, NULL },                                \
	{                                                                                         \
		0, "to", OPT_DURATION, "T", false, "end this long after the start",               \
			FIELD(choosing.to_ns), FIELD(choosing.has_to), NULL                       \
	}

/* Whether any of them was given. */
bool choosing_is_any(const struct choosing *o);
/* The filter is left to whoever shows rows, or chooses stacks by it. */
int choosing_parse(const struct choosing *o, struct choice *ret, struct err *e);

#endif
