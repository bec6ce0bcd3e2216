/* SPDX-License-Identifier: MIT
 * See spawn.h. */
#include "sys/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/banned.h"

static const struct {
	int signal;
	sighandler_t ours;
} changed[SIGNALS_CHANGED] = { { SIGCHLD, SIG_DFL }, { SIGPIPE, SIG_IGN }, { SIGXFSZ, SIG_IGN } };

void signals_take(const sigset_t *signals, struct signal_state *ret_before)
{
	sigset_t all = *signals;

	ret_before->has_files = false;
	sigaddset(&all, SIGCHLD);
	sigprocmask(SIG_BLOCK, &all, &ret_before->mask);
	for (int i = 0; i < SIGNALS_CHANGED; i++)
		sigaction(changed[i].signal, &(struct sigaction){ .sa_handler = changed[i].ours },
			&ret_before->actions[i]);
}

void signals_restore(const struct signal_state *before)
{
	for (int i = 0; i < SIGNALS_CHANGED; i++)
		sigaction(changed[i].signal, &before->actions[i], NULL);
	sigprocmask(SIG_SETMASK, &before->mask, NULL);
	if (before->has_files)
		setrlimit(RLIMIT_NOFILE, &before->files);
}

void files_raise(struct signal_state *ret_before)
{
	struct rlimit more;

	ret_before->has_files = getrlimit(RLIMIT_NOFILE, &ret_before->files) == 0;
	more = ret_before->files;
	more.rlim_cur = more.rlim_max;
	if (ret_before->has_files)
		setrlimit(RLIMIT_NOFILE, &more);
}

static int exec_failure(struct err *e, const char *name, int sys)
{
	struct stat st;

	switch (sys) {
	case ENOENT:
		if (strchr(name, '/') && stat(name, &st) == 0)
			return err_set(e, ERR_NOT_EXECUTABLE,
				"%s: the interpreter its first line names is missing", name);
		return err_set(e, ERR_NOT_FOUND, "%s: command not found", name);
	case ENOTDIR:
		return err_set(e, ERR_NOT_FOUND, "%s: command not found", name);
	case EACCES:
		if (stat(name, &st) == 0 && S_ISDIR(st.st_mode))
			return err_set(e, ERR_NOT_EXECUTABLE, "%s: is a directory", name);
		return err_set(e, ERR_NOT_EXECUTABLE, "%s: not executable", name);
	case ENOEXEC:
	case E2BIG:
	case ELOOP:
	case ENAMETOOLONG:
	case EPERM:
		return err_set(e, ERR_NOT_EXECUTABLE, "%s: %s", name, strerror(sys));
	default:
		errno = sys;
		return err_errno(e, ERR_SYSTEM, "cannot start %s", name);
	}
}

static void run_child(char *const argv[], const struct signal_state *signals, int report)
{
	int sys;

	signals_restore(signals);
	execvp(argv[0], argv);
	sys = errno;
	_exit(write(report, &sys, sizeof sys) == (ssize_t)sizeof sys ? 127 : 126);
}

int spawn_program(char *const argv[], const struct signal_state *signals, bool stdout_to_stderr,
	pid_t *ret_pid, struct err *e)
{
	int report[2], sys = 0;
	ssize_t got;
	pid_t pid;

	if (pipe2(report, O_CLOEXEC) < 0)
		return err_errno(e, ERR_SYSTEM, "cannot start %s: pipe", argv[0]);
	pid = fork();
	if (pid == 0) {
		if (stdout_to_stderr)
			dup2(STDERR_FILENO, STDOUT_FILENO);
		run_child(argv, signals, report[1]);
	}
	close(report[1]);
	if (pid < 0) {
		close(report[0]);
		return err_errno(e, ERR_SYSTEM, "cannot start %s: fork", argv[0]);
	}
	do
		got = read(report[0], &sys, sizeof sys);
	while (got < 0 && errno == EINTR);
	close(report[0]);
	if (got == (ssize_t)sizeof sys) {
		waitpid(pid, NULL, 0);
		return exec_failure(e, argv[0], sys);
	}
	*ret_pid = pid;
	return 0;
}
