/* SPDX-License-Identifier: MIT
 * See program.h. One thread, one poll loop: signals, news of children, the collectors' next look.
 */
#include "collect/program.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/collector.h"
#include "store/writer.h"
#include "sys/cpus.h"
#include "sys/spawn.h"
#include "sys/tree.h"
#include "base/banned.h"

enum {
	COLLECTORS_MOST = 16,
	WAKES_PER_SECOND = 20, /* that news of other people's processes may cost us */
	WAKES_AT_ONCE = 40,
};

static const uint64_t AWAKE_NS = 10000;
static const uint64_t TREE_POLL_NS = 8000000; /* children are found within this and a look */

struct running {
	const struct program_options *o;
	struct writer *writer;
	struct tree *tree;
	pid_t pid;
	int signals; /* signalfd */
	bool has_ended;
	int status;
	uint64_t n_looks;
	uint64_t start_ns;
	uint64_t n_wakes; /* by news of processes */
	uint64_t next_tree_ns;
	uint64_t polled_ns; /* when signals and news were last looked for */
	size_t n;           /* collectors started */
	void *state[COLLECTORS_MOST];
	uint64_t next_ns[COLLECTORS_MOST];
};

static uint64_t now_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what the recording says of itself ------------------------------------------------------- */

static void meta_number(struct writer *w, const char *key, double value)
{
	char text[32];

	snprintf(text, sizeof text, "%.17g", value);
	writer_meta(w, key, text);
}

static void write_context(const struct program_options *o, struct writer *w)
{
	struct cpus cpus = cpus_read();
	struct buf words = BUF_INIT;
	struct utsname machine;

	for (size_t i = 0; o->argv[i]; i++)
		buf_add(&words, o->argv[i], strlen(o->argv[i]) + 1);
	writer_meta_n(w, "argv", words.data, words.n);
	buf_done(&words);
	writer_meta(w, "tool", "leadline " LEADLINE_VERSION);
	if (uname(&machine) == 0) {
		char text[300];

		snprintf(text, sizeof text, "%s %s %s", machine.sysname, machine.release,
			machine.machine);
		writer_meta(w, "system", text);
		writer_meta(w, "host", machine.nodename);
	}
	meta_number(w, "cpus_online", cpus.online);
	meta_number(w, "cpus_allowed", cpus.allowed);
}

static void write_outcome(struct running *r)
{
	writer_meta(r->writer, "tree_method", tree_method(r->tree));
	writer_meta(r->writer, "tree_complete", tree_is_complete(r->tree) ? "yes" : "no");
}

/* ---- signals --------------------------------------------------------------------------------- */

/* What ends or informs a program. The stop signals keep their default action, so that Ctrl-Z stops
 * us together with the program and fg continues both. */
static void forwarded_signals(sigset_t *set)
{
	static const int list[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
		SIGALRM };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof list / sizeof *list; i++)
		sigaddset(set, list[i]);
}

static void read_signals(struct running *r)
{
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof s) == (ssize_t)sizeof s) {
		if (s.ssi_signo == SIGCHLD)
			continue;
		/* The terminal's signals (SI_KERNEL) went to the whole group already. */
		if (s.ssi_code <= 0)
			kill(r->pid, (int)s.ssi_signo);
	}
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_tree_event(void *ctx, const struct tree_event *ev)
{
	struct running *r = ctx;

	if (ev->kind == TREE_REAPED && ev->process->pid == r->pid)
		r->status = ev->end->status;
	for (size_t i = 0; i < r->n; i++)
		if (r->o->collectors[i]->on_event)
			r->o->collectors[i]->on_event(r->state[i], ev);
}

static int timeout_ms(const struct running *r, uint64_t now, struct timespec *ret)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < r->n; i++)
		if (r->next_ns[i] < next)
			next = r->next_ns[i];
	if (next == UINT64_MAX)
		return -1;
	next = next > now ? next - now : 0;
	*ret = (struct timespec){ .tv_sec = (time_t)(next / 1000000000u),
		.tv_nsec = (long)(next % 1000000000u) };
	return 0;
}

static void look(struct running *r, uint64_t now)
{
	bool is_due = false;

	for (size_t i = 0; i < r->n; i++)
		is_due |= r->next_ns[i] <= now;
	if (!is_due)
		return;
	if (now >= r->next_tree_ns) {
		tree_poll(r->tree, now);
		r->next_tree_ns = now + TREE_POLL_NS;
	}
	for (size_t i = 0; i < r->n; i++)
		if (r->next_ns[i] <= now) {
			r->next_ns[i] = r->o->collectors[i]->drain(r->state[i], now);
			r->n_looks++;
		}
	writer_poll(r->writer, now);
}

/* The connector tells of every process of the machine. On a busy one we take the news in at the
 * next look instead of at once; the socket's buffer holds thousands. */
static bool may_wake_for_news(const struct running *r)
{
	uint64_t seconds = (now_ns(CLOCK_MONOTONIC) - r->start_ns) / 1000000000u;

	return r->n_wakes < WAKES_AT_ONCE + WAKES_PER_SECOND * seconds;
}

/* A look that is due in a moment is waited for awake: sleeping takes longer. Signals and news are still
 * taken in every millisecond. Only a sampler at its highest rate asks for looks that close together. */
static bool wait_awake(struct running *r)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), next = UINT64_MAX;

	for (size_t i = 0; i < r->n; i++)
		if (r->next_ns[i] < next)
			next = r->next_ns[i];
	if (next > now + AWAKE_NS || now - r->polled_ns > 1000000)
		return false;
	while (now < next)
		now = now_ns(CLOCK_MONOTONIC);
	look(r, now);
	return true;
}

static void poll_once(struct running *r)
{
	struct pollfd fds[] = { { .fd = r->signals, .events = POLLIN },
		{ .fd = may_wake_for_news(r) ? tree_fd(r->tree) : -1, .events = POLLIN } };
	struct timespec wait;
	int has_wait = timeout_ms(r, now_ns(CLOCK_MONOTONIC), &wait) == 0;

	ppoll(fds, 2, has_wait ? &wait : NULL, NULL);
	r->polled_ns = now_ns(CLOCK_MONOTONIC);
	r->n_wakes += fds[1].revents != 0;
	if (fds[1].revents)
		tree_poll(r->tree, r->polled_ns);
	if (fds[0].revents) {
		read_signals(r);
		tree_reap(r->tree, r->polled_ns, &r->has_ended);
	}
	if (!r->has_ended)
		look(r, now_ns(CLOCK_MONOTONIC));
}

static void watch(struct running *r)
{
	while (!r->has_ended)
		if (!wait_awake(r))
			poll_once(r);
}

static int start_collectors(struct running *r, struct err *e)
{
	struct collect_context c = {
		.writer = r->writer, .tree = r->tree, .rate_hz = r->o->rate_hz
	};

	for (size_t i = 0; i < r->o->n_collectors && i < COLLECTORS_MOST; i++) {
		if (r->o->collectors[i]->start(&r->state[i], &c, e) < 0)
			return err_note(e, "collector %s", r->o->collectors[i]->name);
		r->n = i + 1;
		r->next_ns[i] = now_ns(CLOCK_MONOTONIC) + 1000000;
	}
	return 0;
}

static int run_to_the_end(struct running *r, const struct signal_state *signals,
	struct program_result *ret, struct err *e)
{
	uint64_t start = r->start_ns = now_ns(CLOCK_MONOTONIC);

	if (spawn_program(r->o->argv, signals, r->o->stdout_to_stderr, &r->pid, e) < 0)
		return -(int)e->code;
	tree_add_root(r->tree, r->pid, start);
	watch(r);
	*ret = (struct program_result){ .pid = r->pid,
		.status = r->status,
		.wall_ns = now_ns(CLOCK_MONOTONIC) - start,
		.n_looks = r->n_looks };
	return 0;
}

int program_run(const struct program_options *o, struct writer *w, struct program_result *ret,
	struct err *e)
{
	struct running r = { .o = o, .writer = w, .signals = -1 };
	struct signal_state before;
	sigset_t set;
	int status;

	prctl(PR_SET_TIMERSLACK,
		1); /* ours alone: a program that is exec'd gets the default again */
	forwarded_signals(&set);
	signals_take(&set, &before);
	sigaddset(&set, SIGCHLD);
	r.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	status = r.signals < 0 ? err_errno(e, ERR_SYSTEM, "signalfd") : 0;
	if (status == 0)
		status = tree_open(&r.tree, !o->no_connector, on_tree_event, &r, e);
	if (status == 0) {
		write_context(o, w);
		status = start_collectors(&r, e);
	}
	if (status == 0)
		status = run_to_the_end(&r, &before, ret, e);
	for (size_t i = 0; i < r.n; i++)
		o->collectors[i]->stop(r.state[i]);
	if (status == 0) {
		write_outcome(&r);
		ret->own_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID);
		meta_number(w, "own_cpu_s", (double)ret->own_cpu_ns / 1e9);
		meta_number(w, "wall_s", (double)ret->wall_ns / 1e9);
		meta_number(w, "looks", (double)ret->n_looks);
	}
	tree_close(r.tree);
	if (r.signals >= 0)
		close(r.signals);
	signals_restore(&before);
	return status;
}

int program_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
