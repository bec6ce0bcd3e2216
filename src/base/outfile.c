/* SPDX-License-Identifier: MIT
 * See outfile.h. */
#include "base/outfile.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

enum { PATH_MOST = 8192, LINKS_MOST = 40, TRIES = 8 };

/* On the way to a file: what is left of the path, from an open folder on. */
struct walk {
	int folder; /* AT_FDCWD, or O_PATH */
	char rest[PATH_MOST];
	int n_links;
	const char *refused; /* why not, where errno does not tell; else NULL */
};

/* ---- whose files are whose ------------------------------------------------------------------- */

static bool parse_id(const char *text, uint32_t *ret)
{
	char *end;
	unsigned long id;

	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	id = strtoul(text, &end, 10);
	if (*end || errno || id >= UINT32_MAX)
		return false;
	*ret = (uint32_t)id;
	return true;
}

/* Who called us through sudo. */
static bool find_caller(uid_t *ret_uid, gid_t *ret_gid)
{
	return geteuid() == 0 && parse_id(getenv("SUDO_UID"), ret_uid) &&
		parse_id(getenv("SUDO_GID"), ret_gid);
}

static bool is_stranger(uid_t uid)
{
	uid_t caller;
	gid_t group;

	return uid != 0 && uid != geteuid() && !(find_caller(&caller, &group) && uid == caller);
}

/* Of what we have made ourselves, by its descriptor. Where a file system knows no owners there is nothing to do. */
static void give_away(int fd, mode_t mode)
{
	uid_t uid;
	gid_t gid;

	if (fchmod(fd, mode) == 0 && find_caller(&uid, &gid) && fchown(fd, uid, gid) < 0)
		return;
}

/* ---- the way --------------------------------------------------------------------------------- */

static void enter(struct walk *w, int folder)
{
	if (w->folder >= 0)
		close(w->folder);
	w->folder = folder;
}

/* Cuts the next name off the rest; false when there is none. The first of an absolute path begins at the root. */
static bool take_name(struct walk *w, char name[NAME_MAX + 1])
{
	size_t blank = strspn(w->rest, "/"), n = strcspn(w->rest + blank, "/");

	if (!n || n > NAME_MAX) {
		errno = n ? ENAMETOOLONG : EISDIR;
		return false;
	}
	memcpy(name, w->rest + blank, n);
	name[n] = '\0';
	memmove(w->rest, w->rest + blank + n, strlen(w->rest + blank + n) + 1);
	return true;
}

static bool begin_at_root(struct walk *w)
{
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (root >= 0)
		enter(w, root);
	return root >= 0;
}

static bool is_of_proc(int folder)
{
	struct statfs fs;

	return folder >= 0 && fstatfs(folder, &fs) == 0 && fs.f_type == PROC_SUPER_MAGIC;
}

/* The folder that names are in now. */
static bool stat_folder(const struct walk *w, struct stat *ret)
{
	return w->folder >= 0 ? fstat(w->folder, ret) == 0 : stat(".", ret) == 0;
}

static bool refuse(struct walk *w, const char *why)
{
	w->refused = why;
	errno = EACCES;
	return false;
}

/* Puts what a link says before the rest. Its text is that of the link whose owner was looked at. */
static bool follow(struct walk *w, int link, const struct stat *st)
{
	char text[PATH_MOST];
	struct stat folder;
	size_t n_rest = strlen(w->rest);
	ssize_t n = readlinkat(link, "", text, sizeof text - 1);

	if (n < 0 || !stat_folder(w, &folder))
		return false;
	if (folder.st_mode & S_IWOTH && is_stranger(st->st_uid) && st->st_uid != folder.st_uid)
		return refuse(w,
			"another user has put a link there, in a folder where everyone may write");
	if (++w->n_links > LINKS_MOST || (size_t)n + 1 + n_rest >= sizeof w->rest) {
		errno = ELOOP;
		return false;
	}
	memmove(w->rest + n, w->rest, n_rest + 1);
	memcpy(w->rest, text, (size_t)n);
	return *text != '/' || begin_at_root(w);
}

/* A folder on the way. */
static bool step(struct walk *w, const char *name)
{
	int flags = O_PATH | O_CLOEXEC, link;
	int folder = openat(
		w->folder, name, flags | O_DIRECTORY | (is_of_proc(w->folder) ? 0 : O_NOFOLLOW));
	struct stat st;
	bool is_done;

	if (folder >= 0) {
		enter(w, folder);
		return true;
	}
	if (errno != ENOTDIR && errno != ELOOP)
		return false;
	link = openat(w->folder, name, flags | O_NOFOLLOW);
	if (link < 0)
		return false;
	errno = ENOTDIR;
	is_done = fstat(link, &st) == 0 && S_ISLNK(st.st_mode) && follow(w, link, &st);
	close(link);
	return is_done;
}

/* Whether we may write into what is there already. */
static bool may_use(struct walk *w, const struct stat *st)
{
	struct stat folder;

	if (!stat_folder(w, &folder))
		return false;
	if (!(folder.st_mode & S_ISVTX) || !(folder.st_mode & S_IWOTH))
		return true;
	if (is_stranger(st->st_uid) && st->st_uid != folder.st_uid)
		return refuse(
			w, "it belongs to another user, in a folder where everyone may write");
	if (S_ISREG(st->st_mode) && st->st_nlink > 1)
		return refuse(w, "it has another name, in a folder where everyone may write");
	return true;
}

/* Nothing of what was there is left, unless more is to come behind it. */
static int emptied(int flags)
{
	return flags & O_APPEND ? flags : flags | O_TRUNC;
}

/* What is there under the last name: -1 with errno, where EAGAIN means that the way goes on. */
static int open_there(struct walk *w, const char *name, int flags)
{
	int there = openat(w->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC), fd = -1, saved;
	char number[64];
	struct stat st;

	if (there < 0 || fstat(there, &st) < 0) {
		fd = -1;
	} else if (S_ISLNK(st.st_mode) && is_of_proc(w->folder)) {
		fd = openat(w->folder, name, emptied(flags)); /* a descriptor, by its name */
	} else if (S_ISLNK(st.st_mode)) {
		if (follow(w, there, &st))
			errno = EAGAIN;
	} else if (may_use(w, &st)) {
		snprintf(number, sizeof number, "/proc/self/fd/%d", there);
		fd = open(number, emptied(flags));
	}
	saved = errno;
	if (there >= 0)
		close(there);
	errno = saved;
	return fd;
}

/* The file itself: made, or found. */
static int open_last(struct walk *w, const char *name, int flags, bool is_new)
{
	int fd = -1;

	for (int i = 0; i < TRIES; i++) {
		fd = openat(w->folder, name, flags | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
		if (fd >= 0)
			give_away(fd, 0600);
		if (fd >= 0 || errno != EEXIST || is_new)
			return fd;
		fd = open_there(w, name, flags);
		if (fd >= 0 || errno != ENOENT) /* gone again */
			return fd;
	}
	return fd;
}

static int walk_to(struct walk *w, int flags, bool is_new)
{
	char name[NAME_MAX + 1];
	int fd;

	if (*w->rest == '/' && !begin_at_root(w))
		return -1;
	while (take_name(w, name)) {
		if (*w->rest) {
			if (!step(w, name))
				return -1;
			continue;
		}
		fd = open_last(w, name, flags, is_new);
		if (fd >= 0 || errno != EAGAIN)
			return fd;
	}
	return -1;
}

int outfile_open(const char *path, unsigned flags, int *ret_fd, struct err *e)
{
	struct walk w = { .folder = AT_FDCWD };
	int fd = -1,
	    access = (flags & OUTFILE_READ ? O_RDWR : O_WRONLY) |
		(flags & OUTFILE_APPEND ? O_APPEND : 0) | O_CLOEXEC | O_NOCTTY;

	errno = *path ? ENAMETOOLONG : ENOENT;
	if (*path && strlen(path) < sizeof w.rest) {
		snprintf(w.rest, sizeof w.rest, "%s", path);
		fd = walk_to(&w, access, flags & OUTFILE_NEW);
	}
	if (fd >= 0)
		*ret_fd = fd;
	else if (w.refused)
		err_set(e, ERR_NO_PERMISSION, "%s: %s; name another file", path, w.refused);
	else
		err_errno(e, ERR_SYSTEM, "%s", path);
	enter(&w, AT_FDCWD);
	return fd >= 0 ? 0 : -(int)e->code;
}

static int save(const struct buf *b, const char *path, unsigned flags, struct err *e)
{
	int fd, status = outfile_open(path, flags, &fd, e);

	if (status < 0)
		return status;
	status = buf_write(b, fd, e);
	if (close(fd) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "write");
	return status < 0 ? err_note(e, "%s", path) : 0;
}

int outfile_save(const struct buf *b, const char *path, struct err *e)
{
	return save(b, path, 0, e);
}

int outfile_append(const struct buf *b, const char *path, struct err *e)
{
	return save(b, path, OUTFILE_APPEND, e);
}

int outfile_unnamed(void)
{
	const char *folders[] = { getenv("TMPDIR"), "/var/tmp", "/tmp" };
	int fd = -1;

	for (size_t i = 0; i < 3 && fd < 0; i++)
		if (folders[i])
			fd = open(folders[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	return fd;
}

int outfile_make_folder(const char *path)
{
	struct stat st;
	int fd;

	if (mkdir(path, 0700) < 0)
		return -1;
	fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid())
		give_away(fd, 0700);
	if (fd >= 0)
		close(fd);
	return 0;
}
