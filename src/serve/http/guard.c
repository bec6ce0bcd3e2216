/* SPDX-License-Identifier: MIT
 * See guard.h. */
#include "serve/http/guard.h"

#include <string.h>
#include <strings.h>
#include <sys/random.h>

#include "base/banned.h"

void guard_random(char *to, size_t n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

	for (size_t i = 0; i < n; i++) {
		unsigned char byte;

		while (getrandom(&byte, 1, 0) != 1)
			continue;
		to[i] = digits[byte & 63];
	}
	to[n] = '\0';
}

static bool is_name(const char *host, size_t n, const char *name)
{
	return strlen(name) == n && strncasecmp(host, name, n) == 0;
}

static bool is_port(const char *text, size_t n)
{
	if (n == 0)
		return true;
	if (text[0] != ':' || n == 1 || n > 6)
		return false;
	return strspn(text + 1, "0123456789") >= n - 1;
}

static size_t name_length(const char *host, size_t n)
{
	const char *bracket = n && host[0] == '[' ? memchr(host, ']', n) : NULL;
	const char *colon = bracket ? NULL : memchr(host, ':', n);

	return bracket ? (size_t)(bracket + 1 - host) : colon ? (size_t)(colon - host) : n;
}

/* host: a name and maybe a port. */
static bool is_allowed(const struct guard *g, const char *host)
{
	size_t n = strlen(host), n_name = name_length(host, n);

	if (!n_name || !is_port(host + n_name, n - n_name))
		return false;
	for (size_t i = 0; i < g->n_allowed_hosts; i++)
		if (is_name(host, n_name, g->allowed_hosts[i]))
			return true;
	return false;
}

static bool is_own(const char *host)
{
	static const char *const own[] = { "localhost", "127.0.0.1", "[::1]" };
	size_t n = strlen(host), n_name = name_length(host, n);

	for (size_t i = 0; i < sizeof own / sizeof *own; i++)
		if (is_name(host, n_name, own[i]))
			return is_port(host + n_name, n - n_name);
	return false;
}

bool guard_host(const struct guard *g, const char *host)
{
	return host && (is_own(host) || is_allowed(g, host));
}

bool guard_origin(const struct guard *g, const char *origin, const char *host)
{
	static const char *const schemes[] = { "http://", "https://" };

	if (!origin)
		return true;
	for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
		size_t n = strlen(schemes[i]);

		if (strncasecmp(origin, schemes[i], n) == 0)
			return (host && strcasecmp(origin + n, host) == 0) ||
				is_allowed(g, origin + n);
	}
	return false;
}

static bool is_same(const char *given, const char *own)
{
	unsigned char differs = 0;

	if (!given || strlen(given) != GUARD_TOKEN || !*own)
		return false;
	for (size_t i = 0; i < GUARD_TOKEN; i++)
		differs |= (unsigned char)(given[i] ^ own[i]);
	return differs == 0;
}

bool guard_token(const struct guard *g, const char *token)
{
	return is_same(token, g->token);
}

bool guard_code(struct guard *g, const char *code)
{
	if (!is_same(code, g->code))
		return false;
	explicit_bzero(g->code, sizeof g->code);
	return true;
}
