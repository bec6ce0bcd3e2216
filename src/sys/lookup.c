/* SPDX-License-Identifier: MIT
 * See lookup.h. */
#include "sys/lookup.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "sys/proc.h"
#include "base/banned.h"

static const char *base_of(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

static bool names_python(const char *program)
{
	return strncmp(program, "python", 6) == 0 || strncmp(program, "pypy", 4) == 0;
}

/* Whether Python takes the next word as the value of this option. */
static bool takes_value(const char *option)
{
	return strcmp(option, "-W") == 0 || strcmp(option, "-X") == 0 ||
		strcmp(option, "--check-hash-based-pycs") == 0;
}

/* The script or module among the words of a Python; NULL: none (-c, a prompt). */
static const char *script_of(const char *cmdline, size_t n)
{
	bool is_module = false;

	for (size_t at = strlen(cmdline) + 1; at < n; at += strlen(cmdline + at) + 1) {
		const char *word = cmdline + at;

		if (is_module)
			return word;
		if (strcmp(word, "-c") == 0 || strcmp(word, "-") == 0)
			return NULL;
		if (word[0] != '-')
			return base_of(word);
		is_module = strcmp(word, "-m") == 0;
		if (takes_value(word))
			at += strlen(word) + 1;
	}
	return NULL;
}

void lookup_name(const char *cmdline, size_t n, const char *comm, struct lookup_process *ret)
{
	const char *program = n ? base_of(cmdline) : comm, *script;

	program += *program == '-'; /* a login shell */
	ret->is_python = n && names_python(program);
	script = ret->is_python ? script_of(cmdline, n) : NULL;
	snprintf(ret->name, sizeof ret->name, "%s", script && *script ? script : program);
}

static ssize_t read_names(pid_t pid, char *cmdline, size_t size, char comm[32])
{
	ssize_t n = proc_read(cmdline, size, "/proc/%d/cmdline", (int)pid);

	if (n < 0 || proc_read(comm, 32, "/proc/%d/comm", (int)pid) < 0)
		return -1;
	comm[strcspn(comm, "\n")] = '\0';
	return n;
}

bool lookup_pid(pid_t pid, struct lookup_process *ret)
{
	char cmdline[4096], comm[32];
	ssize_t n = read_names(pid, cmdline, sizeof cmdline, comm);

	ret->pid = pid;
	if (n >= 0)
		lookup_name(cmdline, (size_t)n, comm, ret);
	return n >= 0;
}

static bool is_called(
	const struct lookup_process *p, const char *cmdline, const char *comm, const char *name)
{
	size_t n = strlen(p->name);

	if (strcmp(p->name, name) == 0 || strcmp(comm, name) == 0 ||
		strcmp(base_of(cmdline), name) == 0 || strcmp(p->name, base_of(name)) == 0)
		return true;
	return p->is_python && text_ends_with(p->name, ".py") && strlen(name) == n - 3 &&
		strncmp(p->name, name, n - 3) == 0;
}

static void try_process(pid_t pid, const char *name, lookup_processes *ret)
{
	char cmdline[4096], comm[32], text[1024];
	ssize_t n = read_names(pid, cmdline, sizeof cmdline, comm);
	struct lookup_process p = { .pid = pid };
	struct proc_stat st;

	if (n <= 0 || pid == getpid() ||
		proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) <= 0 ||
		!proc_stat_parse(text, &st) || st.state == 'Z')
		return;
	p.parent = st.parent;
	lookup_name(cmdline, (size_t)n, comm, &p);
	if (name ? is_called(&p, cmdline, comm, name) : p.is_python)
		vec_push(ret, p);
}

void lookup_all(const char *name, lookup_processes *ret)
{
	DIR *all = opendir("/proc");
	struct dirent *entry;

	if (!all)
		return;
	while ((entry = readdir(all))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (pid > 0)
			try_process(pid, name, ret);
	}
	closedir(all);
}
