/* SPDX-License-Identifier: MIT
 *
 * The host collector: /proc of every process and thread of the tree, at a pace that keeps its own
 * cost under half a percent of one CPU. It looks often while the program is young and more
 * rarely later; what a process did in total is exact all the same, because tree_reap hands over
 * the kernel's own sums when it ends. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "collect/collector.h"
#include "collect/host/host.h"
#include "collect/rows.h"
#include "store/writer.h"
#include "sys/elf.h"
#include "sys/proc.h"
#include "sys/rank.h"
#include "sys/tree.h"
#include "wire/records.h"
#include "base/banned.h"

static const uint64_t MS = 1000000;

enum {
	PSS_SHARE = 1000,     /* 1/1000 of one CPU for reading PSS, which can take 25 ms at once */
	OPEN_FILES_MOST = 96, /* descriptors kept open for speed */
	RELIST_TICKS = 16,    /* threads are listed anew at least this often */
	ASKED_MOST = 32,      /* processes asked whether they are Python */
};

/* Looking may cost 2 ms at first and 0.25 % of one CPU in the long run. What is measured inside a
 * look counts double: the other half stands for being woken up. */
static const uint64_t CREDIT_NS = 2000000;
static const double COST_SHARE = 0.0025;

struct host_thread {
	pid_t tid;
	int sched_fd, stat_fd; /* -1: opened for each look */
	uint64_t start_ns;
	struct proc_sched last;
	char state;
	uint8_t futex;       /* enum tristate */
	unsigned idle_ticks; /* since it last used CPU */
	bool is_seen;        /* in the newest listing */
	uint32_t row, segment;
};

struct host_process {
	pid_t pid;
	uint64_t serial;
	int stat_fd, io_fd;
	uint32_t row, segment;
	struct proc_stat stat;  /* last look */
	struct proc_stat first; /* look at one that ran before; else 0 */
	struct proc_io io;
	uint64_t n_looks;
	unsigned ticks_since_listing;
	bool was_asked_python;
	VEC(struct host_thread) threads;
};

struct host {
	struct collect_context c;
	VEC(struct host_process) processes; /* alive ones */
	struct map by_serial;               /* serial → index */
	uint64_t start_ns, n_ticks;
	uint64_t next_pss_ns, next_pressure_ns;
	uint64_t spent_ns; /* CPU time of all looks, doubled, without PSS */
	/* of this look: PSS, and asking once what a process is; budgets of their own */
	uint64_t other_cost_ns;
	unsigned n_asked;        /* processes asked whether they are Python */
	size_t next_pss_process; /* round robin */
	int open_files;
};

static uint64_t clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- descriptors kept open, within a limit --------------------------------------------------- */

static int keep_open(struct host *h, const char *path)
{
	int fd = h->open_files < OPEN_FILES_MOST ? open(path, O_RDONLY | O_CLOEXEC) : -1;

	h->open_files += fd >= 0;
	return fd;
}

static void close_kept(struct host *h, int *fd)
{
	if (*fd < 0)
		return;
	close(*fd);
	*fd = -1;
	h->open_files--;
}

static ssize_t look(struct host *h, int *fd, char *to, size_t size, const char *path)
{
	if (*fd < 0)
		*fd = keep_open(h, path);
	return *fd >= 0 ? proc_read_fd(to, size, *fd) : proc_read(to, size, "%s", path);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static uint32_t process_row(struct host *h, struct host_process *p, const struct tree_process *t)
{
	if (p->row && p->segment == writer_segment(h->c.writer))
		return p->row;
	p->segment = writer_segment(h->c.writer);
	return p->row = rows_process(h->c.writer, t->pid, t->start_ns, t->parent);
}

static uint32_t thread_row(
	struct host *h, struct host_thread *t, uint32_t process, const char *name)
{
	if (t->row && t->segment == writer_segment(h->c.writer))
		return t->row;
	t->segment = writer_segment(h->c.writer);
	t->row = writer_row(h->c.writer, RECORD_thread,
		&(struct rec_thread){ .process = process,
			.tid = (uint32_t)t->tid,
			.start_ns = t->start_ns,
			.name = writer_string(h->c.writer, name) });
	return t->row;
}

/* ---- one process ----------------------------------------------------------------------------- */

static struct host_process *find_process(struct host *h, uint64_t serial)
{
	uint64_t index;

	return map_find(&h->by_serial, serial, &index) ? &h->processes.v[index] : NULL;
}

static struct host_process *get_process(struct host *h, const struct tree_process *t)
{
	struct host_process *p = find_process(h, t->serial);

	if (p)
		return p;
	map_put(&h->by_serial, t->serial, h->processes.n);
	vec_push(&h->processes,
		(struct host_process){ .pid = t->pid,
			.serial = t->serial,
			.stat_fd = -1,
			.io_fd = -1,
			.io = { PROC_UNKNOWN, PROC_UNKNOWN, PROC_UNKNOWN, PROC_UNKNOWN,
				PROC_UNKNOWN, PROC_UNKNOWN } });
	return &h->processes.v[h->processes.n - 1];
}

static void drop_thread(struct host *h, struct host_process *p, size_t index)
{
	close_kept(h, &p->threads.v[index].sched_fd);
	close_kept(h, &p->threads.v[index].stat_fd);
	vec_remove_swap(&p->threads, index);
}

static void drop_process(struct host *h, uint64_t serial)
{
	struct host_process *p = find_process(h, serial);
	size_t index;

	if (!p)
		return;
	while (p->threads.n)
		drop_thread(h, p, p->threads.n - 1);
	vec_done(&p->threads);
	close_kept(h, &p->stat_fd);
	close_kept(h, &p->io_fd);
	index = (size_t)(p - h->processes.v);
	map_remove(&h->by_serial, serial);
	vec_remove_swap(&h->processes, index);
	if (index < h->processes.n)
		map_put(&h->by_serial, h->processes.v[index].serial, index);
}

static struct host_thread *find_thread(struct host_process *p, pid_t tid)
{
	vec_each (&p->threads, t)
		if (t->tid == tid)
			return t;
	return NULL;
}

static void list_threads(struct host *h, struct host_process *p)
{
	char path[64];
	struct dirent *entry;
	DIR *tasks;

	snprintf(path, sizeof path, "/proc/%d/task", (int)p->pid);
	tasks = opendir(path);
	if (!tasks)
		return;
	vec_each (&p->threads, t)
		t->is_seen = false;
	while ((entry = readdir(tasks))) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);
		struct host_thread *t = tid > 0 ? find_thread(p, tid) : NULL;

		if (tid > 0 && !t)
			vec_push(&p->threads,
				(struct host_thread){ .tid = tid,
					.sched_fd = -1,
					.stat_fd = -1,
					.is_seen = true });
		if (t)
			t->is_seen = true;
	}
	closedir(tasks);
	for (size_t i = p->threads.n; i-- > 0;)
		if (!p->threads.v[i].is_seen)
			drop_thread(h, p, i);
	p->ticks_since_listing = 0;
}

/* Whether a sleeping thread waits on a futex (a lock, the GIL): the system call it is in. */
static uint8_t futex_state(const struct host_process *p, const struct host_thread *t)
{
	char text[128];

	if (t->state != 'S')
		return TRISTATE_NO;
	if (proc_read(text, sizeof text, "/proc/%d/task/%d/syscall", (int)p->pid, (int)t->tid) <= 0)
		return TRISTATE_UNKNOWN;
	return strtol(text, NULL, 10) == SYS_futex ? TRISTATE_YES : TRISTATE_NO;
}

/* Through a descriptor that the sampler has, or one of ours. */
static ssize_t look_at_turns(
	struct host *h, const struct host_process *p, struct host_thread *t, char *to, size_t size)
{
	char path[96];
	uint64_t fd;
	ssize_t n;

	if (h->c.sched_files && map_find(h->c.sched_files, (uint64_t)t->tid, &fd) &&
		(n = proc_read_fd(to, size, (int)fd)) > 0) {
		close_kept(h, &t->sched_fd);
		return n;
	}
	snprintf(path, sizeof path, "/proc/%d/task/%d/schedstat", (int)p->pid, (int)t->tid);
	return look(h, &t->sched_fd, to, size, path);
}

/* false when the thread is gone. */
static bool look_at_thread(struct host *h, struct host_process *p, struct host_thread *t,
	uint32_t process, uint64_t now_ns)
{
	char path[96], text[1024];
	struct proc_sched sched = t->last;
	struct proc_stat st = p->stat;
	char state_before = t->state;

	if (look_at_turns(h, p, t, text, sizeof text) <= 0 || !proc_sched_parse(text, &sched))
		return false;
	if (p->threads.n > 1 || t->tid != p->pid) {
		snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)p->pid, (int)t->tid);
		if (look(h, &t->stat_fd, text, sizeof text, path) <= 0 ||
			!proc_stat_parse(text, &st))
			return false;
	}
	t->state = st.state;
	t->start_ns = t->start_ns ? t->start_ns : st.start_ns;
	t->idle_ticks = sched.cpu_ns == t->last.cpu_ns ? t->idle_ticks + 1 : 0;
	t->futex = p->threads.n > 1 && t->idle_ticks < 20 ? futex_state(p, t) : TRISTATE_UNKNOWN;
	/* A thread that did nothing since the last look needs no record. */
	if (t->row && t->idle_ticks && state_before == t->state &&
		sched.queue_ns == t->last.queue_ns)
		return true;
	t->last = sched;
	writer_add(h->c.writer, RECORD_thread_usage,
		&(struct rec_thread_usage){ .t_ns = now_ns,
			.thread = thread_row(h, t, process, st.name),
			.cpu_ns = sched.cpu_ns,
			.queue_ns = sched.queue_ns,
			.state = (uint8_t)st.state,
			.waits_on_futex = t->futex });
	return true;
}

/* Several threads at work: is it Python with a GIL, so that this can be what limits them? Asked once of each
 * process, which takes some ms, and of a few dozen at most. */
static void ask_python(struct host *h, struct host_process *p, uint32_t row, uint64_t now_ns)
{
	unsigned busy = 0;
	uint64_t before;

	vec_each (&p->threads, t)
		busy += t->idle_ticks < 3 && t->last.cpu_ns > 20 * MS;
	if (p->was_asked_python || busy < 2 || h->n_asked >= ASKED_MOST)
		return;
	p->was_asked_python = true;
	h->n_asked++;
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	writer_add(h->c.writer, RECORD_life,
		&(struct rec_life){ .t_ns = now_ns,
			.process = row,
			.event = LIFE_PYTHON,
			.value = elf_process_python(p->pid) == ELF_PYTHON_WITH_GIL });
	h->other_cost_ns += clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
}

static uint64_t read_pss(
	struct host *h, const struct host_process *p, size_t index, uint64_t now_ns)
{
	char text[4096];
	uint64_t before, cost, kib;

	if (now_ns < h->next_pss_ns || h->next_pss_process % h->processes.n != index)
		return RECORD_UNKNOWN;
	h->next_pss_process++;
	before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	kib = proc_read(text, sizeof text, "/proc/%d/smaps_rollup", (int)p->pid) > 0
		? proc_field(text, "Pss")
		: PROC_UNKNOWN;
	cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	h->next_pss_ns = now_ns + cost * PSS_SHARE;
	h->other_cost_ns += cost;
	return kib == PROC_UNKNOWN ? RECORD_UNKNOWN : kib * 1024;
}

/* A thread that ended may have been followed by another one, the number being the same: then they
 * are listed and looked at once more, or the new one's first CPU time would be credited to a later
 * look. */
static void look_at_threads(struct host *h, struct host_process *p, struct rec_process_usage *u)
{
	bool is_listed = false, is_gone = false;

	if (p->stat.n_threads != p->threads.n || ++p->ticks_since_listing >= RELIST_TICKS) {
		list_threads(h, p);
		is_listed = true;
	}
	for (int round = 0; round < 2; round++) {
		is_gone = false;
		vec_each (&p->threads, t)
			is_gone |= !look_at_thread(h, p, t, u->process, u->t_ns);
		if (!is_gone || is_listed)
			break;
		list_threads(h, p);
		is_listed = true;
	}
	vec_each (&p->threads, t) {
		u->n_running += t->state == 'R';
		u->n_disk += t->state == 'D';
		u->n_futex += t->futex == TRISTATE_YES;
	}
}

/* false when it is gone. */
static bool look_at_process(struct host *h, const struct tree_process *t, uint64_t now_ns)
{
	struct host_process *p = get_process(h, t);
	struct rec_process_usage u = { .t_ns = now_ns };
	char path[64], text[2048];
	size_t index = (size_t)(p - h->processes.v);

	snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
	if (look(h, &p->stat_fd, text, sizeof text, path) <= 0 || !proc_stat_parse(text, &p->stat))
		return false;
	if (p->stat.state == 'Z')
		return true;
	snprintf(path, sizeof path, "/proc/%d/io", (int)p->pid);
	if (look(h, &p->io_fd, text, sizeof text, path) > 0)
		proc_io_parse(text, &p->io);
	if (!p->n_looks++ && t->was_running)
		p->first = p->stat;
	u.process = process_row(h, p, t);
	look_at_threads(h, p, &u);
	ask_python(h, p, u.process, now_ns);
	u.user_ns = p->stat.user_ns;
	u.system_ns = p->stat.system_ns;
	u.rss_bytes = p->stat.rss_bytes;
	u.pss_bytes = read_pss(h, p, index, now_ns);
	u.minor_faults = p->stat.minor_faults;
	u.major_faults = p->stat.major_faults;
	u.read_chars = p->io.read_chars;
	u.write_chars = p->io.write_chars;
	u.read_calls = p->io.read_calls;
	u.write_calls = p->io.write_calls;
	u.read_bytes = p->io.read_bytes;
	u.write_bytes = p->io.write_bytes;
	u.n_threads = (uint32_t)p->stat.n_threads;
	writer_add(h->c.writer, RECORD_process_usage, &u);
	return true;
}

/* ---- the collector --------------------------------------------------------------------------- */

static void record_pressure(struct host *h, uint64_t now_ns)
{
	struct rec_pressure p = { .t_ns = now_ns };
	uint64_t unused;

	proc_pressure("cpu", &p.cpu_some_us, &unused);
	proc_pressure("io", &p.io_some_us, &p.io_full_us);
	proc_pressure("memory", &p.memory_some_us, &p.memory_full_us);
	writer_add(h->c.writer, RECORD_pressure, &p);
	h->next_pressure_ns = now_ns + 200 * MS;
}

/* 1, 2, 4, 8 ms, then every 10 ms; slower once a long run has been seen for a while. */
static uint64_t pace(const struct host *h, uint64_t now_ns)
{
	uint64_t age = now_ns - h->start_ns;

	if (h->n_ticks < 4)
		return MS << h->n_ticks;
	return age < 2000 * MS ? 10 * MS : age < 20000 * MS ? 20 * MS : 50 * MS;
}

/* At the pace, or later when the budget is spent: when it will have grown to what was spent. */
static uint64_t next_look(const struct host *h, uint64_t now_ns)
{
	uint64_t at_pace = now_ns + pace(h, now_ns), affordable = 0;

	if (h->spent_ns > CREDIT_NS)
		affordable =
			h->start_ns + (uint64_t)((double)(h->spent_ns - CREDIT_NS) / COST_SHARE);
	return affordable > at_pace ? affordable : at_pace;
}

static uint64_t host_drain(void *state, uint64_t now_ns)
{
	struct host *h = state;
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	const struct tree_process *all;
	size_t n;

	h->other_cost_ns = 0;
	all = tree_processes(h->c.tree, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].is_alive)
			look_at_process(h, &all[i], now_ns);
	if (now_ns >= h->next_pressure_ns)
		record_pressure(h, now_ns);
	h->n_ticks++;
	h->spent_ns += 2 * (clock_ns(CLOCK_THREAD_CPUTIME_ID) - before - h->other_cost_ns);
	return next_look(h, now_ns);
}

static uint64_t timeval_ns(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

static struct rec_process_end reaped(const struct tree_end *end)
{
	const struct rusage *r = &end->usage;

	return (struct rec_process_end){
		.source = END_REAPED,
		.status = (uint32_t)end->status,
		.user_ns = timeval_ns(r->ru_utime),
		.system_ns = timeval_ns(r->ru_stime),
		.own_user_ns = end->has_stat ? end->stat.user_ns : RECORD_UNKNOWN,
		.own_system_ns = end->has_stat ? end->stat.system_ns : RECORD_UNKNOWN,
		.max_rss_bytes = (uint64_t)r->ru_maxrss * 1024,
		.minor_faults = (uint64_t)r->ru_minflt,
		.major_faults = (uint64_t)r->ru_majflt,
		.voluntary_switches = (uint64_t)r->ru_nvcsw,
		.involuntary_switches = (uint64_t)r->ru_nivcsw,
		.read_chars = end->io.read_chars,
		.write_chars = end->io.write_chars,
		.read_calls = end->io.read_calls,
		.write_calls = end->io.write_calls,
		.read_bytes = end->io.read_bytes,
		.write_bytes = end->io.write_bytes,
	};
}

/* The children a process waited for since the first look at it are in the kernel's sums of it alone. */
static uint64_t with_children(
	const struct host *h, uint64_t own, uint64_t children, uint64_t children_first)
{
	if (tree_is_single(h->c.tree) || children < children_first)
		return own;
	return own + children - children_first;
}

/* Who waits for a process that ran before the recording gets all of its time, of which that of before does not count. */
static void leave_out_before(struct host *h, const struct host_process *p, pid_t parent)
{
	vec_each (&h->processes, waits) {
		struct proc_stat *f = &waits->first;

		if (waits->pid != parent)
			continue;
		f->children_user_ns += p->first.user_ns + p->first.children_user_ns;
		f->children_system_ns += p->first.system_ns + p->first.children_system_ns;
		f->children_minor_faults += p->first.minor_faults + p->first.children_minor_faults;
		f->children_major_faults += p->first.major_faults + p->first.children_major_faults;
	}
}

/* A zombie that nobody has waited for yet tells its final figures. */
static void look_at_zombie(struct host *h, struct host_process *p)
{
	struct proc_stat st;
	char path[64], text[2048];

	snprintf(path, sizeof path, "/proc/%d/stat", (int)p->pid);
	if (!p->n_looks || look(h, &p->stat_fd, text, sizeof text, path) <= 0 ||
		!proc_stat_parse(text, &st) || st.start_ns != p->stat.start_ns)
		return;
	st.rss_bytes = p->stat.rss_bytes;
	p->stat = st;
}

/* For one that we did not wait for: what was seen last, RECORD_UNKNOWN where nothing was. */
static struct rec_process_end last_seen(
	const struct host *h, const struct host_process *p, enum end_source source, int status)
{
	const struct proc_stat *s = &p->stat, *f = &p->first;
	bool seen = p->n_looks > 0;

	return (struct rec_process_end){
		.source = (uint8_t)source,
		.status = (uint32_t)status,
		.user_ns = seen
			? with_children(h, s->user_ns, s->children_user_ns, f->children_user_ns)
			: RECORD_UNKNOWN,
		.system_ns = seen ? with_children(h, s->system_ns, s->children_system_ns,
					    f->children_system_ns)
				  : RECORD_UNKNOWN,
		.own_user_ns = seen ? s->user_ns : RECORD_UNKNOWN,
		.own_system_ns = seen ? s->system_ns : RECORD_UNKNOWN,
		.max_rss_bytes = seen ? s->rss_bytes : RECORD_UNKNOWN,
		.minor_faults = seen ? with_children(h, s->minor_faults, s->children_minor_faults,
					       f->children_minor_faults)
				     : RECORD_UNKNOWN,
		.major_faults = seen ? with_children(h, s->major_faults, s->children_major_faults,
					       f->children_major_faults)
				     : RECORD_UNKNOWN,
		.voluntary_switches = RECORD_UNKNOWN,
		.involuntary_switches = RECORD_UNKNOWN,
		.read_chars = p->io.read_chars,
		.write_chars = p->io.write_chars,
		.read_calls = p->io.read_calls,
		.write_calls = p->io.write_calls,
		.read_bytes = p->io.read_bytes,
		.write_bytes = p->io.write_bytes,
	};
}

static void record_end(
	struct host *h, const struct tree_process *t, struct rec_process_end end, uint64_t t_ns)
{
	end.t_ns = t_ns;
	end.process = process_row(h, get_process(h, t), t);
	writer_add(h->c.writer, RECORD_process_end, &end);
	drop_process(h, t->serial);
}

static void record_exec(struct host *h, const struct tree_event *ev)
{
	char command[4096], rank[RANK_TEXT];

	if (!proc_command(ev->process->pid, command, sizeof command))
		return;
	writer_add(h->c.writer, RECORD_life,
		&(struct rec_life){ .t_ns = ev->t_ns,
			.process = process_row(h, get_process(h, ev->process), ev->process),
			.event = LIFE_EXEC,
			.value =
				*rank_of(ev->process->pid, rank) ? strtoull(rank, NULL, 10) + 1 : 0,
			.command = writer_string(h->c.writer, command) });
}

static void host_event(void *state, const struct tree_event *ev)
{
	struct host *h = state;

	switch (ev->kind) {
	case TREE_FORK:
		writer_add(h->c.writer, RECORD_life,
			&(struct rec_life){ .t_ns = ev->t_ns,
				.process = process_row(h, get_process(h, ev->process), ev->process),
				.event = LIFE_START,
				.value = ev->process->was_running });
		break;
	case TREE_EXEC:
		record_exec(h, ev);
		break;
	case TREE_EXIT:
		look_at_zombie(h, get_process(h, ev->process));
		leave_out_before(h, get_process(h, ev->process), ev->process->parent);
		record_end(h, ev->process,
			last_seen(h, get_process(h, ev->process), END_LAST_SEEN, ev->status),
			ev->t_ns);
		break;
	case TREE_REAPED:
		record_end(h, ev->process, reaped(ev->end), ev->t_ns);
		break;
	}
}

static void host_probe(struct probe *ret)
{
	char text[512];

	*ret = (struct probe){ .answer = PROBE_YES };
	if (proc_read(text, sizeof text, "/proc/self/schedstat") <= 0) {
		ret->answer = PROBE_PARTLY;
		snprintf(ret->reason, sizeof ret->reason,
			"no /proc/PID/schedstat: runnable time and the GIL verdict are unknown");
		snprintf(ret->remedy, sizeof ret->remedy, "use a kernel with CONFIG_SCHED_INFO");
	} else if (proc_read(text, sizeof text, "/proc/self/io") <= 0) {
		ret->answer = PROBE_PARTLY;
		snprintf(ret->reason, sizeof ret->reason,
			"no /proc/PID/io: bytes read and written are unknown");
		snprintf(ret->remedy, sizeof ret->remedy,
			"use a kernel with CONFIG_TASK_IO_ACCOUNTING");
	} else {
		snprintf(ret->reason, sizeof ret->reason, "/proc has everything leadline asks for");
	}
	if (proc_read(text, sizeof text, "/proc/self/stat") <= 0) {
		ret->answer = PROBE_NO;
		snprintf(ret->reason, sizeof ret->reason, "/proc is not mounted");
		snprintf(ret->remedy, sizeof ret->remedy, "mount -t proc proc /proc");
	}
}

static int host_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct host *h = xcalloc(1, sizeof *h);

	(void)e;
	h->c = *c;
	h->start_ns = clock_ns(CLOCK_MONOTONIC);
	record_pressure(h, h->start_ns);
	*ret_state = h;
	return 0;
}

static void host_stop(void *state)
{
	struct host *h = state;
	uint64_t now_ns = clock_ns(CLOCK_MONOTONIC);
	const struct tree_process *all;
	size_t n;

	all = tree_processes(h->c.tree, &n);
	/* Parents come before their children: what a parent's sums do not hold yet is still there, or was seen. */
	for (size_t i = 0; i < n; i++) {
		bool is_there;

		if (!all[i].is_alive)
			continue;
		is_there = look_at_process(h, &all[i], now_ns);
		record_end(h, &all[i],
			is_there ? last_seen(h, get_process(h, &all[i]), END_RUNNING, 0)
				 : last_seen(h, get_process(h, &all[i]), END_LAST_SEEN, -1),
			now_ns);
	}
	record_pressure(h, now_ns);
	while (h->processes.n)
		drop_process(h, h->processes.v[0].serial);
	vec_done(&h->processes);
	map_done(&h->by_serial);
	free(h);
}

const struct collector collector_host = {
	.name = "host",
	.sees = "CPU, memory, IO, threads and states of every process, from /proc",
	.probe = host_probe,
	.start = host_start,
	.drain = host_drain,
	.on_event = host_event,
	.stop = host_stop,
};
