/* SPDX-License-Identifier: MIT
 *
 * The target's end of a session (docs/SESSION.md): how code inside a program reaches the tool. One
 * link per agent library and process. Every function may be called at any time from any thread,
 * whatever the state of the link; none raises, aborts, prints or changes errno.
 *
 *	leadline_link_open("CPython 3.12.1 …");		once, when the agent starts
 *	leadline_link_emit(KIND, &event, sizeof event);	on the hot path
 *
 * Cost. emit writes one record into the calling thread's own ring: no lock, no malloc, no system
 * call. Exceptions: a thread's first emit claims its slot; the first in a forked child says hello
 * again (SESSION_CONNECT_MS at most); a full ring of an exact session waits, bounded and counted; threads
 * beyond the session's slots share one ring, under a lock.
 *
 * Quiet. When the tool has died, asked to stop, or could not be reached, every call returns at once
 * and nothing is counted. Only leadline_link_reopen changes that.
 *
 * Fork. The link's state lies in a page the kernel wipes in a forked child, so the child registers
 * under its own pid with its first call and never touches its parent's rings; its own memory is
 * mapped where the parent's was, so a stale pointer cannot reach the parent either. A vfork child
 * shares the parent's memory: it must not emit, and if it does, its records are its parent's.
 *
 * Signals. From a thread's second emit on, emit is async-signal-safe; in a handler that interrupted
 * an emit of the same thread it drops the record and counts it. Known gap: a handler that leaves by
 * siglongjmp out of an emit leaves its thread mute (drops, counted).
 *
 * Two agents in one process have a link each: all symbols are hidden. An agent library must be
 * linked with -z nodelete, because threads run its destructor when they end. */
#ifndef AGENT_CORE_LINK_H
#define AGENT_CORE_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/agent_options.h"

struct session_header;

#pragma GCC visibility push(hidden)

/* Says hello to the session LEADLINE_SESSION names. 0, or a negative errno: -ENOENT when there is
 * no session, -ETIMEDOUT when the tool did not answer in time, -EPROTO when it is of another version or asks for what makes no
 * sense, -ENOMEM and -EMFILE when limits of the process are in the way, -EALREADY after the first call. */
int leadline_link_open(const char *build);
/* The same, of the session that this variable of the environment names. It must outlive the process. */
int leadline_link_open_by(const char *variable, const char *build);

/* The session LEADLINE_SESSION names now takes the place of the former one, also when that has made the link
 * quiet. No other thread may emit meanwhile. -ENOENT when there was none before. */
int leadline_link_reopen(void);

/* Claims a slot for the calling thread, as its first emit would; where none is free it shares one with all that found none,
 * for good. False: quiet. */
bool leadline_link_thread(void);

/* Ends the calling thread's part; its slot can go to another thread. Done by itself when a thread
 * returns or calls pthread_exit. */
void leadline_link_thread_end(void);

/* Writes one record. False when it was not written: dropped and counted, or quiet. */
bool leadline_link_emit(uint16_t kind, const void *payload, uint32_t n_bytes);

/* Zeroed memory in the sparse area, 16-aligned, never freed; the tool sees it by snapshots. NULL
 * when it is used up (counted) or the link is quiet. Counters in it are to be written as whole
 * 8-byte words. */
void *leadline_link_alloc(uint32_t n_bytes);
/* Where p lies in the sparse area. */
uint64_t leadline_link_offset(const void *p);

/* There was no room for a thread, or for an event of one: the tool tells the user how many. */
void leadline_link_missed(bool is_thread);

/* Whether somebody listens. Registers a forked child. */
bool leadline_link_is_live(void);
/* Whether nobody ever will, unless the link is opened again: not while another thread is just saying hello. */
bool leadline_link_is_over(void);
/* Changes when the link is made anew (fork): pointers into the sparse area are void then. 0: none.
 */
uint32_t leadline_link_epoch(void);
/* The header in shared memory, NULL while there is none. */
const struct session_header *leadline_link_header(void);
/* What the tool asks for, as it stood when it was checked; all 0 while there is no link. */
struct agent_options leadline_link_options(void);
/* A stamp in the session's clock; 0 while there is none. */
uint64_t leadline_link_now(void);

#pragma GCC visibility pop

#endif
