/* SPDX-License-Identifier: MIT
 *
 * The tool's end of a session: the door where agents inside target processes say hello, and the
 * shared memory their records come through (docs/SESSION.md, wire/session_layout.h).
 *
 *	session_open(&s, &options, e);		makes the directory; put session_dir() into
 *						LEADLINE_SESSION of the program
 *	poll(session_fd(s)), at most some ms	hellos and ends of processes wake it, records do not
 *	session_poll(s, e);			answers them
 *	session_drain(s, on_event, ctx, e);	hands on what the agents wrote; 0 = nothing new
 *	session_stop(s);			agents go quiet; poll and drain once more
 *	session_close(s);
 *
 * No call blocks, whatever clients do. Nothing a target writes is believed: a ring with impossible
 * contents is abandoned and reported (SESSION_THREAD_ABANDONED), the others go on.
 *
 * One thread owns a session from open to close: its death is what tells the agents that the tool
 * has died (a robust mutex), so it must live as long as the session. */
#ifndef COLLECT_AGENTS_SESSION_H
#define COLLECT_AGENTS_SESSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "wire/agent_options.h"
#include "wire/clock.h"

struct buf;
struct err;
struct session;
struct session_process;

/* 0 stands for the default; a number out of bounds is ERR_USAGE. Sizes are address space: what no
 * target touches costs nothing. */
struct session_options {
	/* rings of one process: 256; at most 4096; threads beyond that share one */
	uint32_t n_slots;
	uint32_t ring_bytes;   /* per thread: 1 MiB; a power of two, 4 KiB … 64 MiB */
	uint64_t sparse_bytes; /* per process: 64 MiB; at most 4 GiB */
	uint64_t wait_max_ns;  /* full ring: 0 = drop and count; else wait so long; at most 10 s */
	uint32_t n_processes_max;           /* at a time: 4096; at most 65536 */
	enum clock_mode clock_mode;         /* of all stamps: clock_choose() */
	struct agent_options agent_options; /* handed to the agents */
	uint64_t ns_per_tick;               /* of that clock, × 2^32, for the agents: 2^32 */
	bool without_pidfd;                 /* for tests: as on kernels before 5.3 */
	/* Called for each hello before it is answered; fills the (zeroed) room for struct
	 * py_layout. A negative result refuses the process. May be NULL. */
	int (*fill_layout)(void *ctx, const struct session_process *p, void *room, size_t n_bytes);
	void *ctx; /* borrowed, for fill_layout */
};

/* What was lost and waited, as the target counted it. */
struct session_counts {
	uint64_t n_records, n_bytes; /* handed on; bytes of payload */
	uint64_t n_dropped;          /* no room in the ring */
	uint64_t n_waits, n_timeouts, wait_ns;
};

/* One hello: a process image with an agent in it. Pid and start time name the process; after an
 * exec, or with a second agent in it, the same process has a second entry with n_hellos 2, and so
 * on. Owned by the session, valid until SESSION_PROCESS_ENDED has been handed on. */
struct session_process {
	uint32_t id;       /* of this hello in the session, from 1 */
	pid_t pid;         /* as the tool sees it */
	pid_t own_pid;     /* as the process sees it: differs in a pid namespace */
	pid_t parent_pid;  /* as the process said */
	uint64_t start_ns; /* after boot, as /proc says; 0 = unknown */
	uint32_t n_hellos; /* of this (pid, start) so far */
	uint64_t image;    /* same for all agents of one exec'd image */
	const char *build; /* interpreter build, printable ASCII */
	struct session_counts counts;
	uint64_t n_homeless;      /* records that found no ring */
	uint64_t n_sparse_failed; /* allocations in the sparse area that found no room */
	uint64_t n_threads_missed, n_events_missed; /* for which there was none at all */
	void *user; /* the caller's; the session does not look at it */
};

/* One thread from claiming its slot to its end. Valid until SESSION_THREAD_ENDED. */
struct session_thread {
	uint32_t id;    /* in the session, from 1; a slot's next thread gets another */
	pid_t tid;      /* as the target sees it */
	uint64_t start; /* first emit, in the session's clock */
	struct session_counts counts;
	void *user;
};

enum session_event_kind {
	SESSION_PROCESS_BEGAN,
	SESSION_THREAD_BEGAN,
	SESSION_RECORD,
	SESSION_THREAD_ABANDONED, /* garbage in its ring: `text` says what; losses are unknown */
	SESSION_THREAD_ENDED,
	SESSION_PROCESS_ENDED, /* the last chance for session_snapshot */
};

struct session_event {
	enum session_event_kind what;
	struct session_process *process;
	struct session_thread *thread; /* NULL for events of processes */
	uint16_t kind, flags;          /* of a record */
	uint32_t n_bytes;
	const void *data; /* a private copy, 8-aligned; valid during the call */
	const char *text; /* of an abandoned ring */
};

/* Returns 0, or a negative code that ends the drain and is its result. */
typedef int session_event_fn(void *ctx, const struct session_event *ev, struct err *e);

struct session_stats {
	uint64_t n_processes, n_threads; /* ever */
	struct session_counts counts;
	uint64_t n_homeless, n_sparse_failed;
	uint64_t n_abandoned;     /* rings with garbage */
	uint64_t n_refused;       /* connections that did not become a process, given-up ones too */
	uint64_t n_other_version; /* of them: agents of another version than the tool */
};

int session_open(struct session **ret_session, const struct session_options *o, struct err *e);
const char *session_dir(const struct session *s);
int session_fd(const struct session *s);

/* Answers hellos, notices ended processes, beats the heart. Call it when session_fd is readable, or
 * every 50 ms: an agent waits SESSION_CONNECT_MS for its answer and then stays quiet for good. */
int session_poll(struct session *s, struct err *e);

/* One round over all rings, of each at most what it can hold. Returns the number of records, 0 when
 * there were none, or the callback's negative code. Answers the door in between. Per thread the
 * order is BEGAN, records, ENDED; an ended process is read to its end and released. */
int64_t session_drain(struct session *s, session_event_fn *on_event, void *ctx, struct err *e);

/* Copies the used part of the process's sparse area into out (replacing what it held). Each aligned
 * 8-byte word is copied whole. */
void session_snapshot(const struct session_process *p, struct buf *out);

/* A part of that area: false when it does not lie in what is used, and nothing is copied. Whole words as above. */
bool session_read(const struct session_process *p, uint64_t offset, void *to, uint64_t n_bytes);

/* Processes with an open entry. */
size_t session_n_live(const struct session *s);
const struct session_stats *session_stats(const struct session *s);

void session_stop(struct session *s);
/* Stops, removes socket and directory with all in it. Accepts NULL and half-built sessions. */
void session_close(struct session *s);

#endif
