/* SPDX-License-Identifier: MIT
 * The session when things go wrong: either side killed, a target that scribbles over the shared
 * memory, clients that misbehave at the door. Run under ASan as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/link.h"
#include "base/buf.h"
#include "collect/agents/session_rig.h"
#include "wire/session_layout.h"

static const struct session_options small = {
	.n_slots = 8,
	.ring_bytes = 16 << 10,
	.sparse_bytes = 64 << 10,
};

/* Memory all processes of a test see. */
struct board {
	_Atomic uint64_t n_tried, n_written;
	_Atomic uint64_t killed_ns, quiet_ns, heir;
	char dir[128];
};

static struct board *board_new(void)
{
	struct board *b =
		mmap(NULL, sizeof *b, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(b != MAP_FAILED);
	return b;
}

/* ---- a killed target ---- */

static int target_counting(struct rig_wires *w, void *arg)
{
	struct board *b = arg;

	RIG_CHECK(leadline_link_open("counting") == 0);
	rig_tell_test(w);
	for (uint64_t i = 0;; i++) {
		bool is_written = rig_emit(0, i);

		atomic_fetch_add(&b->n_written, is_written);
		atomic_store(&b->n_tried, i + 1);
	}
}

struct mark {
	struct board *b;
	uint64_t n;
};

static bool has_tried(struct rig *g, void *ctx)
{
	struct mark *m = ctx;

	(void)g;
	return atomic_load(&m->b->n_tried) >= m->n;
}

static void a_killed_target_loses_nothing_that_was_complete(void **state)
{
	(void)state;
	for (uint64_t round = 0; round < 15; round++) {
		struct mark m = { .b = board_new(), .n = round * 997 + 1 };
		struct rig_process *p;
		struct rig_wires w;
		struct rig g;
		pid_t pid;

		rig_open(&g, &small);
		pid = rig_spawn(&w, target_counting, m.b);
		assert_true(rig_await_target_turning(&g, &w));
		assert_true(rig_until(&g, has_tried, &m));
		kill(pid, SIGKILL);
		assert_int_equal(rig_wait(&g, pid), 128 + SIGKILL);
		assert_true(rig_until(&g, NULL, NULL));
		p = rig_find(&g, pid, 1);
		/* The one record between commit and our count may be there or not. */
		assert_in_range(p->n, m.b->n_written, m.b->n_written + 1);
		assert_in_range(p->n + p->n_dropped, m.b->n_tried, m.b->n_tried + 1);
		assert_int_equal(g.n_bad, 0);
		assert_int_equal(g.n_abandoned, 0);
		rig_close(&g);
		munmap(m.b, sizeof *m.b);
	}
}

/* ---- a killed tool ---- */

struct tool {
	struct board *b;
	struct session_options o;
	bool is_hanging; /* answers one hello and then nothing */
};

static int run_tool(struct rig_wires *w, void *arg)
{
	struct tool *t = arg;
	static struct rig g;

	rig_open(&g, &t->o);
	snprintf(t->b->dir, sizeof t->b->dir, "%s", session_dir(g.s));
	rig_tell_test(w);
	while (rig_turn(&g))
		if (t->is_hanging && g.n_seen)
			pause();
	return 1;
}

static pid_t start_tool(struct rig_wires *w, struct tool *t)
{
	pid_t pid = rig_spawn(w, run_tool, t);

	rig_await_target(w);
	setenv(SESSION_ENV, t->b->dir, 1);
	return pid;
}

static void kill_tool(pid_t pid, struct tool *t)
{
	struct session *next;
	struct err e = ERR_INIT;

	atomic_store(&t->b->killed_ns, clock_monotonic_ns());
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	unsetenv(SESSION_ENV);
	assert_int_equal(access(t->b->dir, F_OK), 0);
	assert_int_equal(session_open(&next, &t->o, &e), 0);
	assert_int_equal(access(t->b->dir, F_OK), -1); /* the next one has removed it */
	session_close(next);
}

static int target_surviving(struct rig_wires *w, void *arg)
{
	struct board *b = arg;
	uint64_t start_ns;
	pid_t child;
	int status;

	RIG_CHECK(leadline_link_open("surviving") == 0);
	RIG_CHECK(rig_emit(0, 0));
	rig_tell_test(w);
	for (uint64_t i = 1; leadline_link_is_live(); i++)
		rig_emit(0, i);
	atomic_store(&b->quiet_ns, clock_monotonic_ns());
	/* Quiet for good, for its children as well, and without looking for the tool. */
	start_ns = clock_monotonic_ns();
	for (uint64_t i = 0; i < 100000; i++)
		RIG_CHECK(!rig_emit(0, i));
	RIG_CHECK(!leadline_link_thread() && !leadline_link_alloc(64));
	child = fork();
	if (child == 0)
		_exit(rig_emit(0, 0) || leadline_link_is_live());
	RIG_CHECK(waitpid(child, &status, 0) == child && status == 0);
	RIG_CHECK(clock_monotonic_ns() - start_ns < 2000000000);
	return 0;
}

static void a_killed_tool_is_noticed_at_once(void **state)
{
	struct tool t = { .b = board_new(), .o = small };
	struct rig_wires tool_wires, w;
	int status;
	pid_t tool, pid;

	(void)state;
	tool = start_tool(&tool_wires, &t);
	pid = rig_spawn(&w, target_surviving, t.b);
	rig_await_target(&w);
	kill_tool(tool, &t);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	/* The kernel sets the word while it ends the tool; the heartbeat would need 5 s. */
	assert_in_range(t.b->quiet_ns - t.b->killed_ns, 0, 1000000000);
	munmap(t.b, sizeof *t.b);
}

/* Tells the test when the main thread, in slot 0, is really asleep. */
static void *watch_wait(void *arg)
{
	struct session_header *h = (void *)(uintptr_t)leadline_link_header();
	struct session_layout l;

	session_layout_init(&l, h->n_slots, h->ring_bytes, h->sparse_bytes);
	while (!atomic_load(&session_slot_at(&l, h, 0)->ring.is_waiting))
		sched_yield();
	rig_tell_test(arg);
	return NULL;
}

static int target_waiting(struct rig_wires *w, void *arg)
{
	struct board *b = arg;
	pthread_t watcher;
	uint64_t i = 0;

	RIG_CHECK(leadline_link_open("waiting") == 0);
	RIG_CHECK(leadline_link_thread());
	RIG_CHECK(pthread_create(&watcher, NULL, watch_wait, w) == 0);
	while (rig_emit(0, i++))
		;
	atomic_store(&b->quiet_ns, clock_monotonic_ns());
	pthread_join(watcher, NULL);
	RIG_CHECK(!leadline_link_is_live());
	return 0;
}

static void a_wait_ends_when_the_tool_is_killed(void **state)
{
	struct tool t = { .b = board_new(), .o = small, .is_hanging = true };
	struct rig_wires tool_wires, w;
	int status;
	pid_t tool, pid;

	(void)state;
	t.o.wait_max_ns = 4000000000; /* below the 5 s after which a tool counts as hanging */
	tool = start_tool(&tool_wires, &t);
	pid = rig_spawn(&w, target_waiting, t.b);
	rig_await_target(&w);
	kill_tool(tool, &t);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_in_range(t.b->quiet_ns - t.b->killed_ns, 0, 1000000000);
	munmap(t.b, sizeof *t.b);
}

/* ---- a target that lies ---- */

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 16;
}

/* Words that look right where they land: states, lengths, positions near the true ones. */
static uint64_t plausible(uint64_t *seed)
{
	uint64_t r = next_random(seed);

	switch (r % 6) {
	case 0:
		return next_random(seed) % 4;
	case 1:
		return next_random(seed) % 40000 & ~7u;
	case 2:
		return (uint64_t)RING_KIND_PAD << 32 | next_random(seed) % 20000;
	case 3:
		return (uint64_t)RIG_KIND << 32 | next_random(seed) % 300;
	case 4:
		return UINT64_MAX - next_random(seed) % 3;
	default:
		return next_random(seed) << 20 ^ r;
	}
}

struct scribble {
	struct board *b;
	uint64_t seed;
};

static int target_scribbling(struct rig_wires *w, void *arg)
{
	struct scribble *s = arg;
	uint64_t seed = s->seed, n_words;
	_Atomic uint64_t *map;

	RIG_CHECK(leadline_link_open("scribbling") == 0);
	RIG_CHECK(rig_emit(0, 0));
	map = (void *)(uintptr_t)leadline_link_header();
	n_words = leadline_link_header()->map_bytes / 8;
	rig_tell_test(w);
	for (;;) {
		uint64_t at = next_random(&seed), value = plausible(&seed);

		switch (at % 4) { /* most of it where it hurts: header, slots, anywhere */
		case 0:
			at = (at >> 8) % 32;
			break;
		case 1:
		case 2:
			at = (SESSION_PAGE_BYTES + (at >> 8) % (8 * sizeof(struct session_slot))) /
				8;
			break;
		default:
			at = (at >> 8) % n_words;
		}
		atomic_store(&map[at], value);
		if (seed >> 54 == 0) /* now and then as if nothing had happened */
			rig_emit(0, seed);
		atomic_fetch_add(&s->b->n_tried, 1);
	}
}

static int snapshot_too(void *ctx, const struct session_event *ev, struct err *e)
{
	static struct buf b;

	(void)e;
	if (ev->data && ev->n_bytes)
		*(uint64_t *)ctx += ((const unsigned char *)ev->data)[ev->n_bytes - 1];
	if (ev->what != SESSION_RECORD)
		session_snapshot(ev->process, &b);
	return 0;
}

static void a_scribbling_target_is_survived(void **state)
{
	uint64_t n_abandoned = 0, sum = 0;

	(void)state;
	for (uint64_t round = 0; round < 60; round++) {
		struct scribble s = { .b = board_new(), .seed = round + 1 };
		struct rig_wires w;
		struct rig g;
		pid_t pid;

		rig_open(&g, &small);
		pid = rig_spawn(&w, target_scribbling, &s);
		while (session_n_live(g.s) == 0)
			assert_int_equal(session_poll(g.s, &g.e), 0);
		rig_await_target(&w);
		while (atomic_load(&s.b->n_tried) < 60000) {
			assert_int_equal(session_poll(g.s, &g.e), 0);
			assert_true(session_drain(g.s, snapshot_too, &sum, &g.e) >= 0);
		}
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		while (session_n_live(g.s) > 0) {
			assert_int_equal(session_poll(g.s, &g.e), 0);
			assert_true(session_drain(g.s, snapshot_too, &sum, &g.e) >= 0);
		}
		n_abandoned += session_stats(g.s)->n_abandoned;
		rig_close(&g);
		munmap(s.b, sizeof *s.b);
	}
	assert_true(n_abandoned > 0);
}

/* A forked child that goes on writing into its parent's ring, behind the link's back. */
static int target_with_heir(struct rig_wires *w, void *arg)
{
	struct board *b = arg;
	struct session_header *h;
	struct session_layout l;
	struct ring_writer ring;

	RIG_CHECK(leadline_link_open("with heir") == 0);
	RIG_CHECK(rig_emit(0, 0));
	h = (void *)(uintptr_t)leadline_link_header();
	RIG_CHECK(session_layout_init(&l, h->n_slots, h->ring_bytes, h->sparse_bytes));
	if (fork() > 0) {
		rig_await_test(w);
		_exit(0);
	}
	atomic_store(&b->heir, (uint64_t)getpid());
	ring_writer_init(
		&ring, &session_slot_at(&l, h, 0)->ring, session_ring_at(&l, h, 0), l.ring_bytes);
	alarm(60);
	for (;;)
		if (ring_reserve(&ring, RIG_KIND, 0, 8)) {
			ring_commit(&ring);
			atomic_fetch_add(&b->n_tried, 1);
		}
}

static void an_heir_that_writes_on_does_not_keep_a_process_open(void **state)
{
	struct mark m = { .b = board_new(), .n = 10000 };
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_with_heir, m.b);
	assert_true(rig_until(&g, has_tried, &m));
	rig_tell_target(&w);
	assert_int_equal(rig_wait(&g, pid), 0);
	assert_true(rig_until(&g, NULL, NULL));
	kill((pid_t)m.b->heir, SIGKILL);
	rig_close(&g);
	munmap(m.b, sizeof *m.b);
}

/* ---- the door ---- */

static int raw_connect(void)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	snprintf(to.sun_path, sizeof to.sun_path, "%.90s/" SESSION_SOCKET, getenv(SESSION_ENV));
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
		return fd;
	close(fd);
	return -1;
}

static void raw_send(int fd, uint64_t image)
{
	struct session_hello hello = { .magic = SESSION_MAGIC,
		.version = SESSION_VERSION,
		.pid = getpid(),
		.image = image,
		.build = "raw" };

	while (send(fd, &hello, sizeof hello, MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
}

/* Waits for the answer; the `refused` of it, or -1. Descriptors go to ret_fds. */
static int raw_receive(int fd, int ret_fds[2])
{
	char control[CMSG_SPACE(2 * sizeof(int))];
	struct session_reply reply;
	struct iovec part = { .iov_base = &reply, .iov_len = sizeof reply };
	struct msghdr m = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control };

	fcntl(fd, F_SETFL, 0);
	if (recvmsg(fd, &m, 0) != (ssize_t)sizeof reply)
		return -1;
	if (CMSG_FIRSTHDR(&m))
		memcpy(ret_fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), 2 * sizeof(int));
	return reply.refused;
}

static int raw_hello(uint64_t image, int ret_fds[2])
{
	int fd = raw_connect(), result = -1;

	if (fd >= 0) {
		raw_send(fd, image);
		result = raw_receive(fd, ret_fds);
		close(fd);
	}
	return result;
}

static int target_good(struct rig_wires *w, void *arg)
{
	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("good") == 0);
	for (uint64_t i = 0; i < 10; i++)
		RIG_CHECK(rig_emit(0, i));
	return 0;
}

static void expect_good_target(struct rig *g)
{
	struct rig_wires w;
	pid_t pid = rig_spawn(&w, target_good, NULL);

	assert_int_equal(rig_wait(g, pid), 0);
	assert_true(rig_until(g, NULL, NULL));
	assert_int_equal(rig_find(g, pid, 1)->streams[0].n, 10);
}

static void rude_clients_do_not_block_the_door(void **state)
{
	static char large[60000];
	struct session_hello hello = { .magic = SESSION_MAGIC, .version = SESSION_VERSION + 1 };
	int silent[200], fds[2], fd;
	struct rig g;

	(void)state;
	rig_open(&g, &small);
	for (size_t i = 0; i < 200; i++) {
		silent[i] = raw_connect();
		assert_true(silent[i] >= 0);
		if (i % 20 == 0)
			rig_turn(&g);
	}
	expect_good_target(&g);
	assert_true(session_stats(g.s)->n_refused >= 200 - 64);

	fd = raw_connect(); /* says too much */
	assert_int_equal(send(fd, large, sizeof large, 0), sizeof large);
	rig_turn(&g);
	assert_int_equal(raw_receive(fd, fds), EPROTO);
	close(fd);
	fd = raw_connect(); /* too little */
	assert_int_equal(send(fd, "hello", 5, 0), 5);
	rig_turn(&g);
	assert_int_equal(raw_receive(fd, fds), EPROTO);
	close(fd);
	fd = raw_connect(); /* the right length, in another tongue */
	assert_int_equal(send(fd, large, sizeof hello, 0), sizeof hello);
	rig_turn(&g);
	assert_int_equal(raw_receive(fd, fds), EPROTO);
	close(fd);
	fd = raw_connect(); /* of another version */
	assert_int_equal(send(fd, &hello, sizeof hello, 0), sizeof hello);
	rig_turn(&g);
	assert_int_equal(raw_receive(fd, fds), EPROTO);
	close(fd);
	assert_int_equal(session_stats(g.s)->n_other_version, 1);
	for (int i = 0; i < 100; i++) { /* says hello and does not wait */
		fd = raw_connect();
		raw_send(fd, 1);
		close(fd);
		if (i % 10 == 0)
			rig_turn(&g);
	}
	for (size_t i = 0; i < 200; i++)
		close(silent[i]);
	rig_turn(&g);
	rig_close(&g);
}

static size_t lowest_free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return (size_t)fd;
}

static void a_tool_without_descriptors_turns_clients_away(void **state)
{
	struct rlimit old, low;
	int clients[5], fds[2];
	struct rig g;

	(void)state;
	rig_open(&g, &small);
	for (int i = 0; i < 5; i++) {
		clients[i] = raw_connect();
		raw_send(clients[i], 1);
	}
	getrlimit(RLIMIT_NOFILE, &old);
	low = (struct rlimit){ lowest_free_fd(), old.rlim_max };
	setrlimit(RLIMIT_NOFILE, &low);
	assert_true(rig_turn(&g));
	setrlimit(RLIMIT_NOFILE, &old);
	assert_int_equal(session_stats(g.s)->n_refused, 5);
	for (int i = 0; i < 5; i++) {
		assert_int_equal(raw_receive(clients[i], fds), EMFILE);
		close(clients[i]);
	}
	expect_good_target(&g);
	rig_close(&g);
}

static int target_stranger(struct rig_wires *w, void *arg)
{
	int fds[2];

	(void)w;
	(void)arg;
	RIG_CHECK(setuid(65534) == 0);
	RIG_CHECK(raw_hello(1, fds) == EPERM);
	return 0;
}

static void another_user_is_refused(void **state)
{
	struct rig_wires w;
	char path[256], place[] = "/run/leadline-test-XXXXXX", base[64];
	struct rig g;

	(void)state;
	if (geteuid() != 0 || !mkdtemp(place))
		skip();
	setenv("XDG_RUNTIME_DIR", place, 1);
	rig_open(&g, &small);
	unsetenv("XDG_RUNTIME_DIR");
	snprintf(base, sizeof base, "%s/leadline", place);
	snprintf(path, sizeof path, "%s/" SESSION_SOCKET, session_dir(g.s));
	assert_memory_equal(path, base, strlen(base));
	assert_int_equal(chmod(place, 0777), 0); /* else it would not get that far */
	assert_int_equal(chmod(base, 0777), 0);
	assert_int_equal(chmod(session_dir(g.s), 0777), 0);
	assert_int_equal(chmod(path, 0777), 0);
	assert_int_equal(rig_wait(&g, rig_spawn(&w, target_stranger, NULL)), 0);
	assert_int_equal(session_n_live(g.s), 0);
	rig_close(&g);
	assert_int_equal(rmdir(base), 0);
	assert_int_equal(rmdir(place), 0);
}

static bool has_future_write_seal(void)
{
	int fd = memfd_create("probe", MFD_ALLOW_SEALING);
	bool has = fcntl(fd, F_ADD_SEALS, 0x10) == 0;

	close(fd);
	return has;
}

/* What a target could do with the descriptors it is given. */
static int target_prying(struct rig_wires *w, void *arg)
{
	struct session_beacon *b;
	char path[64];
	int fds[2], again;

	(void)w;
	(void)arg;
	RIG_CHECK(raw_hello(1, fds) == 0);
	RIG_CHECK(ftruncate(fds[0], 0) < 0 && errno == EPERM);
	RIG_CHECK(ftruncate(fds[0], (off_t)1 << 40) < 0 && errno == EPERM);
	RIG_CHECK(fcntl(fds[0], F_ADD_SEALS, F_SEAL_WRITE) < 0);
	RIG_CHECK(ftruncate(fds[1], 0) < 0);
	RIG_CHECK(pwrite(fds[1], "x", 1, 0) < 0);
	RIG_CHECK(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0) == MAP_FAILED);
	b = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fds[1], 0);
	RIG_CHECK(b != MAP_FAILED && b->magic == SESSION_MAGIC && b->stop == 0);
	RIG_CHECK(mprotect(b, 4096, PROT_READ | PROT_WRITE) < 0);
	/* Opened again for writing: refused by the seal, which came with Linux 5.1. */
	snprintf(path, sizeof path, "/proc/self/fd/%d", fds[1]);
	again = open(path, O_RDWR);
	if (again >= 0 && has_future_write_seal()) {
		RIG_CHECK(mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, again, 0) == MAP_FAILED);
		RIG_CHECK(pwrite(again, "x", 1, 0) < 0);
	}
	return 0;
}

static void descriptors_allow_no_more_than_they_should(void **state)
{
	struct rig_wires w;
	struct rig g;

	(void)state;
	rig_open(&g, &small);
	assert_int_equal(rig_wait(&g, rig_spawn(&w, target_prying, NULL)), 0);
	assert_true(rig_until(&g, NULL, NULL));
	rig_close(&g);
}

static int target_many_hellos(struct rig_wires *w, void *arg)
{
	int fds[2];

	(void)arg;
	RIG_CHECK(raw_hello(1, fds) == 0 && raw_hello(1, fds) == 0); /* two agents in one image */
	rig_tell_test(w);
	rig_await_test(w);
	RIG_CHECK(raw_hello(2, fds) == 0); /* exec */
	rig_tell_test(w);
	rig_await_test(w);
	return 0;
}

static void hellos_of_one_pid_are_kept_apart(void **state)
{
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_many_hellos, NULL);
	assert_true(rig_await_target_turning(&g, &w));
	rig_turn(&g);
	assert_int_equal(session_n_live(g.s), 2);
	rig_tell_target(&w);
	assert_true(rig_await_target_turning(&g, &w));
	rig_turn(&g);
	assert_int_equal(session_n_live(g.s), 1);
	for (uint32_t i = 1; i <= 3; i++) {
		assert_int_equal(rig_find(&g, pid, i)->id, i);
		assert_int_equal(rig_find(&g, pid, i)->has_ended, i < 3);
	}
	rig_tell_target(&w);
	assert_int_equal(rig_wait(&g, pid), 0);
	assert_true(rig_until(&g, NULL, NULL));
	rig_close(&g);
}

/* ---- many at once, and a tool that fails itself ---- */

static void many_processes_come_at_once(void **state)
{
	enum { N = 60 };
	struct rig_wires w[N];
	pid_t pids[N];
	struct rig g;

	(void)state;
	rig_open(&g, &small);
	for (int i = 0; i < N; i++) {
		pids[i] = rig_spawn(&w[i], target_good, NULL);
		rig_turn(&g);
	}
	for (int i = 0; i < N; i++)
		assert_int_equal(rig_wait(&g, pids[i]), 0);
	assert_true(rig_until(&g, NULL, NULL));
	for (int i = 0; i < N; i++)
		assert_int_equal(rig_find(&g, pids[i], 1)->streams[0].n, 10);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

static int fail_at_third(void *ctx, const struct session_event *ev, struct err *e)
{
	int *n = ctx;

	if (ev->what == SESSION_RECORD && ++*n == 3)
		return err_set(e, ERR_SYSTEM, "disk full");
	return 0;
}

static void a_failing_callback_ends_the_drain_and_loses_one_record(void **state)
{
	struct err e = ERR_INIT;
	struct rig_wires w;
	int n = 0;
	struct rig g;
	pid_t pid;

	(void)state;
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_good, NULL);
	while (session_n_live(g.s) == 0)
		session_poll(g.s, &e);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(session_drain(g.s, fail_at_third, &n, &e), -ERR_SYSTEM);
	assert_string_equal(e.text, "disk full");
	assert_int_equal(n, 3);
	while (session_n_live(g.s) > 0) {
		session_poll(g.s, &e);
		assert_true(session_drain(g.s, fail_at_third, &n, &e) >= 0);
	}
	assert_int_equal(n, 10);
	rig_close(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_killed_target_loses_nothing_that_was_complete),
		cmocka_unit_test(a_killed_tool_is_noticed_at_once),
		cmocka_unit_test(a_wait_ends_when_the_tool_is_killed),
		cmocka_unit_test(a_scribbling_target_is_survived),
		cmocka_unit_test(an_heir_that_writes_on_does_not_keep_a_process_open),
		cmocka_unit_test(rude_clients_do_not_block_the_door),
		cmocka_unit_test(a_tool_without_descriptors_turns_clients_away),
		cmocka_unit_test(another_user_is_refused),
		cmocka_unit_test(descriptors_allow_no_more_than_they_should),
		cmocka_unit_test(hellos_of_one_pid_are_kept_apart),
		cmocka_unit_test(many_processes_come_at_once),
		cmocka_unit_test(a_failing_callback_ends_the_drain_and_loses_one_record),
	};

	return cmocka_run_group_tests_name("session_hostile", tests, NULL, NULL);
}
