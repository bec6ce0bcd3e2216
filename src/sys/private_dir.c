/* SPDX-License-Identifier: MIT
 * See private_dir.h. All of it works on descriptors of folders that are held, and follows no symbolic link. */
#include "sys/private_dir.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LOG_TOPIC "folder"

#include "base/err.h"
#include "base/log.h"
#include "sys/proc.h"
#include "base/banned.h"

enum {
	MARK = 8,   /* characters for the boot of the machine … */
	RANDOM = 8, /* … and for the folder, after a dash */
	NAME = MARK + 1 + RANDOM + 1,
	TRIES = 100,            /* for a name that is free */
	DEPTH_MOST = 64,        /* of folders that are removed */
	PASSES = 8,             /* over a folder that is not empty afterwards */
	LOOKS_MOST = 4096,      /* names in a base, per sweep */
	REMOVED_MOST = 1 << 20, /* files, per sweep */
};

static const char LOCK[] = "lock";
static const time_t FOREIGN_S = 30 * 24 * 3600; /* left untouched for so long by another boot */

/* ---- names ------------------------------------------------------------------------------------ */

/* A home may be shared by machines whose locks do not see each other: each knows its own folders by the boot. */
static void boot_mark(char ret[MARK + 1])
{
	char text[64] = "";
	size_t n = 0;

	proc_read(text, sizeof text, "/proc/sys/kernel/random/boot_id");
	while (n < MARK && isxdigit((unsigned char)text[n]))
		n++;
	snprintf(ret, MARK + 1, "%.*s", MARK, n == MARK ? text : "00000000");
}

static void new_name(char ret[NAME])
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	unsigned char random[RANDOM];

	if (getrandom(random, sizeof random, 0) != (ssize_t)sizeof random) {
		struct timespec t;

		clock_gettime(CLOCK_MONOTONIC, &t); /* it need not be secret, only unused */
		for (size_t i = 0; i < sizeof random; i++)
			random[i] = (unsigned char)((uint64_t)t.tv_nsec >> 3 * i ^
				(unsigned)getpid() >> i);
	}
	boot_mark(ret);
	ret[MARK] = '-';
	for (size_t i = 0; i < RANDOM; i++)
		ret[MARK + 1 + i] = letters[random[i] % 32];
	ret[NAME - 1] = '\0';
}

static bool is_name(const char *name)
{
	if (strlen(name) != NAME - 1 || name[MARK] != '-')
		return false;
	for (size_t i = 0; i < MARK; i++)
		if (!isxdigit((unsigned char)name[i]))
			return false;
	return true;
}

/* ---- removing --------------------------------------------------------------------------------- */

struct removal {
	dev_t device; /* nothing that is mounted in it */
	size_t n_left;
};

static void empty(int folder, const char *except, unsigned depth, struct removal *r);

/* A folder we may not read or change is ours all the same. */
static int open_folder(int parent, const char *name)
{
	int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat st;
	char self[64];
	int held;

	if (fd >= 0 && (fstat(fd, &st) < 0 || (st.st_mode & 0700) == 0700 || fchmod(fd, 0700) == 0))
		return fd;
	if (fd >= 0 || errno != EACCES)
		return fd;
	held = openat(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	snprintf(self, sizeof self, "/proc/self/fd/%d", held);
	if (held >= 0 && chmod(self, 0700) == 0)
		fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (held >= 0)
		close(held);
	return fd;
}

static void remove_folder(int parent, const char *name, unsigned depth, struct removal *r)
{
	int fd = depth < DEPTH_MOST ? open_folder(parent, name) : -1;
	struct stat st;

	if (fd >= 0 && fstat(fd, &st) == 0 && st.st_dev == r->device)
		empty(fd, NULL, depth + 1, r);
	if (fd >= 0)
		close(fd);
	unlinkat(parent, name, AT_REMOVEDIR);
}

static bool is_dot(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* One pass; true when something was found. */
static bool empty_once(DIR *files, const char *except, unsigned depth, struct removal *r)
{
	bool found = false;
	struct dirent *one;

	while (r->n_left && (one = readdir(files))) {
		if (is_dot(one->d_name) || (except && strcmp(one->d_name, except) == 0))
			continue;
		found = true;
		r->n_left--;
		if (unlinkat(dirfd(files), one->d_name, 0) < 0 &&
			(errno == EISDIR || errno == EPERM))
			remove_folder(dirfd(files), one->d_name, depth, r);
	}
	return found;
}

/* Names may be skipped while others go, and a program may still be writing. */
static void empty(int folder, const char *except, unsigned depth, struct removal *r)
{
	int own = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = own >= 0 ? fdopendir(own) : NULL;

	for (int i = 0; files && i < PASSES && empty_once(files, except, depth, r); i++)
		rewinddir(files);
	if (files)
		closedir(files);
	else if (own >= 0)
		close(own);
}

/* The lock goes last: until then the folder is ours. */
static void remove_locked(int base, const char *name, int folder, struct removal *r)
{
	empty(folder, LOCK, 0, r);
	unlinkat(folder, LOCK, 0);
	if (unlinkat(base, name, AT_REMOVEDIR) < 0)
		log_debug(1, "%s stays: %s", name, strerror(errno));
}

/* ---- whose it is ------------------------------------------------------------------------------ */

enum taking { TAKEN, TAKEN_BY_OTHERS, NOT_TAKEN };

/* Opens and locks a folder in the base. Who finds the lock held, or locked one that is no longer there, has lost it. */
static enum taking take(int base, const char *name, int *ret_folder, int *ret_lock)
{
	int folder = openat(base, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC), lock = -1;
	enum taking result = NOT_TAKEN;
	struct stat held, named;

	if (folder >= 0)
		lock = openat(folder, LOCK, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (lock < 0)
		result = errno == ENOENT ? TAKEN_BY_OTHERS : NOT_TAKEN;
	else if (flock(lock, LOCK_EX | LOCK_NB) < 0)
		result = errno == EWOULDBLOCK ? TAKEN_BY_OTHERS : NOT_TAKEN;
	else if (fstat(lock, &held) < 0 || fstatat(folder, LOCK, &named, AT_SYMLINK_NOFOLLOW) < 0 ||
		held.st_ino != named.st_ino)
		result = TAKEN_BY_OTHERS;
	else
		result = TAKEN;
	if (result == TAKEN) {
		*ret_folder = folder;
		*ret_lock = lock;
		return TAKEN;
	}
	if (lock >= 0)
		close(lock);
	if (folder >= 0)
		close(folder);
	return result;
}

/* ---- what killed ones have left --------------------------------------------------------------- */

static bool may_be_left(int base, const char *name, const char *mark)
{
	struct stat st;

	if (!is_name(name) || fstatat(base, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
		!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return false;
	return strncmp(name, mark, MARK) == 0 || st.st_mtime < time(NULL) - FOREIGN_S;
}

static void sweep(const struct private_base *b)
{
	int own = openat(b->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *files = own >= 0 ? fdopendir(own) : NULL;
	struct removal r = { .n_left = REMOVED_MOST };
	char mark[MARK + 1];
	struct dirent *one;
	struct stat st;
	int folder, lock;

	if (!files || fstat(own, &st) < 0) {
		if (own >= 0 && !files)
			close(own);
		return;
	}
	r.device = st.st_dev;
	boot_mark(mark);
	for (int i = 0; i < LOOKS_MOST && r.n_left && (one = readdir(files)); i++)
		if (may_be_left(b->fd, one->d_name, mark) &&
			take(b->fd, one->d_name, &folder, &lock) == TAKEN) {
			log_debug(1, "%s/%s was left behind", b->path, one->d_name);
			remove_locked(b->fd, one->d_name, folder, &r);
			close(lock);
			close(folder);
		}
	closedir(files);
}

static void sweep_all(void)
{
	for (unsigned i = 0; i < PRIVATE_PLACES; i++) {
		struct private_base b;
		struct err ignored = ERR_INIT;

		if (private_base_open(&b, PRIVATE_SMALL, i, false, &ignored) == 0)
			sweep(&b);
		private_base_close(&b);
	}
}

/* ---- making ----------------------------------------------------------------------------------- */

static int make_in(struct private_dir *d, size_t path_bytes, struct err *e)
{
	size_t n = strlen(d->base.path);

	if (path_bytes > sizeof d->path)
		path_bytes = sizeof d->path;
	if (n + 1 + NAME > path_bytes)
		return err_set(
			e, ERR_SYSTEM, "%s: the name is too long for a socket", d->base.path);
	for (int i = 0; i < TRIES; i++) {
		char name[NAME];
		enum taking taking;

		new_name(name);
		if (mkdirat(d->base.fd, name, 0700) < 0) {
			if (errno == EEXIST)
				continue;
			break;
		}
		taking = take(d->base.fd, name, &d->fd, &d->lock);
		if (taking == TAKEN) {
			snprintf(d->path, sizeof d->path, "%s/%s", d->base.path, name);
			return 0;
		}
		if (taking == NOT_TAKEN) {
			int sys = errno;

			unlinkat(d->base.fd, name, AT_REMOVEDIR);
			errno = sys;
			break;
		}
	}
	return err_errno(e, ERR_SYSTEM, "cannot make a folder in %s", d->base.path);
}

int private_dir_make(struct private_dir *d, enum private_use use, size_t path_bytes, struct err *e)
{
	struct err one, told = ERR_INIT;

	*d = (struct private_dir){ 0 };
	sweep_all();
	for (int is_noexec = 0; is_noexec < 2; is_noexec++)
		for (unsigned i = 0; i < PRIVATE_PLACES; i++) {
			one = ERR_INIT;
			if (private_base_open(&d->base, use, i, true, &one) == 0 &&
				d->base.is_noexec == is_noexec && make_in(d, path_bytes, &one) == 0)
				return 0;
			private_base_close(&d->base);
			log_debug(1, "place %u: %s", i, one.code ? one.text : "mounted noexec");
			/* The last resort, which should have done, comes last: what is wrong with a place that is there. */
			if (one.code && (!told.code || one.code != ERR_NO_FILE))
				told = one;
		}
	*e = told;
	return err_note(e, "no folder of our own");
}

void private_dir_remove(struct private_dir *d)
{
	struct removal r = { .n_left = REMOVED_MOST };
	struct stat st;

	if (!*d->path)
		return;
	if (fstat(d->fd, &st) == 0) {
		r.device = st.st_dev;
		remove_locked(d->base.fd, strrchr(d->path, '/') + 1, d->fd, &r);
	}
	close(d->lock);
	close(d->fd);
	private_base_close(&d->base);
	d->path[0] = '\0';
}
