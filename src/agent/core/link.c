/* SPDX-License-Identifier: MIT
 * See link.h. Runs inside other people's programs: includes wire/ and libc only. The file-scope
 * state is the process's one link; what a forked child must forget lies in a page of its own. */
#include "agent/core/link.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include "agent/core/atfork.h"
#include "wire/clock.h"
#include "wire/session_layout.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum link_state {
	LINK_NEW, /* 0: what a wiped page says */
	LINK_OPENING,
	LINK_OPEN,
	LINK_QUIET,
};

struct thread {
	uint32_t epoch;            /* of the link in which it was last asked for a slot */
	volatile uint32_t busy;    /* between reserve and commit: keep out, signal handlers */
	struct session_slot *slot; /* NULL: it shares the crowd's */
	struct ring_writer ring;
	bool is_ending;      /* its destructor has been called once */
	bool is_stuck;       /* the last wait brought nothing … */
	uint64_t stuck_head; /* … and this is where the consumer was */
};

/* The page the kernel wipes in a forked child. Written while OPENING, then only `state` and what the crowd's lock guards. */
struct link {
	_Atomic uint32_t state; /* enum link_state */
	uint32_t epoch;
	const _Atomic uint32_t *life; /* the tool's lock word; NULL: only the heartbeat tells */
	const struct session_beacon *beacon;
	struct session_header *header; /* begin of the map */
	uint64_t wait_max_ns;
	enum clock_mode clock_mode;
	pid_t pid;
	struct session_layout layout;
	struct agent_options options;
	pthread_mutex_t crowd_lock; /* all 0 is unlocked: PTHREAD_MUTEX_INITIALIZER */
	struct thread crowd;        /* the slot of all threads that found none of their own */
};

_Static_assert(sizeof(struct link) <= SESSION_PAGE_BYTES, "link: one page");

/* What a forked child keeps. Written before `link` is set, or while OPENING. */
static struct {
	struct sockaddr_un address;
	const char *variable; /* of the environment, that names the session's directory */
	char build[SESSION_BUILD_BYTES];
	const struct session_beacon *beacon;
	void *map;
	uint64_t map_bytes;
	pthread_key_t key; /* its destructor ends a thread's part */
	bool has_failed;   /* somebody before us could not reach the tool: do not try again */
	_Atomic uint32_t is_set_up; /* leadline_link_open was called */
	_Atomic uint32_t n_epochs;
	_Atomic uint64_t n_missed; /* records dropped while OPENING */
} kept;

static struct link *_Atomic link_page;

/* initial-exec: no allocation at a thread's first access, as in a malloc hook or signal handler. */
static _Thread_local struct thread self __attribute__((tls_model("initial-exec")));

/* ---- being undisturbed on the slow paths ---- */

struct calm {
	sigset_t mask;
	int cancel_state;
	int saved_errno;
};

static void calm_begin(struct calm *c)
{
	sigset_t all;

	c->saved_errno = errno;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &c->mask);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel_state);
}

static void calm_end(struct calm *c)
{
	pthread_setcancelstate(c->cancel_state, &c->cancel_state);
	pthread_sigmask(SIG_SETMASK, &c->mask, NULL);
	errno = c->saved_errno;
}

/* ---- is the tool there? ---- */

/* The lock word holds the owner's tid while it lives; the kernel and a regular end take it out. */
static bool is_tool_gone(const struct session_beacon *b, const _Atomic uint32_t *life)
{
	return atomic_load_explicit(&b->stop, memory_order_relaxed) != 0 ||
		(life && (atomic_load_explicit(life, memory_order_relaxed) & FUTEX_TID_MASK) == 0);
}

static bool is_link_over(const void *link)
{
	const struct link *l = link;

	return is_tool_gone(l->beacon, l->life);
}

/* A tool that is stopped or hangs: not dead, but not worth waiting for. */
static bool is_stale(const struct link *l)
{
	uint64_t beat_ns = atomic_load_explicit(&l->beacon->heartbeat_ns, memory_order_relaxed);
	uint64_t now_ns = clock_monotonic_ns();

	return now_ns > beat_ns && now_ns - beat_ns > SESSION_STALE_MS * (uint64_t)1000000;
}

static const _Atomic uint32_t *life_word(const struct session_beacon *b)
{
	if (b->life_offset % 4 || b->life_offset > sizeof b->life - 4)
		return NULL;
	return (const _Atomic uint32_t *)(const void *)(b->life + b->life_offset);
}

/* ---- saying hello ---- */

/* Lets the next call on fd block until deadline_ns at most; false when that is over. */
static bool set_deadline(int fd, int option, uint64_t deadline_ns)
{
	uint64_t now_ns = clock_monotonic_ns(), left_us = (deadline_ns - now_ns) / 1000 + 1;
	struct timeval t = { .tv_sec = (time_t)(left_us / 1000000),
		.tv_usec = (suseconds_t)(left_us % 1000000) };

	errno = ETIMEDOUT;
	return now_ns < deadline_ns && setsockopt(fd, SOL_SOCKET, option, &t, sizeof t) == 0;
}

/* Blocking calls with a time limit: a unix socket whose queue is full answers a non-blocking
 * connect with EAGAIN and offers nothing to poll for. EINTR only after SIGSTOP; signals are off. */
#define until_deadline(fd, option, deadline_ns, call)                                \
	({                                                                           \
		ssize_t r_ = -1;                                                     \
		while (set_deadline(fd, option, deadline_ns) && (r_ = (call)) < 0 && \
			errno == EINTR)                                              \
			;                                                            \
		r_;                                                                  \
	})

/* Differs after every exec: the kernel's random bytes for this image, mixed so that they stay
 * secret (the stack protector is made from them). */
static uint64_t image_id(void)
{
	const unsigned char *random = (const unsigned char *)getauxval(AT_RANDOM);
	uint64_t id = 0xcbf29ce484222325u;

	for (int i = 0; random && i < 16; i++)
		id = (id ^ random[i]) * 0x100000001b3u;
	return id;
}

static int close_all(const int *fds, size_t n, int result)
{
	for (size_t i = 0; i < n; i++)
		close(fds[i]);
	return result;
}

/* Receives the reply and exactly two descriptors, or a negative errno and none. */
static int receive_reply(
	int fd, uint64_t deadline_ns, struct session_reply *ret_reply, int ret_fds[2])
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control;
	struct iovec part = { .iov_base = ret_reply, .iov_len = sizeof *ret_reply };
	struct msghdr m = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof control.bytes };
	ssize_t n = until_deadline(fd, SO_RCVTIMEO, deadline_ns, recvmsg(fd, &m, MSG_CMSG_CLOEXEC));
	struct cmsghdr *c = n >= 0 ? CMSG_FIRSTHDR(&m) : NULL;
	size_t n_fds = 0;

	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS) {
		n_fds = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		memcpy(ret_fds, CMSG_DATA(c), n_fds * sizeof(int));
	}
	if (n_fds < 2 && m.msg_flags & MSG_CTRUNC) /* there is no room for them here */
		return close_all(ret_fds, n_fds, -EMFILE);
	if (n != sizeof *ret_reply || ret_reply->magic != SESSION_MAGIC ||
		ret_reply->version != SESSION_VERSION)
		return close_all(ret_fds, n_fds, -EPROTO);
	if (ret_reply->refused)
		return close_all(ret_fds, n_fds, -ECONNREFUSED);
	return n_fds == 2 ? 0 : close_all(ret_fds, n_fds, -EPROTO);
}

static int exchange(int fd, struct session_reply *ret_reply, int ret_fds[2])
{
	uint64_t deadline_ns = clock_monotonic_ns() + SESSION_CONNECT_MS * (uint64_t)1000000;
	struct session_hello hello = { .magic = SESSION_MAGIC,
		.version = SESSION_VERSION,
		.pid = getpid(),
		.parent_pid = getppid(),
		.image = image_id() };
	ssize_t n;

	memcpy(hello.build, kept.build, sizeof hello.build);
	n = until_deadline(fd, SO_SNDTIMEO, deadline_ns,
		connect(fd, (const struct sockaddr *)&kept.address, sizeof kept.address));
	if (n == 0)
		n = until_deadline(
			fd, SO_SNDTIMEO, deadline_ns, send(fd, &hello, sizeof hello, MSG_NOSIGNAL));
	if (n < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	return receive_reply(fd, deadline_ns, ret_reply, ret_fds);
}

/* ---- taking the memory over ---- */

static bool map_beacon(int fd)
{
	const struct session_beacon *b;

	if (kept.beacon)
		return true; /* inherited: one beacon serves the whole session */
	b = mmap(NULL, SESSION_PAGE_BYTES, PROT_READ, MAP_SHARED, fd, 0);
	if (b == MAP_FAILED)
		return false;
	if (b->magic != SESSION_MAGIC || b->version != SESSION_VERSION) {
		munmap((void *)(uintptr_t)b, SESSION_PAGE_BYTES);
		return false;
	}
	kept.beacon = b;
	return true;
}

static bool is_header_good(const struct session_header *h, uint64_t map_bytes)
{
	struct session_layout l;

	return h->magic == SESSION_MAGIC && h->version == SESSION_VERSION &&
		session_layout_init(&l, h->n_slots, h->ring_bytes, h->sparse_bytes) &&
		l.map_bytes == map_bytes && h->map_bytes == map_bytes;
}

/* A forked child maps its own memory over its parent's. The options are checked once they are our own: what is in shared memory
 * may change. */
static bool map_memory(struct link *l, int fd, uint64_t map_bytes)
{
	bool is_again = kept.map && kept.map_bytes == map_bytes;
	void *map;

	/* lseek: fstat is in no C library that an agent could find at run time before glibc 2.33 */
	if (map_bytes < SESSION_PAGE_BYTES || map_bytes > SESSION_MAP_BYTES_MAX ||
		lseek(fd, 0, SEEK_END) != (off_t)map_bytes)
		return false;
	map = mmap(is_again ? kept.map : NULL, map_bytes, PROT_READ | PROT_WRITE,
		MAP_SHARED | (is_again ? MAP_FIXED : 0), fd, 0);
	if (map == MAP_FAILED)
		return false;
	madvise(map, map_bytes, MADV_DONTDUMP);
	l->options = ((const struct session_header *)map)->agent_options;
	if (!is_header_good(map, map_bytes) || agent_options_problem(&l->options)) {
		if (!is_again)
			munmap(map, map_bytes);
		return false;
	}
	kept.map = map;
	kept.map_bytes = map_bytes;
	return true;
}

static void fill_link(struct link *l)
{
	struct session_header *h = kept.map;

	l->header = h;
	l->beacon = kept.beacon;
	l->life = life_word(kept.beacon);
	l->wait_max_ns = h->wait_max_ns;
	l->clock_mode = (enum clock_mode)h->clock_mode;
	l->pid = getpid();
	session_layout_init(&l->layout, h->n_slots, h->ring_bytes, h->sparse_bytes);
	l->epoch = atomic_fetch_add(&kept.n_epochs, 1) + 1;
	atomic_fetch_add(&h->n_homeless, atomic_exchange(&kept.n_missed, 0));
}

static int register_process(struct link *l)
{
	struct session_reply reply;
	int fds[2], result, fd;

	if (kept.has_failed || (kept.beacon && is_tool_gone(kept.beacon, life_word(kept.beacon))))
		return -ECONNREFUSED;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	result = exchange(fd, &reply, fds);
	close(fd);
	if (result < 0)
		return result;
	errno = EPROTO; /* unless the kernel has a better reason */
	result = map_beacon(fds[1]) && map_memory(l, fds[0], reply.map_bytes) ? 0 : -errno;
	close_all(fds, 2, 0);
	if (result == 0)
		fill_link(l);
	return result;
}

/* From LINK_NEW, by whichever thread comes first; the others drop meanwhile. */
static int open_link(struct link *l)
{
	uint32_t expected = LINK_NEW;
	struct calm calm;
	int result;

	if (!atomic_compare_exchange_strong(&l->state, &expected, LINK_OPENING))
		return expected == LINK_OPEN ? 0 : -EALREADY;
	calm_begin(&calm);
	result = register_process(l);
	if (result < 0)
		kept.has_failed = true;
	atomic_store_explicit(&l->state, result < 0 ? LINK_QUIET : LINK_OPEN, memory_order_release);
	calm_end(&calm);
	return result;
}

/* Kernels before 4.14 do not wipe; what forks through libc is still noticed. */
static void wipe_in_child(void)
{
	struct link *l = atomic_load(&link_page);

	if (l)
		memset(l, 0, sizeof *l);
}

/* Other destructors may have something to tell still, in whichever order they are called: the second round ends it. */
static void end_of_thread(void *thread)
{
	struct thread *t = thread;

	if (!t->is_ending && pthread_setspecific(kept.key, t) == 0)
		t->is_ending = true;
	else
		leadline_link_thread_end();
}

static int set_address(void)
{
	static const char name[] = "/" SESSION_SOCKET;
	const char *dir = secure_getenv(kept.variable);
	size_t n = dir ? strlen(dir) : 0;

	if (n == 0)
		return -ENOENT;
	if (n + sizeof name > sizeof kept.address.sun_path)
		return -ENAMETOOLONG;
	kept.address.sun_family = AF_UNIX;
	memcpy(kept.address.sun_path, dir, n);
	memcpy(kept.address.sun_path + n, name, sizeof name);
	return 0;
}

static int set_up(const char *build)
{
	size_t n_build = strlen(build);
	struct link *l;
	int result = set_address();

	if (result < 0)
		return result;
	memcpy(kept.build, build, n_build < sizeof kept.build ? n_build : sizeof kept.build - 1);
	l = mmap(NULL, SESSION_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		0);
	if (l == MAP_FAILED)
		return -errno;
	result = pthread_key_create(&kept.key, end_of_thread);
	if (result == 0 && madvise(l, SESSION_PAGE_BYTES, MADV_WIPEONFORK) < 0)
		result = atfork_child(wipe_in_child);
	if (result) {
		munmap(l, SESSION_PAGE_BYTES);
		return -result;
	}
	atomic_store_explicit(&link_page, l, memory_order_release);
	return 0;
}

int leadline_link_open_by(const char *variable, const char *build)
{
	int saved = errno, result;

	if (atomic_exchange(&kept.is_set_up, 1))
		return -EALREADY;
	kept.variable = variable;
	result = set_up(build);
	if (result == 0)
		result = open_link(atomic_load(&link_page));
	errno = saved;
	return result;
}

int leadline_link_open(const char *build)
{
	return leadline_link_open_by(SESSION_ENV, build);
}

/* The former beacon stays mapped, a page: a thread may be looking at it. */
int leadline_link_reopen(void)
{
	struct link *l = atomic_load(&link_page);
	int saved = errno, result = l ? set_address() : -ENOENT;

	if (result == 0) {
		kept.beacon = NULL;
		kept.has_failed = false;
		atomic_store(&l->state, LINK_NEW);
		result = open_link(l);
	}
	errno = saved;
	return result;
}

/* ---- threads ---- */

static inline bool has_slot(const struct link *l, const struct thread *t)
{
	return likely(t->epoch == l->epoch && t->slot);
}

static bool take(struct session_slot *slot)
{
	uint32_t expected = SESSION_SLOT_FREE;

	return atomic_load_explicit(&slot->state, memory_order_relaxed) == expected &&
		atomic_compare_exchange_strong(&slot->state, &expected, SESSION_SLOT_TAKEN);
}

/* The last slot is the crowd's. */
static uint32_t n_own_slots(const struct link *l)
{
	return l->layout.n_slots - 1;
}

/* A slot given back is better than a fresh one: its ring's pages are there already. */
static struct session_slot *find_slot(struct link *l, uint32_t *ret_index)
{
	struct session_header *h = l->header;
	uint32_t n = atomic_load(&h->n_claimed), limit = n < n_own_slots(l) ? n : n_own_slots(l);

	if (atomic_load(&h->n_released))
		for (uint32_t i = 0; i < limit; i++)
			if (take(session_slot_at(&l->layout, h, i))) {
				*ret_index = i;
				return session_slot_at(&l->layout, h, i);
			}
	while (atomic_load(&h->n_claimed) < n_own_slots(l)) {
		uint32_t i = atomic_fetch_add(&h->n_claimed, 1);

		if (i < n_own_slots(l) && take(session_slot_at(&l->layout, h, i))) {
			*ret_index = i;
			return session_slot_at(&l->layout, h, i);
		}
	}
	return NULL;
}

static void begin_slot(
	struct link *l, struct thread *t, struct session_slot *slot, uint32_t i, int32_t tid)
{
	t->slot = slot;
	t->is_stuck = t->is_ending = false;
	ring_writer_init(&t->ring, &slot->ring, session_ring_at(&l->layout, l->header, i),
		l->layout.ring_bytes);
	atomic_store_explicit(&slot->tid, tid, memory_order_relaxed);
	atomic_store_explicit(&slot->start, clock_read(l->clock_mode), memory_order_relaxed);
	atomic_store_explicit(&slot->state, SESSION_SLOT_LIVE, memory_order_release);
}

/* One that finds none stays with the crowd: what it tells through two rings would not come in order. */
static void claim(struct link *l, struct thread *t)
{
	uint32_t i = 0;
	struct session_slot *slot = find_slot(l, &i);

	t->epoch = l->epoch;
	t->slot = NULL;
	if (!slot)
		return;
	begin_slot(l, t, slot, i, (int32_t)syscall(SYS_gettid));
	pthread_setspecific(kept.key, t);
}

/* The calling thread is new to this link: its first call, or the first after a fork. `busy` keeps a malloc hook out meanwhile,
 * signals are off. False: it is none of this process's. */
static bool claim_slowly(struct link *l, struct thread *t)
{
	struct calm calm;

	calm_begin(&calm);
	/* Another pid without a wiped page is a vfork child: the memory is its parent's. */
	if (t->epoch != l->epoch && getpid() == l->pid) {
		t->busy = 1;
		claim(l, t);
		t->busy = 0;
	}
	calm_end(&calm);
	return t->epoch == l->epoch;
}

/* The link, open and listened to; NULL otherwise. Opens it anew in a forked child. */
static inline struct link *live_link(void)
{
	struct link *l = atomic_load_explicit(&link_page, memory_order_acquire);
	uint32_t state;

	if (unlikely(!l))
		return NULL;
	state = atomic_load_explicit(&l->state, memory_order_acquire);
	if (unlikely(state != LINK_OPEN))
		return state == LINK_NEW && open_link(l) == 0 ? l : NULL;
	if (unlikely(is_tool_gone(l->beacon, l->life))) {
		atomic_store(&l->state, LINK_QUIET);
		return NULL;
	}
	return l;
}

bool leadline_link_thread(void)
{
	struct link *l = live_link();

	return l && (self.epoch == l->epoch || claim_slowly(l, &self));
}

void leadline_link_thread_end(void)
{
	struct link *l = atomic_load(&link_page);
	struct thread *t = &self;

	if (!l || atomic_load(&l->state) != LINK_OPEN || !has_slot(l, t))
		return;
	atomic_store_explicit(&t->slot->state, SESSION_SLOT_ENDED, memory_order_release);
	t->slot = NULL;
	t->epoch = 0;
}

/* ---- the hot path ---- */

/* Room after a bounded wait, or NULL. A wait that brought nothing is not repeated before the
 * consumer has moved: a hanging tool costs a thread one wait, not one per record. */
static void *wait_for_room(struct link *l, struct thread *t, uint16_t kind, uint32_t n_bytes)
{
	if (!l->wait_max_ns || !ring_can_hold(&t->ring, n_bytes) ||
		(t->is_stuck && t->stuck_head == t->ring.head) || is_stale(l))
		return NULL;
	switch (ring_wait(&t->ring, n_bytes, l->wait_max_ns, is_link_over, l)) {
	case RING_WAIT_ROOM:
		t->is_stuck = false;
		return ring_reserve(&t->ring, kind, 0, n_bytes);
	case RING_WAIT_TIMEOUT:
		t->is_stuck = true;
		t->stuck_head = t->ring.head;
		break;
	case RING_WAIT_OVER:
		break;
	}
	return NULL;
}

static bool emit_homeless(struct link *l)
{
	atomic_fetch_add_explicit(&l->header->n_homeless, 1, memory_order_relaxed);
	return false;
}

/* No link: quiet, or another thread of a forked child is just saying hello. */
static bool emit_unlinked(void)
{
	struct link *l = atomic_load(&link_page);

	if (l && atomic_load(&l->state) == LINK_OPENING)
		atomic_fetch_add(&kept.n_missed, 1);
	return false;
}

/* One record into the thread's ring, or a drop that is counted. The caller keeps others out. */
static bool put(
	struct link *l, struct thread *t, uint16_t kind, const void *payload, uint32_t n_bytes)
{
	void *room = ring_reserve(&t->ring, kind, 0, n_bytes);
	bool is_written = false;

	if (unlikely(!room))
		room = wait_for_room(l, t, kind, n_bytes);
	if (likely(room)) {
		memcpy(room, payload, n_bytes);
		/* Not in a child that a signal handler forked off just now: the ring is its
		 * parent's. */
		is_written = atomic_load_explicit(&l->state, memory_order_relaxed) != LINK_NEW;
		if (likely(is_written))
			ring_commit(&t->ring);
	} else {
		ring_drop(&t->ring);
	}
	return is_written;
}

/* Its slot counts as claimed for the tool to look at. */
static bool open_crowd(struct link *l)
{
	struct session_header *h = l->header;
	uint32_t i = n_own_slots(l), n = atomic_load(&h->n_claimed);
	struct session_slot *slot = session_slot_at(&l->layout, h, i);

	if (l->crowd.slot)
		return true;
	if (!take(slot))
		return false;
	begin_slot(l, &l->crowd, slot, i, 0);
	while (n <= i && !atomic_compare_exchange_weak(&h->n_claimed, &n, i + 1))
		;
	return true;
}

/* There are more threads than slots: those without one share a ring, under a lock that signals and cancellation cannot leave
 * behind. Few records are told so: functions, where counters lie, blocks of events. */
static bool emit_in_crowd(struct link *l, uint16_t kind, const void *payload, uint32_t n_bytes)
{
	bool is_written = false;
	struct calm calm;

	calm_begin(&calm);
	pthread_mutex_lock(&l->crowd_lock);
	if (open_crowd(l))
		is_written = put(l, &l->crowd, kind, payload, n_bytes);
	else
		emit_homeless(l);
	pthread_mutex_unlock(&l->crowd_lock);
	calm_end(&calm);
	return is_written;
}

bool leadline_link_emit(uint16_t kind, const void *payload, uint32_t n_bytes)
{
	struct link *l = live_link();
	struct thread *t = &self;
	bool is_written;

	if (unlikely(!l))
		return emit_unlinked();
	if (unlikely(t->busy || kind == RING_KIND_PAD)) {
		if (!has_slot(l, t))
			return emit_homeless(l);
		ring_drop(&t->ring);
		return false;
	}
	if (unlikely(t->epoch != l->epoch) && !claim_slowly(l, t))
		return emit_homeless(l);
	if (unlikely(!t->slot))
		return emit_in_crowd(l, kind, payload, n_bytes);
	t->busy = 1;
	atomic_signal_fence(memory_order_seq_cst);
	is_written = put(l, t, kind, payload, n_bytes);
	atomic_signal_fence(memory_order_seq_cst);
	t->busy = 0;
	return is_written;
}

/* ---- sparse area and questions ---- */

void *leadline_link_alloc(uint32_t n_bytes)
{
	struct link *l = live_link();
	uint64_t n = ((uint64_t)n_bytes + 15) & ~(uint64_t)15, at;

	if (!l || n == 0)
		return NULL;
	/* Looks before adding, so that the counter cannot come round. */
	at = atomic_load_explicit(&l->header->sparse_used, memory_order_relaxed);
	if (at <= l->layout.sparse_bytes && n <= l->layout.sparse_bytes - at) {
		at = atomic_fetch_add_explicit(&l->header->sparse_used, n, memory_order_relaxed);
		if (at <= l->layout.sparse_bytes && n <= l->layout.sparse_bytes - at)
			return (unsigned char *)l->header + l->layout.sparse_offset + at;
	}
	atomic_fetch_add_explicit(&l->header->n_sparse_failed, 1, memory_order_relaxed);
	return NULL;
}

uint64_t leadline_link_offset(const void *p)
{
	struct link *l = atomic_load(&link_page);

	if (!l)
		return 0;
	return (uint64_t)((uintptr_t)p - (uintptr_t)l->header) - l->layout.sparse_offset;
}

void leadline_link_missed(bool is_thread)
{
	struct link *l = live_link();

	if (!l)
		return;
	if (is_thread)
		atomic_fetch_add_explicit(&l->header->n_threads_missed, 1, memory_order_relaxed);
	else
		atomic_fetch_add_explicit(&l->header->n_events_missed, 1, memory_order_relaxed);
}

bool leadline_link_is_live(void)
{
	return live_link() != NULL;
}

bool leadline_link_is_over(void)
{
	struct link *l = atomic_load(&link_page);

	return !live_link() && (!l || atomic_load(&l->state) == LINK_QUIET);
}

uint32_t leadline_link_epoch(void)
{
	struct link *l = atomic_load(&link_page);

	return l && atomic_load(&l->state) == LINK_OPEN ? l->epoch : 0;
}

const struct session_header *leadline_link_header(void)
{
	struct link *l = atomic_load(&link_page);

	return l && atomic_load(&l->state) == LINK_OPEN ? l->header : NULL;
}

struct agent_options leadline_link_options(void)
{
	struct link *l = atomic_load(&link_page);

	return l && atomic_load(&l->state) == LINK_OPEN ? l->options : (struct agent_options){ 0 };
}

uint64_t leadline_link_now(void)
{
	struct link *l = atomic_load(&link_page);

	return l && atomic_load(&l->state) == LINK_OPEN ? clock_read(l->clock_mode) : 0;
}
