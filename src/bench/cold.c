/* SPDX-License-Identifier: MIT
 * See cold.h. A thread listens while the command runs: of processes that have ended nobody can tell whose they were. */
#include "bench/cold.h"

#include <errno.h>
#include <fcntl.h>
#include <mntent.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/fanotify.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/magic.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/units.h"
#include "sys/proc.h"
#include "base/banned.h"

enum {
	FILES_MOST = 65536,
	MOUNTS_MOST = 4096,
	ANCESTORS_MOST = 256,
	EVENTS_AT_ONCE = 64, /* each is an open file of ours */
	PATH_BYTES = 4096,
	WINDOW_PAGES = 16384,
};

/* Of a file: sparse ones may claim to be endless. */
static const uint64_t looked_at_bytes = UINT64_C(1) << 40;

int cold_open(struct cold *c, const char *folder, struct err *e)
{
	*c = (struct cold){ .folder = folder, .self = getpid(), .arena = ARENA_INIT };
	c->events = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_NONBLOCK,
		O_RDONLY | O_CLOEXEC | O_LARGEFILE | O_NOATIME);
	if (c->events < 0 && errno == EPERM)
		return err_set(e, ERR_NO_PERMISSION,
			"--cold uses fanotify to learn which files a command opens, and that needs "
			"root (CAP_SYS_ADMIN); without root: --prepare 'dd if=FILE iflag=nocache count=0'");
	if (c->events < 0)
		return err_errno(e, ERR_SYSTEM,
			"--cold: no fanotify here (instead: --prepare 'dd if=FILE iflag=nocache count=0')");
	c->stop = eventfd(0, EFD_CLOEXEC);
	if (c->stop < 0) {
		close(c->events);
		return err_errno(e, ERR_SYSTEM, "--cold: eventfd");
	}
	return 0;
}

void cold_close(struct cold *c)
{
	if (c->events >= 0)
		close(c->events);
	close(c->stop);
	arena_done(&c->arena);
	vec_done(&c->files);
	map_done(&c->known);
	map_done(&c->processes);
}

/* Whether files there have a disk, or another machine, behind them. */
static bool has_storage(const struct mntent *m)
{
	static const char *const types[] = { "9p", "bcachefs", "btrfs", "ceph", "cifs", "nfs",
		"nfs4", "overlay", "smb3", "virtiofs", "zfs" };

	if (strncmp(m->mnt_fsname, "/dev/", 5) == 0)
		return true;
	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		if (strcmp(m->mnt_type, types[i]) == 0)
			return true;
	return false;
}

static bool listen_to(const struct cold *c, const char *path)
{
	return fanotify_mark(c->events, FAN_MARK_ADD | FAN_MARK_FILESYSTEM, FAN_OPEN, AT_FDCWD,
		       path) == 0;
}

/* File systems that refuse are left out, but for the command's own. */
static int listen_to_all(struct cold *c, struct err *e)
{
	const char *folder = c->folder ? c->folder : ".";
	char names[2 * PATH_BYTES];
	struct mntent room, *m;
	FILE *mounts;

	if (!listen_to(c, folder))
		return err_errno(e, ERR_SYSTEM, "--cold: cannot watch the files of %s", folder);
	listen_to(c, "/");
	mounts = setmntent("/proc/self/mounts", "re");
	if (!mounts)
		return 0;
	for (int i = 0; i < MOUNTS_MOST && (m = getmntent_r(mounts, &room, names, sizeof names));
		i++)
		if (has_storage(m))
			listen_to(c, m->mnt_dir);
	endmntent(mounts);
	return 0;
}

/* By its ancestors: the command is the only child there is while it runs. */
static bool is_of_command(struct cold *c, pid_t pid)
{
	uint64_t is_ours = 0;
	pid_t at = pid;

	if (map_find(&c->processes, (uint64_t)pid, &is_ours))
		return is_ours;
	for (int i = 0; i < ANCESTORS_MOST && at > 1 && !is_ours; i++) {
		struct proc_stat stat;
		char text[1024];

		if (at == c->self || proc_read(text, sizeof text, "/proc/%d/stat", (int)at) < 0 ||
			!proc_stat_parse(text, &stat))
			is_ours = true;
		else
			at = stat.parent;
	}
	map_put(&c->processes, (uint64_t)pid, is_ours);
	return is_ours;
}

static void add_file(struct cold *c, int fd)
{
	char link[32], path[PATH_BYTES];
	struct stat st;
	uint64_t id[2], key, seen;
	ssize_t n;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink == 0)
		return;
	id[0] = st.st_dev;
	id[1] = st.st_ino;
	key = hash_bytes(id, sizeof id);
	if (map_find(&c->known, key, &seen))
		return;
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof path);
	if (n <= 0 || n == sizeof path || path[0] != '/')
		return;
	if (c->files.n == FILES_MOST) {
		c->is_cut = true;
		return;
	}
	map_put(&c->known, key, c->files.n);
	vec_push(&c->files, arena_strndup(&c->arena, path, (size_t)n));
}

/* All events there are by now. */
static void take_events(struct cold *c)
{
	struct fanotify_event_metadata room[EVENTS_AT_ONCE];

	for (;;) {
		const struct fanotify_event_metadata *m = room;
		ssize_t left = read(c->events, room, sizeof room);

		if (left < 0 && errno == EINTR)
			continue;
		if (left < 0 && errno != EAGAIN)
			c->has_lost = true;
		if (left <= 0)
			return;
		for (; FAN_EVENT_OK(m, left); m = FAN_EVENT_NEXT(m, left)) {
			if (m->mask & FAN_Q_OVERFLOW)
				c->has_lost = true;
			if (m->fd < 0)
				continue;
			if (m->pid != c->self && is_of_command(c, m->pid))
				add_file(c, m->fd);
			close(m->fd);
		}
	}
}

static void *learn(void *cold)
{
	struct cold *c = cold;
	struct pollfd fds[2] = { { .fd = c->events, .events = POLLIN },
		{ .fd = c->stop, .events = POLLIN } };

	while (!fds[1].revents) {
		poll(fds, 2, -1);
		take_events(c);
	}
	return NULL;
}

static int start_learning(struct cold *c, struct err *e)
{
	sigset_t all, before;
	int sys;

	if (listen_to_all(c, e) < 0)
		return -(int)e->code;
	sigfillset(&all); /* Ctrl-C is for the thread that waits for the command */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	sys = pthread_create(&c->learner, NULL, learn, c);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (sys) {
		errno = sys;
		return err_errno(e, ERR_SYSTEM, "--cold: cannot start a thread");
	}
	c->is_learning = true;
	return 0;
}

void cold_after(struct cold *c)
{
	uint64_t one = 1;

	if (!c->is_learning)
		return;
	while (write(c->stop, &one, sizeof one) < 0 && errno == EINTR)
		;
	pthread_join(c->learner, NULL);
	c->is_learning = false;
	close(c->events);
	c->events = -1;
}

/* Bytes of the file that are in memory: in whole pages. */
static uint64_t resident(int fd, uint64_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), window = WINDOW_PAGES * page, n = 0;
	unsigned char in_memory[WINDOW_PAGES];

	for (uint64_t at = 0; at < size && at < looked_at_bytes; at += window) {
		size_t length = size - at < window ? (size_t)(size - at) : window;
		void *p = mmap(NULL, length, PROT_READ, MAP_SHARED, fd, (off_t)at);

		if (p == MAP_FAILED)
			break;
		if (mincore(p, length, in_memory) == 0)
			for (size_t i = 0; i < (length + page - 1) / page; i++)
				n += in_memory[i] & 1;
		munmap(p, length);
	}
	return (uint64_t)n * page;
}

/* What is not on disk yet cannot be dropped. fdatasync would flush the disk's own cache for each file; but
 * sync_file_range does not reach the file that an overlay shows. */
static void write_back(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) == 0 && fs.f_type == OVERLAYFS_SUPER_MAGIC)
		fdatasync(fd);
	else
		sync_file_range(fd, 0, 0,
			SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
				SYNC_FILE_RANGE_WAIT_AFTER);
}

static void drop(struct cold *c, const char *path)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | O_NOATIME);
	uint64_t before, after;
	struct stat st;

	if (fd < 0)
		return; /* the command removed it again */
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		before = resident(fd, (uint64_t)st.st_size);
		write_back(fd);
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
		after = resident(fd, (uint64_t)st.st_size);
		c->n_dropped++;
		c->dropped_bytes += before > after ? before - after : 0;
		c->remaining_bytes += after;
	}
	close(fd);
}

int cold_before(struct cold *c, struct err *e)
{
	if (c->events >= 0)
		return start_learning(c, e);
	c->n_dropped = c->dropped_bytes = c->remaining_bytes = 0;
	vec_each (&c->files, path)
		drop(c, *path);
	return 0;
}

void cold_describe(const struct cold *c, struct buf *out)
{
	char dropped[UNITS_TEXT], remaining[UNITS_TEXT];

	buf_printf(out, "  cold: %llu file%s evicted from the page cache before each run (%s",
		(unsigned long long)c->n_dropped, c->n_dropped == 1 ? "" : "s",
		units_format(dropped, UNIT_BYTES, (double)c->dropped_bytes));
	if (c->remaining_bytes)
		buf_printf(out, "; %s in use by running programs stayed",
			units_format(remaining, UNIT_BYTES, (double)c->remaining_bytes));
	buf_adds(out, ")");
	if (c->is_cut)
		buf_printf(out, "; files beyond the first %d were not", FILES_MOST);
	if (c->has_lost)
		buf_adds(out, "; some files it opened were missed");
	buf_addc(out, '\n');
}
