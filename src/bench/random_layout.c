/* SPDX-License-Identifier: MIT
 * See random_layout.h. */
#include "bench/random_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/banned.h"

enum { PADDING_MOST = 4096 };

uint64_t random_next(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

struct random_layout random_layout_of(uint64_t seed)
{
	static const char padding[] = "LEADLINE_PADDING=";
	char hash[48];
	size_t n_name = sizeof padding - 1, n = random_next(&seed) % PADDING_MOST;
	char *text = xmalloc(n_name + n + 1);

	memcpy(text, padding, n_name);
	memset(text + n_name, 'x', n);
	text[n_name + n] = '\0';
	snprintf(hash, sizeof hash, "PYTHONHASHSEED=%u",
		(unsigned)(random_next(&seed) & 0xffffffff));
	/* One the user has fixed stays. */
	return (struct random_layout){ { text, getenv("PYTHONHASHSEED") ? NULL : xstrdup(hash),
		NULL } };
}

void random_layout_done(struct random_layout *l)
{
	free((char *)l->environment[0]);
	free((char *)l->environment[1]);
}
