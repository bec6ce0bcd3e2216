/* SPDX-License-Identifier: MIT
 *
 * What session.c (door), session_process.c and session_drain.c (rings) share; private to them. */
#ifndef COLLECT_AGENTS_SESSION_STATE_H
#define COLLECT_AGENTS_SESSION_STATE_H

#include <sys/un.h>

#include "base/vec.h"
#include "collect/agents/session.h"
#include "sys/private_dir.h"
#include "wire/session_layout.h"

enum {
	SESSION_CONNS_MAX = 64, /* connections that have not said hello yet */
	SESSION_DIR_BYTES = sizeof((struct sockaddr_un *)0)->sun_path - sizeof SESSION_SOCKET,
};

/* What an epoll event points to. */
enum source { SOURCE_DOOR, SOURCE_CONN, SOURCE_PROCESS };

struct conn {
	enum source source;
	int fd; /* -1: unused */
	uint64_t since_ns;
};

/* The tool's view of one slot. */
struct thread {
	struct session_thread pub;
	struct ring_reader ring;
	struct session_counts seen; /* the slot's own counters, which run on over its threads */
	bool is_open;
	bool is_abandoned; /* garbage: this slot is not read or given back any more */
};

struct process {
	struct session_process pub; /* first: callers' pointers are ours */
	enum source source;
	const struct session_layout *layout; /* borrowed from the session */
	unsigned char *map;
	int pid_fd; /* -1: none */
	char build[SESSION_BUILD_BYTES];
	struct thread *threads; /* owned, n_slots */
	uint32_t n_seen;        /* slots that may be in use; never shrinks */
	uint64_t homeless_seen, sparse_failed_seen, threads_missed_seen, events_missed_seen;
	bool has_begun; /* told */
	bool has_ended; /* by itself, or replaced by exec */
	bool is_done;   /* read to its end and told */
};

struct session {
	enum source door; /* for epoll */
	struct session_options o;
	struct session_layout layout; /* of every process's memory */
	struct private_dir dir;
	int listen_fd, epoll_fd, spare_fd, beacon_fd;
	struct session_beacon *beacon;
	bool has_life; /* the robust mutex is held */
	struct conn conns[SESSION_CONNS_MAX];
	VEC(struct process *) processes; /* owned */
	unsigned char *record;           /* owned: private copy of the record handed on */
	uint64_t checked_ns;
	uint32_t n_threads;
	struct session_stats stats;
};

static inline struct session_header *session_header_of(const struct process *p)
{
	return (struct session_header *)(void *)p->map;
}

static inline void session_beat(struct session *s)
{
	atomic_store_explicit(&s->beacon->heartbeat_ns, clock_monotonic_ns(), memory_order_relaxed);
}

/* A process that has said hello, without memory yet. */
struct process *session_process_new(
	struct session *s, int conn_fd, pid_t pid, const struct session_hello *hello);
/* Takes it into the session, once its memory is there; ends those it replaces. */
void session_process_add(struct session *s, struct process *p);
/* From now on it is only read to its end. */
void session_process_end(struct session *s, struct process *p);
/* Notices the ends of processes that have no pidfd. */
void session_process_look_up(struct session *s, uint64_t now_ns);
/* Accepts NULL and a half-built process; does not take it off the session's list. */
void session_process_free(struct process *p);

#endif
