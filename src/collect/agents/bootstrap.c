/* SPDX-License-Identifier: MIT
 * See bootstrap.h. */
#include "collect/bootstrap.h"

#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/agents.h"
#include "collect/embedded.h"
#include "wire/session_layout.h"
#include "base/banned.h"

enum {
	PYTHON_BYTES = 4096, /* of a path */
	LIMIT_BYTES = 64,
};

/* The folders on the way to a file. */
static int make_folders(char *path, size_t from, struct err *e)
{
	for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
		bool is_made;

		*slash = '\0';
		is_made = mkdir(path, 0700) == 0 || errno == EEXIST;
		if (!is_made)
			return err_errno(e, ERR_SYSTEM, "%s", path);
		*slash = '/';
	}
	return 0;
}

int bootstrap_save(const char *dir, const struct embedded_file *f, struct err *e)
{
	struct buf contents = { .data = (char *)(uintptr_t)f->data, .n = f->n_bytes };
	struct buf path = BUF_INIT;
	int status;

	buf_printf(&path, "%s/%s", dir, f->name);
	status = make_folders(path.data, strlen(dir) + 1, e);
	if (status == 0)
		status = buf_save(&contents, path.data, e);
	buf_done(&path);
	return status;
}

static int save_text(const char *dir, const char *name, const char *text, struct err *e)
{
	struct embedded_file f = { name, (const unsigned char *)text, strlen(text) };

	return bootstrap_save(dir, &f, e);
}

/* What the program inherits: where the session is, and the folder that starts the agent. */
static int set_environment(const char *dir, struct err *e)
{
	const char *before = getenv("PYTHONPATH");
	struct buf path = BUF_INIT;
	int status;

	buf_printf(
		&path, "%s/bootstrap%s%s", dir, before && *before ? ":" : "", before ? before : "");
	status = setenv(SESSION_ENV, dir, 1) < 0 || setenv("PYTHONPATH", buf_str(&path), 1) < 0
		? err_errno(e, ERR_SYSTEM, "setenv")
		: 0;
	buf_done(&path);
	return status;
}

/* A package without its executable can still mark regions: no link is no failure. */
static void link_executable(const char *dir)
{
	struct buf path = BUF_INIT;
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);

	buf_printf(&path, "%s/leadline", dir);
	if (n > 0) {
		own[n] = '\0';
		if (symlink(own, buf_str(&path)) < 0)
			errno = 0;
	}
	buf_done(&path);
}

int bootstrap_prepare(const char *dir, const struct bootstrap_options *o, struct err *e)
{
	/* The file whose being there tells the agents to count lines. */
	if (o->lines && save_text(dir, "lines", o->lines, e) < 0)
		return -(int)e->code;
	if (o->exclude && save_text(dir, "exclude", o->exclude, e) < 0)
		return -(int)e->code;
	if (o->torch_full && save_text(dir, "torch-full", o->torch_full, e) < 0)
		return -(int)e->code;
	if (o->torch && save_text(dir, "torch", "", e) < 0)
		return -(int)e->code;
	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (strncmp(f->name, "source/", 7) != 0 &&
			(o->with_agents || strncmp(f->name, "agents/", 7) != 0) &&
			bootstrap_save(dir, f, e) < 0)
			return -(int)e->code;
	if (o->with_agents)
		agents_copy(dir);
	if (save_text(dir, "version", LEADLINE_VERSION, e) < 0)
		return -(int)e->code;
	link_executable(dir);
	return set_environment(dir, e);
}

static void tell_missing(const char *dir, const char *file, struct buf *out)
{
	const char *tag = file + strlen("without-");
	struct buf path = BUF_INIT, python = BUF_INIT;
	struct err ignored = ERR_INIT;

	buf_printf(&path, "%s/%s", dir, file);
	if (strncmp(tag, "cp", 2) != 0)
		buf_printf(out, "%.40s cannot be traced, only CPython; it can be sampled\n", tag);
	else if (buf_load(&python, buf_str(&path), PYTHON_BYTES, &ignored) == 0 && python.n &&
		!memchr(python.data, '\n', python.n))
		buf_printf(out,
			"this leadline has no agent for %.40s: leadline doctor --build-agent %s "
			"makes one\n",
			tag, buf_str(&python));
	else
		buf_printf(out,
			"this leadline has no agent for %.40s: leadline doctor --build-agent "
			"PYTHON makes one\n",
			tag);
	buf_done(&path);
	buf_done(&python);
}

/* Interpreters that found no agent left a file named after them, with their path. */
unsigned bootstrap_missing(const char *dir, unsigned most, struct buf *out)
{
	DIR *files = opendir(dir);
	struct dirent *one;
	unsigned n = 0;

	while (files && n < most && (one = readdir(files)))
		if (strncmp(one->d_name, "without-", 8) == 0) {
			tell_missing(dir, one->d_name, out);
			n++;
		}
	if (files)
		closedir(files);
	return n;
}

/* What the process left is its own word: an errno and a number, or nothing. */
static bool tell_limit(const char *dir, const char *file, uint64_t map_bytes, struct buf *out)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	struct err ignored = ERR_INIT;
	unsigned long long value = 0;
	int why = 0, pid = (int)strtol(file + strlen("limit-"), NULL, 10);
	bool is_good;

	buf_printf(&path, "%s/%s", dir, file);
	is_good = buf_load(&text, buf_str(&path), LIMIT_BYTES, &ignored) == 0 &&
		sscanf(buf_str(&text), "%3d %20llu", &why, &value) == 2;
	if (is_good && why == ENOMEM)
		buf_printf(out,
			"the address space of process %d is limited to %llu MiB, and the agent "
			"reserves %llu MiB, most of which is never used: raise the limit (ulimit "
			"-v unlimited)",
			pid, value >> 20, (unsigned long long)(map_bytes >> 20));
	else if (is_good)
		buf_printf(out,
			"process %d is limited to %llu open files, and the agent opens three when "
			"it starts: raise the limit (ulimit -n %llu)",
			pid, value, value + 16);
	buf_done(&path);
	buf_done(&text);
	return is_good;
}

unsigned bootstrap_limited(const char *dir, uint64_t map_bytes, struct buf *out)
{
	DIR *files = opendir(dir);
	struct dirent *one;
	unsigned n = 0;

	while (files && (one = readdir(files)))
		if (strncmp(one->d_name, "limit-", 6) == 0 &&
			(n || tell_limit(dir, one->d_name, map_bytes, out)))
			n++;
	if (files)
		closedir(files);
	return n;
}
