/* SPDX-License-Identifier: MIT
 * See agents.h. */
#include "collect/agents/agents.h"

#include <ctype.h>
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
#include "collect/agents/bootstrap.h"
#include "collect/agents/embedded.h"
#include "sys/private_base.h"
#include "base/banned.h"

enum { AGENT_BYTES = 16 << 20 };

/* ---- those that travel with us --------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static const struct embedded_file *find_embedded(const char *tag)
{
	size_t n = strlen(tag);

	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (begins(f->name, "agents/") && strncmp(f->name + 7, tag, n) == 0 &&
			strcmp(f->name + 7 + n, ".so") == 0)
			return f;
	return NULL;
}

int agents_unpack_sources(const char *dir, struct err *e)
{
	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (begins(f->name, "source/") && bootstrap_save(dir, f, e) < 0)
			return -(int)e->code;
	return 0;
}

/* ---- those made here ------------------------------------------------------------------------- */

/* FNV-1a: stable, as file names have to be. */
static uint64_t mark_of_sources(void)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (const struct embedded_file *f = embedded_files; f->name; f++)
		for (size_t i = 0; begins(f->name, "source/") && i < f->n_bytes; i++)
			h = (h ^ f->data[i]) * 0x100000001b3u;
	return h;
}

/* $XDG_CACHE_HOME or ~/.cache, then leadline/agents/ and the mark of the sources. False: neither is set. */
static bool agents_folder(struct buf *ret)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	if (cache && *cache == '/')
		buf_adds(ret, cache);
	else if (home && *home == '/')
		buf_printf(ret, "%s/.cache", home);
	else
		return false;
	buf_printf(ret, "/leadline/agents/%016llx", (unsigned long long)mark_of_sources());
	return true;
}

static int refuse_folder(const struct buf *folder, struct err *e)
{
	return err_set(e, ERR_SYSTEM,
		"%s: other users could put agents there, so leadline would use none of them; name a folder of your own in XDG_CACHE_HOME",
		buf_str(folder));
}

/* Of what is there already the last folder is ours: nothing is made in other people's homes. */
static bool may_make(const char *path)
{
	char there[PATH_MAX];
	int fd = -1;
	struct stat st;
	bool is_ours;

	if (strlen(path) >= sizeof there)
		return false;
	memcpy(there, path, strlen(path) + 1);
	while (stat(there, &st) < 0 && strrchr(there, '/') > there)
		*strrchr(there, '/') = '\0';
	fd = private_open_trusted(there);
	is_ours = fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid();
	if (fd >= 0)
		close(fd);
	return is_ours;
}

int agents_make_folder(struct buf *ret, struct err *e)
{
	int folder;

	if (!agents_folder(ret))
		return err_set(
			e, ERR_USAGE, "neither XDG_CACHE_HOME nor HOME says where to keep agents");
	if (!may_make(buf_str(ret)))
		return refuse_folder(ret, e);
	for (char *slash = strchr(ret->data + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(ret->data, 0700) < 0 && errno != EEXIST)
			return err_errno(e, ERR_SYSTEM, "%s", ret->data);
		*slash = '/';
	}
	if (mkdir(buf_str(ret), 0700) < 0 && errno != EEXIST)
		return err_errno(e, ERR_SYSTEM, "%s", buf_str(ret));
	folder = private_open_trusted(buf_str(ret));
	if (folder < 0)
		return refuse_folder(ret, e);
	close(folder);
	return 0;
}

/* What others may write, or put in its place, is not put into programs. -1: that, or there is none. */
static int open_agent(int folder, const char *name)
{
	int fd = folder < 0 ? -1
			    : openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
		!(st.st_mode & 022))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

/* "cp313t.so" */
static bool is_agent(const char *name)
{
	size_t n = strlen(name);

	if (n > AGENTS_TAG || n < 7 || !begins(name, "cp3") || strcmp(name + n - 3, ".so") != 0)
		return false;
	for (size_t i = 3; i < n - 3; i++)
		if (!isalnum((unsigned char)name[i]))
			return false;
	return true;
}

bool agents_has(const char *tag)
{
	struct buf folder = BUF_INIT, name = BUF_INIT;
	bool has = find_embedded(tag) != NULL;

	if (!has && agents_folder(&folder)) {
		int from = private_open_trusted(buf_str(&folder)), fd;

		buf_printf(&name, "%s.so", tag);
		fd = open_agent(from, buf_str(&name));
		has = fd >= 0;
		if (fd >= 0)
			close(fd);
		if (from >= 0)
			close(from);
	}
	buf_done(&folder);
	buf_done(&name);
	return has;
}

/* False: there is none, or it could not be written. */
static bool copy_one(int folder, const char *name, const char *session_dir)
{
	struct buf path = BUF_INIT, to = BUF_INIT, part = BUF_INIT, bytes = BUF_INIT;
	struct err ignored = ERR_INIT;
	int fd = open_agent(folder, name);
	bool is_there;

	buf_printf(&path, "/proc/self/fd/%d", fd);
	buf_printf(&to, "%s/agents/%s", session_dir, name);
	/* a part of one would end the program that loads it */
	buf_printf(&part, "%s.part", buf_str(&to));
	is_there = fd >= 0 && buf_load(&bytes, buf_str(&path), AGENT_BYTES, &ignored) == 0 &&
		buf_save(&bytes, buf_str(&part), &ignored) == 0 &&
		rename(buf_str(&part), buf_str(&to)) == 0;
	if (!is_there)
		unlink(buf_str(&part));
	if (fd >= 0)
		close(fd);
	buf_done(&path);
	buf_done(&to);
	buf_done(&part);
	buf_done(&bytes);
	return is_there;
}

void agents_copy(const char *session_dir)
{
	struct buf folder = BUF_INIT;
	int from = agents_folder(&folder) ? private_open_trusted(buf_str(&folder)) : -1;
	DIR *files = from >= 0 ? fdopendir(from) : NULL;
	struct dirent *one;

	while (files && (one = readdir(files)))
		if (is_agent(one->d_name))
			copy_one(from, one->d_name, session_dir);
	if (files)
		closedir(files);
	else if (from >= 0)
		close(from);
	buf_done(&folder);
}

int agents_save(const char *tag, const char *dir, struct err *e)
{
	const struct embedded_file *embedded = find_embedded(tag);
	struct buf folder = BUF_INIT, name = BUF_INIT;
	int from = agents_folder(&folder) ? private_open_trusted(buf_str(&folder)) : -1;
	bool is_there;

	buf_printf(&name, "%s/agents", dir);
	if (mkdir(buf_str(&name), 0700) < 0 && errno != EEXIST)
		err_errno(e, ERR_SYSTEM, "%s", buf_str(&name));
	buf_clear(&name);
	buf_printf(&name, "%s.so", tag);
	is_there = !e->code && copy_one(from, buf_str(&name), dir);
	if (!e->code && !is_there && embedded)
		bootstrap_save(dir, embedded, e);
	else if (!e->code && !is_there)
		err_set(e, ERR_NO_AGENT, "leadline has no agent for %s", tag);
	if (from >= 0)
		close(from);
	buf_done(&folder);
	buf_done(&name);
	return -(int)e->code;
}

/* Another leadline may look at it meanwhile, or make the same. */
int agents_keep(const char *tag, const struct buf *bytes, struct buf *ret_path, struct err *e)
{
	struct buf folder = BUF_INIT, new = BUF_INIT;

	if (agents_make_folder(&folder, e) == 0) {
		buf_printf(&new, "%s/.%s.%d", buf_str(&folder), tag, (int)getpid());
		buf_printf(ret_path, "%s/%s.so", buf_str(&folder), tag);
		if (buf_save(bytes, buf_str(&new), e) == 0 &&
			rename(buf_str(&new), buf_str(ret_path)) < 0)
			err_errno(e, ERR_SYSTEM, "%s", buf_str(ret_path));
		if (e->code)
			unlink(buf_str(&new));
	}
	buf_done(&folder);
	buf_done(&new);
	return -(int)e->code;
}
