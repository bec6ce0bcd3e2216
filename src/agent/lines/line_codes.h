/* SPDX-License-Identifier: MIT
 *
 * Which code objects have their lines counted, and where each thread counts them. A code object is
 * judged once, when it is first seen: by the patterns of the user (line_select.h) or because the program
 * named it itself (@profile). Then each thread that runs it gets counters of its own in the
 * session's memory (wire/line_area.h) and tells the tool where they lie. A thread that ends leaves them to the next that begins,
 * once there have been many (as tree.h has it).
 *
 * All functions but line_code_find() are slow paths; they run no Python code. They need the GIL
 * where there is one. */
#ifndef AGENT_LINES_LINE_CODES_H
#define AGENT_LINES_LINE_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/core/codes.h"
#include "agent/core/compat.h"
#include "agent/core/detach.h"
#include "agent/lines/lines.h"

enum { LINE_PLACES = 8 };

/* What is counted of a chosen code object. */
enum line_want {
	LINE_WANT_TIMES = 1 << 0,   /* hits and times of lines */
	LINE_WANT_HITS = 1 << 1,    /* hits alone, without a clock */
	LINE_WANT_OPCODES = 1 << 2, /* hits of instructions */
};

/* The pattern that means every function there is. */
#define LINE_CODES_ALL ":"

/* What one thread knows of one code object. */
struct line_code {
	const void *key; /* the code object; NULL: unused */
	bool is_counted;
	bool is_armed; /* its events are on: the hooks' own */
	/* Of a counted one: its counters; `function->key` is no longer `key` when it has died. */
	const struct function *function;
	struct lines_code lines;
	uint64_t *unit_hits, *unit_left;   /* of its instructions; NULL: not counted */
	const unsigned char *block_begins; /* units at which they are; NULL: at all */
	uint32_t n_units;
	/* Where it was resumed: instruction and line, by the low bits of the first. */
	struct {
		int offset, line;
	} places[LINE_PLACES];
	/* Of one that is not: what must be the same for the verdict to hold. */
	const void *name, *file;
	int first_line;
	uint32_t version; /* line_codes_version then */
};

struct line_thread {
	struct lines_thread t; /* first: the hot path needs hardly more */
	uint64_t check_at;     /* when to ask whether anybody listens (detach.h) … */
	uint64_t n_events;     /* … by events, where no clock is read */
	struct line_code *codes;
	uint32_t n_codes, codes_log2;
	struct trace_granule *run; /* where the next counters go */
	uint32_t run_used, run_bytes;
	int32_t tid;                          /* of the first thread that counted here */
	uint32_t epoch;                       /* of the link its counters belong to */
	struct line_thread **mine;            /* its thread's line_mine */
	struct line_thread *next, **previous; /* all of the process */
};

#pragma GCC visibility push(hidden)

extern _Thread_local struct line_thread *line_mine __attribute__((tls_model("initial-exec")));

/* Another one since the program named one more code object. */
extern _Atomic uint32_t line_codes_version;

extern unsigned line_wants; /* enum line_want */

/* The patterns (line_select.h), the folder of the interpreter's own library, and enum line_want. False when the
 * patterns are too many. */
bool line_codes_start(const char *patterns, const char *library, unsigned wants);
/* In a forked child: the counters were the parent's. */
void line_codes_forget(void);
/* The hooks are out: what is open ends now, and each thread's next event finds its counters anew. They go on as long as the link is
 * the same. */
void line_codes_pause(uint64_t now);

/* The program asks for this one. */
bool line_codes_add(PyCodeObject *code);
/* How many code objects pattern i chose; -1 when there is no such pattern. */
long line_codes_found(uint32_t i);

/* The calling thread's part; NULL: nobody listens, or no memory. */
struct line_thread *line_thread_attach(void);
/* What the thread knows of the code object; NULL: no memory. */
struct line_code *line_code_learn(struct line_thread *m, PyCodeObject *code);
/* The line of an instruction of a counted code object. */
uint32_t line_code_line(struct line_code *c, int offset);

#pragma GCC visibility pop

/* Where a thread looks for a code object first. */
static inline struct line_code *line_code_slot(const struct line_thread *m, const void *key)
{
	return &m->codes[((uintptr_t)key * 0x9e3779b97f4a7c15u) >> (64 - m->codes_log2)];
}

static inline bool line_code_is(const struct line_code *c, const PyCodeObject *code)
{
	if (c->key != code)
		return false;
	if (c->is_counted)
		return c->function->key == code;
	return c->name == code->co_name && c->file == code->co_filename &&
		c->first_line == code->co_firstlineno && c->version == line_codes_version;
}

/* What the thread knows of it already; NULL: nothing, or that it is not counted. */
static inline struct line_code *line_code_known(
	const struct line_thread *m, const PyCodeObject *code)
{
	uint32_t mask = (1u << m->codes_log2) - 1;
	struct line_code *c = line_code_slot(m, code);

	while (c->key && c->key != code)
		c = &m->codes[(c - m->codes + 1) & mask];
	return c->is_counted && line_code_is(c, code) ? c : NULL;
}

/* One more event of a hook that reads no clock. */
static inline void line_thread_check(struct line_thread *m)
{
	if (__builtin_expect(++m->n_events % QUIET_CHECK_EVENTS == 0, 0))
		detach_check(0);
}

/* Whether instructions are counted, and this is one of them. */
static inline bool line_code_is_unit(const struct line_code *c, uint32_t unit)
{
	return c->unit_hits && unit < c->n_units;
}

/* The counters of the calling thread for a code object; NULL: it is not counted. */
static inline struct line_code *line_code_find(struct line_thread *m, PyCodeObject *code)
{
	struct line_code *c = line_code_slot(m, code);

	if (__builtin_expect(!line_code_is(c, code), 0))
		c = line_code_learn(m, code);
	return c && c->is_counted ? c : NULL;
}

#endif
