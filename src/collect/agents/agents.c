/* SPDX-License-Identifier: MIT
 * See agents.h. */
#include "collect/agents.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/bootstrap.h"
#include "collect/embedded.h"
#include "sys/private_base.h"
#include "base/banned.h"

enum { AGENT_BYTES = 16 << 20 };

/* ---- those that travel with us --------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

bool agents_is_embedded(const char *tag)
{
	size_t n = strlen(tag);

	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (begins(f->name, "agents/") && strncmp(f->name + 7, tag, n) == 0 &&
			strcmp(f->name + 7 + n, ".so") == 0)
			return true;
	return false;
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

bool agents_folder(struct buf *ret)
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

int agents_make_folder(struct buf *ret, struct err *e)
{
	int folder;

	if (!agents_folder(ret))
		return err_set(e, ERR_USAGE,
			"neither XDG_CACHE_HOME nor HOME says where agents may be kept");
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
		return err_set(e, ERR_SYSTEM,
			"%s: others than you could put agents there, so none of them would be "
			"used; "
			"name a folder of yours in XDG_CACHE_HOME",
			buf_str(ret));
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
	bool has = agents_is_embedded(tag);

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

static void copy_one(int folder, const char *name, const char *session_dir)
{
	struct buf path = BUF_INIT, to = BUF_INIT, bytes = BUF_INIT;
	struct err ignored = ERR_INIT;
	int fd = open_agent(folder, name);

	buf_printf(&path, "/proc/self/fd/%d", fd);
	buf_printf(&to, "%s/agents/%s", session_dir, name);
	if (fd >= 0 && buf_load(&bytes, buf_str(&path), AGENT_BYTES, &ignored) == 0)
		buf_save(&bytes, buf_str(&to), &ignored);
	if (fd >= 0)
		close(fd);
	buf_done(&path);
	buf_done(&to);
	buf_done(&bytes);
}

void agents_copy(const char *session_dir)
{
	struct buf folder = BUF_INIT;
	int from = agents_folder(&folder) ? private_open_trusted(buf_str(&folder)) : -1;
	DIR *files = from >= 0 ? fdopendir(from) : NULL;
	struct dirent *one;
	char tag[AGENTS_TAG + 1];

	while (files && (one = readdir(files))) {
		if (!is_agent(one->d_name))
			continue;
		memcpy(tag, one->d_name, strlen(one->d_name) + 1);
		tag[strlen(tag) - 3] = '\0';
		if (!agents_is_embedded(tag))
			copy_one(from, one->d_name, session_dir);
	}
	if (files)
		closedir(files);
	else if (from >= 0)
		close(from);
	buf_done(&folder);
}
