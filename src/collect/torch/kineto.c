/* SPDX-License-Identifier: MIT
 * See kineto.h. */
#include "collect/torch/kineto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

enum { TYPE_BYTES = 32, MESSAGE_MOST = 8192, TRACES = 2, PIDS_MOST = 1024 };

struct header {
	uint64_t n_bytes; /* of what follows */
	char type[TYPE_BYTES];
};

struct request { /* pids follow */
	int32_t kind;
	int32_t n_pids;
	int64_t job;
};

struct context {
	int32_t device;
	int32_t pid;
	int64_t job;
};

static bool parse_request(const unsigned char *at, size_t n, struct kineto_message *ret)
{
	struct request r;
	int32_t own;

	if (n < sizeof r + sizeof own)
		return false;
	memcpy(&r, at, sizeof r);
	if (r.n_pids < 1 || r.n_pids > PIDS_MOST ||
		n < sizeof r + (size_t)r.n_pids * sizeof(int32_t))
		return false;
	memcpy(&own, at + sizeof r, sizeof own);
	*ret = (struct kineto_message){ KINETO_REQUEST, .wants_trace = r.kind & TRACES,
		.own_pid = own };
	return own > 0;
}

bool kineto_parse(const void *data, size_t n, struct kineto_message *ret)
{
	const unsigned char *at = data;
	struct header h;

	if (n < sizeof h)
		return false;
	memcpy(&h, at, sizeof h);
	if (h.n_bytes != n - sizeof h || !memchr(h.type, '\0', sizeof h.type))
		return false;
	*ret = (struct kineto_message){ KINETO_OTHER, false, 0 };
	if (strcmp(h.type, "req") == 0)
		return parse_request(at + sizeof h, n - sizeof h, ret);
	if (strcmp(h.type, "ctxt") == 0 && n - sizeof h == sizeof(struct context))
		ret->kind = KINETO_CONTEXT;
	return true;
}

void kineto_config(struct buf *out, const struct kineto_wish *w)
{
	buf_printf(out, "ACTIVITIES_LOG_FILE=%s\n", w->file);
	if (w->n_steps)
		buf_printf(out,
			"PROFILE_START_ITERATION=0\nPROFILE_START_ITERATION_ROUNDUP=1\n"
			"ACTIVITIES_WARMUP_ITERATIONS=1\nACTIVITIES_ITERATIONS=%" PRIu64 "\n",
			w->n_steps);
	else
		buf_printf(out,
			"PROFILE_START_TIME=%" PRIu64 "\nACTIVITIES_WARMUP_PERIOD_SECS=%" PRIu64
			"\nACTIVITIES_DURATION_MSECS=%" PRIu64 "\n",
			w->start_ms, w->warm_up_s, w->length_ms);
	buf_adds(out, "PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_PROFILE_MEMORY=true\n");
}

/* ---- the socket ------------------------------------------------------------------------------ */

/* The length counts the NUL behind the name, in both kinds. */
static socklen_t make_address(const char *folder, struct sockaddr_un *ret)
{
	static const char name[] = "dynolog";
	int n = 0;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (folder)
		n = snprintf(ret->sun_path, sizeof ret->sun_path, "%s/%s", folder, name);
	else
		memcpy(ret->sun_path + 1, name, sizeof name);
	if (n < 0 || (size_t)n >= sizeof ret->sun_path)
		return 0;
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
		(folder ? (size_t)n + 1 : sizeof name + 1));
}

/* The file of a daemon that has gone would keep the name for ever. */
static bool remove_stale(const struct sockaddr_un *a, socklen_t n)
{
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	bool is_stale =
		fd >= 0 && connect(fd, (const struct sockaddr *)a, n) < 0 && errno == ECONNREFUSED;

	if (fd >= 0)
		close(fd);
	errno = EADDRINUSE;
	return is_stale && unlink(a->sun_path) == 0;
}

static int bind_to(int fd, const char *folder, struct err *e)
{
	struct sockaddr_un a;
	socklen_t n = make_address(folder, &a);
	const struct sockaddr *address = (const struct sockaddr *)&a;

	if (!n)
		return err_set(e, ERR_USAGE, "%s is too long for the name of a socket", folder);
	if (bind(fd, address, n) == 0 ||
		(errno == EADDRINUSE && folder && remove_stale(&a, n) && bind(fd, address, n) == 0))
		return 0;
	return err_errno(e, ERR_SYSTEM, "cannot listen for programs that ask for work");
}

int kineto_listen(const char *folder, int *ret_fd, struct err *e)
{
	const int on = 1;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "cannot make a socket");
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
		bind_to(fd, folder, e) < 0) {
		int saved = e->code ? 0 : err_errno(e, ERR_SYSTEM, "cannot prepare a socket");

		close(fd);
		return saved ? saved : -(int)e->code;
	}
	*ret_fd = fd;
	return 0;
}

bool kineto_receive(int fd, struct kineto_peer *ret)
{
	_Alignas(8) char data[MESSAGE_MOST];
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(struct ucred))];
	struct iovec piece = { data, sizeof data };
	struct msghdr m = { .msg_name = &ret->address,
		.msg_namelen = sizeof ret->address,
		.msg_iov = &piece,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof control };
	struct cmsghdr *c;
	ssize_t n = recvmsg(fd, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n < 0)
		return false;
	ret->n_address = m.msg_namelen;
	ret->pid = 0;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS) {
		struct ucred who;

		memcpy(&who, CMSG_DATA(c), sizeof who);
		ret->pid = who.pid;
	}
	if (m.msg_flags & MSG_TRUNC || !kineto_parse(data, (size_t)n, &ret->message))
		ret->message = (struct kineto_message){ KINETO_OTHER, false, 0 };
	return true;
}

bool kineto_answer(int fd, const struct kineto_peer *to, const struct buf *config)
{
	const int32_t one = 1;
	bool is_request = to->message.kind == KINETO_REQUEST;
	struct header h = { .n_bytes = is_request ? config ? config->n : 0 : sizeof one };
	struct buf out = BUF_INIT;
	ssize_t n;

	if (to->message.kind == KINETO_OTHER || !to->n_address)
		return false;
	memcpy(h.type, is_request ? "req" : "ctxt", is_request ? 3 : 4);
	buf_add(&out, &h, sizeof h);
	if (!is_request)
		buf_add(&out, &one, sizeof one);
	else if (config)
		buf_add(&out, config->data, config->n);
	n = sendto(fd, out.data, out.n, MSG_DONTWAIT | MSG_NOSIGNAL,
		(const struct sockaddr *)&to->address, to->n_address);
	buf_done(&out);
	return n >= 0;
}
