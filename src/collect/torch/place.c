/* SPDX-License-Identifier: MIT
 * See place.h. */
#include "collect/torch/place.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/torch/kineto.h"
#include "sys/reach.h"
#include "sys/regular.h"
#include "sys/rights.h"
#include "base/banned.h"

#define TRACE_MOST (UINT64_C(4) << 30) /* bytes of one */

enum {
	NAME_MOST = 64,
	CONFIG_MOST = 4096,
	PIECE = 1 << 16,
	ENTRIES_MOST = 1 << 16, /* removed */
	TRIES = 8,              /* for a name that is free */
	ALL_MS = 600000,        /* the longest that the job's file system may keep us waiting */
};

enum question {
	QUESTION_LISTEN,
	QUESTION_MAKE,
	QUESTION_ANSWER,
	QUESTION_HAS,
	QUESTION_READ,
	QUESTION_END
};

struct asked {
	enum question question;
	char path[TORCH_PLACE_PATH]; /* LISTEN, MAKE: a folder */
	char name[NAME_MOST];        /* MAKE, HAS, READ */
	struct kineto_peer peer;     /* ANSWER; so many bytes follow, or there is nothing to do */
	uint32_t n_config;
	bool has_config;
};

struct answered { /* of a file to be read its bytes follow */
	int32_t error;
	uint64_t size_bytes;
};

/* ---- the errand ------------------------------------------------------------------------------ */

struct worker {
	char prefix[64]; /* of the job's paths; "" in its root */
	int watch;
	int socket, parent, folder;
	char made[NAME_MOST], socket_path[TORCH_PLACE_PATH];
};

static int listen_in(struct worker *w, const char *path, int *ret_fd)
{
	char folder[TORCH_PLACE_PATH + 64];
	struct err e = ERR_INIT;
	int status;

	snprintf(folder, sizeof folder, "%s%s", w->prefix, path);
	umask(0111); /* programs of other users of the job are to reach it */
	status = kineto_listen(folder, &w->socket, &e);
	umask(077);
	if (status < 0) {
		w->socket = -1;
		return e.sys ? e.sys : ENAMETOOLONG;
	}
	snprintf(w->socket_path, sizeof w->socket_path, "%.480s/dynolog", folder);
	*ret_fd = w->socket;
	return 0;
}

/* The one that was made: of our user, for nobody else, with nothing in it, and nothing mounted on it. */
static bool is_made(int parent, int folder)
{
	struct stat st, above;

	return fstat(folder, &st) == 0 && fstat(parent, &above) == 0 && st.st_uid == geteuid() &&
		(st.st_mode & 07777) == 0700 && st.st_dev == above.st_dev;
}

static int make_in(struct worker *w, const char *path, const char *name)
{
	char base[TORCH_PLACE_PATH + 64];

	snprintf(base, sizeof base, "%s%s", w->prefix, path);
	if (w->parent < 0)
		w->parent = open(base, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (w->parent < 0 || mkdirat(w->parent, name, 0700) < 0)
		return errno;
	snprintf(w->made, sizeof w->made, "%s", name);
	w->folder = openat(w->parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (w->folder < 0)
		return errno;
	if (!is_made(w->parent, w->folder)) {
		close(w->folder);
		w->folder = -1;
		return EPERM;
	}
	if (fchdir(w->folder) < 0 ||
		inotify_add_watch(w->watch, ".", IN_MOVED_TO | IN_CLOSE_WRITE) < 0)
		return errno;
	return 0;
}

static int open_trace(const struct errand *own, const struct worker *w, const char *name)
{
	int path = w->folder < 0 ? -1 : openat(w->folder, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	return regular_reopen(own->own_fds, path);
}

static bool send_file(struct errand *own, int fd, uint64_t left)
{
	static char piece[PIECE];

	while (left) {
		ssize_t got = read(fd, piece, left < sizeof piece ? (size_t)left : sizeof piece);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false; /* it became shorter, and so does the answer */
		left -= (uint64_t)got;
		if (!errand_send(own, piece, (size_t)got, -1))
			return false;
	}
	return true;
}

static bool read_trace(struct errand *own, const struct worker *w, const char *name)
{
	int fd = open_trace(own, w, name);
	struct answered a = { .error = fd < 0 ? errno : 0 };
	struct stat st;
	bool is_sent;

	if (fd >= 0 && fstat(fd, &st) == 0)
		a.size_bytes = (uint64_t)st.st_size;
	if (!a.error && a.size_bytes > TRACE_MOST)
		a.error = EFBIG;
	is_sent =
		errand_send(own, &a, sizeof a, -1) && (a.error || send_file(own, fd, a.size_bytes));
	if (fd >= 0)
		close(fd);
	return is_sent;
}

static int answer_program(const struct worker *w, const struct asked *q, const char *config)
{
	struct buf text = BUF_INIT;
	bool is_sent;

	buf_add(&text, config, q->n_config);
	is_sent =
		w->socket >= 0 && kineto_answer(w->socket, &q->peer, q->has_config ? &text : NULL);
	buf_done(&text);
	return is_sent ? 0 : ECONNREFUSED;
}

static bool is_trace(int folder, const char *name)
{
	struct stat st;

	return folder >= 0 && fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		S_ISREG(st.st_mode);
}

/* What jobs write there, whole or not. */
static void remove_all(struct worker *w)
{
	DIR *d = w->folder < 0 ? NULL : fdopendir(w->folder);
	int n = 0;

	for (struct dirent *x; d && n < ENTRIES_MOST && (x = readdir(d)); n++)
		if (strncmp(x->d_name, "trace", 5) == 0)
			unlinkat(dirfd(d), x->d_name, 0);
	if (d)
		closedir(d);
	if (*w->made)
		unlinkat(w->parent, w->made, AT_REMOVEDIR);
	if (*w->socket_path)
		unlink(w->socket_path);
	w->folder = -1;
	w->made[0] = w->socket_path[0] = '\0';
}

static bool do_one(struct errand *own, struct worker *w, const struct asked *q, const char *config)
{
	struct answered a = { 0 };
	int fd = -1;

	switch (q->question) {
	case QUESTION_LISTEN:
		a.error = listen_in(w, q->path, &fd);
		break;
	case QUESTION_MAKE:
		a.error = make_in(w, q->path, q->name);
		break;
	case QUESTION_ANSWER:
		a.error = answer_program(w, q, config);
		break;
	case QUESTION_HAS:
		a.error = is_trace(w->folder, q->name) ? 0 : ENOENT;
		break;
	case QUESTION_READ:
		return read_trace(own, w, q->name);
	case QUESTION_END:
		remove_all(w);
		break;
	}
	return errand_send(own, &a, sizeof a, fd);
}

/* There are no threads here: memory may be allocated. */
static void work(struct errand *own, void *ctx)
{
	struct worker *w = ctx;
	char config[CONFIG_MOST];
	struct asked q;

	umask(077);
	while (errand_receive(own, &q, sizeof q, NULL) && q.n_config <= sizeof config &&
		errand_receive(own, config, q.n_config, NULL))
		if (!do_one(own, w, &q, config))
			break;
	remove_all(w);
}

/* ---- our end --------------------------------------------------------------------------------- */

static bool ask(struct torch_place *p, const struct asked *q, const struct buf *config,
	struct answered *ret, int *ret_fd)
{
	return p->errand.fd >= 0 && errand_send(&p->errand, q, sizeof *q, -1) &&
		(!q->n_config || errand_send(&p->errand, config->data, q->n_config, -1)) &&
		errand_receive(&p->errand, ret, sizeof *ret, ret_fd);
}

int torch_place_tell_lost(struct err *e)
{
	return err_set(e, ERR_SYSTEM,
		"the folder of the job's traces can no longer be reached: it does not respond, or the process that read it was killed");
}

/* Root goes where the job is; others have no more rights than it has, and see its root from here. */
int torch_place_begin(struct torch_place *p, const struct torch_place_options *o, struct err *e)
{
	struct worker w = { .socket = o->socket, .parent = -1, .folder = -1 };
	struct errand_options errand = { .root = -1,
		.work = work,
		.ctx = &w,
		.keep = { o->socket },
		.n_keep = 2,
		.tidies_up = true,
		.all_ms = ALL_MS };
	char root[64];

	*p = TORCH_PLACE_NONE;
	p->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
	if (p->watch < 0)
		return err_errno(e, ERR_SYSTEM, "inotify");
	w.watch = errand.keep[1] = p->watch;
	snprintf(root, sizeof root, "/proc/%d/root", (int)o->pid);
	if (geteuid() == 0) {
		errand.rights = o->rights;
		errand.root = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	} else if (!reach_is_our_root(o->pid) && access(root, X_OK) == 0) {
		snprintf(w.prefix, sizeof w.prefix, "%s", root);
	}
	if (geteuid() == 0 && errand.root < 0)
		return err_set(e, ERR_NO_PROCESS, "process %d has ended", (int)o->pid);
	if (!errand_begin(&p->errand, &errand))
		err_errno(e, ERR_SYSTEM, "cannot work with the rights of process %d", (int)o->pid);
	if (errand.root >= 0)
		close(errand.root);
	return e->code ? -(int)e->code : 0;
}

int torch_place_listen(struct torch_place *p, const char *folder, int *ret_socket, struct err *e)
{
	struct asked q = { .question = QUESTION_LISTEN };
	struct answered a;

	snprintf(q.path, sizeof q.path, "%s", folder);
	if (!ask(p, &q, NULL, &a, ret_socket))
		return torch_place_tell_lost(e);
	errno = a.error;
	return a.error
		? err_errno(e, ERR_SYSTEM, "cannot listen for programs that ask in %s", folder)
		: 0;
}

int torch_place_make(
	struct torch_place *p, const char *base, char inside[TORCH_PLACE_PATH], struct err *e)
{
	struct asked q = { .question = QUESTION_MAKE };
	struct answered a = { .error = EEXIST };
	uint32_t number[2];

	snprintf(q.path, sizeof q.path, "%s", base);
	for (int i = 0; i < TRIES && a.error == EEXIST; i++) {
		if (getrandom(number, sizeof number, 0) != sizeof number)
			return err_errno(e, ERR_SYSTEM, "getrandom");
		snprintf(q.name, sizeof q.name, "leadline-torch.%08x%08x", number[0], number[1]);
		if (!ask(p, &q, NULL, &a, NULL))
			return torch_place_tell_lost(e);
	}
	errno = a.error;
	if (a.error)
		return err_errno(
			e, ERR_SYSTEM, "cannot create a folder for the traces in %s", base);
	snprintf(inside, TORCH_PLACE_PATH, "%.440s/%s", base, q.name);
	return 0;
}

bool torch_place_answer(
	struct torch_place *p, const struct kineto_peer *peer, const struct buf *config)
{
	struct asked q = { .question = QUESTION_ANSWER,
		.peer = *peer,
		.has_config = config != NULL,
		.n_config = config ? (uint32_t)config->n : 0 };
	struct answered a;

	return q.n_config <= CONFIG_MOST && ask(p, &q, config, &a, NULL) && !a.error;
}

bool torch_place_has(struct torch_place *p, const char *name)
{
	struct asked q = { .question = QUESTION_HAS };
	struct answered a;

	snprintf(q.name, sizeof q.name, "%s", name);
	return ask(p, &q, NULL, &a, NULL) && !a.error;
}

static int copy_piece(struct torch_place *p, int to, uint64_t *left, struct err *e)
{
	static char piece[PIECE];
	size_t n = *left < sizeof piece ? (size_t)*left : sizeof piece;
	struct buf text = { .data = piece, .n = n };

	if (!errand_receive(&p->errand, piece, n, NULL))
		return torch_place_tell_lost(e);
	*left -= n;
	return buf_write(&text, to, e);
}

int torch_place_copy(struct torch_place *p, const char *name, int to, int stop, struct err *e)
{
	struct asked q = { .question = QUESTION_READ };
	struct pollfd interrupt = { .fd = stop, .events = POLLIN };
	struct answered a;
	int status = 0;

	snprintf(q.name, sizeof q.name, "%s", name);
	if (!ask(p, &q, NULL, &a, NULL))
		return torch_place_tell_lost(e);
	if (a.error == EFBIG)
		return err_set(
			e, ERR_BAD_FILE, "%s has more than 4 GiB; ask for a shorter trace", name);
	errno = a.error;
	if (a.error)
		return err_errno(e, ERR_SYSTEM, "%s", name);
	while (a.size_bytes && status == 0) {
		status = copy_piece(p, to, &a.size_bytes, e);
		if (status == 0 && poll(&interrupt, 1, 0) > 0)
			status = err_set(e, ERR_SYSTEM, "interrupted");
	}
	if (status < 0)
		p->errand.is_late = true; /* what is still to come would be taken for an answer */
	return status;
}

bool torch_place_is_lost(const struct torch_place *p)
{
	return p->errand.is_late;
}

/* An errand whose other end is closed removes what it made, too: also when we are killed. */
void torch_place_end(struct torch_place *p)
{
	struct asked q = { .question = QUESTION_END };
	struct answered a;

	ask(p, &q, NULL, &a, NULL);
	errand_end(&p->errand);
	if (p->watch >= 0)
		close(p->watch);
	*p = TORCH_PLACE_NONE;
}
