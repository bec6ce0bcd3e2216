/* SPDX-License-Identifier: MIT
 *
 * For the tests of the session: a tool in the test process, targets as its children. A target sends
 * probes, records whose every byte follows from (pid, stream, number); the rig checks each and
 * keeps count by process and stream. Not part of the tool. */
#ifndef COLLECT_AGENTS_SESSION_RIG_H
#define COLLECT_AGENTS_SESSION_RIG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "collect/agents/session.h"

enum { RIG_PROCESSES = 256, RIG_STREAMS = 64, RIG_KIND = 7 };

struct rig_stream {
	uint64_t n;    /* probes received */
	uint64_t next; /* number of the last one plus 1 */
};

struct rig_process {
	uint32_t id, n_hellos;
	pid_t pid, parent_pid;
	char build[64];
	bool has_ended;
	uint64_t n, n_dropped, n_homeless, n_waits, n_timeouts;
	struct rig_stream streams[RIG_STREAMS];
};

struct rig {
	struct session *s;
	struct rig_process seen[RIG_PROCESSES];
	size_t n_seen;
	uint64_t n_bad; /* torn, out of order, of another pid, or events out of order */
	uint64_t n_abandoned, n_open_threads;
	struct err e;
};

/* How target and test tell each other to go on: one byte each way. */
struct rig_wires {
	int to_target[2], to_test[2];
};

typedef int rig_target(struct rig_wires *w, void *arg); /* 0 = passed; becomes the exit status */

/* In a target: says what failed and ends it with status 1. */
#define RIG_CHECK(what)                                                               \
	do {                                                                          \
		if (!(what)) {                                                        \
			dprintf(2, "%s:%d: target: %s\n", __FILE__, __LINE__, #what); \
			return 1;                                                     \
		}                                                                     \
	} while (0)

/* Opens a session and names it in the environment. */
void rig_open(struct rig *g, const struct session_options *o);
void rig_close(struct rig *g);

/* One round of poll and drain; false when the tool failed. Waits 1 ms at most. */
bool rig_turn(struct rig *g);
/* Turns until is_done, at most 20 s; false when that passed. is_done NULL: until no process is
 * left. */
bool rig_until(struct rig *g, bool (*is_done)(struct rig *g, void *ctx), void *ctx);

pid_t rig_spawn(struct rig_wires *w, rig_target *target, void *arg);
/* Turns until the target has ended; its exit status, 128 + n for signal n, or -1. */
int rig_wait(struct rig *g, pid_t pid);
/* The process with this pid and hello, or NULL. */
struct rig_process *rig_find(struct rig *g, pid_t pid, uint32_t n_hellos);

void rig_tell_target(struct rig_wires *w);
void rig_await_target(struct rig_wires *w);
/* Turns meanwhile. */
bool rig_await_target_turning(struct rig *g, struct rig_wires *w);

/* For targets. */
void rig_tell_test(struct rig_wires *w);
void rig_await_test(struct rig_wires *w);
bool rig_emit(uint32_t stream, uint64_t number);
/* The probe's bytes; their number. */
uint32_t rig_make(void *room, uint32_t stream, uint64_t number);

#endif
