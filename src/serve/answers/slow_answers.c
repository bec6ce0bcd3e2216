/* SPDX-License-Identifier: MIT
 * See slow_answers.h. Both ends talk through a pair of sockets: a header, then as many bytes as it says. */
#include "serve/answers/slow_answers.h"

#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "serve/answers/answer.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "base/banned.h"

enum { QUESTION_BYTES = 65536 };

struct header {
	uint32_t code; /* of a question: enum encoding; of an answer: enum err_code */
	uint32_t n;    /* bytes that follow */
};

struct question {
	slow_answers_fn *done;
	void *ctx;
};

struct slow_answers {
	struct event_base *base;
	struct library *library;
	pid_t pid; /* 0: none */
	struct bufferevent *link;
	VEC(struct question) asked; /* in their order */
};

/* ---- the other process ----------------------------------------------------------------------- */

static bool read_all(int fd, void *to, size_t n)
{
	char *at = to;

	while (n) {
		ssize_t got = read(fd, at, n);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		n -= (size_t)got;
	}
	return true;
}

static bool send_answer(int fd, int code, const void *text, size_t n)
{
	struct header h = { .code = (uint32_t)code, .n = (uint32_t)n };
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	int status;

	buf_add(&out, &h, sizeof h);
	buf_add(&out, text, n);
	status = buf_write(&out, fd, &e);
	buf_done(&out);
	return status == 0;
}

/* name\0query\0 */
static bool answer_one(struct library *l, int fd, enum encoding encoding, const char *question)
{
	struct buf text = BUF_INIT, packed = BUF_INIT;
	struct err e = ERR_INIT;
	struct params p;
	bool is_sent;

	if (params_parse(&p, question + strlen(question) + 1, &e) < 0 ||
		answer_make(l, question, &p, &text, &e) < 0) {
		is_sent = send_answer(fd, (int)e.code, e.text, strlen(e.text));
	} else {
		encoding_apply(encoding, text.data, text.n, &packed);
		is_sent = send_answer(fd, 0, packed.data, packed.n);
	}
	params_done(&p);
	buf_done(&text);
	buf_done(&packed);
	return is_sent;
}

/* Connections are the server's: those it closes must be closed. */
static void keep_only(int own)
{
	struct rlimit limit;
	struct stat st;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	for (int fd = STDERR_FILENO + 1; (rlim_t)fd < limit.rlim_cur; fd++)
		if (fd != own && fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode))
			close(fd);
}

static _Noreturn void be_beside(struct library *l, int fd)
{
	char *question = xcalloc(QUESTION_BYTES + 2, 1);
	struct header h;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	keep_only(fd);
	while (read_all(fd, &h, sizeof h) && h.n <= QUESTION_BYTES && read_all(fd, question, h.n)) {
		memset(question + h.n, 0, 2);
		if (!answer_one(l, fd, (enum encoding)h.code, question))
			break;
	}
	free(question);
	_exit(0);
}

/* ---- the server's end ------------------------------------------------------------------------ */

static void stop(struct slow_answers *b)
{
	if (b->link)
		bufferevent_free(b->link);
	b->link = NULL;
	if (b->pid) {
		kill(b->pid, SIGKILL);
		while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
			;
	}
	b->pid = 0;
}

/* All that was asked gets the same answer. */
static void fail(struct slow_answers *b, const char *words)
{
	VEC(struct question) asked = VEC_INIT;

	stop(b);
	vec_each (&b->asked, q)
		vec_push(&asked, *q);
	vec_clear(&b->asked); /* who is told may ask again */
	vec_each (&asked, q)
		q->done(q->ctx, ERR_SYSTEM, words, strlen(words));
	vec_done(&asked);
}

static void on_answer(struct bufferevent *link, void *ctx)
{
	struct slow_answers *b = ctx;
	struct evbuffer *in = bufferevent_get_input(link);
	struct header h;

	while (b->asked.n && evbuffer_copyout(in, &h, sizeof h) == (ev_ssize_t)sizeof h &&
		evbuffer_get_length(in) >= sizeof h + h.n) {
		struct question q = b->asked.v[0];

		evbuffer_drain(in, sizeof h);
		memmove(b->asked.v, b->asked.v + 1, --b->asked.n * sizeof *b->asked.v);
		q.done(q.ctx, (int)h.code, evbuffer_pullup(in, h.n), h.n);
		evbuffer_drain(in, h.n);
	}
}

static void on_end(struct bufferevent *link, short what, void *ctx)
{
	(void)link;
	(void)what;
	fail(ctx, "the comparison stopped, perhaps because memory ran out: try again");
}

static bool start(struct slow_answers *b)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return false;
	b->pid = fork();
	if (b->pid == 0)
		be_beside(b->library, ends[1]);
	close(ends[1]);
	if (b->pid < 0) {
		b->pid = 0;
		close(ends[0]);
		return false;
	}
	evutil_make_socket_nonblocking(ends[0]);
	b->link = bufferevent_socket_new(b->base, ends[0], BEV_OPT_CLOSE_ON_FREE);
	bufferevent_setcb(b->link, on_answer, NULL, on_end, b);
	bufferevent_enable(b->link, EV_READ | EV_WRITE);
	return true;
}

struct slow_answers *slow_answers_new(struct event_base *base, struct library *l)
{
	struct slow_answers *b = xcalloc(1, sizeof *b);

	b->base = base;
	b->library = l;
	return b;
}

void slow_answers_ask(struct slow_answers *b, const char *name, const char *query,
	enum encoding encoding, slow_answers_fn *done, void *ctx)
{
	struct buf text = BUF_INIT;
	struct header h = { .code = encoding };

	vec_push(&b->asked, (struct question){ done, ctx });
	if (!b->link && !start(b)) {
		fail(b, "cannot start a process for the comparison");
		return;
	}
	buf_add(&text, name, strlen(name) + 1);
	buf_adds(&text, query ? query : "");
	h.n = (uint32_t)text.n;
	bufferevent_write(b->link, &h, sizeof h);
	bufferevent_write(b->link, text.data, text.n);
	buf_done(&text);
}

void slow_answers_free(struct slow_answers *b)
{
	if (!b)
		return;
	fail(b, "the server is shutting down");
	vec_done(&b->asked);
	free(b);
}
