/* SPDX-License-Identifier: MIT
 * Tables made by hand. That the decoder agrees with the interpreters themselves is for
 * tests/e2e/test_linetable.py to show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/err.h"
#include "cpython/linetable.h"

static struct arena arena;
static struct err err;

static int empty_arena(void **state)
{
	(void)state;
	arena_done(&arena);
	return 0;
}

/* The code has first line 10 and as many units as `lines` are expected. */
#define assert_lines(format, table, ...)                                               \
	check_lines(format, table, sizeof table - 1, (const int32_t[]){ __VA_ARGS__ }, \
		sizeof((int32_t[]){ __VA_ARGS__ }) / sizeof(int32_t))

static void check_lines(enum linetable_format format, const char *table, size_t n_bytes,
	const int32_t *lines, size_t n)
{
	struct linetable t;

	assert_int_equal(
		linetable_decode(&arena, format, table, n_bytes, 10, (uint32_t)(2 * n), &t, &err),
		0);
	assert_int_equal(t.n_units, n);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(t.at[i].line, lines[i]);
		assert_int_equal(linetable_get(&t, (uint32_t)(2 * i)).line, lines[i]);
	}
	assert_int_equal(linetable_get(&t, (uint32_t)(2 * n)).line, -1);
}

static void check_position(const char *table, size_t n_bytes, struct position want)
{
	struct linetable t;

	assert_int_equal(
		linetable_decode(&arena, LINETABLE_LOCATIONS, table, n_bytes, 10, 2, &t, &err), 0);
	assert_int_equal(t.at[0].line, want.line);
	assert_int_equal(t.at[0].end_line, want.end_line);
	assert_int_equal(t.at[0].column, want.column);
	assert_int_equal(t.at[0].end_column, want.end_column);
}

#define assert_position(table, ...) \
	check_position(table, sizeof table - 1, (struct position){ __VA_ARGS__ })

/* Expects a fault at that byte of the table, and `known` lines before it. */
static void check_broken(enum linetable_format format, const char *table, size_t n_bytes,
	uint32_t n_code_bytes, uint32_t known, const char *at)
{
	struct linetable t = { 0 };
	struct err e = ERR_INIT;

	assert_int_equal(linetable_decode(&arena, format, table, n_bytes, 10, n_code_bytes, &t, &e),
		-ERR_BAD_FILE);
	assert_non_null(strstr(e.text, at));
	for (uint32_t i = 0; i < n_code_bytes / 2; i++)
		assert_int_equal(linetable_get(&t, 2 * i).line >= 0, i < known);
}

#define assert_broken(format, table, n_code_bytes, known, at) \
	check_broken(format, table, sizeof table - 1, n_code_bytes, known, at)

static void the_version_says_the_format(void **state)
{
	(void)state;
	assert_int_equal(linetable_format_for(2, 7), LINETABLE_UNKNOWN);
	assert_int_equal(linetable_format_for(3, 7), LINETABLE_UNKNOWN);
	assert_int_equal(linetable_format_for(3, 8), LINETABLE_LNOTAB);
	assert_int_equal(linetable_format_for(3, 9), LINETABLE_LNOTAB);
	assert_int_equal(linetable_format_for(3, 10), LINETABLE_310);
	assert_int_equal(linetable_format_for(3, 11), LINETABLE_LOCATIONS);
	assert_int_equal(linetable_format_for(3, 15), LINETABLE_LOCATIONS);
	assert_int_equal(linetable_format_for(4, 0), LINETABLE_UNKNOWN);
}

static void lnotab(void **state)
{
	(void)state;
	assert_lines(LINETABLE_LNOTAB, "", 10, 10, 10);
	assert_lines(LINETABLE_LNOTAB, "\x00\x01\x04\x01\x02\x05", 11, 11, 12, 17, 17);
	/* back to an earlier line */
	assert_lines(LINETABLE_LNOTAB, "\x02\x03\x02\xfe\x02\xff", 10, 13, 11, 10);
	/* a step of 200 lines, and one of −200, take two pairs each */
	assert_lines(LINETABLE_LNOTAB, "\x02\x7f\x00\x49\x02\x80\x00\xb8", 10, 210, 10);
	/* a unit belongs to the range its first byte is in */
	assert_lines(LINETABLE_LNOTAB, "\x03\x01", 10, 10, 11);
	/* lines of code that was optimised away lie behind the end */
	assert_lines(LINETABLE_LNOTAB, "\x02\x01\x02\x01\x00\x01\x08\x01", 10, 11);
}

static void lnotab_ranges_longer_than_a_byte(void **state)
{
	/* 300 bytes are written as 255 + 45: the cut lies within a unit */
	static const char table[] = "\xff\x00\x2d\x01";
	struct linetable t;

	(void)state;
	assert_int_equal(
		linetable_decode(&arena, LINETABLE_LNOTAB, table, 4, 10, 310, &t, &err), 0);
	for (uint32_t i = 0; i < 155; i++)
		assert_int_equal(t.at[i].line, i < 150 ? 10 : 11);
}

static void table_of_310(void **state)
{
	(void)state;
	assert_lines(LINETABLE_310, "\x04\x00\x02\x01\x02\xff", 10, 10, 11, 10);
	/* no line: the address moves on, the running line does not */
	assert_lines(LINETABLE_310, "\x02\x05\x04\x80\x02\x01", 15, -1, -1, 16);
	assert_lines(LINETABLE_310, "\x02\x80\x02\x02", -1, 12);
	/* a step of 200 lines: a first pair of no length */
	assert_lines(LINETABLE_310, "\x02\x00\x00\x7f\x02\x49\x00\x81\x02\xb7", 10, 210, 10);
	assert_lines(LINETABLE_310, "\x02\x00\x00\x80", 10);
}

static void locations(void **state)
{
	(void)state;
	/* short forms: column 8 · code + high bits */
	assert_position("\x80\x00", 10, 10, 0, 0);
	assert_position("\x80\x7f", 10, 10, 7, 22);
	assert_position("\xc8\x34", 10, 10, 75, 79);
	/* one line, Δ 0 … 2 */
	assert_position("\xd0\x05\x7f", 10, 10, 5, 127);
	assert_position("\xd8\x05\x06", 11, 11, 5, 6);
	assert_position("\xe0\x05\x06", 12, 12, 5, 6);
	/* no columns: Δ +1, −1, +40, −40 */
	assert_position("\xe8\x02", 11, 11, -1, -1);
	assert_position("\xe8\x03", 9, 9, -1, -1);
	assert_position("\xe8\x50\x01", 50, 50, -1, -1);
	assert_position("\xe8\x15", 0, 0, -1, -1);
	assert_position("\xe8\x51\x01", -1, -1, -1, -1); /* −30: there is no such line */
	/* long: Δ +1, 3 lines, columns 199 … 4 */
	assert_position("\xf0\x02\x03\x48\x03\x05", 11, 14, 199, 4);
	assert_position("\xf0\x02\x00\x00\x00", 11, 11, -1, -1);
	/* none */
	assert_position("\xf8", -1, -1, -1, -1);
}

static void locations_run_on(void **state)
{
	(void)state;
	/* the entry covers [start, start + length): not one unit more or less */
	assert_lines(
		LINETABLE_LOCATIONS, "\x82\x00\xd9\x00\x01\xe0\x00\x01", 10, 10, 10, 11, 11, 13);
	/* code 15 leaves the running line alone */
	assert_lines(LINETABLE_LOCATIONS, "\xe8\x06\xf9\x80\x00\xf8\xd8\x00\x01", 13, -1, -1, 13,
		-1, 14);
	assert_lines(LINETABLE_LOCATIONS, "\xe8\x07\xe8\x02\xe8\x05", 7, 8, 6);
	/* a module starts on line 0 = before its first; 8 units are one entry's most */
	assert_lines(LINETABLE_LOCATIONS, "\xe8\x15\xef\x02", 0, 1, 1, 1, 1, 1, 1, 1, 1);
}

static void broken_tables_are_told_and_keep_what_was_before(void **state)
{
	(void)state;
	assert_broken(LINETABLE_UNKNOWN, "\x02\x00", 4, 0, "not known");
	/* the line of the last, half pair is known; what follows is not */
	assert_broken(LINETABLE_LNOTAB, "\x02\x01\x04", 20, 3, "at byte 2: it ends");
	assert_broken(LINETABLE_310, "\x02\x01\x04", 20, 1, "at byte 2: it ends");
	assert_broken(LINETABLE_310, "\x02\x01", 20, 1, "at byte 2: the code goes on");
	assert_broken(LINETABLE_310, "", 20, 0, "at byte 0: the code goes on");
	assert_broken(LINETABLE_310, "\x02\x01\x04\x01", 2, 1, "at byte 4: the code ends");
	assert_broken(LINETABLE_LOCATIONS, "", 20, 0, "at byte 0: the code goes on");
	assert_broken(LINETABLE_LOCATIONS, "\x81\x00\x00\x00", 20, 2, "at byte 2: no entry");
	assert_broken(LINETABLE_LOCATIONS, "\x81\x00\xd7\x01", 20, 2, "at byte 2: it ends");
	assert_broken(
		LINETABLE_LOCATIONS, "\x81\x00\xd7\x01\x81\x00", 20, 2, "at byte 2: an entry");
	assert_broken(LINETABLE_LOCATIONS, "\x81\x00\xef", 20, 2, "at byte 2: it ends");
	assert_broken(LINETABLE_LOCATIONS, "\x81\x00\xef\x42", 20, 2, "at byte 2: it ends");
	assert_broken(LINETABLE_LOCATIONS, "\x81\x00", 20, 2, "at byte 2: the code goes on");
	assert_broken(LINETABLE_LOCATIONS, "\x87\x00", 4, 2, "at byte 2: the code ends");
}

static void numbers_too_large_are_told(void **state)
{
	(void)state;
	/* 36 bits; a number that never ends; 2³¹ lines on; an end line and a column of 2³² − 1 */
	assert_broken(LINETABLE_LOCATIONS, "\x80\x00\xe8\x7f\x7f\x7f\x7f\x7f\x3f", 20, 1,
		"at byte 2: a number");
	assert_broken(LINETABLE_LOCATIONS, "\x80\x00\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f",
		20, 1, "at byte 2: a number");
	assert_broken(LINETABLE_LOCATIONS, "\x80\x00\xe8\x7e\x7f\x7f\x7f\x7f\x03", 20, 1,
		"at byte 2: the line");
	assert_broken(LINETABLE_LOCATIONS, "\x80\x00\xf0\x00\x7f\x7f\x7f\x7f\x7f\x03\x01\x01", 20,
		1, "at byte 2: the line");
	assert_broken(LINETABLE_LOCATIONS, "\x80\x00\xf0\x00\x00\x7f\x7f\x7f\x7f\x7f\x03\x01", 20,
		1, "at byte 2: a column");
}

static void the_largest_numbers_are_read(void **state)
{
	(void)state;
	/* 2³¹ − 1 = 10 + 2147483637 */
	assert_position("\xe8\x6a\x7f\x7f\x7f\x7f\x03", INT32_MAX, INT32_MAX, -1, -1);
	assert_position("\xf0\x00\x00\x7f\x7f\x7f\x7f\x7f\x01\x7f\x7f\x7f\x7f\x7f\x01", 10, 10,
		INT32_MAX - 1, INT32_MAX - 1);
}

static void a_first_line_too_large_leaves_nothing_known(void **state)
{
	static const enum linetable_format formats[] = { LINETABLE_LNOTAB, LINETABLE_310,
		LINETABLE_LOCATIONS };

	(void)state;
	for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
		struct linetable t;

		assert_int_equal(linetable_decode(&arena, formats[i], "\x80\x00", 2, UINT32_MAX, 2,
					 &t, &err),
			-ERR_BAD_FILE);
		assert_int_equal(linetable_get(&t, 0).line, -1);
	}
}

static void no_code_at_all(void **state)
{
	struct linetable t;

	(void)state;
	for (int f = LINETABLE_LNOTAB; f <= LINETABLE_LOCATIONS; f++) {
		assert_int_equal(
			linetable_decode(&arena, (enum linetable_format)f, NULL, 0, 1, 0, &t, &err),
			0);
		assert_int_equal(t.n_units, 0);
		assert_int_equal(linetable_get(&t, 0).line, -1);
		assert_int_equal(linetable_get(&t, UINT32_MAX).line, -1);
	}
}

/* 3 lines on, 2 back, and twice none, again and again: 3 MiB. */
static void large_tables_are_read_to_their_end(void **state)
{
	enum { TIMES = 512 << 10 };
	char *table = malloc(6 * TIMES);
	struct linetable t;

	(void)state;
	for (size_t i = 0; i < TIMES; i++)
		memcpy(table + 6 * i, "\xe8\x06\xe9\x05\xf8\xf8", 6);
	assert_int_equal(linetable_decode(&arena, LINETABLE_LOCATIONS, table, 6 * TIMES, 1,
				 10 * TIMES, &t, &err),
		0);
	assert_int_equal(t.n_units, 5 * TIMES);
	for (uint32_t i = 0; i < TIMES; i++) {
		const struct position *p = t.at + 5 * i;

		assert_int_equal(p[0].line, i + 4);
		assert_int_equal(p[1].line, i + 2);
		assert_int_equal(p[2].line, i + 2);
		assert_int_equal(p[3].line, -1);
		assert_int_equal(p[4].line, -1);
	}
	free(table);
}

/* What the code claims to be must not decide how much memory is spent. */
static void memory_is_bounded(void **state)
{
	struct linetable t;

	(void)state;
	assert_int_equal(linetable_decode(&arena, LINETABLE_LOCATIONS, "\x87\x00", 2, 1, UINT32_MAX,
				 &t, &err),
		-ERR_BAD_FILE);
	assert_int_equal(linetable_get(&t, 14).line, 1);
	assert_int_equal(linetable_get(&t, 16).line, -1);
	assert_int_equal(
		linetable_decode(&arena, LINETABLE_310, "\xfe\x00", 2, 1, UINT32_MAX, &t, &err),
		-ERR_BAD_FILE);
	assert_int_equal(linetable_get(&t, 252).line, 1);
	assert_int_equal(linetable_get(&t, 254).line, -1);
	assert_true(arena.used_bytes < 4096);
	assert_int_equal(linetable_decode(&arena, LINETABLE_LNOTAB, "", 0, 1, UINT32_MAX, &t, &err),
		-ERR_BAD_FILE);
	assert_int_equal(t.n_units, LINETABLE_MAX_UNITS);
	assert_int_equal(linetable_get(&t, 2 * LINETABLE_MAX_UNITS - 2).line, 1);
	assert_true(arena.used_bytes < LINETABLE_MAX_UNITS * sizeof(struct position) + 4096);
}

static void hostile_bytes_are_harmless(void **state)
{
	unsigned seed = 1;

	(void)state;
	for (int round = 0; round < 100000; round++) {
		enum linetable_format format = (enum linetable_format)(round % 4);
		size_t n = (size_t)rand_r(&seed) % 64;
		uint32_t n_code_bytes = (uint32_t)rand_r(&seed) % 512;
		uint8_t *table = malloc(n ? n : 1); /* of just that size, for the sanitizer */
		struct linetable t;

		for (size_t i = 0; i < n; i++)
			table[i] = (uint8_t)(rand_r(&seed) >> 4 | (i % 3 ? 0 : 0x80));
		linetable_decode(&arena, format, table, n, (uint32_t)rand_r(&seed) % 1000,
			n_code_bytes, &t, &err);
		assert_true(t.n_units <= n_code_bytes / 2);
		for (uint32_t i = 0; i < t.n_units; i++) {
			assert_true(t.at[i].line >= -1 && t.at[i].end_line >= -1);
			assert_true(t.at[i].column >= -1 && t.at[i].end_column >= -1);
		}
		free(table);
		arena_done(&arena);
	}
}

#define TEST(name) cmocka_unit_test_teardown(name, empty_arena)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_version_says_the_format),
		TEST(lnotab),
		TEST(lnotab_ranges_longer_than_a_byte),
		TEST(table_of_310),
		TEST(locations),
		TEST(locations_run_on),
		TEST(broken_tables_are_told_and_keep_what_was_before),
		TEST(numbers_too_large_are_told),
		TEST(the_largest_numbers_are_read),
		TEST(a_first_line_too_large_leaves_nothing_known),
		TEST(no_code_at_all),
		TEST(large_tables_are_read_to_their_end),
		TEST(memory_is_bounded),
		TEST(hostile_bytes_are_harmless),
	};

	return cmocka_run_group_tests_name("linetable", tests, NULL, NULL);
}
