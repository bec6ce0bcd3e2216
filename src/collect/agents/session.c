/* SPDX-License-Identifier: MIT
 * See session.h. Top to bottom: the memory both sides share, the processes that have said hello,
 * the door, the rings, opening and closing. What records mean is left to the collectors. */
#include "collect/agents/session.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#define LOG_TOPIC "session"

#include "base/buf.h"
#include "base/err.h"
#include "base/log.h"
#include "base/xalloc.h"
#include "collect/agents/session_state.h"
#include "base/banned.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

enum {
	CONN_LIMIT_MS = 1000, /* for how long a client may say nothing */
	POLL_ROUNDS = 4,      /* of epoll_wait per session_poll */
	EVENTS = 64,          /* per round; also accepts per round */
};

/* ---- memory shared with targets ---- */

/* A memfd of fixed size. Sealed against shrinking, it cannot make us fault. */
static int memfd_make(const char *name, uint64_t n_bytes, struct err *e)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_NOEXEC_SEAL);

	if (fd < 0 && errno == EINVAL) /* before 6.3 */
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "memfd_create");
	if (ftruncate(fd, (off_t)n_bytes) == 0 &&
		fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0)
		return fd;
	err_errno(e, ERR_SYSTEM, "shared memory of %llu bytes", (unsigned long long)n_bytes);
	close(fd);
	return -(int)e->code;
}

static void *map_shared(int fd, uint64_t n_bytes, struct err *e)
{
	void *p = mmap(NULL, n_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (p == MAP_FAILED) {
		err_errno(e, ERR_SYSTEM, "mapping %llu bytes", (unsigned long long)n_bytes);
		return NULL;
	}
	madvise(p, n_bytes, MADV_DONTDUMP);
	return p;
}

/* Locks a robust mutex in the beacon for as long as this thread lives: when it ends, however, the
 * kernel marks the lock word. The word is found by our tid, not by knowledge of the C library. */
static void hold_life(struct session *s)
{
	pthread_mutex_t *mutex = (pthread_mutex_t *)(void *)s->beacon->life;
	uint32_t tid = (uint32_t)syscall(SYS_gettid), word;
	pthread_mutexattr_t attr;

	_Static_assert(sizeof(pthread_mutex_t) <= sizeof s->beacon->life, "the mutex must fit");
	s->beacon->life_offset = SESSION_NO_LIFE;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	if (pthread_mutex_init(mutex, &attr) == 0 && pthread_mutex_lock(mutex) == 0)
		s->has_life = true;
	pthread_mutexattr_destroy(&attr);
	for (uint32_t at = 0; s->has_life && at < sizeof(pthread_mutex_t); at += 4) {
		memcpy(&word, s->beacon->life + at, sizeof word);
		if (word == tid) {
			s->beacon->life_offset = at;
			return;
		}
	}
	log_debug(1, "no robust mutex; agents go by the heartbeat");
}

/* Targets get a descriptor opened for reading, and the kernel (5.1 on) refuses any new writable
 * mapping. */
static int open_beacon(struct session *s, struct err *e)
{
	int fd = memfd_make("leadline-beacon", SESSION_PAGE_BYTES, e);
	char path[64];

	if (fd < 0)
		return fd;
	s->beacon = map_shared(fd, SESSION_PAGE_BYTES, e);
	if (s->beacon) {
		s->beacon->magic = SESSION_MAGIC;
		s->beacon->version = SESSION_VERSION;
		hold_life(s);
		session_beat(s);
		fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
		s->beacon_fd = open(path, O_RDONLY | O_CLOEXEC);
		if (s->beacon_fd < 0)
			err_errno(e, ERR_SYSTEM, "open %s", path);
	}
	close(fd);
	return s->beacon_fd < 0 ? -(int)e->code : 0;
}

static void close_beacon(struct session *s)
{
	pthread_mutex_t *mutex;

	if (s->beacon_fd >= 0)
		close(s->beacon_fd);
	if (!s->beacon)
		return;
	mutex = (pthread_mutex_t *)(void *)s->beacon->life;
	/* Closed by another thread than the owner: the C library's list of robust mutexes still
	 * goes through this page, so it stays mapped. */
	if (s->has_life && pthread_mutex_unlock(mutex) != 0)
		return;
	munmap(s->beacon, SESSION_PAGE_BYTES);
}

static int fill_header(const struct session *s, struct process *p)
{
	struct session_header *h = session_header_of(p);

	h->magic = SESSION_MAGIC;
	h->version = SESSION_VERSION;
	h->clock_mode = (uint32_t)s->o.clock_mode;
	h->agent_options = s->o.agent_options;
	h->process_id = p->pub.id;
	h->n_slots = s->layout.n_slots;
	h->ring_bytes = (uint32_t)s->layout.ring_bytes;
	h->sparse_bytes = s->layout.sparse_bytes;
	h->map_bytes = s->layout.map_bytes;
	h->wait_max_ns = s->o.wait_max_ns;
	h->ns_per_tick = s->o.ns_per_tick;
	return s->o.fill_layout
		? s->o.fill_layout(s->o.ctx, &p->pub, h->py_layout, sizeof h->py_layout)
		: 0;
}

/* ---- the door ---- */

static bool send_reply(int fd, const struct session_reply *reply, const int *fds, size_t n_fds)
{
	union {
		struct cmsghdr align;
		char bytes[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	struct iovec part = { .iov_base = (void *)(uintptr_t)reply, .iov_len = sizeof *reply };
	struct msghdr m = { .msg_iov = &part, .msg_iovlen = 1 };

	if (n_fds) {
		struct cmsghdr *c;

		m.msg_control = control.bytes;
		m.msg_controllen = CMSG_SPACE(n_fds * sizeof(int));
		c = CMSG_FIRSTHDR(&m);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n_fds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, n_fds * sizeof(int));
	}
	return sendmsg(fd, &m, MSG_DONTWAIT | MSG_NOSIGNAL) == (ssize_t)sizeof *reply;
}

static void refuse(struct session *s, int fd, int why, const char *text)
{
	struct session_reply reply = {
		.magic = SESSION_MAGIC, .version = SESSION_VERSION, .refused = why
	};

	snprintf(reply.text, sizeof reply.text, "%s", text);
	s->stats.n_refused++;
	log_debug(1, "hello refused: %s", text);
	send_reply(fd, &reply, NULL, 0);
}

static void refuse_version(struct session *s, int fd)
{
	s->stats.n_other_version++;
	refuse(s, fd, EPROTO, "the agent is of another version than the tool");
}

/* Makes the process's memory and sends it. */
static int hand_over(struct session *s, int fd, struct process *p, struct err *e)
{
	struct session_reply reply = {
		.magic = SESSION_MAGIC, .version = SESSION_VERSION, .map_bytes = s->layout.map_bytes
	};
	int fds[2] = { memfd_make("leadline-session", s->layout.map_bytes, e), s->beacon_fd };
	int result = -(int)ERR_SYSTEM;

	if (fds[0] < 0)
		return fds[0];
	p->map = map_shared(fds[0], s->layout.map_bytes, e);
	if (p->map && fill_header(s, p) < 0)
		err_set(e, ERR_BAD_LAYOUT, "no layout for %s", p->build);
	else if (p->map && fcntl(fds[0], F_ADD_SEALS, F_SEAL_SEAL) < 0)
		err_errno(e, ERR_SYSTEM, "sealing shared memory");
	else if (p->map && !send_reply(fd, &reply, fds, 2))
		err_errno(e, ERR_SYSTEM, "answering pid %d", (int)p->pub.pid);
	else if (p->map)
		result = 0;
	close(fds[0]);
	return result;
}

static void admit(struct session *s, int fd, const struct session_hello *hello)
{
	struct ucred who;
	socklen_t n = sizeof who;
	struct err e = ERR_INIT;
	struct process *p;

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &who, &n) < 0 || who.pid <= 0) {
		refuse(s, fd, ESRCH, "the process is in a pid namespace the tool cannot see");
		return;
	}
	if (who.uid != geteuid() && who.uid != 0) {
		refuse(s, fd, EPERM, "the process belongs to another user");
		return;
	}
	if (session_n_live(s) >= s->o.n_processes_max) {
		refuse(s, fd, EUSERS, "too many processes in this session");
		return;
	}
	p = session_process_new(s, fd, who.pid, hello);
	if (hand_over(s, fd, p, &e) < 0) {
		refuse(s, fd, ENOMEM, e.text);
		session_process_free(p);
		return;
	}
	session_process_add(s, p);
}

static void conn_close(struct conn *c)
{
	close(c->fd); /* epoll forgets it by itself */
	c->fd = -1;
}

/* One message, whole or not at all. */
static void conn_read(struct session *s, struct conn *c)
{
	struct session_hello hello;
	ssize_t n = recv(c->fd, &hello, sizeof hello, MSG_DONTWAIT | MSG_TRUNC);

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof hello || hello.magic != SESSION_MAGIC)
		refuse(s, c->fd, EPROTO, "not a hello");
	else if (hello.version != SESSION_VERSION)
		refuse_version(s, c->fd);
	else
		admit(s, c->fd, &hello);
	conn_close(c);
}

/* A free entry; when there is none, the oldest silent client loses its own. */
static struct conn *conn_get(struct session *s)
{
	struct conn *oldest = s->conns;

	for (size_t i = 0; i < SESSION_CONNS_MAX; i++) {
		if (s->conns[i].fd < 0)
			return &s->conns[i];
		if (s->conns[i].since_ns < oldest->since_ns)
			oldest = &s->conns[i];
	}
	s->stats.n_refused++;
	conn_close(oldest);
	return oldest;
}

static void conn_open(struct session *s, int fd)
{
	struct conn *c = conn_get(s);
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = c };

	*c = (struct conn){ .source = SOURCE_CONN, .fd = fd, .since_ns = clock_monotonic_ns() };
	conn_read(s, c); /* the hello is mostly here already */
	if (c->fd >= 0 && epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, c->fd, &ev) < 0)
		conn_close(c);
}

/* Out of descriptors: a client left in the queue would wake us for ever. The spare one lets it in
 * and out again. */
static void turn_away(struct session *s)
{
	char unread;
	int fd;

	close(s->spare_fd);
	fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd >= 0) {
		recv(fd, &unread, 1, MSG_DONTWAIT); /* else closing resets what we say */
		refuse(s, fd, EMFILE, "the tool is out of file descriptors");
		close(fd);
	}
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void answer_door(struct session *s)
{
	for (int i = 0; i < EVENTS; i++) {
		int fd = accept4(s->listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0)
			conn_open(s, fd);
		else if (errno == EMFILE || errno == ENFILE)
			turn_away(s);
		else if (errno == EAGAIN)
			return;
	}
}

static void expire_conns(struct session *s, uint64_t now_ns)
{
	for (size_t i = 0; i < SESSION_CONNS_MAX; i++)
		if (s->conns[i].fd >= 0 &&
			now_ns - s->conns[i].since_ns > CONN_LIMIT_MS * (uint64_t)1000000) {
			s->stats.n_refused++;
			conn_close(&s->conns[i]);
		}
}

static void handle(struct session *s, enum source *source)
{
	switch (*source) {
	case SOURCE_DOOR:
		answer_door(s);
		break;
	case SOURCE_CONN: {
		struct conn *c = (struct conn *)source;

		if (c->fd >= 0)
			conn_read(s, c);
		break;
	}
	case SOURCE_PROCESS:
		session_process_end(s,
			(struct process *)(void *)((char *)source -
				offsetof(struct process, source)));
		break;
	}
}

int session_poll(struct session *s, struct err *e)
{
	struct epoll_event events[EVENTS];
	uint64_t now_ns;
	int n = EVENTS;

	for (int round = 0; round < POLL_ROUNDS && n == EVENTS; round++) {
		n = epoll_wait(s->epoll_fd, events, EVENTS, 0);
		if (n < 0 && errno != EINTR)
			return err_errno(e, ERR_SYSTEM, "epoll_wait");
		for (int i = 0; i < n; i++)
			handle(s, events[i].data.ptr);
	}
	now_ns = clock_monotonic_ns();
	expire_conns(s, now_ns);
	session_process_look_up(s, now_ns);
	session_beat(s);
	return 0;
}

/* ---- opening and closing ---- */

static uint64_t or_default(uint64_t value, uint64_t fallback)
{
	return value ? value : fallback;
}

static int take_options(struct session *s, const struct session_options *o, struct err *e)
{
	struct rlimit files;

	s->o = *o;
	s->o.n_processes_max = (uint32_t)or_default(o->n_processes_max, 4096);
	if (!session_layout_init(&s->layout, or_default(o->n_slots, 256),
		    or_default(o->ring_bytes, 1 << 20), or_default(o->sparse_bytes, 64 << 20)))
		return err_set(e, ERR_USAGE,
			"session sizes out of bounds: %u threads, rings of %u bytes, %llu bytes of sparse area",
			o->n_slots, o->ring_bytes, (unsigned long long)o->sparse_bytes);
	if (s->o.n_processes_max > 65536 || s->o.wait_max_ns > 10000000000u)
		return err_set(e, ERR_USAGE,
			"session limits out of bounds: %u processes, waits of %llu ns",
			s->o.n_processes_max, (unsigned long long)s->o.wait_max_ns);
	if (agent_options_problem(&o->agent_options))
		return err_set(e, ERR_USAGE, "agent options out of bounds: %s",
			agent_options_problem(&o->agent_options));
	/* Growing a memfd beyond it would kill us with SIGXFSZ. */
	if (getrlimit(RLIMIT_FSIZE, &files) == 0 && files.rlim_cur < s->layout.map_bytes)
		return err_set(e, ERR_SYSTEM,
			"the file size limit (ulimit -f, %llu bytes) is below the %llu bytes of shared memory a process needs",
			(unsigned long long)files.rlim_cur,
			(unsigned long long)s->layout.map_bytes);
	return 0;
}

static int open_door(struct session *s, struct err *e)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct epoll_event ev = { .events = EPOLLIN, .data.ptr = &s->door };
	size_t n = strlen(s->dir.path);

	memcpy(address.sun_path, s->dir.path, n);
	memcpy(address.sun_path + n, "/" SESSION_SOCKET, sizeof "/" SESSION_SOCKET);
	s->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	s->spare_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
	s->listen_fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (s->epoll_fd < 0 || s->spare_fd < 0 || s->listen_fd < 0 ||
		bind(s->listen_fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
		listen(s->listen_fd, 4096) < 0 ||
		epoll_ctl(s->epoll_fd, EPOLL_CTL_ADD, s->listen_fd, &ev) < 0)
		return err_errno(e, ERR_SYSTEM, "socket %s", address.sun_path);
	return 0;
}

int session_open(struct session **ret_session, const struct session_options *o, struct err *e)
{
	struct session *s = xcalloc(1, sizeof *s);

	s->door = SOURCE_DOOR;
	s->listen_fd = s->epoll_fd = s->spare_fd = s->beacon_fd = -1;
	for (size_t i = 0; i < SESSION_CONNS_MAX; i++)
		s->conns[i] = (struct conn){ .source = SOURCE_CONN, .fd = -1 };
	s->record = xmalloc(RING_RECORD_BYTES_MAX);
	if (take_options(s, o, e) < 0 || open_beacon(s, e) < 0 ||
		private_dir_make(&s->dir, PRIVATE_SMALL, SESSION_DIR_BYTES, e) < 0 ||
		open_door(s, e) < 0) {
		session_close(s);
		return err_note(e, "opening a session");
	}
	log_debug(1, "directory %s, %llu bytes per process", s->dir.path,
		(unsigned long long)s->layout.map_bytes);
	*ret_session = s;
	return 0;
}

const char *session_dir(const struct session *s)
{
	return s->dir.path;
}

int session_fd(const struct session *s)
{
	return s->epoll_fd;
}

size_t session_n_live(const struct session *s)
{
	return s->processes.n;
}

const struct session_stats *session_stats(const struct session *s)
{
	return &s->stats;
}

void session_stop(struct session *s)
{
	atomic_store(&s->beacon->stop, 1);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void session_close(struct session *s)
{
	if (!s)
		return;
	if (s->beacon)
		session_stop(s);
	close_beacon(s);
	for (size_t i = 0; i < SESSION_CONNS_MAX; i++)
		close_fd(s->conns[i].fd);
	for (size_t i = 0; i < s->processes.n; i++)
		session_process_free(s->processes.v[i]);
	vec_done(&s->processes);
	close_fd(s->listen_fd);
	close_fd(s->spare_fd);
	close_fd(s->epoll_fd);
	private_dir_remove(&s->dir);
	free(s->record);
	free(s);
}
