/* SPDX-License-Identifier: MIT
 *
 * Who may ask: a page of ours in a browser of this user, and nobody else's. A request must come to a name that is this machine's
 * (or one that was allowed), which keeps out pages whose own name was made to lead here (DNS rebinding); if it says where
 * its page is from, that must be this server (other ports of this machine are other users'), or a name that was allowed; and it must
 * know the token. A browser that we start gets a code instead, which is good for the token once. */
#ifndef SERVE_HTTP_GUARD_H
#define SERVE_HTTP_GUARD_H

#include <stdbool.h>
#include <stddef.h>

enum { GUARD_TOKEN = 32 }; /* characters */

struct guard {
	char token[GUARD_TOKEN + 1];
	char code[GUARD_TOKEN + 1];       /* "": none was given out, or it was used */
	const char *const *allowed_hosts; /* beside localhost, 127.0.0.1 and ::1; borrowed */
	size_t n_allowed_hosts;
};

/* Fills `to` with n random characters and a NUL. */
void guard_random(char *to, size_t n);

/* host: "localhost:8000", "[::1]"; any port. NULL is refused. */
bool guard_host(const struct guard *g, const char *host);
/* The Origin header: "http://localhost:8000"; NULL, not sent, is fine. host: as above. */
bool guard_origin(const struct guard *g, const char *origin, const char *host);
/* In a time that does not tell how much of it was right; NULL is refused. */
bool guard_token(const struct guard *g, const char *token);
/* Likewise; true once. */
bool guard_code(struct guard *g, const char *code);

#endif
