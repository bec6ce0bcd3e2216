/* SPDX-License-Identifier: MIT
 * See errand.h. */
#include "sys/errand.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "sys/rights.h"
#include "base/banned.h"

#ifndef SYS_close_range /* headers before Linux 5.9 */
#define SYS_close_range 436
#endif

enum { FDS_MOST = 1 << 16, GRACE_MS = 200, REAP_MS = 500 };

/* ---- the child ------------------------------------------------------------------------------- */

static void close_between(unsigned first, unsigned last)
{
	struct rlimit limit = { .rlim_cur = FDS_MOST };

	if (first > last || syscall(SYS_close_range, first, last, 0) == 0)
		return;
	getrlimit(RLIMIT_NOFILE, &limit);
	for (unsigned fd = first; fd <= last && fd < limit.rlim_cur && fd < FDS_MOST; fd++)
		close((int)fd);
}

/* All but these, which are put in order. */
static void close_others(int *keep, int n)
{
	unsigned from = 0;

	for (int i = 1; i < n; i++)
		for (int k = i; k > 0 && keep[k] < keep[k - 1]; k--) {
			int moved = keep[k];

			keep[k] = keep[k - 1];
			keep[k - 1] = moved;
		}
	for (int i = 0; i < n; i++) {
		if (keep[i] > 0)
			close_between(from, (unsigned)keep[i] - 1);
		from = (unsigned)keep[i] + 1;
	}
	close_between(from, ~0u);
}

static void reset_signals(void)
{
	sigset_t none;

	for (int i = 1; i < NSIG; i++)
		signal(i, SIG_DFL);
	/* Those of the terminal and of whoever ends a group of processes are for the other end. */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

static _Noreturn void be_child(
	struct errand own, const struct errand_options *o, const struct rights_change *change)
{
	int keep[ERRAND_KEEP_MOST + 2] = { own.fd }, n = 1;
	char is_ready = 0;

	prctl(PR_SET_DUMPABLE, 0);
	reset_signals();
	own.own_fds = open("/proc/self/fd", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own.own_fds < 0 ||
		(o->root >= 0 && (fchdir(o->root) < 0 || chroot(".") < 0 || chdir("/") < 0)))
		_exit(1);
	keep[n++] = own.own_fds;
	for (int i = 0; i < o->n_keep; i++)
		if (o->keep[i] >= 0)
			keep[n++] = o->keep[i];
	close_others(keep, n);
	if (o->rights && !rights_become(change))
		_exit(1);
	if (!o->tidies_up)
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* which becoming somebody else has reset */
	if (errand_send(&own, &is_ready, sizeof is_ready, -1))
		o->work(&own, o->ctx);
	_exit(0);
}

/* ---- both ends ------------------------------------------------------------------------------- */

/* Without a signal at its end: whoever waits for any child of ours does not see it. */
static pid_t make_child(void)
{
	return (pid_t)syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
}

bool errand_begin(struct errand *x, const struct errand_options *o)
{
	struct rights_change change = { 0 };
	int ends[2];
	char is_ready;

	*x = ERRAND_NONE;
	if (o->rights && !rights_prepare(&change, o->rights)) {
		errno = EPERM;
		return false;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	x->fd = ends[0];
	x->left_ms = o->all_ms ? o->all_ms : INT64_MAX;
	x->pid = make_child();
	if (x->pid == 0)
		be_child((struct errand){ .fd = ends[1], .own_fds = -1 }, o, &change);
	close(ends[1]);
	if (x->pid > 0 && errand_receive(x, &is_ready, sizeof is_ready, NULL))
		return true;
	errand_end(x);
	errno = EPERM;
	return false;
}

static bool has_ended(pid_t pid, int within_ms)
{
	enum { LOOKS_PER_MS = 20 };
	static const struct timespec pause = { .tv_nsec = 1000000 / LOOKS_PER_MS };

	for (int i = 0; waitpid(pid, NULL, __WCLONE | WNOHANG) == 0; i++) {
		if (i == within_ms * LOOKS_PER_MS)
			return false;
		nanosleep(&pause, NULL);
	}
	return true;
}

/* It ends by itself when nobody is at the other end. One that hangs in a file system where nothing can be ended is left to that. */
void errand_end(struct errand *x)
{
	if (x->fd >= 0)
		close(x->fd);
	if (x->pid > 0 && !has_ended(x->pid, GRACE_MS)) {
		kill(x->pid, SIGKILL);
		has_ended(x->pid, REAP_MS);
	}
	*x = ERRAND_NONE;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static int64_t deadline_ms(const struct errand *x)
{
	return now_ms() + (x->left_ms < ERRAND_WAIT_MS ? x->left_ms : ERRAND_WAIT_MS);
}

/* The child waits as long as there is somebody at the other end. */
static bool wait_for(struct errand *x, short events, int64_t until_ms)
{
	struct pollfd p = { .fd = x->fd, .events = events };
	int64_t begin_ms = now_ms();
	int n;

	do {
		int64_t left = until_ms - now_ms();

		n = poll(&p, 1, x->pid ? left > 0 ? (int)left : 0 : -1);
	} while (n < 0 && errno == EINTR);
	if (x->pid)
		x->left_ms -= now_ms() - begin_ms;
	return n > 0 && (!x->pid || x->left_ms > 0);
}

static ssize_t send_some(int to, const void *data, size_t n, int fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof fd)] = { 0 };
	struct iovec piece = { (void *)(uintptr_t)data, n };
	struct msghdr m = { .msg_iov = &piece, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (fd >= 0) {
		m.msg_control = control;
		m.msg_controllen = sizeof control;
		c = CMSG_FIRSTHDR(&m);
		*c = (struct cmsghdr){ .cmsg_level = SOL_SOCKET,
			.cmsg_type = SCM_RIGHTS,
			.cmsg_len = CMSG_LEN(sizeof fd) };
		memcpy(CMSG_DATA(c), &fd, sizeof fd);
	}
	return sendmsg(to, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
}

bool errand_send(struct errand *x, const void *data, size_t n, int fd)
{
	int64_t until_ms = deadline_ms(x);

	for (const char *at = data; n && !x->is_late;) {
		ssize_t put = send_some(x->fd, at, n, fd);

		if (put > 0) {
			at += put;
			n -= (size_t)put;
			fd = -1;
		} else if (put == 0 || (errno != EAGAIN && errno != EINTR) ||
			!wait_for(x, POLLOUT, until_ms)) {
			x->is_late = true;
		}
	}
	return !x->is_late;
}

static ssize_t receive_some(int from, void *data, size_t n, int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))];
	struct iovec piece = { data, n };
	struct msghdr m = { .msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = ret_fd ? control : NULL,
		.msg_controllen = ret_fd ? sizeof control : 0 };
	ssize_t got = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 && ret_fd ? CMSG_FIRSTHDR(&m) : NULL;

	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && *ret_fd < 0)
		memcpy(ret_fd, CMSG_DATA(c), sizeof *ret_fd);
	return got;
}

bool errand_receive(struct errand *x, void *data, size_t n, int *ret_fd)
{
	int64_t until_ms = deadline_ms(x);

	if (ret_fd)
		*ret_fd = -1;
	for (char *at = data; n && !x->is_late;) {
		ssize_t got = receive_some(x->fd, at, n, ret_fd);

		if (got > 0) {
			at += got;
			n -= (size_t)got;
		} else if (got == 0 || (errno != EAGAIN && errno != EINTR) ||
			!wait_for(x, POLLIN, until_ms)) {
			x->is_late = true;
		}
	}
	if (x->is_late && ret_fd && *ret_fd >= 0) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return !x->is_late;
}
