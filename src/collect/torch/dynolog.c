/* SPDX-License-Identifier: MIT
 * See dynolog.h. */
#include "collect/torch/dynolog.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/json_write.h"
#include "base/banned.h"

enum { ANSWER_MOST = 1 << 20, TIMEOUT_S = 5 };

void dynolog_question(struct buf *out, const struct dynolog_wish *w)
{
	struct json_writer j;

	json_init(&j, out, false);
	json_object_begin(&j);
	json_kv_string(&j, "fn", "setKinetOnDemandRequest");
	json_key(&j, "config");
	json_string_n(&j, buf_str(w->config), w->config->n);
	json_kv_i64(&j, "job_id", w->job);
	json_key(&j, "pids");
	json_array_begin(&j);
	for (size_t i = 0; i < w->n_pids; i++)
		json_i64(&j, w->pids[i]);
	json_array_end(&j);
	json_kv_u64(&j, "process_limit", DYNOLOG_PROCESSES);
	json_object_end(&j);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* Takes the numbers of an array whose key was read. */
static int read_pids(struct json_reader *r, struct dynolog_answer *to, bool is_told, struct err *e)
{
	enum json_token t;
	int64_t pid;
	int status = json_next(r, &t, e);

	if (status == 0 && t != JSON_ARRAY_BEGIN)
		return err_set(e, ERR_BAD_FILE, "processes are no list");
	while (status == 0 && (status = json_next(r, &t, e)) == 0 && t != JSON_ARRAY_END) {
		if (t != JSON_NUMBER || !json_number_i64(r, &pid) || pid <= 0 || pid > INT32_MAX)
			return err_set(e, ERR_BAD_FILE, "something that is not a process number");
		if (!is_told)
			to->n_known++;
		else if (to->told.n < DYNOLOG_PROCESSES)
			vec_push(&to->told, (pid_t)pid);
	}
	return status;
}

static int read_answer(struct json_reader *r, struct dynolog_answer *to, struct err *e)
{
	bool has_told = false, is_told;
	enum json_token t;
	int status = json_next(r, &t, e);

	if (status == 0 && t != JSON_OBJECT_BEGIN)
		return err_set(e, ERR_BAD_FILE, "not an object");
	while (status == 0 && (status = json_next(r, &t, e)) == 0 && t != JSON_OBJECT_END) {
		is_told = json_text_is(r, "activityProfilersTriggered");
		has_told |= is_told;
		if (is_told || json_text_is(r, "processesMatched"))
			status = read_pids(r, to, is_told, e);
		else
			status = json_skip(r, e);
	}
	return status == 0 && !has_told ? err_set(e, ERR_BAD_FILE, "nothing about processes")
					: status;
}

int dynolog_parse(const void *data, size_t n, struct dynolog_answer *ret, struct err *e)
{
	struct json_reader r;
	int status;

	*ret = (struct dynolog_answer){ 0 };
	json_reader_init_memory(&r, data, n);
	status = read_answer(&r, ret, e);
	json_reader_done(&r);
	return status;
}

void dynolog_done(struct dynolog_answer *a)
{
	vec_done(&a->told);
}

/* ---- the connection -------------------------------------------------------------------------- */

/* It listens on all addresses of both kinds; a machine may have but one of them. */
static int dial(struct err *e)
{
	const struct timeval limit = { .tv_sec = TIMEOUT_S };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6,
		.sin6_port = htons(DYNOLOG_PORT),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET,
		.sin_port = htons(DYNOLOG_PORT),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	for (int i = 0; i < 2; i++) {
		int fd = socket(i ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

		if (fd < 0)
			continue;
		setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
		setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
		if (connect(fd, i ? (struct sockaddr *)&four : (struct sockaddr *)&six,
			    i ? sizeof four : sizeof six) == 0)
			return fd;
		err_errno(e, ERR_SYSTEM, "port %d", DYNOLOG_PORT);
		close(fd);
	}
	return e->code ? -(int)e->code : err_errno(e, ERR_SYSTEM, "cannot make a socket");
}

static bool send_all(int fd, const void *data, size_t n)
{
	for (const char *at = data; n;) {
		ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);

		if (sent <= 0)
			return false;
		at += sent;
		n -= (size_t)sent;
	}
	return true;
}

static bool receive_all(int fd, void *data, size_t n)
{
	return recv(fd, data, n, MSG_WAITALL) == (ssize_t)n;
}

static int exchange(int fd, const struct buf *question, struct buf *answer, struct err *e)
{
	int32_t n = (int32_t)question->n;

	if (!send_all(fd, &n, sizeof n) || !send_all(fd, question->data, question->n) ||
		!receive_all(fd, &n, sizeof n))
		return err_errno(e, ERR_SYSTEM, "no answer at port %d", DYNOLOG_PORT);
	if (n <= 0 || n > ANSWER_MOST ||
		!receive_all(fd, buf_reserve(answer, (size_t)n), (size_t)n))
		return err_set(
			e, ERR_SYSTEM, "port %d: an answer that ends too soon", DYNOLOG_PORT);
	buf_advance(answer, (size_t)n);
	return 0;
}

int dynolog_ask(const struct dynolog_wish *w, struct dynolog_answer *ret, struct err *e)
{
	struct buf question = BUF_INIT, answer = BUF_INIT;
	int status, fd = dial(e);

	*ret = (struct dynolog_answer){ 0 };
	if (fd < 0)
		return fd;
	*e = (struct err)ERR_INIT; /* of an address that was tried first */
	dynolog_question(&question, w);
	status = exchange(fd, &question, &answer, e);
	if (status == 0)
		status = dynolog_parse(answer.data, answer.n, ret, e);
	close(fd);
	buf_done(&question);
	buf_done(&answer);
	return status;
}
