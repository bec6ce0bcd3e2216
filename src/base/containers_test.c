/* SPDX-License-Identifier: MIT
 * arena, vec, buf, map and intern. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/hash.h"
#include "base/trie.h"

static void arena_memory_is_zeroed_aligned_and_apart(void **state)
{
	struct arena a = ARENA_INIT;
	char *last = NULL;

	(void)state;
	for (size_t n = 1; n < 3000; n += 7) {
		char *p = arena_alloc(&a, n);

		assert_int_equal((uintptr_t)p % 16, 0);
		for (size_t i = 0; i < n; i++)
			assert_int_equal(p[i], 0);
		memset(p, 0xff, n);
		assert_true(p != last);
		last = p;
	}
	assert_string_equal(arena_printf(&a, "%d-%s", 42, "x"), "42-x");
	assert_string_equal(arena_strndup(&a, "abcdef", 3), "abc");
	memset(arena_alloc(&a, 5 << 20), 1, 5 << 20); /* larger than a block */
	arena_done(&a);
	assert_int_equal(a.used_bytes, 0);
}

static void vec_grows_and_removes(void **state)
{
	VEC(int) v = VEC_INIT;
	int sum = 0;

	(void)state;
	for (int i = 0; i < 1000; i++)
		vec_push(&v, i);
	assert_int_equal(v.n, 1000);
	vec_remove_swap(&v, 0);
	assert_int_equal(v.v[0], 999);
	vec_each (&v, item)
		sum += *item;
	assert_int_equal(sum, 999 * 1000 / 2);
	vec_done(&v);
}

static void buf_builds_text(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(buf_str(&b), "");
	buf_adds(&b, "a");
	buf_addc(&b, 'b');
	buf_fill(&b, 'c', 3);
	buf_printf(&b, "%05d", 7);
	assert_string_equal(buf_str(&b), "abccc00007");
	buf_clear(&b);
	assert_string_equal(buf_str(&b), "");
	buf_done(&b);
}

static void buf_saves_and_loads_with_a_limit(void **state)
{
	char path[] = "/tmp/leadline-buf-XXXXXX";
	struct buf b = BUF_INIT, again = BUF_INIT;
	struct err e = ERR_INIT;

	(void)state;
	close(mkstemp(path));
	buf_fill(&b, 'x', 100000);
	assert_int_equal(buf_save(&b, path, &e), 0);
	assert_int_equal(buf_load(&again, path, 100000, &e), 0);
	assert_int_equal(again.n, b.n);
	assert_memory_equal(again.data, b.data, b.n);
	buf_clear(&again);
	assert_true(buf_load(&again, path, 50000, &e) < 0);
	assert_int_equal(e.code, ERR_BAD_FILE);
	unlink(path);
	buf_clear(&again);
	assert_true(buf_load(&again, path, 100000, &e) < 0);
	assert_int_equal(e.code, ERR_NO_FILE);
	buf_clear(&again);
	assert_int_equal(buf_load(&again, "/proc/self/stat", 100000, &e), 0);
	assert_true(again.n > 0);
	buf_done(&b);
	buf_done(&again);
}

/* Children of few and of many, asked for in all orders, against a plain list. */
static void trie_finds_what_was_added(void **state)
{
	enum { NODES = 3000 };
	static uint32_t parents[NODES], keys[NODES];
	struct trie t;
	uint64_t x = 1;

	(void)state;
	trie_init(&t);
	for (uint32_t i = 1; i < NODES; i++) {
		x = hash_u64(x);
		parents[i] = i < 200 ? 0 : (uint32_t)(x % 150); /* some with many */
		keys[i] = i;
		assert_int_equal(trie_find(&t, parents[i], keys[i]), 0);
		assert_int_equal(trie_add(&t, parents[i], keys[i]), i);
		assert_int_equal(trie_find(&t, parents[x % i], keys[x % i]), x % i);
	}
	for (uint32_t i = NODES; i-- > 1;)
		assert_int_equal(trie_find(&t, parents[i], keys[i]), i);
	trie_done(&t);
}

static void map_agrees_with_a_plain_array(void **state)
{
	enum { KEYS = 500 };
	struct map m = MAP_INIT;
	uint64_t expected[KEYS] = { 0 }, key, value, seed = 1;
	size_t present = 0, seen = 0;

	(void)state;
	for (int step = 0; step < 50000; step++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		key = (seed >> 33) % KEYS;
		if (seed >> 63) {
			assert_int_equal(map_remove(&m, key), expected[key] != 0);
			expected[key] = 0;
		} else {
			expected[key] = (uint64_t)step + 1;
			map_put(&m, key, expected[key]);
		}
		key = (seed >> 20) % KEYS;
		assert_int_equal(map_find(&m, key, &value), expected[key] != 0);
		if (expected[key])
			assert_int_equal(value, expected[key]);
	}
	for (key = 0; key < KEYS; key++)
		present += expected[key] != 0;
	assert_int_equal(m.n, present);
	for (size_t i = 0; map_next(&m, &i, &key, &value); seen++)
		assert_int_equal(value, expected[key]);
	assert_int_equal(seen, present);
	map_clear(&m);
	assert_false(map_find(&m, 1, &value));
	map_done(&m);
}

static void intern_gives_equal_strings_equal_ids(void **state)
{
	struct intern t = INTERN_INIT;
	char text[32];
	bool added;

	(void)state;
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 5000; i++) {
			int n = snprintf(text, sizeof text, "name %u", i);

			assert_int_equal(intern_add(&t, text, (size_t)n, &added), i);
			assert_int_equal(added, round == 0);
		}
	assert_string_equal(intern_get(&t, 4999)->p, "name 4999");
	assert_int_equal(intern_add(&t, "a\0b", 3, &added), 5000);
	assert_int_equal(intern_add(&t, "a\0c", 3, &added), 5001);
	assert_int_equal(intern_add(&t, "", 0, &added), 5002);
	intern_clear(&t);
	assert_int_equal(intern_adds(&t, "first"), 0);
	intern_done(&t);
}

/* ---- keys that somebody chose ---------------------------------------------------------------- */

/* What hash_u64 makes this of. */
static uint64_t unhash(uint64_t y)
{
	const uint64_t odd = 0xe9846af9b1a615d7u;
	uint64_t inverse = odd;

	for (int i = 0; i < 6; i++)
		inverse *= 2 - odd * inverse;
	y ^= y >> 28 ^ y >> 56;
	y *= inverse;
	y ^= y >> 32;
	y *= inverse;
	return y ^ y >> 32;
}

/* All of them in one place of any table, were it known how places are chosen: each would go past all others, 2 × 10¹⁰ steps. */
static void chosen_keys_do_not_meet(void **state)
{
	enum { KEYS = 200000, SECONDS = 20 };
	struct map m = MAP_INIT;
	struct intern t = INTERN_INIT;

	(void)state;
	assert_int_equal(hash_u64(unhash(12345)), 12345);
	alarm(SECONDS);
	for (uint64_t i = 0; i < KEYS; i++) {
		uint64_t key = unhash(i << 32), text = unhash(key) ^ 0x9e3779b97f4a7c15u ^ 8;

		assert_int_equal(hash_u64(key) & 0xffffff, 0);
		assert_int_equal(hash_bytes(&text, sizeof text) & 0xffffff, 0);
		map_put(&m, key, i);
		assert_int_equal(intern_add(&t, &text, sizeof text, NULL), i);
	}
	alarm(0);
	assert_int_equal(m.n, KEYS);
	map_done(&m);
	intern_done(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arena_memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(vec_grows_and_removes),
		cmocka_unit_test(buf_builds_text),
		cmocka_unit_test(buf_saves_and_loads_with_a_limit),
		cmocka_unit_test(map_agrees_with_a_plain_array),
		cmocka_unit_test(trie_finds_what_was_added),
		cmocka_unit_test(chosen_keys_do_not_meet),
		cmocka_unit_test(intern_gives_equal_strings_equal_ids),
	};

	return cmocka_run_group_tests_name("containers", tests, NULL, NULL);
}
