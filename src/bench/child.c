/* SPDX-License-Identifier: MIT
 * See child.h. posix_spawn, because it does not copy our page tables: a fork of a larger tool would be in the time. */
#include "bench/child.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/vec.h"
#include "base/banned.h"

enum { STDERR_KEPT = 4096, LINE_MOST = 1 << 20 };

extern char **environ;

static volatile sig_atomic_t interrupted;

static void on_interrupt(int signal)
{
	(void)signal;
	interrupted = 1;
}

void child_watch_interrupt(void)
{
	/* No SA_RESTART: a read or wait ends, and the flag is looked at. */
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = on_interrupt }, NULL);
}

bool child_was_interrupted(void)
{
	return interrupted;
}

static double seconds_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(struct timeval t)
{
	return (double)t.tv_sec + 1e-6 * (double)t.tv_usec;
}

static bool is_set_in(const char *const *added, const char *entry)
{
	const char *equals = strchr(entry, '=');
	size_t n = equals ? (size_t)(equals - entry) + 1 : strlen(entry);

	for (; added && *added; added++)
		if (strncmp(*added, entry, n) == 0)
			return true;
	return false;
}

typedef VEC(char *) strings;

/* Ours with theirs added; borrows all of it. */
static void make_environment(const char *const *added, strings *ret)
{
	for (char **p = environ; p && *p; p++)
		if (!is_set_in(added, *p))
			vec_push(ret, *p);
	for (; added && *added; added++)
		vec_push(ret, (char *)*added);
	vec_push(ret, NULL);
}

static void add_streams(posix_spawn_file_actions_t *actions, const struct child_options *o,
	int stdout_to, int stderr_to)
{
	if (o->in_path || o->in == CHILD_NULL)
		posix_spawn_file_actions_addopen(
			actions, STDIN_FILENO, o->in_path ? o->in_path : "/dev/null", O_RDONLY, 0);
	if (stdout_to >= 0)
		posix_spawn_file_actions_adddup2(actions, stdout_to, STDOUT_FILENO);
	else if (o->out == CHILD_NULL)
		posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	else if (o->out == CHILD_TO_STDERR)
		posix_spawn_file_actions_adddup2(actions, STDERR_FILENO, STDOUT_FILENO);
	if (stderr_to >= 0)
		posix_spawn_file_actions_adddup2(actions, stderr_to, STDERR_FILENO);
}

static int start(const struct child_options *o, int stdout_to, int stderr_to, pid_t *ret_pid,
	double *ret_started)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t interrupt;
	strings environment = VEC_INIT;
	cpu_set_t before, one;
	bool pinned = false;
	int sys;

	make_environment(o->environment, &environment);
	posix_spawn_file_actions_init(&actions);
	add_streams(&actions, o, stdout_to, stderr_to);
	if (o->folder)
		posix_spawn_file_actions_addchdir_np(&actions, o->folder);
	posix_spawnattr_init(&attributes);
	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	posix_spawnattr_setsigdefault(&attributes, &interrupt);
	posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
	if (o->cpu >= 0 && sched_getaffinity(0, sizeof before, &before) == 0) {
		CPU_ZERO(&one);
		CPU_SET((size_t)o->cpu, &one);
		pinned = sched_setaffinity(0, sizeof one, &one) == 0; /* inherited, then undone */
	}
	*ret_started = seconds_now();
	sys = posix_spawnp(
		ret_pid, o->argv[0], &actions, &attributes, (char *const *)o->argv, environment.v);
	if (pinned)
		sched_setaffinity(0, sizeof before, &before);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	vec_done(&environment);
	return sys;
}

static int start_failed(struct err *e, const char *name, int sys)
{
	if (sys == ENOENT)
		return err_set(e, ERR_NOT_FOUND, "%s: command not found", name);
	if (sys == EACCES || sys == ENOEXEC)
		return err_set(e, ERR_NOT_EXECUTABLE, "%s: not executable", name);
	errno = sys;
	return err_errno(e, ERR_SYSTEM, "cannot start %s", name);
}

static void finish(pid_t pid, double started, struct child_result *ret)
{
	struct rusage u = { 0 };
	int status = 0;

	while (wait4(pid, &status, 0, &u) < 0 && errno == EINTR)
		;
	*ret = (struct child_result){ .wall_s = seconds_now() - started,
		.user_s = seconds_of(u.ru_utime),
		.system_s = seconds_of(u.ru_stime),
		.max_rss_bytes = (uint64_t)u.ru_maxrss * 1024,
		.n_preempted = (uint32_t)u.ru_nivcsw,
		.n_minor_faults = (uint32_t)u.ru_minflt,
		.n_major_faults = (uint32_t)u.ru_majflt,
		.status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status) };
}

/* The last `most` bytes of a file. */
static void take_end(int fd, off_t most, struct buf *to)
{
	off_t size = lseek(fd, 0, SEEK_END), n = size < most ? size : most;
	ssize_t got = n > 0 ? pread(fd, buf_reserve(to, (size_t)n), (size_t)n, size - n) : 0;

	if (got > 0)
		buf_advance(to, (size_t)got);
}

/* An empty file without a name, -1 where there cannot be one. It is the same for all runs: making and removing one takes
 * a third of what starting a small program does. */
static int empty_file(FILE **file)
{
	if (!*file)
		*file = tmpfile();
	if (!*file)
		return -1;
	if (lseek(fileno(*file), 0, SEEK_END) > 0 &&
		(ftruncate(fileno(*file), 0) < 0 || lseek(fileno(*file), 0, SEEK_SET) < 0))
		return -1;
	return fileno(*file);
}

int child_run(const struct child_options *o, struct child_result *ret, struct buf *ret_stderr,
	struct err *e)
{
	static FILE *errors, *output;
	int kept = o->keep_stderr ? empty_file(&errors) : -1;
	int printed = o->stdout_to ? empty_file(&output) : -1;
	double started;
	pid_t pid;
	int sys = start(o, printed, kept, &pid, &started);

	if (sys == 0)
		finish(pid, started, ret);
	if (kept >= 0 && sys == 0 && ret_stderr)
		take_end(kept, STDERR_KEPT, ret_stderr);
	if (printed >= 0 && sys == 0)
		take_end(printed, CHILD_OUTPUT, o->stdout_to);
	return sys == 0 ? 0 : start_failed(e, o->argv[0], sys);
}

/* Hands over whole lines; what has no end yet stays. A line that never ends is dropped. */
static void split_lines(
	struct buf *b, void (*line)(void *ctx, const char *text, size_t n), void *ctx)
{
	char *end, *at = b->data;
	size_t left = b->n;

	while (left && (end = memchr(at, '\n', left))) {
		*end = '\0';
		line(ctx, at, (size_t)(end - at));
		left -= (size_t)(end - at) + 1;
		at = end + 1;
	}
	if (left && left < LINE_MOST)
		memmove(b->data, at, left);
	b->n = left < LINE_MOST ? left : 0;
}

static void read_answers(int fd, void (*line)(void *ctx, const char *text, size_t n), void *ctx)
{
	struct buf b = BUF_INIT;

	for (;;) {
		char *room = buf_reserve(&b, 65536);
		ssize_t got = read(fd, room, 65536);

		if (got < 0 && errno == EINTR)
			continue; /* the worker has had the signal too and ends */
		if (got <= 0)
			break;
		buf_advance(&b, (size_t)got);
		split_lines(&b, line, ctx);
	}
	buf_done(&b);
}

/* Both ends close on exec, but those of the child, which get no such mark. */
static int open_pipes(int job[2], int answer[2])
{
	if (pipe2(job, O_CLOEXEC) < 0)
		return -1;
	if (pipe2(answer, O_CLOEXEC) < 0) {
		close(job[0]);
		close(job[1]);
		return -1;
	}
	fcntl(job[0], F_SETFD, 0);
	fcntl(answer[1], F_SETFD, 0);
	return 0;
}

int child_talk(const struct child_options *o, const struct buf *job,
	void (*line)(void *ctx, const char *text, size_t n), void *ctx, struct child_result *ret,
	struct err *e)
{
	VEC(const char *) words = VEC_INIT;
	struct child_options with_numbers = *o;
	char numbers[2][16];
	int to[2], from[2], sys;
	struct err writing = ERR_INIT;
	double started;
	pid_t pid;

	if (open_pipes(to, from) < 0)
		return err_errno(e, ERR_SYSTEM, "cannot start %s: pipe", o->argv[0]);
	snprintf(numbers[0], sizeof numbers[0], "%d", to[0]);
	snprintf(numbers[1], sizeof numbers[1], "%d", from[1]);
	for (const char *const *p = o->argv; *p; p++)
		vec_push(&words, *p);
	vec_push(&words, numbers[0]);
	vec_push(&words, numbers[1]);
	vec_push(&words, NULL);
	with_numbers.argv = words.v;
	sys = start(&with_numbers, -1, -1, &pid, &started);
	vec_done(&words);
	close(to[0]);
	close(from[1]);
	if (sys == 0) {
		signal(SIGPIPE, SIG_IGN);
		buf_write(job, to[1], &writing); /* a worker that died says more by its status */
	}
	close(to[1]);
	if (sys == 0) {
		read_answers(from[0], line, ctx);
		finish(pid, started, ret);
	}
	close(from[0]);
	return sys == 0 ? 0 : start_failed(e, o->argv[0], sys);
}
