/* SPDX-License-Identifier: MIT
 * See opcode_counts.h. */
#include "analyze/calls/opcode_counts.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/bytecode.h"
#include "analyze/code/frames.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct builder {
	struct arena *a;
	struct tables *t;
	struct frames *frames;
	struct map latest; /* thread and code → index in records: a later one replaces it */
	VEC(struct rec_instruction_count) records;
	VEC(struct opcode_code) codes;
	VEC(struct opcode_function) functions;
};

static bool is_chosen(const uint32_t *threads, size_t n, uint32_t row)
{
	for (size_t i = 0; i < n; i++)
		if (threads[i] == row)
			return true;
	return !threads;
}

static void read_records(struct builder *b, const uint32_t *threads, size_t n_threads)
{
	struct record_iter it = record_iter(b->t, RECORD_instruction_count);

	for (const struct rec_instruction_count *r; (r = record_next(&it));) {
		uint64_t key = (uint64_t)r->thread << 32 | r->code, at;
		struct rec_instruction_count kept = *r;

		if (!is_chosen(threads, n_threads, r->thread))
			continue;
		kept.hits.p = arena_copy(b->a, r->hits.p, r->hits.n);
		if (map_find(&b->latest, key, &at)) {
			b->records.v[at] = kept;
			continue;
		}
		map_put(&b->latest, key, b->records.n);
		vec_push(&b->records, kept);
	}
	record_iter_done(&it);
}

static int by_code(const void *a, const void *b)
{
	const struct rec_instruction_count *x = a, *y = b;

	return x->code < y->code ? -1 : x->code > y->code;
}

/* Every varint ends in a byte below 128. */
static size_t n_varints(rec_bytes bytes)
{
	const unsigned char *p = bytes.p;
	size_t n = 0;

	for (uint32_t i = 0; i < bytes.n; i++)
		n += p[i] < 128;
	return n;
}

static void add_varints(uint64_t *to, size_t n_to, rec_bytes bytes)
{
	const unsigned char *p = bytes.p;
	uint64_t value = 0;
	unsigned shift = 0;
	size_t n = 0;

	for (uint32_t i = 0; i < bytes.n && n < n_to; i++) {
		value |= shift < 64 ? (uint64_t)(p[i] & 127) << shift : 0;
		shift += 7;
		if (p[i] < 128) {
			to[n++] += value;
			value = shift = 0;
		}
	}
}

static void add_code(struct builder *b, const struct rec_instruction_count *r, size_t n)
{
	struct opcode_code c = { .code = r->code, .is_derived = r->is_derived };
	uint64_t *hits;

	for (size_t i = 0; i < n; i++)
		c.n = n_varints(r[i].hits) > c.n ? n_varints(r[i].hits) : c.n;
	c.hits = hits = arena_new_n(b->a, uint64_t, c.n + 1);
	for (size_t i = 0; i < n; i++)
		add_varints(hits, c.n, r[i].hits);
	vec_push(&b->codes, c);
}

static void add_function(struct builder *b, struct map *numbers, const struct opcode_code *c)
{
	struct stack_frame f = frames_of_code(b->frames, c->code, 0);
	const struct instructions *in = instructions_read(b->a, b->t, c->code);
	uint64_t index;

	if (!map_find(numbers, f.function, &index)) {
		map_put(numbers, f.function, index = b->functions.n);
		vec_push(&b->functions,
			(struct opcode_function){ .function = f.function,
				.name = f.name,
				.file = f.file,
				.first_line = f.first_line });
	}
	for (size_t i = 0; in && i < in->code.n; i++)
		b->functions.v[index].executed += opcode_code_at(c, in->code.v[i].offset);
}

static int by_executed(const void *a, const void *b)
{
	const struct opcode_function *x = a, *y = b;

	if (x->executed != y->executed)
		return x->executed < y->executed ? 1 : -1;
	return strcmp(x->name, y->name);
}

static const struct opcode_counts *finish(struct builder *b)
{
	struct opcode_counts *r = arena_new(b->a, struct opcode_counts);
	struct map numbers = MAP_INIT;

	vec_each (&b->codes, c) {
		add_function(b, &numbers, c);
		r->has_derived |= c->is_derived;
		r->has_each |= !c->is_derived;
	}
	vec_each (&b->functions, f)
		r->executed += f->executed;
	if (b->functions.n)
		qsort(b->functions.v, b->functions.n, sizeof *b->functions.v, by_executed);
	r->codes = arena_copy(b->a, b->codes.v, b->codes.n * sizeof *b->codes.v);
	r->n_codes = b->codes.n;
	r->functions = arena_copy(b->a, b->functions.v, b->functions.n * sizeof *b->functions.v);
	r->n_functions = b->functions.n;
	map_done(&numbers);
	return r;
}

const struct opcode_counts *opcode_counts_build(struct arena *a, struct tables *t, struct frames *f,
	const uint32_t *threads, size_t n_threads)
{
	struct builder b = { .a = a, .t = t, .frames = f };
	const struct opcode_counts *r;

	read_records(&b, threads, n_threads);
	if (b.records.n)
		qsort(b.records.v, b.records.n, sizeof *b.records.v, by_code);
	for (size_t i = 0, n; i < b.records.n; i += n) {
		for (n = 1; i + n < b.records.n && b.records.v[i + n].code == b.records.v[i].code;)
			n++;
		add_code(&b, &b.records.v[i], n);
	}
	r = b.codes.n ? finish(&b) : NULL;
	map_done(&b.latest);
	vec_done(&b.records);
	vec_done(&b.codes);
	vec_done(&b.functions);
	return r;
}

const struct opcode_code *opcode_counts_find(const struct opcode_counts *c, uint32_t code)
{
	size_t low = bisect(i, c ? c->n_codes : 0, c->codes[i].code < code);

	return c && low < c->n_codes && c->codes[low].code == code ? &c->codes[low] : NULL;
}

uint64_t opcode_code_at(const struct opcode_code *c, uint32_t offset)
{
	return offset / 2 < c->n ? c->hits[offset / 2] : 0;
}
