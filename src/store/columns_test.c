/* SPDX-License-Identifier: MIT
 * Every kind of record, with random values, through the codec and back; and hostile bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/columns.h"
#include "wire/records.h"

static uint64_t seed = 42;

static uint64_t random_u64(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed;
}

/* Small, large and extreme values alike. */
static uint64_t random_value(void)
{
	uint64_t r = random_u64();

	return r % 8 == 0 ? UINT64_MAX : random_u64() >> (r % 64);
}

static void fill(const struct record_type *type, char *record)
{
	static const char text[] = "the contents of a bytes column";

	for (size_t i = 0; i < type->n_columns; i++) {
		uint64_t v = random_value();
		double d = (double)v / 3;
		rec_bytes b = { text + v % 8, (uint32_t)(v % 20) };
		char *to = record + type->columns[i].offset;

		switch (type->columns[i].type) {
		case COLUMN_u8:
			*to = (char)v;
			break;
		case COLUMN_u16:
			memcpy(to, &v, 2);
			break;
		case COLUMN_u32:
			memcpy(to, &v, 4);
			break;
		case COLUMN_u64:
			memcpy(to, &v, 8);
			break;
		case COLUMN_f64:
			memcpy(to, &d, 8);
			break;
		case COLUMN_bytes:
			memcpy(to, &b, sizeof b);
			break;
		}
	}
}

static void assert_same(const struct record_type *type, const char *a, const char *b)
{
	static const size_t width[] = { 1, 2, 4, 8, 8 };

	for (size_t i = 0; i < type->n_columns; i++) {
		size_t at = type->columns[i].offset;

		if (type->columns[i].type == COLUMN_bytes) {
			const rec_bytes *x = (const rec_bytes *)(a + at),
					*y = (const rec_bytes *)(b + at);

			assert_int_equal(x->n, y->n);
			assert_memory_equal(x->p, y->p, x->n);
		} else {
			assert_memory_equal(a + at, b + at, width[type->columns[i].type]);
		}
	}
}

static void every_kind_survives_the_round_trip(void **state)
{
	enum { N = 500 };
	size_t kinds = 0;

	(void)state;
	for (unsigned kind = 0; kind < RECORD_MAX_; kind++) {
		const struct record_type *type = record_type_find(kind);
		struct arena a = ARENA_INIT;
		struct buf raw = BUF_INIT;
		struct err e = ERR_INIT;
		char *records;
		void *back;

		if (!type)
			continue;
		kinds++;
		assert_int_equal(type->kind, kind);
		records = arena_array(&a, N, type->size);
		for (size_t i = 0; i < N; i++)
			fill(type, records + i * type->size);
		columns_encode(type, records, N, &raw);
		assert_int_equal(columns_decode(type, raw.data, raw.n, N, &a, &back, &e), 0);
		for (size_t i = 0; i < N; i++)
			assert_same(type, records + i * type->size, (char *)back + i * type->size);
		buf_done(&raw);
		arena_done(&a);
	}
	assert_true(kinds > 20);
}

static void a_table_refers_only_to_tables_before_it(void **state)
{
	(void)state;
	for (unsigned kind = 0; kind < RECORD_MAX_; kind++) {
		const struct record_type *type = record_type_find(kind);

		for (size_t i = 0; type && i < type->n_columns; i++) {
			const struct record_column *c = &type->columns[i];
			const struct record_type *to = record_type_find(c->refers_to);

			if (!c->refers_to)
				continue;
			assert_int_equal(c->type, COLUMN_u32);
			assert_int_equal(to->role, RECORD_TABLE);
			if (type->role == RECORD_TABLE)
				assert_true(to->kind <= type->kind);
		}
		if (type)
			assert_int_equal(type->role == RECORD_TABLE, kind < RECORD_meta);
	}
}

/* An older writer had fewer columns, a newer one has more: both read. */
static void columns_may_be_appended(void **state)
{
	const struct record_type *full = record_type_find(RECORD_sample);
	struct record_type shorter = *full;
	struct rec_sample s = { .t_ns = 5, .thread = 6, .stack = 7, .leaf_code = 8, .state = 3 };
	struct arena a = ARENA_INIT;
	struct buf raw = BUF_INIT;
	struct err e = ERR_INIT;
	void *back;

	(void)state;
	shorter.n_columns = 3;
	columns_encode(&shorter, &s, 1, &raw);
	assert_int_equal(columns_decode(full, raw.data, raw.n, 1, &a, &back, &e), 0);
	assert_int_equal(((struct rec_sample *)back)->stack, 7);
	assert_int_equal(((struct rec_sample *)back)->leaf_code, 0);
	buf_clear(&raw);
	columns_encode(full, &s, 1, &raw);
	assert_int_equal(columns_decode(&shorter, raw.data, raw.n, 1, &a, &back, &e), 0);
	assert_int_equal(((struct rec_sample *)back)->stack, 7);
	assert_int_equal(((struct rec_sample *)back)->state, 0);
	buf_done(&raw);
	arena_done(&a);
}

static void hostile_bytes_are_refused_or_harmless(void **state)
{
	static const enum record_kind kinds[] = { RECORD_string, RECORD_sample, RECORD_bench,
		RECORD_code };

	(void)state;
	for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
		const struct record_type *type = record_type_find(kinds[k]);
		struct buf raw = BUF_INIT;
		char records[20 * 64];
		size_t refused = 0;

		for (size_t i = 0; i < 10; i++)
			fill(type, records + i * type->size);
		columns_encode(type, records, 10, &raw);
		for (int round = 0; round < 20000; round++) {
			struct arena a = ARENA_INIT;
			struct err e = ERR_INIT;
			size_t at = random_u64() % raw.n,
			       cut = random_u64() % 4 ? raw.n : random_u64() % raw.n;
			char before = raw.data[at];
			void *back;

			raw.data[at] = (char)random_u64();
			refused += columns_decode(type, raw.data, cut, random_u64() % 12, &a, &back,
					   &e) < 0;
			raw.data[at] = before;
			arena_done(&a);
		}
		assert_true(refused > 10000);
		buf_done(&raw);
	}
}

static void too_many_records_are_refused(void **state)
{
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	char raw[64] = { 0 };
	void *back;

	(void)state;
	assert_true(columns_decode(record_type_find(RECORD_sample), raw, sizeof raw,
			    COLUMNS_MAX_RECORDS + 1, &a, &back, &e) < 0);
	assert_int_equal(e.code, ERR_BAD_FILE);
	arena_done(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_survives_the_round_trip),
		cmocka_unit_test(a_table_refers_only_to_tables_before_it),
		cmocka_unit_test(columns_may_be_appended),
		cmocka_unit_test(hostile_bytes_are_refused_or_harmless),
		cmocka_unit_test(too_many_records_are_refused),
	};

	return cmocka_run_group_tests_name("columns", tests, NULL, NULL);
}
