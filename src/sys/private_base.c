/* SPDX-License-Identifier: MIT
 * See private_base.h. Top to bottom: whom to believe, where to look, the folder itself. */
#include "sys/private_base.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/proc.h"
#include "base/banned.h"

enum place {
	PLACE_RUNTIME,
	PLACE_TMPDIR,
	PLACE_RUN,
	PLACE_CACHE,
	PLACE_SHARED_TMP,
	PLACE_SHARED_TMPDIR,
};

static const enum place orders[][PRIVATE_PLACES] = {
	[PRIVATE_SMALL] = { PLACE_RUNTIME, PLACE_TMPDIR, PLACE_RUN, PLACE_CACHE, PLACE_SHARED_TMP,
		PLACE_SHARED_TMPDIR },
	[PRIVATE_LARGE] = { PLACE_TMPDIR, PLACE_CACHE, PLACE_SHARED_TMP, PLACE_SHARED_TMPDIR,
		PLACE_RUNTIME, PLACE_RUN },
};

enum { FOLDERS_MOST = 3, NAME_BYTES = 32 };

/* What stands below a folder that exists. */
struct where {
	const char *from;                     /* as the environment says it; NULL: not here */
	bool is_shared;                       /* everybody may write it, or a folder above it */
	bool must_be_ours;                    /* a home somebody else has lent us is none */
	char below[FOLDERS_MOST][NAME_BYTES]; /* made in it; the last one is ours alone */
	unsigned n_below;
	char room[PATH_MAX]; /* for `from` */
};

/* ---- whom to believe -------------------------------------------------------------------------- */

/* Nobody else can make, move or remove a name in it. In a shared one nobody else can move or remove what is ours or root's;
 * it may belong to whom / belongs, who is nobody in a user namespace. */
static bool is_trusted(const struct stat *st, bool is_shared, uid_t top)
{
	bool is_known =
		st->st_uid == 0 || st->st_uid == geteuid() || (is_shared && st->st_uid == top);

	return is_known && (!(st->st_mode & 022) || (is_shared && st->st_mode & S_ISVTX));
}

/* One folder further down; takes the place of fd, which is closed. */
static int step(int fd, const char *name, int flags)
{
	int next = openat(fd, name, flags | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	int sys = errno;

	close(fd);
	errno = sys;
	return next;
}

/* Goes down a path without symbolic links, and believes each folder on it. -1: one of them cannot be. */
static int open_trusted(const char *path, bool is_shared)
{
	int fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct stat st;
	uid_t top = fd >= 0 && fstat(fd, &st) == 0 ? st.st_uid : 0;

	while (fd >= 0 && fstat(fd, &st) == 0 && is_trusted(&st, is_shared, top)) {
		size_t n = strcspn(path += strspn(path, "/"), "/");
		char name[NAME_MAX + 1];

		if (n == 0)
			return fd;
		if (n > NAME_MAX)
			break;
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		fd = step(fd, name, O_PATH);
	}
	if (fd < 0)
		return -1;
	close(fd);
	errno = EPERM;
	return -1;
}

int private_open_trusted(const char *path)
{
	char real[PATH_MAX];
	struct stat st;
	int fd = realpath(path, real) ? open_trusted(real, true) : -1;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && is_trusted(&st, false, 0))
		return step(fd, ".", O_RDONLY);
	close(fd);
	errno = EPERM;
	return -1;
}

/* ---- where to look ---------------------------------------------------------------------------- */

/* Our number outside of our user namespace: in it we may be root, but the folder of /tmp that root has is not ours. */
static unsigned outer_uid(void)
{
	char text[4096];
	unsigned long long inside, outside, count;
	const char *line = text;
	int used;

	if (proc_read(text, sizeof text, "/proc/self/uid_map") > 0)
		for (; sscanf(line, "%llu %llu %llu%n", &inside, &outside, &count, &used) == 3;
			line += used)
			if (geteuid() >= inside && geteuid() - inside < count)
				return (unsigned)(geteuid() - inside + outside);
	return geteuid();
}

static void add_below(struct where *w, const char *name)
{
	snprintf(w->below[w->n_below++], NAME_BYTES, "%s", name);
}

/* ~/.cache may be a link to where there is more room; where it is not there yet, it is made. */
static void find_cache(struct where *w)
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");

	w->from = cache && *cache ? cache : NULL;
	if (!w->from && home && *home == '/' &&
		snprintf(w->room, sizeof w->room, "%s/.cache", home) < (int)sizeof w->room) {
		bool is_there = access(w->room, F_OK) == 0;

		w->from = is_there ? w->room : home;
		if (!is_there)
			add_below(w, ".cache");
	}
	w->must_be_ours = true;
	add_below(w, "leadline");
	add_below(w, "run");
}

static void find_where(struct where *w, enum place place)
{
	char shared[NAME_BYTES];

	*w = (struct where){ 0 };
	snprintf(shared, sizeof shared, "leadline-%u", outer_uid());
	switch (place) {
	case PLACE_RUNTIME:
		w->from = getenv("XDG_RUNTIME_DIR");
		add_below(w, "leadline");
		break;
	case PLACE_TMPDIR:
		w->from = getenv("TMPDIR");
		add_below(w, "leadline");
		break;
	case PLACE_RUN:
		w->from = geteuid() == 0 ? "/run" : NULL;
		add_below(w, "leadline");
		break;
	case PLACE_CACHE:
		find_cache(w);
		break;
	case PLACE_SHARED_TMP:
		w->from = "/tmp";
		w->is_shared = true;
		add_below(w, shared);
		break;
	case PLACE_SHARED_TMPDIR:
		w->from = getenv("TMPDIR");
		w->is_shared = true;
		add_below(w, shared);
		break;
	}
}

/* ---- the folder itself ------------------------------------------------------------------------ */

/* What is wrong with the folder at path; NULL: nothing. */
static const char *why_not_ours(int fd, char *room, size_t size)
{
	struct stat st;

	if (fd < 0 && (errno == ENOTDIR || errno == ELOOP))
		return "is not a folder, or is a symbolic link to one";
	if (fd < 0 || fstat(fd, &st) < 0) {
		snprintf(room, size, "cannot be opened (%s)", strerror(errno));
		return room;
	}
	if (st.st_uid != geteuid()) {
		snprintf(room, size, "belongs to user %u", (unsigned)st.st_uid);
		return room;
	}
	if ((st.st_mode & 0777) != 0700) {
		snprintf(room, size, "has mode %04o", (unsigned)st.st_mode & 07777);
		return room;
	}
	return NULL;
}

/* In a shared folder: a file that cleaners leave alone, and the folder with it, since they spare what has the sticky bit
 * (systemd-tmpfiles, and the specification of XDG_RUNTIME_DIR). */
static void hold_name(int base)
{
	static const char text[] =
		"Folders of leadline's while it runs. This one stays: programs that were started "
		"by leadline\nremember its name, and nobody else may ever be able to make it.\n";
	int fd = openat(base, "README", O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return; /* it is there, or there is no room */
	if (write(fd, text, sizeof text - 1) < 0 || fchmod(fd, S_ISVTX | 0600) < 0)
		errno = 0; /* then a cleaner may take the folder after weeks */
	close(fd);
}

static int add_to_path(struct private_base *b, const char *name)
{
	size_t n = strlen(b->path);

	return snprintf(b->path + n, sizeof b->path - n, "/%s", name) < (int)(sizeof b->path - n)
		? 0
		: -1;
}

/* From the trusted folder fd, which is closed, to the one below that is ours alone. */
static int descend(
	struct private_base *b, const struct where *w, int fd, bool may_make, struct err *e)
{
	char room[200];
	const char *why;
	struct stat st;

	for (unsigned i = 0; i < w->n_below; i++) {
		bool is_last = i + 1 == w->n_below;

		if (add_to_path(b, w->below[i]) < 0 ||
			(may_make && mkdirat(fd, w->below[i], 0700) < 0 && errno != EEXIST)) {
			err_errno(e, ERR_SYSTEM, "%s", b->path);
			close(fd);
			return -(int)e->code;
		}
		fd = step(fd, w->below[i], is_last ? O_RDONLY : O_PATH);
		if (!is_last && (fd < 0 || fstat(fd, &st) < 0 || !is_trusted(&st, false, 0)))
			break;
	}
	why = why_not_ours(fd, room, sizeof room);
	if (!why) {
		b->fd = fd;
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return err_set(e, ERR_SYSTEM,
		"%s %s, but must be a folder of yours alone (mode 0700): remove it, or name a folder of your own in XDG_RUNTIME_DIR",
		b->path, why);
}

int private_base_open(
	struct private_base *b, enum private_use use, unsigned i, bool may_make, struct err *e)
{
	struct where w;
	struct statvfs fs;
	struct stat st;
	int fd;

	*b = PRIVATE_BASE_INIT;
	find_where(&w, orders[use][i]);
	if (!w.from || w.from[0] != '/' || !realpath(w.from, b->path))
		return err_set(e, ERR_NO_FILE, "%s: no such folder", w.from ? w.from : "not named");
	fd = open_trusted(b->path, w.is_shared);
	if (fd >= 0 && w.must_be_ours && (fstat(fd, &st) < 0 || st.st_uid != geteuid())) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return err_set(e, ERR_SYSTEM,
			"%s: users other than you and root can change what is there", b->path);
	if (strcmp(b->path, "/") == 0)
		b->path[0] = '\0';
	if (descend(b, &w, fd, may_make, e) < 0)
		return -(int)e->code;
	b->is_noexec = fstatvfs(b->fd, &fs) == 0 && fs.f_flag & ST_NOEXEC;
	flock(b->fd, LOCK_SH | LOCK_NB);
	if (w.is_shared && may_make)
		hold_name(b->fd);
	return 0;
}

void private_base_close(struct private_base *b)
{
	if (b->fd >= 0)
		close(b->fd);
	b->fd = -1;
}
