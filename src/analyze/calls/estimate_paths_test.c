/* SPDX-License-Identifier: MIT
 * estimate_paths: main → off → on, seen in windows, and main → on outside of them. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "analyze/calls/estimate_paths.h"
#include "analyze/calls/nodes.h"

enum { THREAD, MAIN, OFF, ON_BELOW, ON, N };
enum { ROW_MAIN, ROW_OFF, ROW_ON };

static struct node nodes[N];
static struct estimate_paths paths;

/* OFF is called 9 times more than was seen, and called ON each time; so was ON by main, in `direct` calls. */
static void build(double wanted_s, uint64_t direct)
{
	static const uint32_t rows[N + 1] = { 0, 0, ROW_MAIN, ROW_OFF, ROW_ON, ROW_ON };
	static const unsigned char is_off[N] = { [OFF] = 1 };
	static const double growth[N] = { [OFF] = 9 };
	const double self_s[N] = { [OFF] = wanted_s };
	const struct nodes all = { .v = nodes, .n = N };

	nodes[THREAD] = (struct node){ .is_thread = true };
	nodes[MAIN] = (struct node){ .parent = THREAD + 1, .calls = 1, .raw.self_s = 5 };
	nodes[OFF] = (struct node){ .parent = MAIN + 1, .calls = 10, .raw.self_s = 0.1 };
	nodes[ON_BELOW] = (struct node){ .parent = OFF + 1, .calls = 10, .raw.self_s = 0.2 };
	nodes[ON] = (struct node){ .parent = MAIN + 1, .calls = direct, .raw.self_s = 1.8 };
	estimate_paths_build(&paths,
		&(struct estimate_paths_input){ .nodes = &all,
			.rows = rows,
			.is_off = is_off,
			.growth = growth,
			.self_s = self_s });
}

static void assert_near(double is, double should)
{
	if (fabs(is - should) > 1e-9)
		fail_msg("%.9f instead of %.9f", is, should);
}

static void what_is_added_was_the_caller_s(void **state)
{
	(void)state;
	build(0.9, 90);
	assert_int_equal(paths.stripped[OFF], MAIN + 1);
	assert_int_equal(paths.stripped[ON_BELOW], ON + 1);
	assert_near(paths.got_s[OFF], 0.9);
	assert_near(paths.self_s[OFF], 1);
	assert_near(paths.self_s[MAIN], 4.1);
	assert_near(paths.total_s[MAIN], 7.1); /* as it was */
	assert_near(paths.threads_s, 7.1);
	estimate_paths_done(&paths);
}

static void what_it_called_is_part_of_its_total(void **state)
{
	(void)state;
	build(0.9, 90);
	assert_near(paths.moved[ON_BELOW], 1); /* all 90 */
	assert_near(paths.total_s[OFF], 1 + 0.2 + 1.8);
	estimate_paths_done(&paths);
	build(0.9, 180);
	assert_near(paths.moved[ON_BELOW], 0.5);
	assert_near(paths.total_s[OFF], 1 + 0.2 + 0.9);
	estimate_paths_done(&paths);
}

static void no_more_is_taken_than_there_is(void **state)
{
	(void)state;
	build(50, 45); /* fewer calls of ON than windows say */
	assert_near(paths.got_s[OFF], 5);
	assert_near(paths.self_s[MAIN], 0);
	assert_near(paths.moved[ON_BELOW], 1); /* the 45 that there are */
	assert_true(paths.total_s[OFF] <= paths.total_s[MAIN]);
	assert_near(paths.total_s[MAIN], 7.1);
	estimate_paths_done(&paths);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_added_was_the_caller_s),
		cmocka_unit_test(what_it_called_is_part_of_its_total),
		cmocka_unit_test(no_more_is_taken_than_there_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
