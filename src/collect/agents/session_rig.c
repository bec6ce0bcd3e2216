/* SPDX-License-Identifier: MIT
 * See session_rig.h. */
#include "collect/agents/session_rig.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/core/link.h"
#include "wire/session_layout.h"
#include "base/banned.h"

/* A finding in a child, which ends by _exit, must fail the test as well. */
const char *__tsan_default_options(void);
const char *__ubsan_default_options(void);
const char *__tsan_default_options(void)
{
	return "halt_on_error=1";
}
const char *__ubsan_default_options(void)
{
	return "halt_on_error=1:print_stacktrace=1";
}

struct probe {
	int32_t pid;
	uint32_t stream;
	uint64_t number;
	unsigned char fill[240];
};

static uint32_t probe_make(struct probe *p, int32_t pid, uint32_t stream, uint64_t number)
{
	uint32_t n = (uint32_t)(number * 37 + stream) % sizeof p->fill;

	*p = (struct probe){ .pid = pid, .stream = stream, .number = number };
	for (uint32_t i = 0; i < n; i++)
		p->fill[i] = (unsigned char)(number + i * 3 + (uint32_t)pid);
	return (uint32_t)offsetof(struct probe, fill) + n;
}

bool rig_emit(uint32_t stream, uint64_t number)
{
	struct probe p;
	uint32_t n = probe_make(&p, getpid(), stream, number);

	return leadline_link_emit(RIG_KIND, &p, n);
}

uint32_t rig_make(void *room, uint32_t stream, uint64_t number)
{
	return probe_make(room, getpid(), stream, number);
}

static void take_record(struct rig *g, struct rig_process *p, const struct session_event *ev)
{
	struct probe got, want;
	uint32_t n;

	p->n++;
	memset(&got, 0, sizeof got);
	if (ev->n_bytes <= sizeof got)
		memcpy(&got, ev->data, ev->n_bytes);
	n = probe_make(&want, ev->process->own_pid, got.stream, got.number);
	if (ev->kind != RIG_KIND || ev->n_bytes != n || memcmp(&got, &want, sizeof got) != 0 ||
		got.stream >= RIG_STREAMS || got.number < p->streams[got.stream].next) {
		g->n_bad++;
		return;
	}
	p->streams[got.stream].n++;
	p->streams[got.stream].next = got.number + 1;
}

static void take_end(struct rig_process *p, const struct session_event *ev)
{
	p->has_ended = true;
	p->n_dropped = ev->process->counts.n_dropped;
	p->n_waits = ev->process->counts.n_waits;
	p->n_timeouts = ev->process->counts.n_timeouts;
	p->n_homeless = ev->process->n_homeless;
}

static int on_event(void *ctx, const struct session_event *ev, struct err *e)
{
	struct rig *g = ctx;
	struct rig_process *p = ev->process->user;

	(void)e;
	if (ev->what == SESSION_PROCESS_BEGAN) {
		g->n_bad += p != NULL;
		p = &g->seen[g->n_seen++ % RIG_PROCESSES];
		*p = (struct rig_process){ .id = ev->process->id,
			.pid = ev->process->pid,
			.parent_pid = ev->process->parent_pid,
			.n_hellos = ev->process->n_hellos };
		snprintf(p->build, sizeof p->build, "%s", ev->process->build);
		ev->process->user = p;
		return 0;
	}
	if (!p || p->has_ended ||
		(ev->thread && ev->what != SESSION_THREAD_BEGAN && !ev->thread->user)) {
		g->n_bad++;
		return 0;
	}
	switch (ev->what) {
	case SESSION_PROCESS_BEGAN:
		break;
	case SESSION_THREAD_BEGAN:
		ev->thread->user = p;
		g->n_open_threads++;
		break;
	case SESSION_RECORD:
		take_record(g, p, ev);
		break;
	case SESSION_THREAD_ABANDONED:
		g->n_abandoned++;
		break;
	case SESSION_THREAD_ENDED:
		ev->thread->user = NULL;
		g->n_open_threads--;
		break;
	case SESSION_PROCESS_ENDED:
		take_end(p, ev);
		break;
	}
	return 0;
}

void rig_open(struct rig *g, const struct session_options *o)
{
	*g = (struct rig){ .e = ERR_INIT };
	signal(SIGPIPE, SIG_IGN); /* a wire to a target that failed */
	if (session_open(&g->s, o, &g->e) < 0) {
		fprintf(stderr, "%s\n", g->e.text);
		abort();
	}
	setenv(SESSION_ENV, session_dir(g->s), 1);
}

void rig_close(struct rig *g)
{
	session_close(g->s);
	unsetenv(SESSION_ENV);
}

bool rig_turn(struct rig *g)
{
	struct pollfd p = { .fd = session_fd(g->s), .events = POLLIN };
	int64_t n = session_drain(g->s, on_event, g, &g->e);

	if (n < 0)
		return false;
	poll(&p, 1, n ? 0 : 1);
	return session_poll(g->s, &g->e) == 0;
}

bool rig_until(struct rig *g, bool (*is_done)(struct rig *g, void *ctx), void *ctx)
{
	uint64_t end_ns = clock_monotonic_ns() + 20000000000u;

	while (is_done ? !is_done(g, ctx) : session_n_live(g->s) > 0)
		if (!rig_turn(g) || clock_monotonic_ns() > end_ns)
			return false;
	return true;
}

pid_t rig_spawn(struct rig_wires *w, rig_target *target, void *arg)
{
	pid_t pid;

	if (pipe2(w->to_target, O_CLOEXEC) < 0 || pipe2(w->to_test, O_CLOEXEC) < 0)
		abort();
	pid = fork();
	if (pid == 0) {
		alarm(60); /* never left behind */
		signal(SIGPIPE, SIG_DFL);
		_exit(target(w, arg));
	}
	close(w->to_target[0]);
	close(w->to_test[1]);
	return pid;
}

int rig_wait(struct rig *g, pid_t pid)
{
	uint64_t end_ns = clock_monotonic_ns() + 20000000000u;
	int status;

	while (clock_monotonic_ns() < end_ns) {
		pid_t got = waitpid(pid, &status, WNOHANG);

		if (got == pid)
			return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
		if (got < 0 || !rig_turn(g))
			return -1;
	}
	return -1;
}

struct rig_process *rig_find(struct rig *g, pid_t pid, uint32_t n_hellos)
{
	for (size_t i = 0; i < g->n_seen && i < RIG_PROCESSES; i++)
		if (g->seen[i].pid == pid && g->seen[i].n_hellos == n_hellos)
			return &g->seen[i];
	return NULL;
}

static void put_byte(int fd)
{
	while (write(fd, "", 1) < 0 && errno == EINTR)
		;
}

static void get_byte(int fd)
{
	char c;

	while (read(fd, &c, 1) < 0 && errno == EINTR)
		;
}

void rig_tell_target(struct rig_wires *w)
{
	put_byte(w->to_target[1]);
}

void rig_await_target(struct rig_wires *w)
{
	get_byte(w->to_test[0]);
}

static bool has_byte(struct rig *g, void *wires)
{
	struct rig_wires *w = wires;
	struct pollfd p = { .fd = w->to_test[0], .events = POLLIN };

	(void)g;
	return poll(&p, 1, 0) == 1;
}

bool rig_await_target_turning(struct rig *g, struct rig_wires *w)
{
	bool has_come = rig_until(g, has_byte, w);

	if (has_come)
		rig_await_target(w);
	return has_come;
}

void rig_tell_test(struct rig_wires *w)
{
	put_byte(w->to_test[1]);
}

void rig_await_test(struct rig_wires *w)
{
	get_byte(w->to_target[0]);
}
