/* SPDX-License-Identifier: MIT
 * See server.h. HTTP itself is libevent's; what may be asked and by whom is decided here. */
#include "serve/http/server.h"

#include <arpa/inet.h>
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/http_struct.h>
#include <event2/listener.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/xalloc.h"
#include "serve/answers/answer.h"
#include "serve/answers/slow_answers.h"
#include "serve/http/compress.h"
#include "serve/http/guard.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "serve/page.h"
#include "base/banned.h"

enum {
	HEADER_BYTES = 32768,
	BODY_BYTES = 4096,
	TIMEOUT_S = 120,
	BACKLOG = 128,
	FILES = 4096, /* descriptors at once, as far as the system lets us */
	FILES_SPARE = 32,
	NONCE = 24,
	SIGNALS = 3,
};

struct server {
	struct library *library;
	struct slow_answers *slow;
	struct event_base *base;
	struct evhttp *http;
	struct evconnlistener *listener;
	struct event *signals[SIGNALS], *again;
	struct guard guard;
	server_fn *on_arrival;
	void *ctx;
	char url[256], once[256]; /* with the token, with the code */
	uint16_t port;
	const char *unix_path; /* to remove; NULL: none */
};

/* ---- answering ------------------------------------------------------------------------------- */

static void add_headers(struct evhttp_request *request, const char *type, const char *nonce)
{
	static const char *const always[][2] = { { "X-Content-Type-Options", "nosniff" },
		{ "Referrer-Policy", "no-referrer" }, { "Cache-Control", "no-store" },
		{ "Cross-Origin-Resource-Policy", "same-origin" },
		{ "Cross-Origin-Opener-Policy", "same-origin" }, { "X-Frame-Options", "DENY" },
		{ "Vary", "Accept-Encoding" } };
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct buf policy = BUF_INIT;

	page_policy(nonce, "'self'", &policy);
	buf_adds(&policy, "; frame-ancestors 'none'");
	evhttp_add_header(headers, "Content-Security-Policy", buf_str(&policy));
	buf_done(&policy);
	evhttp_add_header(headers, "Content-Type", type);
	for (size_t i = 0; i < sizeof always / sizeof *always; i++)
		evhttp_add_header(headers, always[i][0], always[i][1]);
}

static enum encoding encoding_of(struct evhttp_request *request)
{
	return encoding_choose(
		evhttp_find_header(evhttp_request_get_input_headers(request), "Accept-Encoding"));
}

static void send_packed(struct server *s, struct evhttp_request *request, int status,
	enum encoding encoding, const void *text, size_t n)
{
	struct evbuffer *body = evbuffer_new();

	if (encoding != ENCODING_NONE)
		evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Encoding",
			encoding_name(encoding));
	evbuffer_add(body, text, n);
	/* An answer may have taken long: its time to be sent begins now, not when it was asked for. */
	event_base_update_cache_time(s->base);
	evhttp_send_reply(request, status, NULL, body);
	evbuffer_free(body);
}

static void reply_packed(struct server *s, struct evhttp_request *request, enum encoding encoding,
	const void *text, size_t n)
{
	add_headers(request, "application/json", NULL);
	send_packed(s, request, 200, encoding, text, n);
}

static void pack(
	struct server *s, struct evhttp_request *request, int status, const struct buf *text)
{
	enum encoding encoding = text->n > 512 ? encoding_of(request) : ENCODING_NONE;
	struct buf packed = BUF_INIT;

	encoding_apply(encoding, text->data, text->n, &packed);
	send_packed(s, request, status, encoding, packed.data, packed.n);
	buf_done(&packed);
}

static void reply(
	struct server *s, struct evhttp_request *request, int status, const struct buf *text)
{
	add_headers(request, "application/json", NULL);
	pack(s, request, status, text);
}

/* Anyone may have it: it is the same for everybody, and what it asks for takes the token. */
static void reply_page(struct server *s, struct evhttp_request *request)
{
	char nonce[NONCE + 1];
	struct buf page = BUF_INIT;

	guard_random(nonce, NONCE);
	page_fill(nonce, "", "", 0, &page);
	add_headers(request, "text/html; charset=utf-8", nonce);
	pack(s, request, 200, &page);
	buf_done(&page);
}

static void reply_error(
	struct server *s, struct evhttp_request *request, int status, const char *words)
{
	struct buf text = BUF_INIT;
	struct json_writer w;

	json_init(&w, &text, false);
	json_object_begin(&w);
	json_kv_string(&w, "error", words);
	json_object_end(&w);
	reply(s, request, status, &text);
	buf_done(&text);
}

static int status_of(int code)
{
	switch (code) {
	case ERR_USAGE:
		return 400;
	case ERR_NO_FILE:
		return 404;
	case ERR_UNSUPPORTED:
		return 409;
	default:
		return 500;
	}
}

static void reply_answer(
	struct server *s, struct evhttp_request *request, const char *name, struct params *p)
{
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	if (answer_make(s->library, name, p, &text, &e) < 0)
		reply_error(s, request, status_of((int)e.code), e.text);
	else
		reply(s, request, 200, &text);
	buf_done(&text);
}

struct waiting { /* for a slow answer */
	struct server *server;
	struct evhttp_request *request; /* NULL: who asked is gone */
	enum encoding encoding;
};

static void on_gone(struct evhttp_connection *connection, void *ctx)
{
	(void)connection;
	((struct waiting *)ctx)->request = NULL;
}

static void on_made(void *ctx, int code, const void *text, size_t n)
{
	struct waiting *w = ctx;
	struct buf words = BUF_INIT;

	if (w->request)
		evhttp_connection_set_closecb(
			evhttp_request_get_connection(w->request), NULL, NULL);
	buf_add(&words, text, code ? n : 0);
	if (w->request && code)
		reply_error(w->server, w->request, status_of(code), buf_str(&words));
	else if (w->request)
		reply_packed(w->server, w->request, w->encoding, text, n);
	buf_done(&words);
	free(w);
}

static void ask_beside(struct server *s, struct evhttp_request *request, const char *name)
{
	struct waiting *w = xcalloc(1, sizeof *w);

	*w = (struct waiting){ s, request, encoding_of(request) };
	evhttp_connection_set_closecb(evhttp_request_get_connection(request), on_gone, w);
	slow_answers_ask(s->slow, name,
		evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request)), w->encoding, on_made,
		w);
}

/* ---- who asks what --------------------------------------------------------------------------- */

/* A code becomes the token, once: who finds it in a history or a list of processes later has nothing. */
static void give_token(struct server *s, struct evhttp_request *request, const char *code)
{
	struct buf text = BUF_INIT;
	struct json_writer w;

	if (!guard_code(&s->guard, code)) {
		reply_error(s, request, 403,
			"this address works only once: open the one that leadline view printed");
		return;
	}
	json_init(&w, &text, false);
	json_object_begin(&w);
	json_kv_string(&w, "token", s->guard.token);
	json_object_end(&w);
	if (s->on_arrival) /* before who asked can know of it */
		s->on_arrival(s->ctx);
	reply(s, request, 200, &text);
	buf_done(&text);
}

static void quit(struct server *s, struct evhttp_request *request)
{
	char ended[] = "{}";

	reply(s, request, 200, &(struct buf){ .data = ended, .n = 2 });
	event_base_loopexit(s->base, &(struct timeval){ .tv_usec = 100000 });
}

static void ask(
	struct server *s, struct evhttp_request *request, const char *path, struct params *p)
{
	struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	bool is_post = evhttp_request_get_command(request) == EVHTTP_REQ_POST;
	bool is_quit = strcmp(path, "/api/quit") == 0, is_page = strcmp(path, "/") == 0;
	bool is_code = strcmp(path, "/api/token") == 0;

	if (is_code && is_post) {
		give_token(s, request, evhttp_find_header(headers, "X-Leadline-Code"));
	} else if (!is_page &&
		!guard_token(&s->guard, evhttp_find_header(headers, "X-Leadline-Token"))) {
		reply_error(s, request, 403,
			"the token is missing from this address: open the full address that leadline view printed");
	} else if (is_post != (is_quit || is_code)) {
		reply_error(s, request, 405, "this method is not allowed here");
	} else if (is_quit) {
		quit(s, request);
	} else if (is_page) {
		reply_page(s, request);
	} else if (strncmp(path, "/api/", 5) == 0 && answer_takes_long(s->library, path + 5, p)) {
		ask_beside(s, request, path + 5);
	} else if (strncmp(path, "/api/", 5) == 0) {
		reply_answer(s, request, path + 5, p);
	} else {
		reply_error(s, request, 404, "there is nothing here");
	}
}

static void on_request(struct evhttp_request *request, void *ctx)
{
	struct server *s = ctx;
	struct evkeyvalq *headers = evhttp_request_get_input_headers(request);
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = uri ? evhttp_uri_get_path(uri) : NULL;
	const char *host = evhttp_find_header(headers, "Host");
	struct err e = ERR_INIT;
	struct params p;

	if (!guard_host(&s->guard, host)) {
		reply_error(s, request, 403,
			"this server answers only to localhost; --allow-host NAME allows another name");
		return;
	}
	if (!guard_origin(&s->guard, evhttp_find_header(headers, "Origin"), host)) {
		reply_error(s, request, 403, "pages from other sites may not use this server");
		return;
	}
	if (params_parse(&p, uri ? evhttp_uri_get_query(uri) : NULL, &e) < 0)
		reply_error(s, request, 400, e.text);
	else
		ask(s, request, path && *path ? path : "/", &p);
	params_done(&p);
}

/* ---- too many at once ------------------------------------------------------------------------ */

/* The number the next descriptor will have says how many are in use. */
static bool has_room(const struct server *s)
{
	struct rlimit limit;
	int next = dup(evconnlistener_get_fd(s->listener));

	if (next < 0)
		return false;
	close(next);
	return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)next + FILES_SPARE < limit.rlim_cur;
}

static void try_again(evutil_socket_t fd, short what, void *ctx)
{
	struct server *s = ctx;

	(void)fd;
	(void)what;
	if (has_room(s))
		evconnlistener_enable(s->listener);
	else
		event_add(s->again, &(struct timeval){ .tv_usec = 200000 });
}

/* For each new connection. While there are too many, others wait in the kernel's queue. */
static struct bufferevent *on_connection(struct event_base *base, void *ctx)
{
	struct server *s = ctx;

	if (!has_room(s)) {
		evconnlistener_disable(s->listener);
		event_add(s->again, &(struct timeval){ .tv_usec = 200000 });
	}
	return bufferevent_socket_new(base, -1, 0);
}

static void raise_limit(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= FILES)
		return;
	limit.rlim_cur = limit.rlim_max < FILES ? limit.rlim_max : FILES;
	setrlimit(RLIMIT_NOFILE, &limit);
}

/* ---- opening and closing --------------------------------------------------------------------- */

static void on_signal(evutil_socket_t fd, short what, void *ctx)
{
	struct server *s = ctx;

	(void)fd;
	(void)what;
	event_base_loopbreak(s->base);
}

static bool is_ignored(int number)
{
	struct sigaction now;

	return sigaction(number, NULL, &now) == 0 && now.sa_handler == SIG_IGN;
}

static int listen_port(uint16_t port, struct err *e)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), yes = 1;

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
	/* Connections inherit it. An answer's last packet else waits 40 ms for the acknowledgement of the one before. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
	if (bind(fd, (struct sockaddr *)&address, sizeof address) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	if (errno == EADDRINUSE)
		err_set(e, ERR_SYSTEM,
			"port %u is in use: choose another with --port, or omit --port to get a free one",
			port);
	else
		err_errno(e, ERR_SYSTEM, "127.0.0.1 port %u", port);
	close(fd);
	return -(int)e->code;
}

/* Only a socket nobody listens at is replaced. */
static void remove_stale(const struct sockaddr_un *address)
{
	struct stat st;
	int fd;

	if (lstat(address->sun_path, &st) < 0 || !S_ISSOCK(st.st_mode))
		return;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && connect(fd, (const struct sockaddr *)address, sizeof *address) < 0 &&
		errno == ECONNREFUSED)
		unlink(address->sun_path);
	if (fd >= 0)
		close(fd);
}

static int listen_unix(const char *path, struct err *e)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	mode_t before;
	int fd, status;

	if (strlen(path) >= sizeof address.sun_path)
		return err_set(e, ERR_USAGE,
			"%s: the path of a socket can have at most %zu characters", path,
			sizeof address.sun_path - 1);
	memcpy(address.sun_path, path, strlen(path));
	remove_stale(&address);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "socket");
	before = umask(0177); /* the user's own from its first instant on */
	status = bind(fd, (struct sockaddr *)&address, sizeof address);
	umask(before);
	if (status == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	if (errno == EADDRINUSE)
		err_set(e, ERR_SYSTEM, "%s already exists: choose another socket", path);
	else
		err_errno(e, ERR_SYSTEM, "%s", path);
	close(fd);
	return -(int)e->code;
}

/* What follows "#" stays in the browser: no server, proxy or log on the way gets to see it. */
static void format_address(
	const struct server *s, const char *what, const char *value, char *to, size_t n)
{
	if (s->unix_path)
		snprintf(to, n, "http://127.0.0.1/#%s=%s", what, value);
	else
		snprintf(to, n, "http://127.0.0.1:%u/#%s=%s", s->port, what, value);
}

static void name_address(struct server *s, int fd)
{
	struct sockaddr_in address = { 0 };
	socklen_t n = sizeof address;

	if (!s->unix_path && getsockname(fd, (struct sockaddr *)&address, &n) == 0)
		s->port = ntohs(address.sin_port);
	format_address(s, "token", s->guard.token, s->url, sizeof s->url);
}

static int start(struct server *s, int fd, struct err *e)
{
	static const int signals[SIGNALS] = { SIGHUP, SIGINT, SIGTERM };
	struct evhttp_bound_socket *bound;

	s->base = event_base_new();
	s->http = s->base ? evhttp_new(s->base) : NULL;
	bound = s->http ? evhttp_accept_socket_with_handle(s->http, fd) : NULL;
	if (!bound) {
		close(fd);
		return err_set(e, ERR_SYSTEM, "cannot start the server");
	}
	s->listener = evhttp_bound_socket_get_listener(bound);
	s->again = evtimer_new(s->base, try_again, s);
	for (size_t i = 0; i < SIGNALS; i++) {
		if (signals[i] == SIGHUP && is_ignored(SIGHUP))
			continue; /* nohup's wish */
		s->signals[i] = evsignal_new(s->base, signals[i], on_signal, s);
		event_add(s->signals[i], NULL);
	}
	evhttp_set_bevcb(s->http, on_connection, s);
	evhttp_set_max_headers_size(s->http, HEADER_BYTES);
	evhttp_set_max_body_size(s->http, BODY_BYTES);
	evhttp_set_timeout(s->http, TIMEOUT_S);
	evhttp_set_allowed_methods(s->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST);
	evhttp_set_gencb(s->http, on_request, s);
	s->slow = slow_answers_new(s->base, s->library);
	return 0;
}

int server_open(
	struct server **ret, struct library *l, const struct server_options *o, struct err *e)
{
	int fd = o->unix_path ? listen_unix(o->unix_path, e) : listen_port(o->port, e);
	struct server *s;

	if (fd < 0)
		return fd;
	s = xcalloc(1, sizeof *s);
	s->library = l;
	s->unix_path = o->unix_path;
	s->guard.allowed_hosts = o->allowed_hosts;
	s->guard.n_allowed_hosts = o->n_allowed_hosts;
	guard_random(s->guard.token, GUARD_TOKEN);
	s->on_arrival = o->on_arrival;
	s->ctx = o->ctx;
	name_address(s, fd);
	raise_limit();
	signal(SIGPIPE, SIG_IGN); /* who asked may be gone */
	if (start(s, fd, e) < 0) {
		server_close(s);
		return -(int)e->code;
	}
	*ret = s;
	return 0;
}

void server_run(struct server *s)
{
	event_base_dispatch(s->base);
}

void server_close(struct server *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < SIGNALS; i++)
		if (s->signals[i])
			event_free(s->signals[i]);
	if (s->again)
		event_free(s->again);
	slow_answers_free(s->slow);
	if (s->http)
		evhttp_free(s->http);
	if (s->base)
		event_base_free(s->base);
	if (s->unix_path)
		unlink(s->unix_path);
	free(s);
}

const char *server_url(const struct server *s)
{
	return s->url;
}

const char *server_url_once(struct server *s)
{
	guard_random(s->guard.code, GUARD_TOKEN);
	format_address(s, "code", s->guard.code, s->once, sizeof s->once);
	return s->once;
}

uint16_t server_port(const struct server *s)
{
	return s->port;
}
