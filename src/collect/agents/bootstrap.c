/* SPDX-License-Identifier: MIT
 * See bootstrap.h. */
#include "collect/agents/bootstrap.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/agents/agents.h"
#include "collect/agents/embedded.h"
#include "sys/regular.h"
#include "wire/session_layout.h"
#include "base/banned.h"

enum {
	PYTHON_BYTES = 8192, /* of a path and a reason */
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
		if (strncmp(f->name, "source/", 7) != 0 && strncmp(f->name, "memory/", 7) != 0 &&
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

/* What a program has left in the folder, which may be anything; nothing where it is no file or too long. */
static void load_left(struct buf *text, const char *path, size_t limit_bytes)
{
	struct err ignored = ERR_INIT;
	int fd = regular_open(AT_FDCWD, path);
	char name[32];

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	if (fd < 0 || buf_load(text, name, limit_bytes, &ignored) < 0)
		buf_clear(text);
	if (fd >= 0)
		close(fd);
}

/* Interpreters that found no agent, or could not load it, left a file named after them: their path, and why in a second line. */
static const char *const missing_names[] = { "without-", "refused-" };

static bool is_missing(const char *file, bool *ret_refused, const char **ret_tag)
{
	for (int i = 0; i < 2; i++)
		if (strncmp(file, missing_names[i], 8) == 0) {
			*ret_refused = i == 1;
			*ret_tag = file + 8;
			return true;
		}
	return false;
}

static void tell_missing(const char *path, const char *tag, bool is_refused, struct buf *out)
{
	struct buf text = BUF_INIT;
	const char *python, *why;
	char *end;

	load_left(&text, path, PYTHON_BYTES);
	buf_addc(&text, '\n');
	end = memchr(text.data, '\n', text.n);
	*end = '\0';
	python = *text.data ? text.data : "PYTHON";
	why = end + 1;
	if (strncmp(tag, "cp", 2) != 0)
		buf_printf(out, "%.40s cannot be traced, only CPython; it can be sampled\n", tag);
	else if (is_refused)
		buf_printf(out,
			"the agent for %.40s cannot be loaded: %.*s; leadline doctor --build-agent %s builds one that can\n",
			tag, (int)strcspn(why, "\n"), why, python);
	else
		buf_printf(out,
			"leadline has no agent for %.40s: leadline doctor --build-agent %s builds one\n",
			tag, python);
	buf_done(&text);
}

unsigned bootstrap_missing(const char *dir, unsigned most, struct buf *out)
{
	DIR *files = opendir(dir);
	struct buf path = BUF_INIT;
	struct dirent *one;
	const char *tag;
	bool is_refused;
	unsigned n = 0;

	while (files && n < most && (one = readdir(files)))
		if (is_missing(one->d_name, &is_refused, &tag)) {
			buf_clear(&path);
			buf_printf(&path, "%s/%s", dir, one->d_name);
			tell_missing(buf_str(&path), tag, is_refused, out);
			n++;
		}
	if (files)
		closedir(files);
	buf_done(&path);
	return n;
}

/* A byte for each, in a file named after the process. */
uint64_t bootstrap_interpreters(const char *dir, unsigned *ret_processes)
{
	DIR *files = opendir(dir);
	struct dirent *one;
	struct stat st;
	uint64_t n = 0;

	*ret_processes = 0;
	while (files && (one = readdir(files)))
		if (strncmp(one->d_name, "interpreters-", 13) == 0 &&
			fstatat(dirfd(files), one->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
			S_ISREG(st.st_mode)) {
			n += (uint64_t)st.st_size;
			++*ret_processes;
		}
	if (files)
		closedir(files);
	return n;
}

/* What the process left is its own word: an errno and a number, or nothing. */
static bool tell_limit(const char *dir, const char *file, uint64_t map_bytes, struct buf *out)
{
	struct buf path = BUF_INIT, text = BUF_INIT;
	unsigned long long value = 0;
	int why = 0, pid = (int)strtol(file + strlen("limit-"), NULL, 10);
	bool is_good;

	buf_printf(&path, "%s/%s", dir, file);
	load_left(&text, buf_str(&path), LIMIT_BYTES);
	is_good = sscanf(buf_str(&text), "%3d %20llu", &why, &value) == 2;
	if (is_good && why == ENOMEM)
		buf_printf(out,
			"the address space of process %d is limited to %llu MiB, and the agent "
			"reserves %llu MiB, most of which is never used: raise the limit (ulimit -v unlimited)",
			pid, value >> 20, (unsigned long long)(map_bytes >> 20));
	else if (is_good)
		buf_printf(out,
			"process %d is limited to %llu open files, and the agent opens three when it starts: raise the limit (ulimit -n %llu)",
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
