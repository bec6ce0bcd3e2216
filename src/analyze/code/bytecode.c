/* SPDX-License-Identifier: MIT
 * See bytecode.h. */
#include "analyze/code/bytecode.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* One list: words that end in a zero byte, up to a byte of 1. Moves *at behind it. */
static struct words read_list(struct arena *a, const char **at, const char *end)
{
	VEC(const char *) found = VEC_INIT;
	struct words w;

	while (*at < end && **at != 1) {
		const char *stop = memchr(*at, '\0', (size_t)(end - *at));
		size_t n = (size_t)((stop ? stop : end) - *at);

		vec_push(&found, n ? arena_strndup(a, *at, n) : NULL);
		*at += n + (stop != NULL);
	}
	*at += *at < end;
	w = (struct words){ arena_copy(a, found.v, found.n * sizeof *found.v), found.n };
	vec_done(&found);
	return w;
}

const struct instructions *instructions_read(struct arena *a, const struct tables *t, uint32_t code)
{
	const struct rec_code *r = tables_row(t, RECORD_code, code);
	struct instructions *i;
	unsigned major, minor;
	const char *at;

	if (!r || !r->code_bytes.n ||
		sscanf(tables_string(t, r->interpreter), "cpython %u.%u", &major, &minor) != 2)
		return NULL;
	i = arena_new(a, struct instructions);
	if (!opcodes_init(&i->opcodes, major, minor))
		return NULL;
	i->bytes = r->code_bytes.p;
	bytecode_decode(a, &i->opcodes, r->code_bytes.p, r->code_bytes.n, r->exceptions.p,
		r->exceptions.n, &i->code);
	at = r->words.p;
	i->words.consts = read_list(a, &at, (const char *)r->words.p + r->words.n);
	i->words.names = read_list(a, &at, (const char *)r->words.p + r->words.n);
	i->words.locals = read_list(a, &at, (const char *)r->words.p + r->words.n);
	i->words.frees = read_list(a, &at, (const char *)r->words.p + r->words.n);
	return i;
}
