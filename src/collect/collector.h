/* SPDX-License-Identifier: MIT
 *
 * Collectors: one contract for every source of records. A collector is one file and one row of
 * registry.c. `run` and `time` start those whose probe() says yes; `doctor` shows what each said.
 *
 * Life: probe → start → (on_event | drain)* → enough? → stop. All calls come from the one thread that owns
 * the writer. A collector appends records and never aggregates for display; it must not stop,
 * signal or slow down the target, and counts what it loses (RECORD_loss). */
#ifndef COLLECT_COLLECTOR_H
#define COLLECT_COLLECTOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/agent_options.h"

struct err;
struct sources;
struct tree;
struct tree_event;
struct writer;

enum probe_answer {
	PROBE_YES,
	PROBE_PARTLY, /* works with a limit, told in reason */
	PROBE_NO,
};

struct probe {
	enum probe_answer answer;
	char reason[240]; /* what was found; also for yes */
	char remedy[240]; /* the line to type or the thing to change; "" for yes */
};

struct collect_context {
	struct writer *writer; /* borrowed, as all here */
	struct tree *tree;
	double rate_hz;          /* of samplers; 0: as often as possible */
	struct sources *sources; /* told of source files; NULL: nobody wants them */
	struct agent_options agent_options;
	bool is_standby;             /* samples are wanted only where no agent comes */
	bool *has_agents;            /* one has come; set by whoever meets them */
	const uint64_t *n_continued; /* times we were continued after a stop (SIGCONT) */
	/* tid → descriptor of its schedstat that a collector has open, for the others to read */
	struct map *sched_files;
	bool wants_package; /* the program may import leadline, installed or not */
	/* what torch's profiler shall do in it: bootstrap.h; NULL: nothing */
	const char *torch_full;
	/* with calls: patterns of files and functions that are not traced; NULL: none */
	const char *exclude;
	const char *lines; /* with wants_line_times: patterns of functions, separated by commas */
};

/* What a user asks for; a collector without any of it is always there. */
enum collect_what {
	COLLECT_SAMPLES = 1 << 0,
	COLLECT_CALLS = 1 << 1,
	COLLECT_LINES = 1 << 2,
	COLLECT_REGIONS = 1 << 3, /* without calls, lines and operators, which bring them */
	COLLECT_OPS = 1 << 4,     /* operators of PyTorch */
	COLLECT_MEMORY = 1 << 5,  /* allocations */
};

struct collector {
	const char *name;
	unsigned what;    /* enum collect_what */
	const char *sees; /* one phrase: what its records tell */
	void (*probe)(struct probe *ret);
	int (*start)(void **ret_state, const struct collect_context *c, struct err *e);
	/* Looks at the target now; returns when it wants to look again, CLOCK_MONOTONIC ns. */
	uint64_t (*drain)(void *state, uint64_t now_ns);
	void (*on_event)(void *state, const struct tree_event *event); /* may be NULL */
	/* The recording is over, the program is not: nothing of it costs anything from now on. May be NULL. */
	void (*enough)(void *state);
	void (*stop)(void *state);
	/* Readable when the collector wants to look at once; may be NULL. */
	int (*fd)(const void *state);
};

/* All collectors, in the order they are tried. */
extern const struct collector *const collectors[];
extern const size_t n_collectors;

enum { COLLECTORS_MOST = 16 };
/* Those of them that collect `what`; returns how many. */
size_t collectors_pick(unsigned what, const struct collector *ret[COLLECTORS_MOST]);

#endif
