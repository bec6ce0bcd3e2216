/* SPDX-License-Identifier: MIT
 * See program.h. One thread, one poll loop: signals, news of children, the caller's hook, the collectors'
 * next look.
 */
#include "collect/program.h"

#include <errno.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "collect/collector.h"
#include "collect/sources.h"
#include "store/writer.h"
#include "sys/cpus.h"
#include "sys/priority.h"
#include "sys/proc.h"
#include "sys/spawn.h"
#include "sys/tree.h"
#include "base/banned.h"

enum {
	WAKES_PER_SECOND = 20, /* that news of other people's processes may cost us */
	WAKES_AT_ONCE = 40,
};

static const uint64_t OVERDUE_NS = 20000000; /* a look that comes later was held up */
static const uint64_t AWAKE_NS = 10000;
static const uint64_t NEWS_NS = 5000000; /* news wait no longer than this for a look */
static const uint64_t WRITER_NS = 10000000;
static const uint64_t TREE_POLL_NS = 8000000; /* children are found within this and a look … */
/* … where the kernel tells of them, within this: asking costs 0.5 µs then */
static const uint64_t TREE_NEWS_NS = 500000;

struct running {
	bool has_agents;        /* collector.h */
	uint64_t n_continued;   /* collector.h */
	struct map sched_files; /* likewise */
	const struct program_options *o;
	struct writer *writer;
	struct tree *tree;
	struct sources *sources; /* NULL: not wanted */
	pid_t pid;
	sigset_t taken;    /* signals that are waited for … */
	int signals;       /* … and the signalfd that tells them */
	int pidfd;         /* of a process we follow; -1 for one we started */
	bool is_recording; /* else only its end is waited for */
	bool is_over;      /* the loop ends */
	enum program_end end;
	int status;
	uint64_t n_looks;
	uint32_t segment; /* of the recording */
	uint64_t start_ns;
	uint64_t stopped_ns; /* the recording */
	/* the program, or else the watching: what we do after that is not its time */
	uint64_t ended_ns;
	uint64_t n_wakes; /* by news of processes */
	uint64_t next_tree_ns, next_hook_ns, next_writer_ns;
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

/* Words of the command, each ended by NUL, as /proc/PID/cmdline has them. */
static void write_command(const struct program_options *o, struct writer *w)
{
	struct buf words = BUF_INIT;
	char text[65536];
	ssize_t n;

	if (!o->pid)
		for (size_t i = 0; o->argv[i]; i++)
			buf_add(&words, o->argv[i], strlen(o->argv[i]) + 1);
	else if ((n = proc_read(text, sizeof text, "/proc/%d/cmdline", (int)o->pid)) > 0)
		buf_add(&words, text, (size_t)n + (text[n - 1] != '\0'));
	else if ((n = proc_read(text, sizeof text, "/proc/%d/comm", (int)o->pid)) > 1)
		buf_printf(&words, "[%.*s]%c", (int)n - 1, text, 0);
	writer_meta_n(w, "argv", words.data, words.n);
	buf_done(&words);
}

static void write_context(const struct program_options *o, struct writer *w)
{
	struct cpus cpus = cpus_read();
	struct utsname machine;
	struct timespec tick;

	write_command(o, w);
	writer_meta(w, "tool", "leadline " LEADLINE_VERSION);
	if (o->pid)
		writer_meta(w, "attached", "yes");
	if (uname(&machine) == 0) {
		char text[300];

		snprintf(text, sizeof text, "%s %s %s", machine.sysname, machine.release,
			machine.machine);
		writer_meta(w, "system", text);
		writer_meta(w, "host", machine.nodename);
	}
	if (clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0) /* one tick of the kernel's clock */
		meta_number(w, "tick_ns", (double)tick.tv_sec * 1e9 + (double)tick.tv_nsec);
	meta_number(w, "cpus_online", cpus.online);
	meta_number(w, "cpus_allowed", cpus.allowed);
}

/* ---- signals --------------------------------------------------------------------------------- */

/* What ends or informs a program. The stop signals keep their default action, so that Ctrl-Z stops
 * us together with the program and fg continues both. What we were started to ignore (nohup, a
 * shell's background) we ignore, as the program does. */
static void taken_signals(sigset_t *set)
{
	static const int list[] = { SIGINT, SIGQUIT, SIGHUP, SIGTERM, SIGUSR1, SIGUSR2, SIGWINCH,
		SIGALRM };

	sigemptyset(set);
	for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
		struct sigaction now;

		if (sigaction(list[i], NULL, &now) < 0 || now.sa_handler != SIG_IGN)
			sigaddset(set, list[i]);
	}
}

/* Whoever is followed goes on without us; a program we started is waited for. */
static void stop_recording(struct running *r, enum program_end why)
{
	if (!r->is_recording)
		return;
	r->is_recording = false;
	r->end = why;
	r->stopped_ns = now_ns(CLOCK_MONOTONIC);
	r->is_over |= r->pidfd >= 0;
	for (size_t i = 0; i < r->n; i++)
		if (r->o->collectors[i]->enough)
			r->o->collectors[i]->enough(r->state[i]);
}

static bool has_handler(pid_t pid, int signal)
{
	char text[4096];
	const char *mask;

	if (proc_read(text, sizeof text, "/proc/%d/status", (int)pid) <= 0)
		return false;
	mask = strstr(text, "\nSigCgt:");
	return mask && strtoull(mask + 8, NULL, 16) >> (signal - 1) & 1;
}

static void pass_on(const struct running *r, int signal, int code)
{
	/* The terminal's signals (SI_KERNEL) went to the whole group already. */
	if (code > 0 || (signal == SIGUSR1 && !has_handler(r->pid, SIGUSR1)))
		return;
	kill(r->pid, signal);
}

static bool is_for_hook(const struct running *r, int signal)
{
	const struct program_hook *hook = r->o->hook;

	return hook && hook->on_signal && hook->on_signal(hook->ctx, signal);
}

/* One that came, and how it was sent (si_code). */
static void take_signal(struct running *r, int signal, int code)
{
	bool ends = signal == SIGTERM || signal == SIGHUP;

	r->n_continued += signal == SIGCONT;
	if (signal == SIGCONT || signal == SIGCHLD || is_for_hook(r, signal))
		return;
	if (ends || signal == SIGUSR1)
		writer_flush(r->writer);
	if ((signal == SIGINT && !r->o->interrupt_is_its_own) ||
		(r->pidfd >= 0 && (ends || signal == SIGQUIT)))
		stop_recording(r, PROGRAM_INTERRUPTED);
	if (r->pidfd < 0)
		pass_on(r, signal, code);
}

/* All that came, and the children that ended. */
static void read_signals(struct running *r)
{
	struct signalfd_siginfo s;

	while (read(r->signals, &s, sizeof s) == (ssize_t)sizeof s)
		take_signal(r, (int)s.ssi_signo, s.ssi_code);
	if (r->pidfd < 0)
		tree_reap(r->tree, now_ns(CLOCK_MONOTONIC));
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void on_tree_event(void *ctx, const struct tree_event *ev)
{
	struct running *r = ctx;

	if (ev->process->serial == 0 && (ev->kind == TREE_REAPED || ev->kind == TREE_EXIT)) {
		r->status = ev->kind == TREE_REAPED ? ev->end->status : ev->status;
		r->ended_ns = ev->t_ns;
	}
	for (size_t i = 0; i < r->n; i++)
		if (r->o->collectors[i]->on_event)
			r->o->collectors[i]->on_event(r->state[i], ev);
}

static uint64_t next_look(const struct running *r)
{
	uint64_t next = UINT64_MAX;

	for (size_t i = 0; i < r->n && r->is_recording; i++)
		if (r->next_ns[i] < next)
			next = r->next_ns[i];
	return next;
}

static uint64_t deadline(const struct running *r)
{
	return r->is_recording && r->o->duration_ns ? r->start_ns + r->o->duration_ns : UINT64_MAX;
}

/* How long to sleep: NULL until something happens. */
static const struct timespec *time_to_wait(const struct running *r, struct timespec *ret)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), next = next_look(r);

	if (deadline(r) < next)
		next = deadline(r);
	if (r->next_hook_ns < next)
		next = r->next_hook_ns;
	if (next == UINT64_MAX)
		return NULL;
	next = next > now ? next - now : 0;
	*ret = (struct timespec){ .tv_sec = (time_t)(next / 1000000000u),
		.tv_nsec = (long)(next % 1000000000u) };
	return ret;
}

/* What came and went leaves holes in the heap: they are the system's again when the tables of a segment are forgotten, once a
 * minute. */
static void give_back_memory(struct running *r)
{
	if (r->segment != writer_segment(r->writer))
		malloc_trim(0);
	r->segment = writer_segment(r->writer);
}

static void look(struct running *r, uint64_t now)
{
	uint64_t next = next_look(r);

	if (next > now)
		return;
	if (now - next > OVERDUE_NS) { /* were we stopped? Whoever looks wants to know */
		read_signals(r);
		r->is_over |= !tree_has_root(r->tree);
		if (r->is_over || !r->is_recording)
			return;
	}
	if (now >= r->next_tree_ns) {
		tree_poll(r->tree, now);
		r->next_tree_ns = now + (tree_hears(r->tree) ? TREE_NEWS_NS : TREE_POLL_NS);
	}
	for (size_t i = 0; i < r->n; i++)
		if (r->next_ns[i] <= now) {
			r->next_ns[i] = r->o->collectors[i]->drain(r->state[i], now);
			r->n_looks++;
		}
	if (now >= r->next_writer_ns) {
		writer_poll(r->writer, now);
		r->next_writer_ns = now + WRITER_NS;
		give_back_memory(r);
	}
	if (writer_error(r->writer))
		stop_recording(r, PROGRAM_WRITER);
}

static void call_hook(struct running *r, uint64_t now, bool is_readable)
{
	const struct program_hook *hook = r->o->hook;

	if (!hook || (!is_readable && now < r->next_hook_ns))
		return;
	r->next_hook_ns = hook->interval_ns ? now + hook->interval_ns : UINT64_MAX;
	if (hook->call(hook->ctx, now))
		return;
	stop_recording(r, PROGRAM_HOOK);
	r->is_over = true;
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
	uint64_t now = now_ns(CLOCK_MONOTONIC), next = next_look(r);

	if (next > now + AWAKE_NS || now - r->polled_ns > 1000000)
		return false;
	while (now < next)
		now = now_ns(CLOCK_MONOTONIC);
	look(r, now);
	return true;
}

/* A descriptor of a collector that wants one, -1 otherwise: there is one such at most. */
static int collector_fd(const struct running *r, size_t *ret_index)
{
	for (size_t i = 0; i < r->n && r->is_recording; i++)
		if (r->o->collectors[i]->fd) {
			*ret_index = i;
			return r->o->collectors[i]->fd(r->state[i]);
		}
	return -1;
}

/* A look that is due soon is slept for with an eye on signals alone, and that without a descriptor: each watched one
 * costs as much as a tenth of a look, and five as much as one. A signal ends it at once, so that what the program does
 * after a Ctrl-C is not recorded. */
static bool sleep_until_look(struct running *r)
{
	uint64_t next = next_look(r), now = now_ns(CLOCK_MONOTONIC);
	siginfo_t came;
	size_t unused;

	if (next > r->polled_ns + NEWS_NS || next <= now + AWAKE_NS || r->o->hook ||
		next >= deadline(r) || collector_fd(r, &unused) >= 0)
		return false;
	if (sigtimedwait(&r->taken, &came,
		    &(struct timespec){ .tv_sec = (time_t)((next - now) / 1000000000u),
			    .tv_nsec = (long)((next - now) % 1000000000u) }) > 0) {
		take_signal(r, came.si_signo, came.si_code);
		read_signals(r);
		r->is_over |= !tree_has_root(r->tree);
		return true;
	}
	look(r, now_ns(CLOCK_MONOTONIC));
	return true;
}

static void poll_once(struct running *r)
{
	size_t waiting = 0;
	struct pollfd fds[] = { { .fd = r->signals, .events = POLLIN },
		{ .fd = may_wake_for_news(r) ? tree_fd(r->tree) : -1, .events = POLLIN },
		{ .fd = r->pidfd, .events = POLLIN },
		{ .fd = r->o->hook ? r->o->hook->fd : -1, .events = POLLIN },
		{ .fd = collector_fd(r, &waiting), .events = POLLIN } };
	struct timespec wait;

	ppoll(fds, sizeof fds / sizeof *fds, time_to_wait(r, &wait), NULL);
	r->polled_ns = now_ns(CLOCK_MONOTONIC);
	r->n_wakes += fds[1].revents != 0;
	if (fds[1].revents)
		tree_poll(r->tree, r->polled_ns);
	if (fds[4].revents)
		r->next_ns[waiting] = r->polled_ns;
	if (fds[0].revents)
		read_signals(r);
	if (fds[2].revents)
		tree_end_root(r->tree, r->polled_ns);
	if (!tree_has_root(r->tree)) {
		r->is_over = true;
		return;
	}
	if (r->polled_ns >= deadline(r))
		stop_recording(r, PROGRAM_DURATION);
	call_hook(r, r->polled_ns, fds[3].revents != 0);
	if (!r->is_over)
		look(r, now_ns(CLOCK_MONOTONIC));
}

static void watch(struct running *r)
{
	struct priority before;

	/* Not earlier: the program runs as it would without us. Who looks without a pause goes first of nobody. */
	priority_raise(&before, r->o->rate_hz > 0);
	while (!r->is_over)
		if (!wait_awake(r) && !sleep_until_look(r))
			poll_once(r);
	priority_restore(&before);
	if (!r->ended_ns)
		r->ended_ns = now_ns(CLOCK_MONOTONIC);
}

static int start_collectors(struct running *r, struct err *e)
{
	struct collect_context c = { .writer = r->writer,
		.tree = r->tree,
		.rate_hz = r->o->rate_hz,
		.sources = r->sources,
		.agent_options = r->o->agent_options,
		.is_standby = r->o->is_standby,
		.has_agents = &r->has_agents,
		.n_continued = &r->n_continued,
		.sched_files = &r->sched_files,
		.wants_package = r->o->wants_package,
		.torch_full = r->o->torch_full,
		.lines = r->o->lines,
		.exclude = r->o->exclude };

	for (size_t i = 0; i < r->o->n_collectors && i < COLLECTORS_MOST; i++) {
		if (r->o->collectors[i]->start(&r->state[i], &c, e) < 0)
			return err_note(e, "collector %s", r->o->collectors[i]->name);
		r->n = i + 1;
		r->next_ns[i] = now_ns(CLOCK_MONOTONIC) + 1000000;
	}
	return 0;
}

static int begin(struct running *r, const struct signal_state *signals, struct err *e)
{
	r->start_ns = now_ns(CLOCK_MONOTONIC);
	r->is_recording = true;
	r->next_hook_ns = r->o->hook ? r->start_ns : UINT64_MAX;
	if (r->pidfd < 0 &&
		spawn_program(r->o->argv, signals, r->o->stdout_to_stderr, &r->pid, e) < 0)
		return -(int)e->code;
	tree_add_root(r->tree, r->pid, r->start_ns);
	writer_flush(r->writer); /* whatever comes, what ran is in the file */
	return 0;
}

static void write_outcome(struct running *r, struct program_result *ret)
{
	*ret = (struct program_result){ .pid = r->pid,
		.end = r->end,
		.has_ended = !tree_has_root(r->tree),
		.status = r->status,
		.wall_ns = r->ended_ns - r->start_ns,
		.recorded_ns = (r->stopped_ns ? r->stopped_ns : r->ended_ns) - r->start_ns,
		.own_cpu_ns = now_ns(CLOCK_PROCESS_CPUTIME_ID),
		.n_looks = r->n_looks };
	writer_meta(r->writer, "tree_method", tree_method(r->tree));
	writer_meta(r->writer, "tree_complete", tree_is_complete(r->tree) ? "yes" : "no");
	meta_number(r->writer, "own_cpu_s", (double)ret->own_cpu_ns / 1e9);
	meta_number(r->writer, "wall_s", (double)ret->wall_ns / 1e9);
	meta_number(r->writer, "recorded_s", (double)ret->recorded_ns / 1e9);
	meta_number(r->writer, "looks", (double)ret->n_looks);
}

static int record(struct running *r, struct program_result *ret, struct err *e)
{
	struct tree_options tree = { .no_connector = r->o->no_connector,
		.is_running = r->pidfd >= 0,
		.is_single = r->o->is_single,
		.listener = on_tree_event,
		.ctx = r };
	struct signal_state before;
	int status;

	prctl(PR_SET_TIMERSLACK, 1); /* ours alone: a program that is exec'd gets the default */
	taken_signals(&r->taken);
	sigaddset(&r->taken, SIGCONT); /* it continues us all the same */
	signals_take(&r->taken, &before);
	files_raise(&before);
	sigaddset(&r->taken, SIGCHLD);
	r->signals = signalfd(-1, &r->taken, SFD_CLOEXEC | SFD_NONBLOCK);
	status = r->signals < 0 ? err_errno(e, ERR_SYSTEM, "signalfd")
				: tree_open(&r->tree, &tree, e);
	if (status == 0) {
		write_context(r->o, r->writer);
		r->sources = r->o->no_source ? NULL : sources_new();
		status = start_collectors(r, e);
	}
	if (status == 0)
		status = begin(r, &before, e);
	if (status == 0)
		watch(r);
	for (size_t i = 0; i < r->n; i++)
		r->o->collectors[i]->stop(r->state[i]);
	if (status == 0 && r->sources)
		sources_write(r->sources, r->writer);
	sources_free(r->sources);
	map_done(&r->sched_files);
	if (status == 0)
		write_outcome(r, ret);
	tree_close(r->tree);
	if (r->signals >= 0)
		close(r->signals);
	signals_restore(&before);
	return status;
}

int program_run(const struct program_options *o, struct writer *w, struct program_result *ret,
	struct err *e)
{
	struct running r = { .o = o, .writer = w, .signals = -1, .pidfd = -1 };

	return record(&r, ret, e);
}

int program_follow(const struct program_options *o, struct writer *w, struct program_result *ret,
	struct err *e)
{
	struct running r = { .o = o, .writer = w, .signals = -1, .pid = o->pid, .status = -1 };
	int status;

	r.pidfd = (int)syscall(SYS_pidfd_open, o->pid, 0);
	if (r.pidfd < 0 && errno == ESRCH)
		return err_set(e, ERR_NO_PROCESS, "there is no process %d", (int)o->pid);
	if (r.pidfd < 0)
		return err_errno(
			e, ERR_SYSTEM, "cannot follow process %d: pidfd_open", (int)o->pid);
	status = record(&r, ret, e);
	close(r.pidfd);
	return status;
}

int program_exit_status(int wait_status)
{
	return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}
