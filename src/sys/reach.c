/* SPDX-License-Identifier: MIT
 * See reach.h. */
#include "sys/reach.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "sys/regular.h"
#include "base/banned.h"

enum {
	NAME_MOST = 8192,
	PIECE = 1 << 16,
	ALL_MS = 20000, /* the longest that files of one process may keep us waiting */
};

enum question { QUESTION_OPEN, QUESTION_LOAD };

struct asked { /* a name follows, without a NUL */
	uint32_t question, n_name;
	uint64_t most; /* bytes */
};

struct answered { /* pieces follow what was to be loaded: u32 bytes, bytes; the last has none */
	int32_t error;
	int64_t changed_ns;
	uint64_t size_bytes;
};

/* A file's time is whatever its owner says. */
static int64_t changed_ns_of(const struct stat *st)
{
	int64_t ns;

	if (__builtin_mul_overflow(st->st_mtim.tv_sec, INT64_C(1000000000), &ns) ||
		__builtin_add_overflow(ns, st->st_mtim.tv_nsec, &ns))
		return st->st_mtim.tv_sec < 0 ? INT64_MIN : INT64_MAX;
	return ns;
}

/* ---- where its files are --------------------------------------------------------------------- */

static bool is_other(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 &&
		(x.st_dev != y.st_dev || x.st_ino != y.st_ino);
}

static char *read_folder(pid_t pid)
{
	char path[64], folder[4096];
	ssize_t n;

	snprintf(path, sizeof path, "/proc/%d/cwd", (int)pid);
	n = readlink(path, folder, sizeof folder - 1);
	if (n <= 0)
		return NULL;
	folder[n] = '\0';
	return xstrdup(folder);
}

bool reach_is_our_root(pid_t pid)
{
	char root[64], mounts[64];

	snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
	snprintf(mounts, sizeof mounts, "/proc/%d/ns/mnt", (int)pid);
	return !is_other(root, "/") && !is_other(mounts, "/proc/self/ns/mnt");
}

void reach_init(struct reach *r, pid_t pid)
{
	char root[64], folder[64];

	*r = REACH_NONE;
	rights_read(&r->rights, pid);
	snprintf(root, sizeof root, "/proc/%d/root", (int)pid);
	snprintf(folder, sizeof folder, "/proc/%d/cwd", (int)pid);
	r->name = read_folder(pid);
	if (reach_is_our_root(pid))
		return;
	r->is_other = true;
	r->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	r->folder = open(folder, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void reach_init_user(struct reach *r, struct rights *rights, const char *root)
{
	*r = REACH_NONE;
	r->rights = *rights;
	*rights = RIGHTS_NONE;
	if (!*root)
		return;
	r->is_other = true;
	r->root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void reach_lower(struct reach *r, pid_t pid)
{
	uid_t before = r->rights.uid;

	rights_lower(&r->rights, pid);
	r->is_decided = false;
	if (r->rights.uid != before)
		reach_rest(r);
}

void reach_rest(struct reach *r)
{
	if (r->has_errand)
		errand_end(&r->errand);
	r->has_errand = false;
}

unsigned reach_descriptors(const struct reach *r)
{
	return (r->root >= 0) + (r->folder >= 0);
}

void reach_forget(struct reach *r)
{
	if (r->root >= 0)
		close(r->root);
	if (r->folder >= 0)
		close(r->folder);
	r->root = r->folder = -1;
}

void reach_done(struct reach *r)
{
	reach_rest(r);
	reach_forget(r);
	free(r->name);
	rights_done(&r->rights);
	*r = REACH_NONE;
}

/* ---- by ourselves ---------------------------------------------------------------------------- */

/* The name from its root on; false where that is not to be had. */
static bool complete(const struct reach *r, const char *name, char to[NAME_MOST])
{
	int n;

	if (*name != '/' && !r->name)
		return false;
	n = snprintf(to, NAME_MOST, "%s%s%s", *name == '/' ? "" : r->name, *name == '/' ? "" : "/",
		name);
	return n > 0 && n < NAME_MOST;
}

/* A name that climbs could leave the root. */
static bool climbs(const char *name)
{
	for (const char *p = name; (p = strstr(p, "..")); p += 2)
		if ((p == name || p[-1] == '/') && (p[2] == '/' || !p[2]))
			return true;
	return false;
}

/* Links cannot lead out of its root. Before Linux 5.6 an absolute one leads into ours: with no more rights than it has. */
static int open_in_root(int root, const char *name)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int path = (int)syscall(SYS_openat2, root, name, &how, sizeof how);

	if (path < 0 && errno == ENOSYS && !climbs(name))
		path = openat(root, name + strspn(name, "/"), O_PATH | O_CLOEXEC);
	return regular_reopen(-1, path);
}

static int open_directly(const struct reach *r, const char *name)
{
	char path[NAME_MOST];

	errno = ENOENT;
	if (!complete(r, name, path))
		return -1;
	return r->root < 0 ? regular_open(AT_FDCWD, path) : open_in_root(r->root, path);
}

static int load_directly(
	struct reach *r, const char *name, size_t most, struct buf *to, struct answered *ret)
{
	int fd = open_directly(r, name), error = fd < 0 ? errno : 0;
	size_t begin = to->n;
	struct stat st;

	if (fd < 0)
		return -error;
	if (fstat(fd, &st) < 0) {
		error = errno;
		close(fd);
		return -error;
	}
	*ret = (struct answered){ .changed_ns = changed_ns_of(&st),
		.size_bytes = (uint64_t)st.st_size };
	if (ret->size_bytes > most)
		error = EFBIG;
	while (!error && to->n - begin < ret->size_bytes) {
		size_t left = (size_t)ret->size_bytes - (to->n - begin);
		ssize_t got = read(fd, buf_reserve(to, left), left);

		if (got > 0)
			buf_advance(to, (size_t)got);
		else if (got == 0)
			break; /* it became shorter */
		else if (errno != EINTR)
			error = errno;
	}
	close(fd);
	return -error;
}

/* ---- the errand ------------------------------------------------------------------------------ */

static int open_there(const struct errand *own, const struct reach *r, const char *name)
{
	int folder = r->folder >= 0 ? r->folder : AT_FDCWD;

	if (*name != '/' && r->folder < 0) {
		errno = ENOENT;
		return -1;
	}
	return regular_reopen(own->own_fds, openat(folder, name, O_PATH | O_CLOEXEC));
}

static bool send_pieces(struct errand *own, int fd, uint64_t left)
{
	char piece[PIECE];
	uint32_t n = 0;

	while (left) {
		ssize_t got = read(fd, piece, left < sizeof piece ? (size_t)left : sizeof piece);

		if (got <= 0)
			break;
		n = (uint32_t)got;
		left -= n;
		if (!errand_send(own, &n, sizeof n, -1) || !errand_send(own, piece, n, -1))
			return false;
	}
	n = 0;
	return errand_send(own, &n, sizeof n, -1);
}

static bool answer(struct errand *own, const struct reach *r, const struct asked *q, char *name)
{
	int fd = open_there(own, r, name);
	struct answered a = { .error = fd < 0 ? errno : 0 };
	struct stat st;
	bool is_sent;

	if (fd >= 0 && fstat(fd, &st) == 0) {
		a.changed_ns = changed_ns_of(&st);
		a.size_bytes = (uint64_t)st.st_size;
		if (q->question == QUESTION_LOAD && a.size_bytes > q->most)
			a.error = EFBIG;
	}
	is_sent =
		errand_send(own, &a, sizeof a, q->question == QUESTION_OPEN && !a.error ? fd : -1);
	if (is_sent && q->question == QUESTION_LOAD && !a.error)
		is_sent = send_pieces(own, fd, a.size_bytes);
	if (fd >= 0)
		close(fd);
	return is_sent;
}

static void work(struct errand *own, void *ctx)
{
	const struct reach *r = ctx;
	char name[NAME_MOST + 1];
	struct asked q;

	while (errand_receive(own, &q, sizeof q, NULL) && q.n_name <= NAME_MOST &&
		errand_receive(own, name, q.n_name, NULL)) {
		name[q.n_name] = '\0';
		if (!answer(own, r, &q, name))
			return;
	}
}

static bool begin(struct reach *r)
{
	struct errand_options o = { .rights = &r->rights,
		.root = r->root,
		.work = work,
		.ctx = r,
		.keep = { r->folder },
		.n_keep = 1,
		.all_ms = ALL_MS };

	if (r->is_given_up || r->has_errand)
		return r->has_errand;
	r->has_errand = errand_begin(&r->errand, &o);
	r->is_given_up = !r->has_errand;
	return r->has_errand;
}

/* Who did not answer once is not asked again. */
static int give_up(struct reach *r)
{
	reach_rest(r);
	r->is_given_up = true;
	return -ETIMEDOUT;
}

static int ask(struct reach *r, enum question question, const char *name, uint64_t most,
	struct answered *ret, int *ret_fd)
{
	char path[NAME_MOST];
	struct asked q = { .question = question, .most = most };

	if (strlen(name) >= sizeof path)
		return -ENAMETOOLONG;
	/* With a root of its own its folder is held; else it has a name. */
	if (r->is_other)
		snprintf(path, sizeof path, "%s", name);
	else if (!complete(r, name, path))
		return -ENOENT;
	q.n_name = (uint32_t)strlen(path);
	if (!begin(r))
		return -EPERM;
	if (!errand_send(&r->errand, &q, sizeof q, -1) ||
		!errand_send(&r->errand, path, q.n_name, -1) ||
		!errand_receive(&r->errand, ret, sizeof *ret, ret_fd))
		return give_up(r);
	return -ret->error;
}

static int load_by_errand(
	struct reach *r, const char *name, size_t most, struct buf *to, struct answered *ret)
{
	int status = ask(r, QUESTION_LOAD, name, most, ret, NULL);
	size_t begin = to->n;
	uint32_t n;

	while (status == 0) {
		if (!errand_receive(&r->errand, &n, sizeof n, NULL) || n > most - (to->n - begin) ||
			!errand_receive(&r->errand, buf_reserve(to, n), n, NULL))
			return give_up(r);
		if (!n)
			break;
		buf_advance(to, n);
	}
	return status;
}

/* ---- either ---------------------------------------------------------------------------------- */

/* A root that is known to be another one and could not be kept is not ours to look in. */
static bool is_out_of_reach(const struct reach *r)
{
	return r->is_other && r->root < 0;
}

/* Our root is where we look ourselves, if that is no more than it could do. */
static bool is_direct(struct reach *r)
{
	if (!r->is_decided)
		r->is_direct = !rights_are_less(&r->rights) && !(r->is_other && geteuid() == 0);
	r->is_decided = true;
	return r->is_direct;
}

int reach_open(struct reach *r, const char *name)
{
	struct answered a;
	int fd = -1, status;

	if (is_out_of_reach(r)) {
		errno = ENOENT;
		return -1;
	}
	if (is_direct(r))
		return open_directly(r, name);
	status = ask(r, QUESTION_OPEN, name, 0, &a, &fd);
	if (status < 0)
		errno = -status;
	return fd;
}

int reach_load(struct reach *r, const char *name, size_t most, struct buf *to,
	int64_t *ret_changed_ns, uint64_t *ret_size_bytes)
{
	struct answered a = { 0 };
	size_t begin = to->n;
	int status = is_out_of_reach(r) ? -ENOENT
		: is_direct(r)          ? load_directly(r, name, most, to, &a)
					: load_by_errand(r, name, most, to, &a);

	if (status < 0) {
		to->n = begin;
		if (to->data)
			to->data[begin] = '\0';
	}
	if (ret_changed_ns)
		*ret_changed_ns = a.changed_ns;
	if (ret_size_bytes)
		*ret_size_bytes = a.size_bytes;
	return status;
}
