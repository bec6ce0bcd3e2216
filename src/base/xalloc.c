/* SPDX-License-Identifier: MIT
 * See xalloc.h. */
#include "base/xalloc.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

static void *or_die(void *p)
{
	static const char text[] = "leadline: out of memory\n";

	if (p)
		return p;
	if (write(STDERR_FILENO, text, sizeof text - 1) < 0)
		_exit(125);
	_exit(125);
}

void *xmalloc(size_t n_bytes)
{
	return or_die(malloc(n_bytes ? n_bytes : 1));
}

void *xcalloc(size_t n, size_t item_bytes)
{
	return or_die(calloc(n ? n : 1, item_bytes ? item_bytes : 1));
}

void *xrealloc(void *p, size_t n, size_t item_bytes)
{
	size_t total;

	if (__builtin_mul_overflow(n, item_bytes, &total))
		return or_die(NULL);
	return or_die(realloc(p, total ? total : 1));
}

char *xstrdup(const char *s)
{
	size_t n = strlen(s) + 1;

	return memcpy(xmalloc(n), s, n);
}
