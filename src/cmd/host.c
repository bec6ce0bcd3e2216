/* SPDX-License-Identifier: MIT
 * leadline host: the tool process of the Python package (docs/HOST.md). It records the program that
 * started it and answers its questions with the commands everybody else types. Not for people: `help`
 * does not list it. Its standard input is the socket to the program; it ends when that does. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/outfile.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/host_request.h"
#include "cmd/recorder.h"
#include "cmd/target.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "collect/rows.h"
#include "store/writer.h"
#include "sys/proc.h"
#include "wire/agent_options.h"
#include "wire/session_layout.h"
#include "base/banned.h"

enum { ANSWER_MS = 10000 };

struct host {
	int control;   /* the socket, non-blocking */
	pid_t program; /* at its other end */
	int pidfd;     /* of it; -1: only the socket tells of its end */
	struct buf input;
	bool is_gone; /* nobody is there to answer */

	struct writer *writer;    /* from "record" until the file is finished, else NULL */
	struct program_hook hook; /* in its loop */
	bool is_told;             /* that it records */
	bool is_recording;        /* now */
	bool wants_stop;          /* was asked for, and waits for its answer */
	int recording;            /* the finished file, -1: none yet */
};

/* ---- the socket ------------------------------------------------------------------------------ */

/* Nobody reads for ANSWER_MS: the program is gone for us. */
static void send_all(struct host *h, const struct buf *b)
{
	size_t at = 0;

	while (at < b->n && !h->is_gone) {
		ssize_t n = send(h->control, b->data + at, b->n - at, MSG_NOSIGNAL);
		struct pollfd p = { .fd = h->control, .events = POLLOUT };

		if (n > 0)
			at += (size_t)n;
		else if (errno == EAGAIN)
			h->is_gone = poll(&p, 1, ANSWER_MS) <= 0;
		else if (errno != EINTR)
			h->is_gone = true;
	}
}

static void answer(struct host *h, const void *payload, size_t n_bytes)
{
	struct buf b = BUF_INIT;

	host_answer(&b, payload, n_bytes);
	send_all(h, &b);
	buf_done(&b);
}

static void answer_failure(struct host *h, int status, const char *text)
{
	struct buf b = BUF_INIT;

	host_answer_error(&b, status, text);
	send_all(h, &b);
	buf_done(&b);
}

static void answer_error(struct host *h, const struct err *e)
{
	answer_failure(h, err_exit_status(e), e->text);
}

/* Takes in what there is, without waiting. */
static void receive(struct host *h)
{
	char *room = buf_reserve(&h->input, 65536);
	ssize_t n = recv(h->control, room, 65536, 0);

	if (n > 0)
		buf_advance(&h->input, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		h->is_gone = true;
}

/* ---- questions ------------------------------------------------------------------------------- */

/* After "stop" more may be told; the first question ends that. */
static int finish(struct host *h, struct err *e)
{
	struct writer *w = h->writer;

	h->writer = NULL;
	return w ? writer_close_keep_fd(w, &h->recording, e) : 0;
}

/* The recording as a file's name: the finished one, or what was written so far. */
static bool recording_name(const struct host *h, char *to, size_t size)
{
	int fd = h->writer ? writer_fd(h->writer) : h->recording;

	snprintf(to, size, "/proc/self/fd/%d", fd);
	return fd >= 0;
}

/* In a child: a command with its output in two files. Does not return. */
static _Noreturn void become(
	const struct host_request *q, const struct command *c, int out, int err)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	if (dup2(out, STDOUT_FILENO) < 0 || dup2(err, STDERR_FILENO) < 0)
		_exit(7);
	exit(c->run(c, (int)q->n_words, (char **)(uintptr_t)q->argv));
}

static int load_fd(int fd, struct buf *to, struct err *e)
{
	char name[40];

	snprintf(name, sizeof name, "/proc/self/fd/%d", fd);
	return buf_load(to, name, (size_t)1 << 30, e);
}

/* Runs it to its end; its standard output, or where it failed its errors, are in `ret`. */
static int ask_child(const struct host_request *q, const struct command *c, int *ret_status,
	struct buf *ret, struct err *e)
{
	int out = memfd_create("answer", MFD_CLOEXEC), errors = memfd_create("errors", MFD_CLOEXEC);
	int status = -1, result;
	pid_t child;

	if (out < 0 || errors < 0 || (child = fork()) < 0) {
		result = err_errno(e, ERR_SYSTEM, "cannot start a command");
	} else if (child == 0) {
		become(q, c, out, errors);
	} else {
		while (waitpid(child, &status, 0) < 0 && errno == EINTR)
			;
		*ret_status = program_exit_status(status);
		result = load_fd(*ret_status == 0 ? out : errors, ret, e);
	}
	if (out >= 0)
		close(out);
	if (errors >= 0)
		close(errors);
	return result;
}

/* A command of ours, with "@" for the recording. */
static int ask(struct host *h, struct host_request *q, struct err *e)
{
	const struct command *c = q->n_words ? command_find(q->argv[0]) : NULL;
	struct buf text = BUF_INIT;
	int status, exit_status = 0;
	char name[40];

	if (!c)
		return err_set(e, ERR_USAGE, "ask: there is no command '%s'",
			q->n_words ? q->argv[0] : "");
	if (h->is_recording)
		writer_flush(h->writer);
	else if (finish(h, e) < 0)
		return -(int)e->code;
	for (size_t i = 0; i < q->n_words; i++) {
		if (strcmp(q->argv[i], "@") != 0)
			continue;
		if (!recording_name(h, name, sizeof name))
			return err_set(e, ERR_USAGE, "nothing was recorded yet");
		q->argv[i] = name;
	}
	status = ask_child(q, c, &exit_status, &text, e);
	if (status == 0 && exit_status == 0)
		answer(h, text.data, text.n);
	else if (status == 0)
		answer_failure(h, exit_status, buf_str(&text));
	buf_done(&text);
	return status;
}

/* Replaces a file, as other writers of profiles do. */
static int save(struct host *h, const struct host_request *q, struct err *e)
{
	off_t at = 0;
	struct stat st;
	ssize_t n = 1;
	int to;

	if (!h->is_recording && finish(h, e) < 0)
		return -(int)e->code;
	if (h->recording < 0 || !q->path)
		return err_set(
			e, ERR_USAGE, q->path ? "nothing was recorded yet" : "save: where to?");
	if (outfile_open(q->path, 0, &to, e) < 0) {
		errno = e->sys;
		return e->sys ? err_errno(e, ERR_SYSTEM, "cannot write %s", q->path)
			      : -(int)e->code;
	}
	if (fstat(h->recording, &st) < 0)
		err_errno(e, ERR_SYSTEM, "cannot write %s", q->path);
	while (!e->code && n > 0 && at < st.st_size)
		if ((n = sendfile(to, h->recording, &at, (size_t)(st.st_size - at))) < 0)
			err_errno(e, ERR_SYSTEM, "cannot write %s", q->path);
	if (close(to) < 0 && !e->code)
		err_errno(e, ERR_SYSTEM, "cannot write %s", q->path);
	if (!e->code)
		answer(h, "", 0);
	return -(int)e->code;
}

/* ---- while recording ------------------------------------------------------------------------- */

static uint64_t start_of(const char *stat_path)
{
	char text[1024];
	struct proc_stat st;

	return proc_read(text, sizeof text, "%s", stat_path) > 0 && proc_stat_parse(text, &st)
		? st.start_ns
		: 0;
}

static void add_regions(struct host *h, const struct host_request *q)
{
	char path[64];
	uint32_t process, last_tid = 0, thread = 0;

	snprintf(path, sizeof path, "/proc/%d/stat", (int)h->program);
	process = rows_process(h->writer, h->program, start_of(path), 0);
	for (size_t i = 0; i < q->n_regions; i++) {
		const struct host_region *r = &q->regions[i];

		if (!thread || r->tid != last_tid)
			thread = writer_row(h->writer, RECORD_thread,
				&(struct rec_thread){ .process = process, .tid = r->tid });
		last_tid = r->tid;
		rows_region(h->writer, thread, r->t_ns, r->duration_ns, r->name);
	}
}

static void add_source(struct host *h, const struct host_request *q)
{
	struct buf names = BUF_INIT;

	writer_add(h->writer, RECORD_source,
		&(struct rec_source){ .file = writer_string(h->writer, q->path),
			.text = { q->text, (uint32_t)strlen(q->text) },
			.state = SOURCE_AS_RUN });
	if (!q->name)
		return;
	buf_add(&names, q->path, strlen(q->path) + 1);
	buf_adds(&names, q->name);
	writer_meta_n(h->writer, "file_name", names.data, names.n);
	buf_done(&names);
}

/* What may be said at any time. */
static void serve(struct host *h, struct host_request *q)
{
	struct err e = ERR_INIT;

	if (strcmp(q->what, "regions") == 0 && h->writer)
		add_regions(h, q);
	else if (strcmp(q->what, "source") == 0 && h->writer && q->path && q->text)
		add_source(h, q);
	else if (strcmp(q->what, "ask") == 0)
		ask(h, q, &e);
	else if (strcmp(q->what, "save") == 0)
		save(h, q, &e);
	else
		err_set(&e, ERR_USAGE, "there is no request '%s' now", q->what);
	if (e.code)
		answer_error(h, &e);
}

/* Before the first look: waiting for us is nothing to record. */
static void tell_start(struct host *h)
{
	const char *session = getenv(SESSION_ENV);
	struct buf text = BUF_INIT;
	struct json_writer w;

	json_init(&w, &text, false);
	json_object_begin(&w);
	json_kv_string(&w, "session", session);
	json_object_end(&w);
	answer(h, text.data, text.n);
	buf_done(&text);
}

static bool on_control(void *ctx, uint64_t now_ns)
{
	struct host *h = ctx;
	struct err e = ERR_INIT;
	struct host_request q;
	bool found = true;

	(void)now_ns;
	if (!h->is_told)
		tell_start(h);
	h->is_told = true;
	receive(h);
	while (found && !h->wants_stop) {
		if (host_request_next(&h->input, &q, &found, &e) < 0) {
			answer_error(h, &e);
			return false;
		}
		if (!found)
			break;
		if (strcmp(q.what, "stop") == 0)
			h->wants_stop = true;
		else
			serve(h, &q);
		host_request_done(&q);
	}
	return !h->is_gone && !h->wants_stop;
}

/* The recording before. */
static void forget(struct host *h)
{
	struct err ignored = ERR_INIT;

	writer_close(h->writer, &ignored);
	if (h->recording >= 0)
		close(h->recording);
	h->writer = NULL;
	h->recording = -1;
}

/* Lasts until "stop", or the end of the program. */
static int record(struct host *h, const struct host_request *q, struct err *e)
{
	const struct collector *chosen[COLLECTORS_MOST];
	struct writer_options file = { .overwrite = true };
	struct program_options p = { .pid = h->program,
		.collectors = chosen,
		.n_collectors = collectors_pick(q->trace ? COLLECT_CALLS
				: q->lines               ? COLLECT_LINES
							 : COLLECT_SAMPLES,
			chosen),
		.agent_options = { .calls = q->trace ? AGENT_CALLS_TIMED : AGENT_CALLS_NONE,
			.wants_line_times = !q->trace },
		.exclude = q->exclude && *q->exclude ? q->exclude : NULL,
		.hook = &h->hook,
		.is_single = !q->children };
	struct program_result result;

	forget(h);
	if (recorder_rate(q->rate, &p.rate_hz, e) < 0 ||
		(!q->trace && !q->lines && target_check(h->program, q->children, e) < 0) ||
		writer_open(&h->writer, q->path, &file, e) < 0)
		return -(int)e->code;
	h->hook = (struct program_hook){ .call = on_control, .ctx = h, .fd = h->control };
	h->is_told = false;
	h->wants_stop = false;
	h->is_recording = true;
	if (program_follow(&p, h->writer, &result, e) < 0)
		forget(h);
	h->is_recording = false;
	return -(int)e->code;
}

/* ---- the command ----------------------------------------------------------------------------- */

static void serve_idle(struct host *h, struct host_request *q)
{
	struct err e = ERR_INIT;

	if (strcmp(q->what, "record") != 0) {
		serve(h, q);
	} else if (record(h, q, &e) < 0) {
		answer_error(h, &e);
	} else if (h->wants_stop) {
		answer(h, "", 0);
	}
}

static void wait_for_request(struct host *h)
{
	struct pollfd fds[2] = { { .fd = h->control, .events = POLLIN },
		{ .fd = h->pidfd, .events = POLLIN } };

	if (poll(fds, 2, -1) < 0 && errno != EINTR)
		h->is_gone = true;
	if (fds[0].revents)
		receive(h);
	else if (fds[1].revents)
		h->is_gone = true;
}

static void loop(struct host *h)
{
	struct err e = ERR_INIT;
	struct host_request q;
	bool found;

	while (!h->is_gone) {
		if (host_request_next(&h->input, &q, &found, &e) < 0) {
			answer_error(h, &e);
			return;
		}
		if (!found) {
			wait_for_request(h);
			continue;
		}
		serve_idle(h, &q);
		host_request_done(&q);
	}
}

/* A process of its own: no child the program could wait for by accident, no part of its terminal's
 * group, and none of the descriptors it has open. */
static bool leave_program(void)
{
	pid_t child = fork();

	if (child != 0)
		_exit(child < 0 ? 7 : 0);
	signal(SIGPIPE, SIG_IGN);
	return setsid() >= 0;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct host h = { .control = STDIN_FILENO, .recording = -1 };
	struct ucred peer;
	socklen_t n = sizeof peer;
	struct err e = ERR_INIT;
	char text[80];

	(void)argv;
	if (argc > 1 || getsockopt(h.control, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0 ||
		fcntl(h.control, F_SETFL, O_NONBLOCK) < 0) {
		err_set(&e, ERR_USAGE, "the Python package starts it; see 'leadline run'");
		return command_fail(self, &e);
	}
	if (!leave_program())
		return 7;
	h.program = peer.pid;
	h.pidfd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	snprintf(text, sizeof text, "{\"pid\": %d, \"version\": \"%s\"}", (int)getpid(),
		LEADLINE_VERSION);
	answer(&h, text, strlen(text));
	loop(&h);
	forget(&h);
	buf_done(&h.input);
	if (h.pidfd >= 0)
		close(h.pidfd);
	return 0;
}

const struct command command_host = {
	.group = "", /* not listed */
	.name = "host",
	.arguments = "",
	.summary = "Serve the Python package",
	.run = run,
};
