/* SPDX-License-Identifier: MIT
 * See job.h. */
#include "collect/torch/job.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "collect/torch/dynolog.h"
#include "collect/torch/kineto.h"
#include "sys/environ.h"
#include "sys/maps.h"
#include "sys/proc.h"
#include "sys/rights.h"
#include "sys/tree.h"
#include "base/banned.h"

#define SECOND_NS UINT64_C(1000000000)
#define POLL_NS   (5 * SECOND_NS)               /* programs ask so often */
#define HEAR_NS   (POLL_NS + 3 * SECOND_NS / 4) /* by then all have asked */
#define START_NS  (HEAR_NS + SECOND_NS / 2)     /* and now they begin, together */
#define DEAF_NS   (3 * POLL_NS)                 /* who has not asked by then never will */
#define WRITE_NS  (180 * SECOND_NS) /* the longest that a trace may take to be written */
#define STEPS_NS  (600 * SECOND_NS) /* the longest that steps may take */

enum { DEPTH_MOST = 64, PROCESSES_MOST = 4096, NAME_MOST = 64, ASKS_MOST = 3 };

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * SECOND_NS + (uint64_t)t.tv_nsec;
}

static void add_part(struct torch_job *j, pid_t pid, pid_t own_pid)
{
	vec_push(&j->parts,
		((struct torch_part){ .pid = pid,
			.own_pid = own_pid,
			.pidfd = (int)syscall(SYS_pidfd_open, pid, 0) }));
}

/* ---- can it be asked ------------------------------------------------------------------------- */

struct look {
	bool is_prepared, is_unknown, has_torch, has_device;
	pid_t prepared;       /* the first that is */
	struct rights rights; /* its, from before its environment was looked at, or lower */
};

static void look_at_maps(pid_t pid, struct look *l)
{
	struct err ignored = ERR_INIT;
	struct maps maps;

	if (maps_read(&maps, pid, &ignored) < 0)
		return;
	vec_each (&maps.items, m) {
		l->has_torch |= strstr(m->path, "/libtorch_cpu.so") != NULL;
		l->has_device |= strstr(m->path, "/libcuda.so") != NULL;
	}
	maps_done(&maps);
}

static void look_at(pid_t pid, struct look *l)
{
	struct rights rights = RIGHTS_NONE;
	char value[8];
	int found;

	rights_read(&rights, pid);
	found = environ_find(pid, "KINETO_USE_DAEMON", value, sizeof value);
	l->is_unknown |= found < 0;
	if (found <= 0 || l->is_prepared) {
		rights_done(&rights);
	} else {
		l->prepared = pid;
		l->rights = rights;
	}
	if (found <= 0)
		return;
	l->is_prepared = true;
	look_at_maps(pid, l);
}

static int look_at_job(const struct torch_wish *wish, struct look *ret, struct err *e)
{
	struct tree_options o = {
		.no_connector = true, .is_running = true, .is_single = wish->is_single
	};
	const struct tree_process *all;
	struct tree *tree;
	size_t n;

	*ret = (struct look){ .prepared = wish->pid };
	if (tree_open(&tree, &o, e) < 0)
		return -(int)e->code;
	tree_add_root(tree, wish->pid, 0);
	all = tree_processes(tree, &n);
	for (size_t i = 0; i < n && i < PROCESSES_MOST; i++)
		look_at(all[i].pid, ret);
	tree_close(tree);
	if (ret->is_prepared)
		rights_lower(&ret->rights, ret->prepared);
	else
		rights_read(&ret->rights, ret->prepared);
	if (!ret->is_prepared && !ret->is_unknown)
		return err_set(e, ERR_NOT_PREPARED,
			"process %d was not started for traces on demand: set KINETO_USE_DAEMON=1 "
			"before it starts (leadline run --torch-daemon, or eval \"$(leadline env --torch)\" in the job script)",
			(int)wish->pid);
	return 0;
}

/* ---- folder and socket ----------------------------------------------------------------------- */

/* Abstract names are those of a network namespace: a job in a container has its own. */
static void enter_network(pid_t pid)
{
	struct stat ours, theirs;
	char path[64];
	int fd;

	snprintf(path, sizeof path, "/proc/%d/ns/net", (int)pid);
	if (stat("/proc/self/ns/net", &ours) < 0 || stat(path, &theirs) < 0 ||
		ours.st_ino == theirs.st_ino)
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	setns(fd, CLONE_NEWNET); /* where that is not allowed nobody will ask, and that is told */
	close(fd);
}

/* The abstract name, unless the job names a folder; somebody else may have it, who can be asked. */
static int open_abstract(struct torch_job *j, pid_t pid, struct err *e)
{
	enter_network(pid);
	if (kineto_listen(NULL, &j->socket, e) == 0)
		return 0;
	j->socket = -1;
	if (e->sys != EADDRINUSE)
		return -(int)e->code;
	*e = (struct err)ERR_INIT;
	return 0;
}

static int listen_in(struct torch_job *j, const char *folder, struct err *e)
{
	if (torch_place_listen(&j->place, folder, &j->socket, e) == 0)
		return 0;
	j->socket = -1;
	if (e->sys != EADDRINUSE)
		return -(int)e->code;
	*e = (struct err)ERR_INIT;
	return 0;
}

/* The folder that torch lets such traces be in, as the job sees it. */
static int make_folder(struct torch_job *j, pid_t pid, struct err *e)
{
	char base[256] = "";

	if ((environ_find(pid, "KINETO_ONDEMAND_TRACE_DIR", base, sizeof base) <= 0 || !*base) &&
		(environ_find(pid, "TMPDIR", base, sizeof base) <= 0 || !*base))
		snprintf(base, sizeof base, "/tmp");
	if (*base != '/' || strchr(base, '\n'))
		return err_set(e, ERR_SYSTEM,
			"process %d names a folder for its files that is not an absolute path",
			(int)pid);
	return torch_place_make(&j->place, base, j->inside, e);
}

static int take_place(struct torch_job *j, const struct look *l, struct err *e)
{
	struct torch_place_options o = { .pid = l->prepared, .rights = &l->rights };
	char folder[TORCH_PLACE_PATH];
	bool is_named =
		environ_find(l->prepared, "KINETO_IPC_SOCKET_DIR", folder, sizeof folder) > 0 &&
		*folder;

	if (!is_named && open_abstract(j, l->prepared, e) < 0)
		return -(int)e->code;
	o.socket = j->socket;
	if (torch_place_begin(&j->place, &o, e) < 0 || (is_named && listen_in(j, folder, e) < 0))
		return -(int)e->code;
	return make_folder(j, l->prepared, e);
}

static void take_signals(struct torch_job *j)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	sigprocmask(SIG_BLOCK, &set, NULL);
	j->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

/* ---- through a dynolog ----------------------------------------------------------------------- */

static void add_told(struct torch_job *j, const struct dynolog_answer *a,
	const struct tree_process *all, size_t n)
{
	for (size_t i = 0; i < n && i < PROCESSES_MOST; i++) {
		pid_t own = (pid_t)proc_inner_id(all[i].pid, (uint64_t)all[i].pid);

		for (size_t k = 0; k < a->told.n; k++)
			if (a->told.v[k] == own) {
				add_part(j, all[i].pid, own);
				break;
			}
	}
}

static int check_told(const struct torch_job *j, const struct dynolog_answer *a, struct err *e)
{
	if (j->parts.n)
		return 0;
	return a->n_known
		? err_set(e, ERR_NOT_PREPARED,
			  "dynolog, which answers jobs here, is already tracing process %d; try again when that trace is written",
			  (int)j->wish.pid)
		: err_set(e, ERR_NOT_PREPARED,
			  "dynolog, which answers jobs here, has not heard from process %d yet; it "
			  "asks every 5 s once it has imported torch (2.7 or later); try again",
			  (int)j->wish.pid);
}

static int64_t slurm_job(pid_t pid)
{
	char text[32];

	return environ_find(pid, "SLURM_JOB_ID", text, sizeof text) > 0 ? strtoll(text, NULL, 10)
									: 0;
}

/* All processes of the job, by the numbers they see: who has one of them among its ancestors is told too. */
static int ask_dynolog(struct torch_job *j, pid_t prepared, struct err *e)
{
	struct tree_options o = {
		.no_connector = true, .is_running = true, .is_single = j->wish.is_single
	};
	struct dynolog_wish wish = { .config = &j->config, .job = slurm_job(prepared) };
	struct dynolog_answer answer = { 0 };
	const struct tree_process *all;
	VEC(pid_t) pids = VEC_INIT;
	struct tree *tree;
	size_t n;
	int status;

	if (tree_open(&tree, &o, e) < 0)
		return -(int)e->code;
	tree_add_root(tree, j->wish.pid, 0);
	all = tree_processes(tree, &n);
	for (size_t i = 0; i < n && i < PROCESSES_MOST; i++)
		vec_push(&pids, (pid_t)proc_inner_id(all[i].pid, (uint64_t)all[i].pid));
	wish.pids = pids.v;
	wish.n_pids = pids.n;
	status = dynolog_ask(&wish, &answer, e);
	if (status < 0)
		status = err_note(e,
			"another program already answers jobs on this machine, and it is not a dynolog that leadline could ask (stop it, or wait for it)");
	add_told(j, &answer, all, n);
	if (status == 0)
		status = check_told(j, &answer, e);
	j->asked_until_ns = 0; /* no others will come */
	tree_close(tree);
	dynolog_done(&answer);
	vec_done(&pids);
	return status;
}

int torch_job_begin(struct torch_job *j, const struct torch_wish *wish, struct err *e)
{
	struct look look;
	struct kineto_wish text = { .length_ms = wish->length_ns / 1000000,
		.n_steps = wish->n_steps };
	struct buf file = BUF_INIT;
	int status;

	*j = (struct torch_job){
		.wish = *wish, .socket = -1, .signals = -1, .place = TORCH_PLACE_NONE
	};
	status = look_at_job(wish, &look, e);
	if (status == 0 && look.is_prepared && !look.has_torch)
		status = err_set(e, ERR_NOT_PREPARED,
			"process %d has not loaded torch, nor has any process it started; try again once it has",
			(int)wish->pid);
	if (status == 0)
		status = take_place(j, &look, e);
	rights_done(&look.rights);
	if (status < 0)
		return status;
	take_signals(j);
	text.warm_up_s = look.has_device; /* which a device needs, and nothing else */
	text.start_ms = (now_ns(CLOCK_REALTIME) + START_NS + text.warm_up_s * SECOND_NS) / 1000000;
	buf_printf(&file, "%s/trace.pt.trace.json", j->inside);
	text.file = buf_str(&file);
	kineto_config(&j->config, &text);
	buf_done(&file);
	j->asked_until_ns = now_ns(CLOCK_MONOTONIC) + HEAR_NS;
	j->deaf_until_ns = now_ns(CLOCK_MONOTONIC) + DEAF_NS;
	if (!wish->n_steps)
		j->start_ns = j->asked_until_ns + (1 + text.warm_up_s) * SECOND_NS;
	j->give_up_ns = j->asked_until_ns +
		(wish->n_steps ? STEPS_NS : wish->length_ns + 2 * SECOND_NS + WRITE_NS);
	return j->socket < 0 ? ask_dynolog(j, look.prepared, e) : 0;
}

/* ---- waiting --------------------------------------------------------------------------------- */

static bool is_of_job(const struct torch_job *j, pid_t pid)
{
	for (int depth = 0; depth < DEPTH_MOST && pid > 1; depth++) {
		char text[1024];
		struct proc_stat st;

		if (pid == j->wish.pid)
			return !j->wish.is_single || depth == 0;
		if (proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) <= 0 ||
			!proc_stat_parse(text, &st))
			return false;
		pid = st.parent;
	}
	return false;
}

static void file_name(const struct torch_part *p, char to[NAME_MOST])
{
	snprintf(to, NAME_MOST, "trace_%d.pt.trace.json", (int)p->own_pid);
}

int torch_job_copy(struct torch_job *j, const struct torch_part *p, int to, struct err *e)
{
	char name[NAME_MOST];

	file_name(p, name);
	return torch_place_copy(&j->place, name, to, j->signals, e) < 0
		? err_note(e, "%s", j->inside)
		: 0;
}

/* Files get their name when they are whole. */
static void look_for_files(struct torch_job *j)
{
	_Alignas(struct inotify_event) char events[4096];

	while (read(j->place.watch, events, sizeof events) > 0)
		;
	vec_each (&j->parts, p) {
		char name[NAME_MOST];

		file_name(p, name);
		p->is_written = p->is_written || torch_place_has(&j->place, name);
	}
}

static struct torch_part *find_part(struct torch_job *j, pid_t pid)
{
	vec_each (&j->parts, p)
		if (p->pid == pid)
			return p;
	return NULL;
}

/* While it traces it asks for no more traces; before that, and when it has not heard us in time, it does. Our answer waits at its socket then,
 * perhaps behind an older one, and what it asks for now it reads from there: so it gets nothing new. Steps may be long in coming. */
static bool has_heard(struct torch_job *j, struct torch_part *p)
{
	bool is_late = j->start_ns && now_ns(CLOCK_MONOTONIC) > j->start_ns;

	look_for_files(j);
	p->is_missed = !p->is_written && is_late && ++p->n_asked >= ASKS_MOST;
	return p->is_written || p->is_missed;
}

static void answer(struct torch_job *j, const struct kineto_peer *peer, bool is_asking)
{
	bool is_free = peer->message.wants_trace && peer->pid > 0;
	struct torch_part *part = is_free ? find_part(j, peer->pid) : NULL;
	bool is_told = is_asking && is_free && !part && j->parts.n < PROCESSES_MOST &&
		is_of_job(j, peer->pid);

	if (part && !has_heard(j, part))
		return;
	if (torch_place_answer(&j->place, peer, is_told ? &j->config : NULL) && is_told)
		add_part(j, peer->pid, peer->message.own_pid);
}

/* A process that asks too late is told as well, while none has its trace. */
static void answer_all(struct torch_job *j)
{
	bool is_early = now_ns(CLOCK_MONOTONIC) < j->asked_until_ns, is_asking = true;
	struct kineto_peer peer;

	vec_each (&j->parts, p)
		is_asking &= is_early || !p->is_written;
	while (j->socket >= 0 && kineto_receive(j->socket, &peer))
		answer(j, &peer, is_asking);
}

static bool is_over(const struct torch_job *j)
{
	for (size_t i = 0; i < j->parts.n; i++)
		if (!j->parts.v[i].is_written && !j->parts.v[i].is_missed &&
			j->parts.v[i].pidfd >= 0)
			return false;
	return true;
}

static void close_ended(struct torch_job *j, const struct pollfd *fds)
{
	for (size_t i = 0; i < j->parts.n; i++)
		if (j->parts.v[i].pidfd >= 0 && fds[i].revents) {
			close(j->parts.v[i].pidfd);
			j->parts.v[i].pidfd = -1;
		}
}

static void wait_for_news(struct torch_job *j, uint64_t until_ns)
{
	VEC(struct pollfd) fds = VEC_INIT;
	uint64_t now = now_ns(CLOCK_MONOTONIC);
	int ms = until_ns <= now ? 0 : (int)((until_ns - now) / 1000000 + 1);

	vec_push(&fds, ((struct pollfd){ .fd = j->socket, .events = POLLIN }));
	vec_push(&fds, ((struct pollfd){ .fd = j->place.watch, .events = POLLIN }));
	vec_push(&fds, ((struct pollfd){ .fd = j->signals, .events = POLLIN }));
	vec_each (&j->parts, p)
		vec_push(&fds, ((struct pollfd){ .fd = p->pidfd, .events = POLLIN }));
	if (poll(fds.v, fds.n, ms) > 0) {
		close_ended(j, fds.v + 3);
		j->is_interrupted = fds.v[2].revents != 0;
		answer_all(j);
	}
	look_for_files(j);
	vec_done(&fds);
}

int torch_job_wait(struct torch_job *j, struct err *e)
{
	uint64_t now = now_ns(CLOCK_MONOTONIC), until;

	while (!j->is_interrupted) {
		until = !j->parts.n               ? j->deaf_until_ns
			: now < j->asked_until_ns ? j->asked_until_ns
						  : j->give_up_ns;
		if (now >= until || (until == j->give_up_ns && is_over(j)))
			break;
		wait_for_news(j, until);
		if (torch_place_is_lost(&j->place))
			return torch_place_tell_lost(e);
		now = now_ns(CLOCK_MONOTONIC);
	}
	if (!j->parts.n && !j->is_interrupted)
		return err_set(e, ERR_NOT_PREPARED,
			"process %d did not look for requests within 15 s: was it started with "
			"KINETO_USE_DAEMON=1, in this network namespace, and has it imported torch (2.7 or later)?",
			(int)j->wish.pid);
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void give_signals_back(struct torch_job *j)
{
	sigset_t set;

	if (j->signals < 0)
		return;
	close(j->signals);
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	while (sigtimedwait(&set, NULL, &(struct timespec){ 0 }) > 0)
		;
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

void torch_job_done(struct torch_job *j)
{
	vec_each (&j->parts, p)
		if (p->pidfd >= 0)
			close(p->pidfd);
	if (j->socket >= 0)
		close(j->socket);
	torch_place_end(&j->place);
	give_signals_back(j);
	vec_done(&j->parts);
	buf_done(&j->config);
}
