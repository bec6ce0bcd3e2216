/* SPDX-License-Identifier: MIT
 *
 * The server of `leadline view`: on this machine's own address or a Unix socket, never on a network. One thread; answers
 * are made when asked for, those that take long by a process beside it. Requests are small and few: long ones, slow ones and too many at once are given up.
 *
 *	struct server *s;
 *	if (server_open(&s, &library, &options, &e) < 0) …
 *	printf("%s\n", server_url(s));
 *	server_run(s);                       until SIGHUP, SIGINT, SIGTERM, or the page says so
 *	server_close(s);
 */
#ifndef SERVE_HTTP_SERVER_H
#define SERVE_HTTP_SERVER_H

#include <stddef.h>
#include <stdint.h>

struct err;
struct library;
struct server;

typedef void server_fn(void *ctx);

struct server_options {
	const char *unix_path; /* NULL: 127.0.0.1 */
	uint16_t port;         /* 0: one that is free */
	const char *const *allowed_hosts;
	size_t n_allowed_hosts;
	server_fn *on_arrival; /* the address for one use was used; NULL: nobody wants to know */
	void *ctx;
};

/* The library and the options' texts are borrowed. */
int server_open(
	struct server **ret, struct library *l, const struct server_options *o, struct err *e);
void server_run(struct server *s);
void server_close(struct server *s); /* accepts NULL */

/* For the user's own eyes: with the token. */
const char *server_url(const struct server *s);
/* For a browser that we start: with a code that is good for the token once. Each call makes another, and the one before void. */
const char *server_url_once(struct server *s);
uint16_t server_port(const struct server *s); /* 0 on a Unix socket */

#endif
