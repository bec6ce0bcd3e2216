/* SPDX-License-Identifier: MIT
 * See cost.h. */
#include "collect/samples/cost.h"

#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "base/banned.h"

enum {
	EVERY = 16,
	LINE = 64,
	STATE_LINES = 3, /* besides: top of the stack, running frame, who holds the GIL */
};

void py_cost_done(struct py_cost *c)
{
	free(c->kept);
}

static void keep(struct py_cost *c, uint64_t key, const unsigned char *bytes, size_t n)
{
	if (n > c->capacity) {
		free(c->kept);
		c->kept = xmalloc(n);
		c->capacity = n;
	}
	memcpy(c->kept, bytes, n);
	c->n_kept = n;
	c->key = key;
}

static uint64_t lines_changed(const struct py_cost *c, const unsigned char *bytes, size_t n)
{
	uint64_t changed = 0;

	if (n > c->n_kept)
		n = c->n_kept;
	for (size_t at = 0; at < n; at += LINE)
		changed += memcmp(c->kept + at, bytes + at, n - at < LINE ? n - at : LINE) != 0;
	return changed;
}

void py_cost_look(struct py_cost *c, uint64_t key, const unsigned char *bytes, size_t n)
{
	uint64_t turn = c->n_looks++ % EVERY, changed;

	if (turn == 0 && n)
		keep(c, key, bytes, n);
	if (turn != 1 || key != c->key || !c->n_kept)
		return;
	changed = lines_changed(c, bytes, n);
	if (changed)
		c->n_lines += EVERY * (changed + STATE_LINES);
	c->n_kept = 0;
}
