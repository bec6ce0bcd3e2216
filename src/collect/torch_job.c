/* SPDX-License-Identifier: MIT
 * See torch_job.h. */
#include "collect/torch_job.h"

#include <dirent.h>
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
#include "collect/dynolog.h"
#include "collect/kineto.h"
#include "sys/environ.h"
#include "sys/maps.h"
#include "sys/proc.h"
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
	pid_t prepared; /* the first that is */
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
	char value[8];
	int found = environ_find(pid, "KINETO_USE_DAEMON", value, sizeof value);

	l->is_unknown |= found < 0;
	if (found <= 0)
		return;
	if (!l->is_prepared)
		l->prepared = pid;
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
	if (!ret->is_prepared && !ret->is_unknown)
		return err_set(e, ERR_NOT_PREPARED,
			"process %d was not started for traces on demand: set KINETO_USE_DAEMON=1 "
			"before it starts (leadline run --torch-daemon, or eval \"$(leadline env "
			"--torch)\" in the job script)",
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

static int open_socket(struct torch_job *j, pid_t pid, struct err *e)
{
	char folder[TORCH_JOB_PATH - 16];
	bool is_named =
		environ_find(pid, "KINETO_IPC_SOCKET_DIR", folder, sizeof folder) > 0 && *folder;

	if (!is_named)
		enter_network(pid);
	if (kineto_listen(is_named ? folder : NULL, &j->socket, e) == 0) {
		if (is_named)
			snprintf(j->socket_path, sizeof j->socket_path, "%s/dynolog", folder);
		return 0;
	}
	if (e->sys != EADDRINUSE)
		return -(int)e->code;
	*e = (struct err)ERR_INIT; /* somebody else has it, who can be asked */
	return 0;
}

/* The folder that torch lets such traces be in, as the job sees it, whose user must be able to write there. It is kept open: its path
 * leads through the process, which may end. */
static int make_folder(struct torch_job *j, pid_t pid, struct err *e)
{
	char root[64], base[256] = "", outside[TORCH_JOB_PATH];
	struct stat st;

	if ((environ_find(pid, "KINETO_ONDEMAND_TRACE_DIR", base, sizeof base) <= 0 || !*base) &&
		(environ_find(pid, "TMPDIR", base, sizeof base) <= 0 || !*base))
		snprintf(base, sizeof base, "/tmp");
	snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
	if (access(root, X_OK) < 0)
		root[0] = '\0';
	snprintf(outside, sizeof outside, "%s%s", root, base);
	j->parent = open(outside, O_PATH | O_DIRECTORY | O_CLOEXEC);
	snprintf(outside, sizeof outside, "%s%s/leadline-torch.XXXXXX", root, base);
	if (j->parent < 0 || !mkdtemp(outside))
		return err_errno(e, ERR_SYSTEM, "cannot make a folder for the traces in %s", base);
	snprintf(j->inside, sizeof j->inside, "%s", outside + strlen(root));
	j->folder = open(outside, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	j->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (j->folder < 0 || j->watch < 0 ||
		inotify_add_watch(j->watch, outside, IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
		return err_errno(e, ERR_SYSTEM, "cannot watch %s", j->inside);
	snprintf(root, sizeof root, "/proc/%d", (int)pid);
	if (geteuid() == 0 && stat(root, &st) == 0 && fchown(j->folder, st.st_uid, st.st_gid) < 0)
		return err_errno(e, ERR_SYSTEM, "%s", j->inside);
	return 0;
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
			  "the dynolog that answers jobs here has a trace to ask of process %d "
			  "already; try again when that is written",
			  (int)j->wish.pid)
		: err_set(e, ERR_NOT_PREPARED,
			  "the dynolog that answers jobs here has not heard of process %d, which "
			  "asks it every 5 s once it has imported torch (2.7 or later); try again",
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
			"another program answers the jobs of this machine already, and is no "
			"dynolog that could be asked (end it, or wait for it)");
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

	*j = (struct torch_job){
		.wish = *wish, .socket = -1, .watch = -1, .signals = -1, .folder = -1, .parent = -1
	};
	if (look_at_job(wish, &look, e) < 0)
		return -(int)e->code;
	if (look.is_prepared && !look.has_torch)
		return err_set(e, ERR_NOT_PREPARED,
			"process %d has no torch loaded, nor has one it started; ask again when it "
			"has",
			(int)wish->pid);
	if (open_socket(j, look.prepared, e) < 0 || make_folder(j, look.prepared, e) < 0)
		return -(int)e->code;
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

/* The folder is the job's: a link in it leads nowhere. */
int torch_job_open(
	const struct torch_job *j, const struct torch_part *p, int *ret_fd, struct err *e)
{
	char name[NAME_MOST];
	struct stat st;
	int fd;

	file_name(p, name);
	fd = openat(j->folder, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		err_errno(e, ERR_SYSTEM, "%s/%s", j->inside, name);
		if (fd >= 0)
			close(fd);
		return -(int)e->code;
	}
	*ret_fd = fd;
	return 0;
}

/* Files get their name when they are whole. */
static void look_for_files(struct torch_job *j)
{
	_Alignas(struct inotify_event) char events[4096];

	while (read(j->watch, events, sizeof events) > 0)
		;
	vec_each (&j->parts, p) {
		char name[NAME_MOST];

		file_name(p, name);
		p->is_written |= faccessat(j->folder, name, F_OK, 0) == 0;
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
	if (kineto_answer(j->socket, peer, is_told ? &j->config : NULL) && is_told)
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
	vec_push(&fds, ((struct pollfd){ .fd = j->watch, .events = POLLIN }));
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
		now = now_ns(CLOCK_MONOTONIC);
	}
	if (!j->parts.n && !j->is_interrupted)
		return err_set(e, ERR_NOT_PREPARED,
			"process %d did not ask for work within 15 s: was it started with "
			"KINETO_USE_DAEMON=1, in this network namespace, and has it imported torch "
			"(2.7 "
			"or later)?",
			(int)j->wish.pid);
	return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

static void remove_folder(struct torch_job *j)
{
	DIR *d = j->folder < 0 ? NULL : fdopendir(j->folder);

	for (struct dirent *x; d && (x = readdir(d));)
		unlinkat(dirfd(d), x->d_name, 0);
	if (d)
		closedir(d);
	if (*j->inside)
		unlinkat(j->parent, strrchr(j->inside, '/') + 1, AT_REMOVEDIR);
	if (j->parent >= 0)
		close(j->parent);
}

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
	if (*j->socket_path)
		unlink(j->socket_path);
	if (j->watch >= 0)
		close(j->watch);
	remove_folder(j);
	give_signals_back(j);
	vec_done(&j->parts);
	buf_done(&j->config);
}
