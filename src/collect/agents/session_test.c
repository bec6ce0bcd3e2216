/* SPDX-License-Identifier: MIT
 * The session as it should go: hello, records, threads, fork, exec, losses, stopping. What happens
 * when a side dies or lies is in session_hostile_test.c. Targets are children of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/core/link.h"
#include "base/buf.h"
#include "collect/agents/session_rig.h"
#include "wire/session_layout.h"

static const char *own_path; /* of this program, for exec */

static const struct session_options small = { .n_slots = 8,
	.ring_bytes = 16 << 10,
	.sparse_bytes = 1 << 20,
	.agent_options = { .calls = AGENT_CALLS_TIMED,
		.wants_timeline = 1,
		.timeline_min_ns = UINT32_MAX,
		.wants_torch = 1 } };

static size_t count_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	size_t n = 0;

	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n;
}

/* ---- hello and records ---- */

static bool has_options(const struct agent_options *wanted)
{
	struct agent_options o = leadline_link_options();

	return memcmp(&o, wanted, sizeof o) == 0;
}

static int target_hello(struct rig_wires *w, void *arg)
{
	size_t n_fds = count_fds();

	(void)w;
	(void)arg;
	RIG_CHECK(!rig_emit(0, 0)); /* no link yet: quiet, no crash */
	RIG_CHECK(!leadline_link_options().calls);
	errno = 77;
	RIG_CHECK(leadline_link_open("CPython 3.12.1\n\x80 test") == 0);
	RIG_CHECK(leadline_link_open("again") == -EALREADY);
	RIG_CHECK(count_fds() == n_fds);
	RIG_CHECK(leadline_link_is_live() && leadline_link_epoch() == 1);
	RIG_CHECK(has_options(&small.agent_options));
	RIG_CHECK(leadline_link_header()->py_layout[3] == 9);
	RIG_CHECK(leadline_link_now() > 0);
	for (uint64_t i = 0; i < 50; i++)
		RIG_CHECK(rig_emit(3, i));
	RIG_CHECK(errno == 77);
	return 0;
}

static int fill_layout(void *ctx, const struct session_process *p, void *room, size_t n)
{
	*(pid_t *)ctx = p->pid;
	((unsigned char *)room)[3] = 9;
	return n == SESSION_PY_LAYOUT_BYTES && strstr(p->build, "3.12.1") ? 0 : -1;
}

/* A target from its beginning to its end, and all that it told; the caller closes g. */
static pid_t run_target(
	struct rig *g, const struct session_options *o, int (*target)(struct rig_wires *, void *))
{
	struct rig_wires w;
	pid_t pid;

	rig_open(g, o);
	pid = rig_spawn(&w, target, NULL);
	assert_int_equal(rig_wait(g, pid), 0);
	assert_true(rig_until(g, NULL, NULL));
	return pid;
}

static void a_process_says_hello_and_its_records_arrive(void **state)
{
	struct session_options o = small;
	pid_t asked = 0, pid;
	struct rig_process *p;
	struct rig g;

	(void)state;
	o.fill_layout = fill_layout;
	o.ctx = &asked;
	pid = run_target(&g, &o, target_hello);
	p = rig_find(&g, pid, 1);
	assert_non_null(p);
	assert_int_equal(asked, pid);
	assert_int_equal(p->parent_pid, getpid());
	assert_string_equal(p->build, "CPython 3.12.1?? test");
	assert_true(p->has_ended);
	assert_int_equal(p->streams[3].n, 50);
	assert_int_equal(p->n_dropped, 0);
	assert_int_equal(g.n_bad, 0);
	assert_int_equal(g.n_open_threads, 0);
	assert_int_equal(session_stats(g.s)->n_processes, 1);
	assert_int_equal(session_stats(g.s)->n_threads, 1);
	assert_int_equal(session_stats(g.s)->counts.n_records, 50);
	rig_close(&g);
}

/* As on a kernel without pidfds: the end is found in /proc. */
static void an_end_is_noticed_without_pidfds(void **state)
{
	struct session_options o = small;
	struct rig_wires w;
	pid_t pid, asked;
	struct rig g;

	(void)state;
	o.without_pidfd = true;
	o.fill_layout = fill_layout;
	o.ctx = &asked;
	rig_open(&g, &o);
	pid = rig_spawn(&w, target_hello, NULL);
	assert_true(rig_until(&g, NULL, NULL) || g.n_seen == 0);
	while (g.n_seen == 0)
		assert_true(rig_turn(&g));
	assert_true(rig_until(&g, NULL, NULL)); /* it is a zombie: nobody has waited for it */
	assert_int_equal(rig_find(&g, pid, 1)->streams[3].n, 50);
	assert_int_equal(rig_wait(&g, pid), 0);
	rig_close(&g);
}

/* What the agent has taken stays, whatever becomes of the shared one. */
static int target_scribbling(struct rig_wires *w, void *arg)
{
	struct session_header *h;

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("scribbling") == 0);
	h = (void *)(uintptr_t)leadline_link_header();
	memset(&h->agent_options, 0xff, sizeof h->agent_options);
	RIG_CHECK(has_options(&small.agent_options));
	return 0;
}

static void options_in_shared_memory_are_read_once(void **state)
{
	struct rig_wires w;
	struct rig g;

	(void)state;
	rig_open(&g, &small);
	assert_int_equal(rig_wait(&g, rig_spawn(&w, target_scribbling, NULL)), 0);
	assert_true(rig_until(&g, NULL, NULL));
	rig_close(&g);
}

static int target_misled(struct rig_wires *w, void *arg)
{
	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("misled") == -EPROTO);
	RIG_CHECK(!leadline_link_is_live() && !leadline_link_options().calls);
	RIG_CHECK(!rig_emit(0, 0));
	return 0;
}

/* A tool that asks for what makes no sense: the byte at *ctx of the options is another. */
static int spoil_options(void *ctx, const struct session_process *p, void *room, size_t n)
{
	unsigned char *header = (unsigned char *)room - offsetof(struct session_header, py_layout);

	(void)p;
	(void)n;
	header[offsetof(struct session_header, agent_options) + *(size_t *)ctx] = 101;
	return 0;
}

static void an_agent_does_not_do_what_makes_no_sense(void **state)
{
	static const size_t places[] = { offsetof(struct agent_options, calls),
		offsetof(struct agent_options, wants_args),
		offsetof(struct agent_options, budget_pct),
		offsetof(struct agent_options, wants_torch), sizeof(struct agent_options) - 1 };

	(void)state;
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		struct session_options o = small;
		struct rig_wires w;
		struct rig g;

		o.fill_layout = spoil_options;
		o.ctx = (void *)(uintptr_t)&places[i];
		rig_open(&g, &o);
		assert_int_equal(rig_wait(&g, rig_spawn(&w, target_misled, NULL)), 0);
		assert_true(rig_until(&g, NULL, NULL));
		rig_close(&g);
	}
}

static int target_refused(struct rig_wires *w, void *arg)
{
	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("CPython 2.7") == -ECONNREFUSED);
	RIG_CHECK(!rig_emit(0, 0) && !leadline_link_is_live() && !leadline_link_alloc(8));
	return 0;
}

static void a_process_can_be_refused(void **state)
{
	struct session_options o = small;
	struct rig_wires w;
	pid_t asked = 0;
	struct rig g;

	(void)state;
	o.fill_layout = fill_layout;
	o.ctx = &asked;
	rig_open(&g, &o);
	assert_int_equal(rig_wait(&g, rig_spawn(&w, target_refused, NULL)), 0);
	assert_int_equal(session_stats(g.s)->n_refused, 1);
	assert_int_equal(session_stats(g.s)->n_processes, 0);
	rig_close(&g);
}

static int target_alone(struct rig_wires *w, void *arg)
{
	uint64_t start_ns = clock_monotonic_ns(), took_ns;
	int want = *(int *)arg, status;

	(void)w;
	RIG_CHECK(leadline_link_open("x") == want);
	took_ns = clock_monotonic_ns() - start_ns;
	if (want == -ETIMEDOUT)
		RIG_CHECK(took_ns >= 190000000 && took_ns < 10000000000u);
	/* Final, for children too: a hundred of them do not wait 200 ms each. */
	start_ns = clock_monotonic_ns();
	for (int i = 0; i < 100; i++) {
		pid_t child = fork();

		if (child == 0)
			_exit(rig_emit(0, 0) || leadline_link_thread());
		RIG_CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	RIG_CHECK(clock_monotonic_ns() - start_ns < 10000000000u);
	RIG_CHECK(!rig_emit(0, 0) && !leadline_link_thread());
	return 0;
}

static void an_agent_without_a_tool_gives_up_in_time(void **state)
{
	int no_session = -ENOENT, hangs = -ETIMEDOUT, status;
	char dir[128];
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	unsetenv(SESSION_ENV);
	waitpid(rig_spawn(&w, target_alone, &no_session), &status, 0);
	assert_int_equal(status, 0);
	setenv(SESSION_ENV, "/nonexistent/leadline", 1);
	waitpid(rig_spawn(&w, target_alone, &no_session), &status, 0);
	assert_int_equal(status, 0);
	/* A tool that does not answer. */
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_alone, &hangs);
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	/* It comes too late to the door: nobody is there any more, and it does not matter. */
	for (int i = 0; i < 3; i++)
		assert_true(rig_turn(&g));
	assert_int_equal(session_n_live(g.s), 0);
	assert_int_equal(session_stats(g.s)->n_refused, 1);
	snprintf(dir, sizeof dir, "%s", session_dir(g.s));
	rig_close(&g);
	setenv(SESSION_ENV, dir, 1);
	waitpid(rig_spawn(&w, target_alone, &no_session), &status, 0);
	assert_int_equal(status, 0);
	unsetenv(SESSION_ENV);
}

/* ---- losses ---- */

static int target_flood(struct rig_wires *w, void *arg)
{
	uint64_t n = *(uint64_t *)arg, written = 0;

	RIG_CHECK(leadline_link_open("flood") == 0);
	for (uint64_t i = 0; i < n; i++)
		written += rig_emit(0, i);
	RIG_CHECK(written < n);
	RIG_CHECK(!leadline_link_emit(1, own_path, 1 << 20)); /* too large: a drop as well */
	rig_tell_test(w);
	rig_await_test(w);
	for (uint64_t i = n; i < 2 * n; i++)
		rig_emit(0, i);
	return 0;
}

static void a_full_ring_drops_and_counts_exactly(void **state)
{
	uint64_t n = 20000;
	struct rig_process *p;
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_flood, &n);
	while (g.n_seen == 0)
		rig_turn(&g);
	rig_await_target(&w); /* the ring fills with nobody reading … */
	rig_tell_target(&w);  /* … and then with somebody */
	assert_int_equal(rig_wait(&g, pid), 0);
	assert_true(rig_until(&g, NULL, NULL));
	p = rig_find(&g, pid, 1);
	assert_true(p->n > 100 && p->n_dropped > n / 2);
	assert_int_equal(p->n + p->n_dropped, 2 * n + 1);
	assert_int_equal(g.n_bad, 0);
	assert_int_equal(session_stats(g.s)->counts.n_dropped, p->n_dropped);
	rig_close(&g);
}

static int target_exact(struct rig_wires *w, void *arg)
{
	(void)w;
	RIG_CHECK(leadline_link_open("exact") == 0);
	for (uint64_t i = 0; i < *(uint64_t *)arg; i++)
		RIG_CHECK(rig_emit(0, i));
	return 0;
}

static void an_exact_session_waits_and_loses_nothing(void **state)
{
	struct session_options o = small;
	uint64_t n = 30000;
	struct rig_process *p;
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	o.wait_max_ns = 10000000000u;
	rig_open(&g, &o);
	pid = rig_spawn(&w, target_exact, &n);
	assert_int_equal(rig_wait(&g, pid), 0);
	assert_true(rig_until(&g, NULL, NULL));
	p = rig_find(&g, pid, 1);
	assert_int_equal(p->streams[0].n, n);
	assert_int_equal(p->n_dropped, 0);
	assert_true(p->n_waits > 0);
	assert_int_equal(p->n_timeouts, 0);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

static int target_hanging_tool(struct rig_wires *w, void *arg)
{
	uint64_t i = 0, start_ns, took_ns = 0; /* every 240th probe: all of one size */

	(void)arg;
	RIG_CHECK(leadline_link_open("hanging") == 0);
	do {
		start_ns = clock_monotonic_ns();
	} while (rig_emit(0, i++ * 240));
	took_ns = clock_monotonic_ns() - start_ns;
	RIG_CHECK(took_ns >= 50000000 && took_ns < 5000000000u);
	/* Not again for every record. */
	start_ns = clock_monotonic_ns();
	for (int k = 0; k < 1000; k++, i++)
		RIG_CHECK(!rig_emit(0, i * 240));
	RIG_CHECK(clock_monotonic_ns() - start_ns < 5000000000u);
	rig_tell_test(w);
	rig_await_test(w);
	RIG_CHECK(rig_emit(0, i * 240));
	return 0;
}

static void a_wait_is_bounded_and_not_repeated(void **state)
{
	struct session_options o = small;
	struct rig_process *p;
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	o.wait_max_ns = 50000000;
	rig_open(&g, &o);
	pid = rig_spawn(&w, target_hanging_tool, NULL);
	while (g.n_seen == 0)
		rig_turn(&g);
	rig_await_target(&w);
	rig_turn(&g);
	rig_tell_target(&w);
	assert_int_equal(rig_wait(&g, pid), 0);
	assert_true(rig_until(&g, NULL, NULL));
	p = rig_find(&g, pid, 1);
	assert_int_equal(p->n_timeouts, 1);
	assert_int_equal(p->n_dropped, 1001);
	rig_close(&g);
}

/* ---- threads ---- */

static void *emit_some(void *arg)
{
	uint32_t stream = (uint32_t)(uintptr_t)arg;

	for (uint64_t i = 0; i < 1000; i++)
		rig_emit(stream, i);
	return NULL;
}

static int target_threads(struct rig_wires *w, void *arg)
{
	pthread_t threads[4];

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("threads") == 0);
	for (uintptr_t round = 0; round < 8; round++) {
		for (uintptr_t i = 0; i < 4; i++)
			RIG_CHECK(pthread_create(&threads[i], NULL, emit_some,
					  (void *)(round * 4 + i)) == 0);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	return 0;
}

static void every_thread_has_its_own_ring(void **state)
{
	struct session_options o = small;
	struct rig_process *p;
	struct rig g;

	(void)state;
	o.n_slots = 32;
	o.ring_bytes = 256 << 10;
	p = rig_find(&g, run_target(&g, &o, target_threads), 1);
	assert_int_equal(p->n + p->n_dropped, 32000);
	assert_int_equal(p->n_homeless, 0);
	assert_int_equal(p->n_dropped, 0);
	assert_int_equal(g.n_bad, 0);
	assert_int_equal(session_stats(g.s)->n_threads, 32);
	rig_close(&g);
}

struct crowd {
	struct rig_wires *w;
	pthread_barrier_t full, over;
};

static void *hold_slot(void *arg)
{
	struct crowd *c = arg;

	leadline_link_thread();
	pthread_barrier_wait(&c->full);
	pthread_barrier_wait(&c->over);
	return NULL;
}

static void *emit_one(void *arg)
{
	uint32_t *stream = arg;

	return rig_emit(*stream, 0) ? arg : NULL;
}

/* All slots are taken: two threads, the main one among them, share the last. Then 40 threads after one another have one each, or
 * share that. Each has a stream of its own: slots are read in their order, not in that of the threads that had them. */
static int target_crowd(struct rig_wires *w, void *arg)
{
	struct crowd c = { .w = w };
	pthread_t threads[8], one;
	void *is_told;

	(void)arg;
	RIG_CHECK(leadline_link_open("crowd") == 0);
	pthread_barrier_init(&c.full, NULL, 9);
	pthread_barrier_init(&c.over, NULL, 9);
	for (int i = 0; i < 8; i++)
		RIG_CHECK(pthread_create(&threads[i], NULL, hold_slot, &c) == 0);
	pthread_barrier_wait(&c.full);
	for (uint64_t i = 0; i < 10; i++)
		RIG_CHECK(rig_emit(0, i));
	pthread_barrier_wait(&c.over);
	for (int i = 0; i < 8; i++)
		pthread_join(threads[i], NULL);
	for (uint32_t i = 1; i <= 40; i++) {
		RIG_CHECK(pthread_create(&one, NULL, emit_one, &i) == 0);
		pthread_join(one, &is_told);
		RIG_CHECK(is_told != NULL);
	}
	return 0;
}

static void slots_run_out_and_are_used_again(void **state)
{
	struct rig_process *p;
	struct rig g;

	(void)state;
	p = rig_find(&g, run_target(&g, &small, target_crowd), 1);
	assert_int_equal(p->streams[0].n, 10);
	for (int i = 1; i <= 40; i++)
		assert_int_equal(p->streams[i].n, 1);
	assert_int_equal(p->n_homeless, 0);
	assert_int_equal(p->n_dropped, 0);
	assert_in_range(session_stats(g.s)->n_threads, 8, 8 + 40);
	assert_int_equal(g.n_open_threads, 0);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

struct pushing {
	uint32_t stream;
	pthread_barrier_t *all;
};

static void *push(void *arg)
{
	struct pushing *p = arg;

	leadline_link_thread();
	pthread_barrier_wait(p->all);
	for (uint64_t i = 0; i < 500; i++)
		rig_emit(p->stream, i);
	return NULL;
}

/* 40 threads at once, 7 of them with a ring of their own. */
static int target_pushing(struct rig_wires *w, void *arg)
{
	struct pushing one[40];
	pthread_t threads[40];
	pthread_barrier_t all;

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("pushing") == 0);
	pthread_barrier_init(&all, NULL, 40);
	for (uint32_t i = 0; i < 40; i++) {
		one[i] = (struct pushing){ .stream = i, .all = &all };
		RIG_CHECK(pthread_create(&threads[i], NULL, push, &one[i]) == 0);
	}
	for (int i = 0; i < 40; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void threads_without_a_slot_share_one(void **state)
{
	struct session_options o = small;
	struct rig_process *p;
	struct rig g;

	(void)state;
	o.wait_max_ns = (uint64_t)10 * 1000000000;
	p = rig_find(&g, run_target(&g, &o, target_pushing), 1);
	for (int i = 0; i < 40; i++)
		assert_int_equal(p->streams[i].n, 500);
	assert_int_equal(p->n_dropped + p->n_homeless, 0);
	assert_int_equal(session_stats(g.s)->n_threads, 8);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

/* ---- signals ---- */

static _Atomic uint64_t n_handled;

static void emit_in_handler(int signal)
{
	(void)signal;
	rig_emit(1, atomic_fetch_add(&n_handled, 1));
}

static int target_signals(struct rig_wires *w, void *arg)
{
	struct itimerval every = { .it_interval = { 0, 50 }, .it_value = { 0, 50 } };
	uint64_t n = 0;

	(void)arg;
	RIG_CHECK(leadline_link_open("signals") == 0);
	signal(SIGALRM, emit_in_handler);
	setitimer(ITIMER_REAL, &every, NULL);
	while (atomic_load(&n_handled) < 300)
		rig_emit(0, n++);
	every = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &every, NULL);
	while (write(w->to_test[1], &n, sizeof n) < 0)
		;
	while (write(w->to_test[1], &n_handled, sizeof n) < 0)
		;
	return 0;
}

static void a_signal_handler_may_emit(void **state)
{
	struct rig_process *p;
	struct rig_wires w;
	uint64_t n[2];
	struct rig g;
	pid_t pid;

	(void)state;
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_signals, NULL);
	assert_int_equal(rig_wait(&g, pid), 0);
	assert_true(rig_until(&g, NULL, NULL));
	p = rig_find(&g, pid, 1);
	assert_int_equal(read(w.to_test[0], n, sizeof n), sizeof n);
	assert_int_equal(n[0] + n[1], p->n + p->n_dropped);
	assert_true(p->streams[1].n > 0);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

/* A probe in a page that may not be read yet: the emit is interrupted between reserve and commit,
 * every time. */
static unsigned char *closed_page;
static bool has_nested, forks_in_handler;
static pid_t handler_child;

static void open_page(int signal)
{
	(void)signal;
	mprotect(closed_page, 4096, PROT_READ | PROT_WRITE);
	has_nested = rig_emit(1, 0);
	if (forks_in_handler)
		handler_child = fork();
}

static int target_interrupted(struct rig_wires *w, void *arg)
{
	uint32_t n;
	int status;

	(void)w;
	forks_in_handler = *(bool *)arg;
	closed_page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	signal(SIGSEGV, open_page);
	RIG_CHECK(leadline_link_open("interrupted") == 0);
	RIG_CHECK(rig_emit(0, 0));
	n = rig_make(closed_page, 0, 1);
	mprotect(closed_page, 4096, PROT_NONE);
	if (!leadline_link_emit(RIG_KIND, closed_page, n)) {
		/* The child: the record is its parent's. From here on it is a process of its own. */
		RIG_CHECK(forks_in_handler && handler_child == 0);
		RIG_CHECK(leadline_link_epoch() == 0);
		RIG_CHECK(rig_emit(2, 0));
		_exit(0);
	}
	RIG_CHECK(!has_nested);
	RIG_CHECK(rig_emit(0, 2) && rig_emit(1, 1));
	if (forks_in_handler)
		RIG_CHECK(waitpid(handler_child, &status, 0) == handler_child && status == 0);
	RIG_CHECK(rig_emit(0, 3));
	return 0;
}

static void a_handler_inside_an_emit_does_no_harm(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		bool forks = i;
		struct rig_process *p;
		struct rig_wires w;
		struct rig g;
		pid_t pid;

		rig_open(&g, &small);
		pid = rig_spawn(&w, target_interrupted, &forks);
		assert_int_equal(rig_wait(&g, pid), 0);
		assert_true(rig_until(&g, NULL, NULL));
		p = rig_find(&g, pid, 1);
		assert_int_equal(p->streams[0].n, 4);
		assert_int_equal(p->streams[1].n, 1);
		assert_int_equal(p->n_dropped, 1);
		assert_int_equal(g.n_seen, forks ? 2 : 1);
		if (forks)
			assert_int_equal(g.seen[1].streams[2].n, 1);
		assert_int_equal(g.n_bad, 0);
		assert_int_equal(g.n_abandoned, 0);
		rig_close(&g);
	}
}

/* ---- fork and exec ---- */

static int target_fork(struct rig_wires *w, void *arg)
{
	const struct session_header *header;
	pid_t child;
	int status;

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("fork") == 0);
	header = leadline_link_header();
	for (uint64_t i = 0; i < 30; i++)
		RIG_CHECK(rig_emit(0, i));
	child = fork();
	if (child == 0) {
		pid_t grandchild;

		RIG_CHECK(!leadline_link_header() && leadline_link_epoch() == 0);
		RIG_CHECK(!leadline_link_options().calls);
		for (uint64_t i = 0; i < 40; i++)
			RIG_CHECK(rig_emit(1, i));
		RIG_CHECK(leadline_link_epoch() == 2);
		/* Where the parent's was: a stale pointer cannot reach the parent. */
		RIG_CHECK(leadline_link_header() == header);
		RIG_CHECK(has_options(&small.agent_options));
		grandchild = fork();
		if (grandchild == 0) {
			for (uint64_t i = 0; i < 50; i++)
				RIG_CHECK(rig_emit(2, i));
			return 0;
		}
		RIG_CHECK(waitpid(grandchild, &status, 0) == grandchild && status == 0);
		_exit(0);
	}
	for (uint64_t i = 30; i < 60; i++)
		RIG_CHECK(rig_emit(0, i));
	RIG_CHECK(waitpid(child, &status, 0) == child && status == 0);
	for (uint64_t i = 60; i < 90; i++)
		RIG_CHECK(rig_emit(0, i));
	RIG_CHECK(leadline_link_epoch() == 1);
	return 0;
}

static void a_forked_child_registers_anew(void **state)
{
	static const uint64_t n[] = { 90, 40, 50 };
	struct rig g;

	(void)state;
	run_target(&g, &small, target_fork);
	assert_int_equal(g.n_seen, 3);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(g.seen[i].streams[i].n, n[i]);
		assert_int_equal(g.seen[i].n, n[i]);
		assert_int_equal(g.seen[i].n_hellos, 1);
		assert_int_equal(g.seen[i].parent_pid, i ? g.seen[i - 1].pid : getpid());
	}
	assert_int_equal(g.n_bad, 0); /* pids in the records are those of their processes */
	rig_close(&g);
}

static _Atomic bool is_enough;

static void *emit_until_enough(void *arg)
{
	uint32_t stream = (uint32_t)(uintptr_t)arg;

	for (uint64_t i = 0; !atomic_load(&is_enough); i++)
		rig_emit(stream, i);
	return NULL;
}

static int target_fork_busy(struct rig_wires *w, void *arg)
{
	pthread_t threads[3];
	int status;

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("busy") == 0);
	for (uintptr_t i = 0; i < 3; i++)
		RIG_CHECK(
			pthread_create(&threads[i], NULL, emit_until_enough, (void *)(i + 1)) == 0);
	for (int k = 0; k < 20; k++) {
		pid_t child = fork();

		if (child == 0) {
			for (uint64_t i = 0; i < 25; i++)
				RIG_CHECK(rig_emit(0, i));
			_exit(0);
		}
		RIG_CHECK(waitpid(child, &status, 0) == child && status == 0);
	}
	atomic_store(&is_enough, true);
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void fork_while_other_threads_emit(void **state)
{
	struct rig g;
	pid_t pid;

	(void)state;
	pid = run_target(&g, &small, target_fork_busy);
	assert_int_equal(g.n_seen, 21);
	for (size_t i = 0; i < g.n_seen; i++) {
		bool is_parent = g.seen[i].pid == pid;

		assert_int_equal(g.seen[i].streams[0].n, is_parent ? 0 : 25);
		for (int k = 1; k <= 3; k++)
			assert_true(is_parent == (g.seen[i].streams[k].n > 0));
	}
	assert_int_equal(g.n_bad, 0);
	assert_int_equal(g.n_abandoned, 0);
	rig_close(&g);
}

/* What this program does when started with "--target". */
static int target_execed(void)
{
	RIG_CHECK(leadline_link_open("after exec") == 0);
	for (uint64_t i = 0; i < 20; i++)
		RIG_CHECK(rig_emit(5, i));
	return 0;
}

static int target_exec(struct rig_wires *w, void *arg)
{
	char *args[] = { (char *)(uintptr_t)own_path, (char *)(uintptr_t) "--target", NULL };

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("before exec") == 0);
	for (uint64_t i = 0; i < 10; i++)
		RIG_CHECK(rig_emit(4, i));
	execv(own_path, args);
	return 1;
}

static void an_exec_says_hello_again_under_the_same_pid(void **state)
{
	struct rig_process *before, *after;
	struct rig g;
	pid_t pid;

	(void)state;
	pid = run_target(&g, &small, target_exec);
	before = rig_find(&g, pid, 1);
	after = rig_find(&g, pid, 2);
	assert_non_null(before);
	assert_non_null(after);
	assert_string_equal(before->build, "before exec");
	assert_string_equal(after->build, "after exec");
	assert_int_equal(before->streams[4].n, 10);
	assert_int_equal(after->streams[5].n, 20);
	assert_int_equal(before->n + after->n, 30);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

static int target_vfork(struct rig_wires *w, void *arg)
{
	char *args[] = { (char *)(uintptr_t)own_path, (char *)(uintptr_t) "--target", NULL };
	pid_t child;
	int status;

	(void)w;
	(void)arg;
	RIG_CHECK(leadline_link_open("vfork") == 0);
	child = vfork();
	if (child == 0) {
		leadline_link_thread(); /* no slot yet, and none for a vfork child */
		_exit(0);
	}
	RIG_CHECK(leadline_link_header()->n_claimed == 0);
	RIG_CHECK(waitpid(child, &status, 0) == child && status == 0);
	for (uint64_t i = 0; i < 10; i++)
		RIG_CHECK(rig_emit(0, i));
	child = vfork();
	if (child == 0) {
		execv(own_path, args);
		_exit(127);
	}
	RIG_CHECK(leadline_link_epoch() == 1); /* the child's exec left us alone */
	for (uint64_t i = 10; i < 20; i++)
		RIG_CHECK(rig_emit(0, i));
	RIG_CHECK(waitpid(child, &status, 0) == child && status == 0);
	return 0;
}

static void vfork_and_exec_leave_the_parent_alone(void **state)
{
	struct rig_process *last;
	struct rig g;
	pid_t pid;

	(void)state;
	pid = run_target(&g, &small, target_vfork);
	assert_int_equal(rig_find(&g, pid, 1)->streams[0].n, 20);
	last = &g.seen[g.n_seen - 1]; /* TSan makes vfork a fork: then there is one in between */
	assert_int_equal(last->streams[5].n, 20);
	assert_int_equal(last->parent_pid, pid);
	assert_int_equal(g.n_bad, 0);
	rig_close(&g);
}

/* ---- sparse area ---- */

static int target_sparse(struct rig_wires *w, void *arg)
{
	_Atomic uint64_t *counters;

	(void)arg;
	RIG_CHECK(leadline_link_open("sparse") == 0);
	RIG_CHECK(leadline_link_alloc(40));
	counters = leadline_link_alloc(2 * sizeof *counters);
	RIG_CHECK(counters && (uintptr_t)counters % 16 == 0);
	RIG_CHECK(leadline_link_offset(counters) == 48);
	RIG_CHECK(!leadline_link_alloc(2 << 20));
	atomic_store(&counters[0], 1);
	rig_tell_test(w);
	rig_await_test(w);
	atomic_store(&counters[0], 0x1122334455667788);
	atomic_store(&counters[1], 2);
	return 0;
}

struct shots {
	struct buf buf;
	uint64_t n_records, first, last;
};

static int take_shot(void *ctx, const struct session_event *ev, struct err *e)
{
	struct shots *s = ctx;

	(void)e;
	session_snapshot(ev->process, &s->buf);
	if (s->buf.n == 64)
		memcpy(&s->last, s->buf.data + 48, 8);
	if (!s->first)
		s->first = s->last;
	return 0;
}

static void the_sparse_area_is_seen_in_snapshots(void **state)
{
	struct shots s = { .buf = BUF_INIT };
	struct err e = ERR_INIT;
	struct rig_wires w;
	struct rig g;
	pid_t pid;

	(void)state;
	rig_open(&g, &small);
	pid = rig_spawn(&w, target_sparse, NULL);
	while (session_n_live(g.s) == 0)
		assert_int_equal(session_poll(g.s, &e), 0);
	rig_await_target(&w);
	assert_true(session_drain(g.s, take_shot, &s, &e) >= 0); /* PROCESS_BEGAN */
	assert_int_equal(s.first, 1);
	rig_tell_target(&w);
	while (session_n_live(g.s) > 0) {
		assert_int_equal(session_poll(g.s, &e), 0);
		assert_true(session_drain(g.s, take_shot, &s, &e) >= 0); /* PROCESS_ENDED */
	}
	assert_int_equal(s.last, 0x1122334455667788);
	assert_int_equal(session_stats(g.s)->n_sparse_failed, 1);
	waitpid(pid, NULL, 0);
	buf_done(&s.buf);
	rig_close(&g);
}

/* ---- stopping and the directory ---- */

static int target_stopped(struct rig_wires *w, void *arg)
{
	(void)arg;
	RIG_CHECK(leadline_link_open("stopped") == 0);
	RIG_CHECK(rig_emit(0, 0));
	rig_tell_test(w);
	rig_await_test(w);
	RIG_CHECK(!rig_emit(0, 1) && !leadline_link_is_live());
	RIG_CHECK(!leadline_link_alloc(8));
	if (fork() == 0) /* quiet from the start: no hello, no delay */
		_exit(rig_emit(0, 2) || leadline_link_is_live());
	RIG_CHECK(wait(&(int){ 0 }) > 0);
	return 0;
}

static void stop_and_close_make_the_agents_quiet(void **state)
{
	for (int is_closed = 0; is_closed < 2; is_closed++) {
		struct rig_wires w;
		struct rig g;
		int status;
		pid_t pid;

		rig_open(&g, &small);
		pid = rig_spawn(&w, target_stopped, state);
		assert_true(rig_await_target_turning(&g, &w));
		if (is_closed) {
			rig_close(&g);
			rig_tell_target(&w);
			assert_int_equal(waitpid(pid, &status, 0), pid);
			assert_int_equal(status, 0);
			continue;
		}
		session_stop(g.s);
		rig_tell_target(&w);
		assert_int_equal(rig_wait(&g, pid), 0);
		assert_true(rig_until(&g, NULL, NULL));
		assert_int_equal(g.n_seen, 1);
		assert_int_equal(g.seen[0].n, 1);
		assert_int_equal(g.seen[0].n_dropped, 0);
		rig_close(&g);
	}
}

static void the_directory_is_private_and_goes_away(void **state)
{
	char path[256], far[4096];
	const char *top = geteuid() == 0 ? "/run" : getenv("HOME");
	struct session *s;
	struct err e = ERR_INIT;
	struct stat st;
	int fd;

	(void)state;
	assert_int_equal(session_open(&s, &small, &e), 0);
	assert_int_equal(stat(session_dir(s), &st), 0);
	assert_int_equal(st.st_mode & 0777, 0700);
	/* Things unpacked into it go as well. */
	snprintf(path, sizeof path, "%s/agents", session_dir(s));
	assert_int_equal(mkdir(path, 0700), 0);
	snprintf(path, sizeof path, "%s/agents/x.so", session_dir(s));
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	assert_true(fd >= 0);
	close(fd);
	snprintf(path, sizeof path, "%s", session_dir(s));
	session_close(s);
	assert_int_equal(stat(path, &st), -1);

	snprintf(far, sizeof far, "%s/%0100d", top, 0); /* too long for a socket's name */
	if (mkdir(far, 0700) < 0)
		skip();
	setenv("XDG_RUNTIME_DIR", far, 1);
	assert_int_equal(session_open(&s, &small, &e), 0);
	assert_null(strstr(session_dir(s), far));
	session_close(s);
	unsetenv("XDG_RUNTIME_DIR");
	snprintf(far, sizeof far, "%s/%0100d/leadline", top, 0);
	assert_int_equal(rmdir(far), 0);
	assert_int_equal(rmdir(dirname(far)), 0);
}

static void options_have_bounds(void **state)
{
	static const struct session_options bad[] = {
		{ .n_slots = SESSION_SLOTS_MAX + 1 },
		{ .ring_bytes = 1000 },
		{ .ring_bytes = 12 << 10 },
		{ .ring_bytes = 128 << 20 },
		{ .sparse_bytes = (uint64_t)5 << 30 },
		{ .n_slots = 4096, .ring_bytes = 64 << 20 },
		{ .wait_max_ns = 10000000001u },
		{ .n_processes_max = 65537 },
		{ .agent_options = { .calls = AGENT_CALLS_TIMED, .budget_pct = 101 } },
		{ .agent_options = { .wants_timeline = 1 } },
	};
	struct rlimit old, low = { 1 << 20, RLIM_INFINITY };
	struct session_options defaults = { 0 };
	struct session *s = NULL;
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		assert_true(session_open(&s, &bad[i], &e) < 0);
		assert_int_equal(e.code, ERR_USAGE);
		assert_null(s);
	}
	getrlimit(RLIMIT_FSIZE, &old);
	low.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &low);
	assert_true(session_open(&s, &defaults, &e) < 0);
	assert_non_null(strstr(e.text, "ulimit -f"));
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(session_open(&s, &defaults, &e), 0);
	session_close(s);
	session_close(NULL);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_says_hello_and_its_records_arrive),
		cmocka_unit_test(an_end_is_noticed_without_pidfds),
		cmocka_unit_test(a_process_can_be_refused),
		cmocka_unit_test(options_in_shared_memory_are_read_once),
		cmocka_unit_test(an_agent_does_not_do_what_makes_no_sense),
		cmocka_unit_test(an_agent_without_a_tool_gives_up_in_time),
		cmocka_unit_test(a_full_ring_drops_and_counts_exactly),
		cmocka_unit_test(an_exact_session_waits_and_loses_nothing),
		cmocka_unit_test(a_wait_is_bounded_and_not_repeated),
		cmocka_unit_test(every_thread_has_its_own_ring),
		cmocka_unit_test(slots_run_out_and_are_used_again),
		cmocka_unit_test(threads_without_a_slot_share_one),
		cmocka_unit_test(a_signal_handler_may_emit),
		cmocka_unit_test(a_handler_inside_an_emit_does_no_harm),
		cmocka_unit_test(a_forked_child_registers_anew),
		cmocka_unit_test(fork_while_other_threads_emit),
		cmocka_unit_test(an_exec_says_hello_again_under_the_same_pid),
		cmocka_unit_test(vfork_and_exec_leave_the_parent_alone),
		cmocka_unit_test(the_sparse_area_is_seen_in_snapshots),
		cmocka_unit_test(stop_and_close_make_the_agents_quiet),
		cmocka_unit_test(the_directory_is_private_and_goes_away),
		cmocka_unit_test(options_have_bounds),
	};

	own_path = "/proc/self/exe";
	if (argc > 1 && strcmp(argv[1], "--target") == 0)
		return target_execed();
	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
