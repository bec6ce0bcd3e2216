/* SPDX-License-Identifier: MIT
 *
 * Interpreters below a traced program that keep the agent out: their launcher set PYTHONPATH anew, or they were
 * started with -I, -E or -S. They are found when they have run for a second.
 *
 *	untraced_look(&u, tree, session_dir, has_agent, ctx, now_ns);	now and then
 *	untraced_tell(&u, &notes);					at the end: a line */
#ifndef COLLECT_AGENTS_UNTRACED_H
#define COLLECT_AGENTS_UNTRACED_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct buf;
struct tree;

enum { UNTRACED_NAMED = 3, UNTRACED_NAME_BYTES = 64 };

struct untraced {
	uint64_t next; /* serial of the first process that was not looked at */
	unsigned n;
	struct {
		pid_t pid;
		char name[UNTRACED_NAME_BYTES];
	} first[UNTRACED_NAMED];
};

/* has_agent: whether that process has said hello. */
void untraced_look(struct untraced *u, const struct tree *t, const char *session_dir,
	bool (*has_agent)(const void *ctx, pid_t pid), const void *ctx, uint64_t now_ns);
/* Nothing where there are none. */
void untraced_tell(const struct untraced *u, struct buf *out);

/* Whether the words of a command (each ended by NUL) switch off PYTHONPATH or site. */
bool untraced_is_isolated(const char *words, size_t n_bytes);

#endif
