/* SPDX-License-Identifier: MIT
 * See tree.h. */
#include "sys/tree.h"

#include <dirent.h>
#include <errno.h>
#include <linux/cn_proc.h>
#include <linux/connector.h>
#include <linux/netlink.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "sys/connector.h"

#define LOG_TOPIC "tree"
#include "base/log.h"
#include "base/banned.h"

enum { DEAD_MOST = 64 };

static const uint64_t SCAN_SHARE = 50; /* looking at children files takes 1/50 of a CPU at most */

struct tree {
	struct tree_options o;
	int connector;   /* netlink socket, -1 without */
	bool has_missed; /* the connector overflowed, or only children files are looked at */
	bool has_heard;  /* the connector answered: it works (not in every container) */
	bool is_reading; /* what is done now, the kernel told */
	uint64_t next_scan_ns;
	VEC(struct tree_process) processes; /* by serial; dead ones leave by forget_dead */
	size_t n_dead;
	uint64_t next_serial;
	struct map alive; /* pid → index */
	struct map ended; /* pid → index of the last that ended and others should wait for */
	pid_t root;
	int root_status; /* as wait(2), from the connector; -1 unknown */
};

/* ---- processes ------------------------------------------------------------------------------- */

static struct tree_process *find_alive(struct tree *t, pid_t pid)
{
	uint64_t index;

	return map_find(&t->alive, (uint64_t)pid, &index) ? &t->processes.v[index] : NULL;
}

static uint64_t start_of(pid_t pid)
{
	char text[1024];
	struct proc_stat st;

	if (proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) > 0 &&
		proc_stat_parse(text, &st))
		return st.start_ns;
	return 0;
}

static pid_t parent_of(pid_t pid)
{
	char text[1024];
	struct proc_stat st;

	return proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) > 0 &&
			proc_stat_parse(text, &st)
		? st.parent
		: 0;
}

static void tell(struct tree *t, struct tree_event event)
{
	if (t->o.listener)
		t->o.listener(t->o.ctx, &event);
}

/* A tree in which processes come and go stays as small as what lives of it. Not while somebody goes through it. */
static void forget_dead(struct tree *t)
{
	size_t n = 0;

	if (t->n_dead < DEAD_MOST || t->n_dead < t->processes.n / 2)
		return;
	for (size_t i = 0; i < t->processes.n; i++) {
		if (!t->processes.v[i].is_alive) {
			map_remove(&t->ended, (uint64_t)t->processes.v[i].pid);
			continue;
		}
		map_put(&t->alive, (uint64_t)t->processes.v[i].pid, n);
		t->processes.v[n++] = t->processes.v[i];
	}
	t->processes.n = n;
	t->n_dead = 0;
}

static void add_process(struct tree *t, pid_t pid, pid_t parent, uint64_t t_ns, bool was_running)
{
	uint64_t start;
	bool is_told = t->is_reading;

	if (find_alive(t, pid))
		return;
	start = start_of(pid);
	map_put(&t->alive, (uint64_t)pid, t->processes.n);
	map_remove(&t->ended, (uint64_t)pid);
	vec_push(&t->processes,
		(struct tree_process){ .pid = pid,
			.parent = parent,
			.start_ns = start ? start : t_ns,
			.seen_ns = t_ns,
			.image_ns = t_ns,
			.is_image_exact = is_told,
			.is_alive = true,
			.was_running = was_running,
			.serial = t->next_serial++ });
	log_debug(2, "new process %d, parent %d", (int)pid, (int)parent);
	tell(t,
		(struct tree_event){ .kind = TREE_FORK,
			.t_ns = t_ns,
			.process = &t->processes.v[t->processes.n - 1] });
}

static void end_process(struct tree *t, struct tree_process *p, uint64_t t_ns, int status,
	const struct tree_end *end)
{
	p->is_alive = false;
	t->n_dead++;
	map_remove(&t->alive, (uint64_t)p->pid);
	if (!end)
		map_put(&t->ended, (uint64_t)p->pid, (uint64_t)(p - t->processes.v));
	tell(t,
		(struct tree_event){ .kind = end ? TREE_REAPED : TREE_EXIT,
			.t_ns = t_ns,
			.process = p,
			.end = end,
			.status = status });
}

void tree_exec(struct tree *t, pid_t pid, uint64_t now_ns)
{
	struct tree_process *p = find_alive(t, pid);

	if (!p)
		return;
	p->image_ns = now_ns;
	p->has_execed = true;
	tell(t, (struct tree_event){ .kind = TREE_EXEC, .t_ns = now_ns, .process = p });
}

/* ---- proc connector -------------------------------------------------------------------------- */

static void on_proc_event(struct tree *t, const struct proc_event *ev)
{
	struct tree_process *p;

	/* A running program forks when it likes: there the kernel's answer to the subscription, or
	 * whatever comes first, is the proof that events arrive. */
	t->has_heard |= t->o.is_running;
	switch ((unsigned)ev->what) {
	case PROC_EVENT_FORK:
		if (ev->event_data.fork.child_pid != ev->event_data.fork.child_tgid) {
			p = find_alive(t, ev->event_data.fork.child_tgid);
			if (p)
				p->n_forked++;
			return;
		}
		if (ev->event_data.fork.parent_tgid == getpid() &&
			ev->event_data.fork.child_tgid == t->root)
			t->has_heard = true;
		else if (!t->o.is_single && find_alive(t, ev->event_data.fork.parent_tgid))
			add_process(t, ev->event_data.fork.child_tgid,
				ev->event_data.fork.parent_tgid, ev->timestamp_ns, false);
		return;
	case PROC_EVENT_EXEC:
		p = find_alive(t, ev->event_data.exec.process_tgid);
		if (p)
			p->is_image_exact = true;
		tree_exec(t, ev->event_data.exec.process_tgid, ev->timestamp_ns);
		return;
	case PROC_EVENT_EXIT:
		if (ev->event_data.exit.process_tgid == t->root) {
			/* of its last thread */
			t->root_status = (int)ev->event_data.exit.exit_code;
			return;
		}
		if (ev->event_data.exit.process_pid != ev->event_data.exit.process_tgid)
			return;
		p = find_alive(t, ev->event_data.exit.process_tgid);
		/* Our own children are told of by tree_reap, with all their figures. */
		if (p && ev->event_data.exit.parent_tgid != getpid())
			end_process(
				t, p, ev->timestamp_ns, (int)ev->event_data.exit.exit_code, NULL);
		return;
	default:
		return;
	}
}

static void connector_read(struct tree *t)
{
	char bytes[8192] __attribute__((aligned(NLMSG_ALIGNTO)));

	for (;;) {
		ssize_t got = recv(t->connector, bytes, sizeof bytes, 0);
		struct proc_event event;
		struct nlmsghdr *m = (struct nlmsghdr *)bytes;

		if (got < 0 && errno == ENOBUFS) {
			t->has_missed = true;
			continue;
		}
		if (got <= 0)
			return;
		for (unsigned left = (unsigned)got; NLMSG_OK(m, left); m = NLMSG_NEXT(m, left)) {
			const struct cn_msg *c = NLMSG_DATA(m);

			if (m->nlmsg_len < NLMSG_LENGTH(sizeof *c + sizeof(struct proc_event)) ||
				c->id.idx != CN_IDX_PROC)
				continue;
			memcpy(&event, c->data, sizeof event); /* it lies 4 bytes off */
			t->is_reading = true;
			on_proc_event(t, &event);
			t->is_reading = false;
		}
	}
}

/* ---- children files -------------------------------------------------------------------------- */

static void add_children_of_thread(
	struct tree *t, pid_t pid, const char *tid, uint64_t now_ns, bool were_running)
{
	char text[16384], *at = text;

	if (proc_read(text, sizeof text, "/proc/%d/task/%.16s/children", (int)pid, tid) <= 0)
		return;
	for (;;) {
		char *end;
		long child = strtol(at, &end, 10);

		if (end == at || child <= 0)
			return;
		add_process(t, (pid_t)child, pid, now_ns, were_running);
		at = end;
	}
}

static void add_children(struct tree *t, pid_t pid, uint64_t now_ns, bool were_running)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	while ((entry = readdir(tasks)))
		if (entry->d_name[0] != '.')
			add_children_of_thread(t, pid, entry->d_name, now_ns, were_running);
	closedir(tasks);
}

/* A file that cannot be opened for want of descriptors is not a process that ended. */
static bool is_gone(const struct tree_process *p)
{
	char text[1024];
	struct proc_stat st;

	if (proc_read(text, sizeof text, "/proc/%d/stat", (int)p->pid) <= 0)
		return errno == ENOENT || errno == ESRCH;
	return proc_stat_parse(text, &st) && st.start_ns != p->start_ns;
}

static void scan_children(struct tree *t, uint64_t now_ns)
{
	if (!t->o.is_running)
		add_children(t, getpid(), now_ns, false); /* orphans we adopted */
	for (size_t i = 0; i < t->processes.n; i++) {
		if (!t->processes.v[i].is_alive)
			continue;
		if (!t->o.is_single)
			add_children(t, t->processes.v[i].pid, now_ns, false);
		if (is_gone(&t->processes.v[i]))
			end_process(t, &t->processes.v[i], now_ns, -1, NULL);
	}
}

void tree_add_root(struct tree *t, pid_t pid, uint64_t now_ns)
{
	t->root = pid;
	t->root_status = -1;
	add_process(t, pid, t->o.is_running ? parent_of(pid) : getpid(), now_ns, t->o.is_running);
	if (t->o.is_running && !t->o.is_single)
		for (size_t i = 0; i < t->processes.n; i++) /* grows while we go through it */
			add_children(t, t->processes.v[i].pid, now_ns, true);
}

/* ---- polling and waiting --------------------------------------------------------------------- */

static uint64_t own_cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void tree_poll(struct tree *t, uint64_t now_ns)
{
	uint64_t before;

	forget_dead(t);
	if (t->connector >= 0)
		connector_read(t);
	/* In some containers the subscription succeeds and nothing ever comes. */
	if (t->has_heard || now_ns < t->next_scan_ns)
		return;
	before = own_cpu_ns();
	scan_children(t, now_ns);
	t->next_scan_ns = now_ns + (own_cpu_ns() - before) * SCAN_SHARE;
}

/* Waiting for a child adds its IO counts, with those of the children it waited for, to ours: the
 * difference is exact, and unlike /proc/PID/io of a zombie nobody forbids reading it. */
struct io_before {
	struct proc_io io;
	ssize_t n_read; /* reading the file counts, too, from the next look on */
};

static struct io_before io_begin(void)
{
	struct io_before b;
	char text[512];

	b.n_read = proc_read(text, sizeof text, "/proc/self/io");
	proc_io_parse(text, &b.io);
	return b;
}

static uint64_t grown(uint64_t before, uint64_t after, uint64_t ours)
{
	return before == PROC_UNKNOWN || after == PROC_UNKNOWN ? PROC_UNKNOWN
							       : after - before - ours;
}

static struct proc_io io_end(const struct io_before *b)
{
	struct proc_io now;
	char text[512];

	proc_read(text, sizeof text, "/proc/self/io");
	proc_io_parse(text, &now);
	return (struct proc_io){
		.read_chars = grown(
			b->io.read_chars, now.read_chars, b->n_read > 0 ? (uint64_t)b->n_read : 0),
		.write_chars = grown(b->io.write_chars, now.write_chars, 0),
		.read_calls = grown(b->io.read_calls, now.read_calls, 1),
		.write_calls = grown(b->io.write_calls, now.write_calls, 0),
		.read_bytes = grown(b->io.read_bytes, now.read_bytes, 0),
		.write_bytes = grown(b->io.write_bytes, now.write_bytes, 0),
	};
}

/* The child is a zombie: its figures can be read once more before it is gone. */
static bool reap_one(pid_t pid, struct tree_end *end)
{
	struct io_before io;
	char text[2048];

	end->cpu_ns = tree_cpu_ns(pid);
	end->has_stat = proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) > 0 &&
		proc_stat_parse(text, &end->stat);
	io = io_begin();
	if (wait4(pid, &end->status, 0, &end->usage) != pid)
		return false;
	end->io = io_end(&io);
	return true;
}

/* One that ended while others should wait for it, and came to us when they ended without doing so. */
static struct tree_process *find_left_behind(struct tree *t, pid_t pid, const struct tree_end *end)
{
	struct tree_process *p;
	uint64_t index;

	if (!map_find(&t->ended, (uint64_t)pid, &index))
		return NULL;
	p = &t->processes.v[index];
	map_remove(&t->ended, (uint64_t)pid);
	return end->has_stat && p->start_ns != end->stat.start_ns && p->start_ns != p->seen_ns
		? NULL
		: p;
}

void tree_reap(struct tree *t, uint64_t now_ns)
{
	if (t->connector >= 0)
		connector_read(t); /* forks come before the exits they explain */
	for (;;) {
		struct tree_end end = { 0 };
		struct tree_process *p;
		siginfo_t who = { 0 };
		pid_t pid;

		if (waitid(P_ALL, 0, &who, WEXITED | WNOHANG | WNOWAIT) < 0 || who.si_pid == 0)
			return;
		pid = who.si_pid;
		if (!reap_one(pid, &end))
			return;
		p = find_alive(t, pid);
		if (!p)
			p = find_left_behind(t, pid, &end);
		if (!p) { /* an orphan that ended before anybody saw it */
			add_process(t, pid, end.has_stat ? end.stat.parent : 0, now_ns, false);
			if (end.has_stat)
				t->processes.v[t->processes.n - 1].start_ns = end.stat.start_ns;
			p = find_alive(t, pid);
		}
		end_process(t, p, now_ns, end.status, &end);
	}
}

bool tree_has_root(const struct tree *t)
{
	uint64_t unused;

	return map_find(&t->alive, (uint64_t)t->root, &unused);
}

void tree_end_root(struct tree *t, uint64_t now_ns)
{
	struct tree_process *p;

	if (t->connector >= 0)
		connector_read(t);
	p = find_alive(t, t->root);
	if (p)
		end_process(t, p, now_ns, t->root_status, NULL);
}

/* ---- the rest -------------------------------------------------------------------------------- */

int tree_open(struct tree **ret, const struct tree_options *o, struct err *e)
{
	struct tree *t;

	if (!o->is_running && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
		return err_errno(e, ERR_SYSTEM, "become the reaper of orphaned children");
	t = xcalloc(1, sizeof *t);
	t->o = *o;
	t->connector = o->no_connector ? -1 : connector_open();
	log_debug(1, "children are found by %s", tree_method(t));
	*ret = t;
	return 0;
}

void tree_close(struct tree *t)
{
	if (!t)
		return;
	if (!t->o.is_running)
		prctl(PR_SET_CHILD_SUBREAPER, 0);
	connector_close(t->connector);
	vec_done(&t->processes);
	map_done(&t->alive);
	map_done(&t->ended);
	free(t);
}

int tree_fd(const struct tree *t)
{
	return t->connector;
}

const struct tree_process *tree_processes(const struct tree *t, size_t *ret_n)
{
	*ret_n = t->processes.n;
	return t->processes.v;
}

const struct tree_process *tree_find(const struct tree *t, pid_t pid)
{
	uint64_t index;

	return map_find(&t->alive, (uint64_t)pid, &index) ? &t->processes.v[index] : NULL;
}

const char *tree_method(const struct tree *t)
{
	return t->connector >= 0 ? "proc connector" : "children files";
}

bool tree_hears(const struct tree *t)
{
	return t->has_heard;
}

uint64_t tree_cpu_ns(pid_t pid)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &t) != 0)
		return PROC_UNKNOWN;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

bool tree_is_complete(const struct tree *t)
{
	return t->has_heard && !t->has_missed;
}

bool tree_is_single(const struct tree *t)
{
	return t->o.is_single;
}
