/* SPDX-License-Identifier: MIT
 *
 * What the tool and the code inside a target agree on when they meet (docs/SESSION.md): the two
 * messages on the session's socket and the memory that comes with the answer.
 *
 *	target                                      tool
 *	connect $LEADLINE_SESSION/socket
 *	struct session_hello ────────────────────>  checks the peer, makes a memfd for this process
 *	      <──────────────────────────────────── struct session_reply + 2 descriptors
 *	maps both, closes everything
 *
 * 1. the process's memfd, read-write on both sides, sealed in size, nearly all of it untouched:
 *
 *	struct session_header   one page
 *	struct session_slot     × n_slots: one per thread, with the words of its ring; the last one is shared by threads
 *				that find none of their own
 *	ring bytes              × n_slots, ring_bytes each
 *	sparse area             call-tree nodes and counters of the agents, handed out in a row
 *
 * 2. the beacon, one page for the whole session that only the tool can write: is it alive, does it
 *    want us to stop. A target cannot forge it or break it.
 *
 * The tool fills header and beacon once and keeps private copies: of what a target can write it
 * believes nothing. Fixed-width types only; all of one machine, so no byte order. */
#ifndef WIRE_SESSION_LAYOUT_H
#define WIRE_SESSION_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/agent_options.h"
#include "wire/ring.h"

#define SESSION_ENV    "LEADLINE_SESSION"  /* names the session's directory */
#define SESSION_SOCKET "socket"            /* in it: AF_UNIX, SOCK_SEQPACKET */
#define SESSION_MAGIC  0x656e696c6461656cu /* "leadline" */

enum {
	SESSION_VERSION = 5, /* of this file, agent_options.h and ring.h; both sides must agree */
	SESSION_PAGE_BYTES = 4096,
	SESSION_BUILD_BYTES = 128,
	SESSION_TEXT_BYTES = 128,
	SESSION_PY_LAYOUT_BYTES = 2048,
	SESSION_SLOTS_MAX = 4096,
	SESSION_CONNECT_MS =
		2000, /* all an agent spends on saying hello: a busy machine has the tool wait its turn */
	SESSION_STALE_MS = 5000, /* a heartbeat older than this: do not wait for the tool */
};

#define SESSION_SPARSE_BYTES_MAX ((uint64_t)4 << 30)
#define SESSION_MAP_BYTES_MAX    ((uint64_t)64 << 30)
#define SESSION_NO_LIFE          UINT32_MAX

struct session_hello {
	uint64_t magic;
	uint32_t version;
	int32_t pid; /* as the process sees itself: its own pid namespace */
	int32_t parent_pid;
	uint32_t reserved;               /* 0 */
	uint64_t image;                  /* differs after every exec, same in one address space */
	char build[SESSION_BUILD_BYTES]; /* interpreter build, NUL-terminated */
};

struct session_reply {
	uint64_t magic;
	uint32_t version;
	int32_t refused;               /* 0, or an errno; then no descriptors come with it */
	uint64_t map_bytes;            /* of the process's memfd */
	char text[SESSION_TEXT_BYTES]; /* why it was refused */
};

/* Read-only for targets. `life` holds the tool's robust mutex; targets look only at the 32-bit lock
 * word in it: 0 after a regular end, FUTEX_OWNER_DIED set by the kernel when the tool's thread
 * ended in any other way, SIGKILL included. */
struct session_beacon {
	uint64_t magic;
	uint32_t version;
	uint32_t life_offset;                /* of the lock word in life, or SESSION_NO_LIFE */
	_Alignas(64) unsigned char life[56]; /* on one cache line with stop */
	_Atomic uint32_t stop;               /* not 0: go quiet, for good */
	_Alignas(64) _Atomic uint64_t heartbeat_ns; /* CLOCK_MONOTONIC when the tool last looked */
};

struct session_header {
	/* Written by the tool before the target sees it. */
	uint64_t magic;
	uint32_t version;
	uint32_t clock_mode; /* enum clock_mode, for all stamps of this session */
	uint32_t process_id; /* the tool's number for this hello, from 1 */
	uint32_t n_slots;
	uint32_t ring_bytes; /* per slot */
	uint32_t reserved;
	uint64_t sparse_bytes;
	uint64_t map_bytes;   /* of the whole */
	uint64_t wait_max_ns; /* full ring: wait so long for room, then drop; 0 = drop at once */
	uint64_t ns_per_tick; /* of the session's clock, × 2^32; exact enough for histograms */
	struct agent_options agent_options;

	/* Written by the target, n_released by the tool. */
	_Alignas(64) _Atomic uint32_t n_claimed; /* slots ever in use; may run past n_slots */
	_Atomic uint32_t n_released;             /* slots given back so far: time to look again */
	_Atomic uint64_t sparse_used;            /* may run past sparse_bytes */
	_Atomic uint64_t n_homeless;             /* records that found no ring at all, dropped */
	_Atomic uint64_t n_sparse_failed;        /* allocations that found no room */
	_Atomic uint64_t n_threads_missed; /* threads that are not counted for want of room … */
	_Atomic uint64_t n_events_missed;  /* … and what of theirs was not: calls, lines */

	/* Room for struct py_layout (cpython/ defines it, the tool fills it by interpreter build).
	 */
	_Alignas(64) unsigned char py_layout[SESSION_PY_LAYOUT_BYTES];
};

_Static_assert(sizeof(struct session_header) <= SESSION_PAGE_BYTES, "header: one page");
_Static_assert(
	offsetof(struct session_header, agent_options) == 64, "options: a cache line of their own");
_Static_assert(
	offsetof(struct session_header, n_claimed) == 128, "… and none of what targets write");
_Static_assert(sizeof(struct session_beacon) <= SESSION_PAGE_BYTES, "beacon: one page");

/* FREE → TAKEN → LIVE → ENDED by the target, ENDED → FREE by the tool when it has read the ring to
 * its end. Each arrow has one side, so no thread's records pass for another's. */
enum session_slot_state {
	SESSION_SLOT_FREE,
	SESSION_SLOT_TAKEN, /* tid and start are being written */
	SESSION_SLOT_LIVE,
	SESSION_SLOT_ENDED,
};

struct session_slot {
	_Alignas(64) _Atomic uint32_t state; /* enum session_slot_state */
	_Atomic int32_t tid;                 /* in the target's pid namespace */
	_Atomic uint64_t start;              /* when claimed, in the session's clock */
	struct ring_shared ring;
};

/* Where things lie in a process's memfd; both sides compute it from the same three numbers. */
struct session_layout {
	uint64_t slots_offset, rings_offset, sparse_offset, map_bytes;
	uint64_t ring_bytes, sparse_bytes;
	uint32_t n_slots;
};

static inline uint64_t session_page_up(uint64_t n)
{
	return (n + SESSION_PAGE_BYTES - 1) & ~(uint64_t)(SESSION_PAGE_BYTES - 1);
}

/* False when a number is out of bounds. */
static inline bool session_layout_init(
	struct session_layout *ret, uint64_t n_slots, uint64_t ring_bytes, uint64_t sparse_bytes)
{
	struct session_layout l = { .ring_bytes = ring_bytes,
		.sparse_bytes = session_page_up(sparse_bytes),
		.n_slots = (uint32_t)n_slots };

	if (n_slots < 1 || n_slots > SESSION_SLOTS_MAX || !ring_is_size(ring_bytes) ||
		sparse_bytes > SESSION_SPARSE_BYTES_MAX)
		return false;
	l.slots_offset = SESSION_PAGE_BYTES;
	l.rings_offset = l.slots_offset + session_page_up(n_slots * sizeof(struct session_slot));
	l.sparse_offset = l.rings_offset + n_slots * ring_bytes;
	l.map_bytes = l.sparse_offset + l.sparse_bytes;
	if (l.map_bytes > SESSION_MAP_BYTES_MAX)
		return false;
	*ret = l;
	return true;
}

static inline struct session_slot *session_slot_at(
	const struct session_layout *l, void *map, uint32_t i)
{
	return (struct session_slot *)((unsigned char *)map + l->slots_offset) + i;
}

static inline unsigned char *session_ring_at(const struct session_layout *l, void *map, uint32_t i)
{
	return (unsigned char *)map + l->rings_offset + i * l->ring_bytes;
}

#endif
