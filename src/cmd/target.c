/* SPDX-License-Identifier: MIT
 * See target.h. */
#include "cmd/target.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "cmd/command.h"
#include "collect/samples/target.h"
#include "sys/lookup.h"
#include "sys/proc.h"
#include "sys/tree.h"
#include "base/banned.h"

enum {
	LISTED_MOST = 20,   /* processes of one name */
	CHILDREN_MOST = 64, /* looked into for Python; each that has none takes 20 ms */
	DEPTH_MOST = 64,
	START_TRIES = 50,
	START_PAUSE_NS = 4000000,
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool descends_from(const struct lookup_process *p, pid_t root)
{
	pid_t at = p->pid;

	for (int depth = 0; depth < DEPTH_MOST && at > 1; depth++) {
		char text[1024];
		struct proc_stat st;

		if (at == root)
			return true;
		if (proc_read(text, sizeof text, "/proc/%d/stat", (int)at) <= 0 ||
			!proc_stat_parse(text, &st))
			return false;
		at = st.parent;
	}
	return false;
}

/* The one that all others descend from, or 0. */
static pid_t find_root(const lookup_processes *all)
{
	for (size_t i = 0; i < all->n; i++) {
		bool is_root = true;

		for (size_t k = 0; k < all->n; k++)
			is_root = is_root && descends_from(&all->v[k], all->v[i].pid);
		if (is_root)
			return all->v[i].pid;
	}
	return 0;
}

static int say_which(const lookup_processes *all, const char *word, struct err *e)
{
	char command[160];

	output_line(STDERR_FILENO, "leadline: %zu processes are called %s:", all->n, word);
	for (size_t i = 0; i < all->n && i < LISTED_MOST; i++)
		if (proc_command(all->v[i].pid, command, sizeof command))
			output_line(STDERR_FILENO, "  %7d  %s", (int)all->v[i].pid, command);
	return err_set(e, ERR_USAGE, "which '%s'? Give the pid of one", word);
}

static int find_named(const char *word, bool with_children, pid_t *ret, struct err *e)
{
	lookup_processes all = VEC_INIT;
	int status = 0;

	lookup_all(word, &all);
	if (all.n == 0)
		status = err_set(e, ERR_NO_PROCESS, "there is no process called '%s'", word);
	else if (all.n == 1)
		*ret = all.v[0].pid;
	else if (!with_children || !(*ret = find_root(&all)))
		status = say_which(&all, word, e);
	vec_done(&all);
	return status;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* /proc has folders for threads, too, that no listing shows. */
static int check_number(pid_t pid, struct err *e)
{
	char text[4096];
	uint64_t process;

	if (proc_read(text, sizeof text, "/proc/%d/status", (int)pid) <= 0)
		return err_set(e, ERR_NO_PROCESS, "there is no process %d", (int)pid);
	process = proc_field(text, "Tgid");
	if (process != PROC_UNKNOWN && process != (uint64_t)pid)
		return err_set(
			e, ERR_USAGE, "%d is a thread; its process is %d", (int)pid, (int)process);
	return 0;
}

int target_find(const char *word, bool with_children, pid_t *ret, struct err *e)
{
	char *end;
	long number = strtol(word, &end, 10);

	if (*end || end == word)
		return find_named(word, with_children, ret, e);
	if (number <= 0 || number > INT_MAX)
		return err_set(e, ERR_NO_PROCESS, "there is no process %s", word);
	*ret = (pid_t)number;
	return check_number(*ret, e);
}

/* ---- is it Python ---------------------------------------------------------------------------- */

/* One that starts is waited for a little: what it becomes is the better answer. */
static int try_open(pid_t pid, struct err *e)
{
	static const struct timespec pause = { .tv_nsec = START_PAUSE_NS };
	int status = PY_TARGET_STARTING;

	for (int i = 0; status == PY_TARGET_STARTING && i < START_TRIES; i++) {
		struct py_target t;

		if (i)
			nanosleep(&pause, NULL);
		status = py_target_open(&t, pid, e);
		py_target_close(&t);
	}
	if (status < 0)
		return status;
	*e = ERR_INIT;
	return 0;
}

static bool has_python_child(pid_t pid)
{
	struct tree_options o = { .no_connector = true, .is_running = true };
	struct err ignored = ERR_INIT;
	const struct tree_process *all;
	struct tree *tree;
	bool found = false;
	size_t n;

	if (tree_open(&tree, &o, &ignored) < 0)
		return false;
	tree_add_root(tree, pid, 0);
	all = tree_processes(tree, &n);
	for (size_t i = 1; i < n && i < CHILDREN_MOST && !found; i++)
		found = try_open(all[i].pid, &ignored) == 0;
	tree_close(tree);
	return found;
}

int target_check(pid_t pid, bool with_children, struct err *e)
{
	int status = try_open(pid, e);

	if (status == 0 || e->code == ERR_NO_PROCESS || e->code == ERR_NO_PERMISSION)
		return status;
	if (!with_children || !has_python_child(pid))
		return status;
	*e = ERR_INIT; /* what the process itself is does not matter then */
	return 0;
}
