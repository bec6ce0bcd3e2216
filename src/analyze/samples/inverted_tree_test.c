/* SPDX-License-Identifier: MIT
 * Turned trees: hand-made ones whose answers are known, and random ones beside sums made stack by stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/inverted_tree.h"
#include "analyze/samples/stacks_rig.h"

enum { BOXES = 4096 };

/* 1 ms each, all in one thread; the first and the last sample weigh half. */
static const struct flametree *record(struct rig *m, const char *const *chains, size_t n)
{
	rig_begin(m);
	for (size_t i = 0; i < n; i++)
		rig_sample(m, 10 + i, 0, chains[i], SAMPLE_ON_CPU);
	rig_finish(m);
	rig_profile_of(m, (struct stacks_options){ 0 });
	return flametree_build(&m->arena, m->stacks, 0);
}

static const char *name_of(const struct rig *m, const struct flametree *t, uint32_t node)
{
	return frames_function(m->stacks->frames, t->function[node])->name;
}

static uint32_t function_named(const struct rig *m, const char *name)
{
	for (uint32_t i = 0; i < frames_n_functions(m->stacks->frames); i++)
		if (strcmp(frames_function(m->stacks->frames, i)->name, name) == 0)
			return i;
	fail_msg("no function %s", name);
	return 0;
}

/* The node these functions lead to, one letter each; everything that can be shown is. */
static uint32_t node_at(struct rig *m, struct inverted_tree *t, const char *path)
{
	static struct flametree_box boxes[BOXES];
	size_t n = inverted_tree_slice(t, 0, 0, boxes, BOXES);
	const struct flametree *nodes = inverted_tree_nodes(t);
	uint32_t at = 0;

	for (; *path; path++) {
		uint32_t found = 0;

		for (size_t i = 1; i < n; i++)
			if (nodes->parent[boxes[i].node] == at &&
				name_of(m, nodes, boxes[i].node)[0] == *path)
				found = boxes[i].node;
		if (!found)
			return 0;
		at = found;
	}
	return at;
}

static double total_at(struct rig *m, struct inverted_tree *t, const char *path)
{
	uint32_t node = node_at(m, t, path);

	return inverted_tree_nodes(t)->total[node];
}

static void an_inverted_tree_begins_with_the_leaves(void **state)
{
	static const char *const chains[] = { "mab", "mab", "mcb", "mab", "mcb" };
	struct rig m;
	struct inverted_tree *t =
		inverted_tree_new(record(&m, chains, 5), INVERTED_TREE_CALLERS, 0);

	(void)state;
	assert_float_equal(total_at(&m, t, "b"), 0.004, 1e-12);
	assert_float_equal(total_at(&m, t, "ba"), 0.0025, 1e-12);
	assert_float_equal(total_at(&m, t, "bc"), 0.0015, 1e-12);
	assert_int_equal(inverted_tree_nodes(t)->n_samples[node_at(&m, t, "bc")], 2);
	/* m is where those stacks begin: their time is its own. */
	assert_float_equal(inverted_tree_nodes(t)->self[node_at(&m, t, "bam")], 0.0025, 1e-12);
	inverted_tree_free(t);
	rig_done(&m);
}

static void a_sandwich_counts_a_stack_once_however_it_recurs(void **state)
{
	static const char *const chains[] = { "mfgf", "mfgf", "mfh", "kf", "kf" };
	struct rig m;
	const struct flametree *tree = record(&m, chains, 5);
	uint32_t f = function_named(&m, "f");
	struct inverted_tree *down = inverted_tree_new(tree, INVERTED_TREE_CALLEES_OF, f),
			     *up = inverted_tree_new(tree, INVERTED_TREE_CALLERS_OF, f);

	(void)state;
	assert_float_equal(inverted_tree_nodes(down)->total[0], 0.004, 1e-12);
	assert_float_equal(inverted_tree_nodes(down)->total[1], 0.004, 1e-12);
	assert_float_equal(total_at(&m, down, "fg"), 0.0015, 1e-12);
	assert_float_equal(total_at(&m, down, "fgf"), 0.0015, 1e-12);
	assert_float_equal(inverted_tree_nodes(down)->self[1], 0.0015, 1e-12);
	assert_int_equal(inverted_tree_nodes(up)->n_children[0], 1);
	assert_float_equal(total_at(&m, up, "fm"), 0.0025, 1e-12);
	assert_float_equal(total_at(&m, up, "fk"), 0.0015, 1e-12);
	inverted_tree_free(down);
	inverted_tree_free(up);
	rig_done(&m);
}

static void only_what_is_shown_is_made(void **state)
{
	static const char *const chains[] = { "mab", "mab", "mab", "mab", "mab", "mab", "mcd",
		"mab", "mab" };
	struct flametree_box boxes[8];
	struct rig m;
	struct inverted_tree *t =
		inverted_tree_new(record(&m, chains, 9), INVERTED_TREE_CALLERS, 0);
	size_t n;

	(void)state;
	n = inverted_tree_slice(t, 0, 0.002, boxes, 8);
	assert_int_equal(n, 4); /* root, b, a, m */
	assert_int_equal(boxes[0].n_hidden, 1);
	assert_float_equal(boxes[0].hidden, 0.001, 1e-12);
	assert_int_equal(inverted_tree_nodes(t)->n, 5); /* d is there, its callers are not */
	n = inverted_tree_slice(t, 0, 0, boxes, 8);
	assert_int_equal(n, 7);
	assert_int_equal(inverted_tree_nodes(t)->n, 7);
	/* Too many for the caller: the limit rises. */
	n = inverted_tree_slice(t, 0, 0, boxes, 4);
	assert_true(n >= 1 && n <= 4);
	inverted_tree_free(t);
	rig_done(&m);
}

static void a_key_finds_its_node_in_another_tree(void **state)
{
	static const char *const chains[] = { "mab", "mac", "mab", "mca", "mab" };
	struct flametree_box boxes[64];
	struct rig m;
	const struct flametree *tree = record(&m, chains, 5);
	struct inverted_tree *t = inverted_tree_new(tree, INVERTED_TREE_CALLERS, 0), *other;
	size_t n = inverted_tree_slice(t, 0, 0, boxes, 64);

	(void)state;
	assert_true(n > 8);
	for (size_t i = 1; i < n; i++) {
		uint64_t key = flametree_key(inverted_tree_nodes(t), m.stacks, boxes[i].node);
		uint32_t found;

		other = inverted_tree_new(tree, INVERTED_TREE_CALLERS, 0);
		found = inverted_tree_find(other, m.stacks, key);
		assert_int_equal(flametree_key(inverted_tree_nodes(other), m.stacks, found), key);
		inverted_tree_free(other);
	}
	assert_int_equal(inverted_tree_find(t, m.stacks, 12345), 0);
	inverted_tree_free(t);
	rig_done(&m);
}

/* Every path of an inverted tree has the time of the stacks that end so. */
static void random_stacks_add_up(void **state)
{
	enum { STACKS = 60, LENGTH = 5 };

	static char texts[STACKS][LENGTH + 1];
	const char *chains[STACKS];
	struct rig m;
	struct inverted_tree *t;

	(void)state;
	srandom(7);
	for (int i = 0; i < STACKS; i++) {
		size_t n = 1 + (size_t)random() % LENGTH;

		for (size_t k = 0; k < n; k++)
			texts[i][k] = (char)('a' + random() % 3);
		chains[i] = texts[i];
	}
	t = inverted_tree_new(record(&m, chains, STACKS), INVERTED_TREE_CALLERS, 0);
	for (int i = 0; i < STACKS; i++) {
		size_t n = strlen(chains[i]);

		for (size_t length = 1; length <= n; length++) {
			char path[LENGTH + 1] = "";
			double want = 0;

			for (size_t k = 0; k < length; k++)
				path[k] = chains[i][n - 1 - k];
			for (int other = 0; other < STACKS; other++) {
				size_t n_other = strlen(chains[other]);

				if (n_other >= length &&
					memcmp(chains[other] + n_other - length,
						chains[i] + n - length, length) == 0)
					want += other == 0 || other == STACKS - 1 ? 0.0005 : 0.001;
			}
			assert_float_equal(total_at(&m, t, path), want, 1e-9);
		}
	}
	inverted_tree_free(t);
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_inverted_tree_begins_with_the_leaves),
		cmocka_unit_test(a_sandwich_counts_a_stack_once_however_it_recurs),
		cmocka_unit_test(only_what_is_shown_is_made),
		cmocka_unit_test(a_key_finds_its_node_in_another_tree),
		cmocka_unit_test(random_stacks_add_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
