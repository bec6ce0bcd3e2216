/* SPDX-License-Identifier: MIT
 * The live view without a terminal: screens as text, keys, rows; the grid and key sequences below it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "view/kit/grid.h"
#include "view/kit/keys.h"
#include "view/samples/top.h"

static const struct live_row functions[] = {
	{ "matmul", "/home/user/project/examples/two_layer_net_pure.py", 22, false, { 3.71, 3.71 },
		{ 11.2, 11.2 } },
	{ "update", "/home/user/project/examples/two_layer_net_pure.py", 71, false, { 0.4, 0.42 },
		{ 0.9, 0.95 } },
	{ "main", "/home/user/project/examples/two_layer_net_pure.py", 90, false, { 0.02, 5 },
		{ 0.05, 12.5 } },
	{ "relu_backward.<locals>.<genexpr>", "/home/user/project/examples/two_layer_net_pure.py",
		42, false, { 0, 0 }, { 0.31, 0.31 } },
	{ "[cut]", "", -1, true, { 0.1, 0.1 }, { 0.2, 0.2 } },
	{ "never", "x.py", 1, false, { 0, 0 }, { 0, 0 } },
};
static const struct live_row lines[] = {
	{ "matmul", "/home/user/project/examples/two_layer_net_pure.py", 30, false, { 3, 3 },
		{ 9, 9 } },
	{ "matmul", "/home/user/project/examples/two_layer_net_pure.py", 29, false, { 0.7, 0.7 },
		{ 2, 2 } },
};
static const struct live_thread threads[] = {
	{ .pid = 4711,
		.tid = 4711,
		.name = "MainThread",
		.state = 'S',
		.cpu = 0.02,
		.is_seen = true,
		.has_stack = true,
		.at = { "wait", "/usr/lib/threading.py", 320, 331, false } },
	{ .pid = 4711,
		.tid = 4712,
		.name = "worker",
		.state = 'R',
		.cpu = 0.97,
		.gil = 0.95,
		.on_cpu = true,
		.holds_gil = true,
		.is_seen = true,
		.has_stack = true,
		.at = { "matmul", "/x/two_layer_net_pure.py", 22, 30, false } },
	{ .pid = 4711, .tid = 4713, .name = "gone", .cpu = 0 },
};

static double history[LIVE_HISTORY];

static struct live_view example(void)
{
	for (int i = 0; i < LIVE_HISTORY; i++)
		history[i] = i % 80 / 80.0;
	return (struct live_view){ .command = "python3.11 examples/two_layer_net_pure.py",
		.interpreter = "cpython 3.11.2",
		.n_interpreters = 1,
		.pid = 4711,
		.elapsed_s = 12.7,
		.status = -1,
		.n_samples = 12700,
		.n_shortened = 31,
		.rss_bytes = 10119000,
		.n_threads = 2,
		.n_processes = 1,
		.window_s = 5,
		.cpu = 1.01,
		.gil = 0.98,
		.rate_hz = 1003,
		.selected_now = 5,
		.since_s = 12.7,
		.selected_since = 12.6,
		.cpu_history = history,
		.rss_history = history,
		.n_history = LIVE_HISTORY,
		.functions = functions,
		.lines = lines,
		.n_functions = 6,
		.n_lines = 2,
		.threads = threads,
		.n_live_threads = 3 };
}

static const struct top_facts facts = { .save_name = "two_layer_net_pure.lead",
	.rate_asked_hz = 1000 };

/* The caller frees. */
static char *screen(struct top *t, const struct live_view *v, int rows, int columns)
{
	struct grid g = GRID_INIT;
	struct buf text = BUF_INIT;

	grid_resize(&g, rows, columns);
	top_draw(t, v, &facts, &g);
	grid_emit(&g, false, false, &text);
	grid_done(&g);
	buf_addc(&text, '\0');
	return text.data;
}

static void assert_screen(struct top *t, int rows, int columns, const char *want)
{
	struct live_view v = example();
	char *got = screen(t, &v, rows, columns);

	if (strcmp(got, want) != 0)
		printf("%s", got);
	assert_string_equal(got, want);
	free(got);
}

static void assert_shows(struct top *t, const struct live_view *v, const char *part, bool shows)
{
	char *got = screen(t, v, 24, 80);

	if ((strstr(got, part) != NULL) != shows)
		printf("%s", got);
	assert_int_equal(strstr(got, part) != NULL, shows);
	free(got);
}

static struct top typed(const char *keys)
{
	struct live_view v = example();
	struct top t;

	top_init(&t);
	t.can_save = true;
	for (; *keys; keys++)
		top_key(&t,
			*keys == '\r'         ? KEY_ENTER
				: *keys == 27 ? KEY_ESCAPE
					      : (uint32_t)*keys,
			&v);
	return t;
}

/* ---- screens --------------------------------------------------------------------------------- */

static void small_screen(void **state)
{
	struct top t = typed("");

	(void)state;
	assert_screen(&t, 12, 60,
		"leadline top 4711 python3.11 examples…  CPython 3.11.2  0:12\n"
		"CPU 101 % ⣠⣶⣆⣴⣧⣠⣾ RSS 9.65 MiB ⣠⣶⣆⣴⣧⣠⣾  GIL  98 %  threads 2\n"
		"last 5 s, on CPU  1.00 kHz  12.7 k samples\n"
		" ▾%self %total   self s  total s  function       where\n"
		"   74.2   74.2    11.20    11.20  matmul         …pure.py:22\n"
		"    8.0    8.4     0.90     0.95  update         …pure.py:71\n"
		"    2.0    2.0     0.20     0.20  [cut]\n"
		"    0.4  100.0     0.05    12.50  main           …pure.py:90\n"
		"    0.0    0.0     0.31     0.31  relu_backward… …pure.py:42\n"
		"\n\n"
		"q quit  ? help  s sort  / filter  p pause  t threads\n");
}

static void usual_screen(void **state)
{
	struct top t = typed("");

	(void)state;
	assert_screen(&t, 24, 80,
		"leadline top 4711 python3.11 examples/two_layer_net_pure.…  CPython 3.11.2  0:12\n"
		"CPU 101 % ⣀⣠⣤⣶⣾⣧⣀⣤⣴⣶⣿⣆⣀⣤⣴⣾⣿ RSS 9.65 MiB ⣀⣠⣤⣶⣾⣧⣀⣤⣴⣶⣿⣆⣀⣤⣴⣾⣿  GIL  98 %  threads 2\n"
		"last 5 s, on CPU  1.00 kHz  12.7 k samples, 31 shortened\n"
		" ▾%self %total   self s  total s  function                  where\n"
		"   74.2   74.2    11.20    11.20  matmul                    …ayer_net_pure.py:22\n"
		"    8.0    8.4     0.90     0.95  update                    …ayer_net_pure.py:71\n"
		"    2.0    2.0     0.20     0.20  [cut]\n"
		"    0.4  100.0     0.05    12.50  main                      …ayer_net_pure.py:90\n"
		"    0.0    0.0     0.31     0.31  relu_backward.<locals>.<… …ayer_net_pure.py:42\n"
		"\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
		"q quit  ? help  s sort  / filter  p pause  t threads  l lines  c w g state\n");
}

static void large_screen(void **state)
{
	struct top t = typed("");

	(void)state;
	assert_screen(&t, 45, 140,
		"leadline top 4711 python3.11 examples/two_layer_net_pure.py                       "
		"                                      CPython 3.11.2  0:12\n"
		"CPU 101 % ⣀⣀⣠⣤⣤⣶⣶⣾⣿⣿⣀⣀⣠⣤⣤⣶⣶⣾⣿⣿⣀⣀⣠⣤⣤⣶⣶⣾⣿⣿ RSS 9.65 MiB ⣀⣀⣠⣤⣤⣶⣶⣾⣿⣿⣀⣀⣠⣤⣤⣶⣶⣾⣿⣿⣀⣀⣠⣤⣤⣶⣶⣾⣿⣿  GIL  98 %  threads 2\n"
		"last 5 s, on CPU  1.00 kHz  12.7 k samples, 31 shortened\n"
		" ▾%self %total   self s  total s            function                         where\n"
		"   74.2   74.2    11.20    11.20  █████▉    matmul                           /home/user/project/examples/two_layer_net_pure.py:22\n"
		"    8.0    8.4     0.90     0.95  ▋         update                           /home/user/project/examples/two_layer_net_pure.py:71\n"
		"    2.0    2.0     0.20     0.20  ▏         [cut]\n"
		"    0.4  100.0     0.05    12.50            main                             /home/user/project/examples/two_layer_net_pure.py:90\n"
		"    0.0    0.0     0.31     0.31            relu_backward.<locals>.<genexpr> /home/user/project/examples/two_layer_net_pure.py:42\n"
		"\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n\n"
		"q quit  ? help  s sort  / filter  p pause  t threads  l lines  c w g state  r reset  + - window  o output\n");
}

static void lines_screen(void **state)
{
	struct top t = typed("l");

	(void)state;
	assert_screen(&t, 12, 80,
		"leadline top 4711 python3.11 examples/two_layer_net_pure.…  CPython 3.11.2  0:12\n"
		"CPU 101 % ⣀⣠⣤⣶⣾⣧⣀⣤⣴⣶⣿⣆⣀⣤⣴⣾⣿ RSS 9.65 MiB ⣀⣠⣤⣶⣾⣧⣀⣤⣴⣶⣿⣆⣀⣤⣴⣾⣿  GIL  98 %  threads 2\n"
		"last 5 s, on CPU  1.00 kHz  12.7 k samples, 31 shortened\n"
		" ▾%self %total   self s  total s  line                      function\n"
		"   60.0   60.0     9.00     9.00  two_layer_net_pure.py:30  matmul\n"
		"   14.0   14.0     2.00     2.00  two_layer_net_pure.py:29  matmul\n"
		"\n\n\n\n\n"
		"q quit  ? help  s sort  / filter  p pause  t threads  l lines  c w g state\n");
}

static void threads_screen(void **state)
{
	struct top t = typed("t");

	(void)state;
	assert_screen(&t, 12, 60,
		"leadline top 4711 python3.11 examples…  CPython 3.11.2  0:12\n"
		"CPU 101 % ⣠⣶⣆⣴⣧⣠⣾ RSS 9.65 MiB ⣠⣶⣆⣴⣧⣠⣾  GIL  98 %  threads 2\n"
		"last 5 s, on CPU  1.00 kHz  12.7 k samples\n"
		"thread           CPU%  GIL%  state      in\n"
		"worker 4712        97    95  runs, GIL  matmul  two_layer_n…\n"
		"MainThread 4711     2     0  waits      wait  threading.py:…\n"
		"\n\n\n\n\n"
		"q quit  ? help  s sort  / filter  p pause  t threads\n");
}

static void help_screen(void **state)
{
	struct top t = typed("?");

	(void)state;
	assert_screen(&t, 12, 60,
		"leadline top 4711 python3.11 examples…  CPython 3.11.2  0:12\n"
		"CPU 101 % ⣠⣶⣆⣴⣧⣠⣾ RSS 9.65 MiB ⣠⣶⣆⣴⣧⣠⣾  GIL  98 %  threads 2\n"
		"last 5 s, on CPU  1.00 kHz  12.7 k samples\n"
		"1 2 3 4, s sort by a column   p, space   pause the view\n"
		"/ or f     filter, Esc clears r          restart the sums\n"
		"l          lines or functions o          program's output\n"
		"c w g y    CPU wall GIL ready arrows     scroll, PgUp …\n"
		"t          threads            ? or h     this help\n"
		"Enter, a   one thread, all    q          quit\n"
		"+ -        length of window\n"
		"\n"
		"q quit  ? help  s sort  / filter  p pause  t threads\n");
}

/* Any size, whatever is shown, and hostile text: nothing is written outside, nothing but text comes out. */
static void every_size_and_every_pane_is_survived(void **state)
{
	static const char *const keys[] = { "", "l", "t", "o", "?", "/abc", "q", "tq", "p" };
	struct live_view v = example();
	struct live_row hostile[] = {
		{ "\033[2J\xf0\x9f\x98\x80漢字\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xff", "\r\n\a", 1,
			false, { 1, 1 }, { 1, 1 } }
	};

	(void)state;
	v.functions = v.lines = hostile;
	v.n_functions = v.n_lines = 1;
	v.command = "\033]0;title\a";
	for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
		for (int rows = 1; rows < 30; rows += 3)
			for (int columns = 1; columns < 130; columns++) {
				struct top t = typed(keys[k]);
				char *got = screen(&t, &v, rows, columns);

				for (const char *c = got; *c; c++)
					assert_true((unsigned char)*c >= 0x20 || *c == '\n');
				free(got);
			}
}

static void an_empty_table_says_why(void **state)
{
	struct live_view v = example(), none = { .command = "", .interpreter = "" };
	struct top t = typed("");

	(void)state;
	assert_shows(&t, &none, "Waiting for a Python", true);
	v.n_functions = 0;
	assert_shows(&t, &v, "Nothing was on CPU: w shows all time", true);
	t = typed("/zzz\r");
	assert_shows(&t, &v, "No row matches", true);
}

static void the_end_is_told(void **state)
{
	struct live_view v = example();
	struct top t = typed("");

	(void)state;
	v.has_ended = true;
	v.status = 9;
	assert_shows(&t, &v, "killed by signal 9 at 0:12", true);
	v.status = 3 << 8;
	assert_shows(&t, &v, "ended with status 3 at 0:12", true);
	v.status = -1;
	v.elapsed_s = 3723;
	assert_shows(&t, &v, "ended at 1:02:03", true);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static const char *first_row(const struct top *t)
{
	struct live_view v = example();
	size_t n;
	const struct live_row **rows = top_rows(t, &v, &n);
	const char *name = n ? rows[0]->name : "";

	free(rows);
	return name;
}

static void columns_are_sorted_by_their_numbers(void **state)
{
	struct top t = typed("");

	(void)state;
	assert_string_equal(first_row(&t), "matmul");
	t = typed("2");
	assert_string_equal(first_row(&t), "main");
	t = typed("3");
	assert_string_equal(first_row(&t), "matmul");
	t = typed("sss");
	assert_int_equal(t.sort, TOP_TOTAL);
	assert_string_equal(first_row(&t), "main");
	t = typed("ssss");
	assert_int_equal(t.sort, TOP_SELF_NOW);
}

static void the_filter_is_typed_and_cleared(void **state)
{
	struct live_view v = example();
	struct top t = typed("/UPD");

	(void)state;
	assert_true(t.is_typing);
	assert_string_equal(first_row(&t), "update");
	top_key(&t, KEY_ERASE, &v);
	assert_string_equal(t.filter, "UP");
	top_key(&t, KEY_ENTER, &v);
	assert_false(t.is_typing);
	assert_string_equal(t.filter, "UP");
	top_key(&t, KEY_ESCAPE, &v);
	assert_string_equal(t.filter, "");
	t = typed("/pure.py:42\r");
	assert_string_equal(first_row(&t), "relu_backward.<locals>.<genexpr>");
	t = typed("/q1"); /* letters of commands are text here */
	assert_string_equal(t.filter, "q1");
	top_key(&t, 0xe9, &v);
	assert_string_equal(t.filter, "q1é");
	top_key(&t, KEY_ERASE, &v);
	assert_string_equal(t.filter, "q1");
}

static void a_thread_is_chosen(void **state)
{
	struct live_view v = example();
	struct top t = typed("t\r");

	(void)state;
	assert_int_equal(t.select.tid, 4712); /* the busiest comes first */
	assert_int_equal(t.pane, TOP_FUNCTIONS);
	top_key(&t, 'a', &v);
	assert_int_equal(t.select.tid, 0);
	t = typed("t");
	top_key(&t, KEY_DOWN, &v);
	assert_int_equal(top_key(&t, KEY_ENTER, &v), TOP_BUILD);
	assert_int_equal(t.select.tid, 4711);
}

static void state_and_window_are_chosen(void **state)
{
	struct top t = typed("w");

	(void)state;
	assert_int_equal(t.select.state, STACKS_WALL);
	t = typed("wg");
	assert_int_equal(t.select.state, STACKS_GIL);
	t = typed("wc+");
	assert_int_equal(t.select.state, STACKS_CPU);
	assert_true(t.select.window_s == 10);
	t = typed("-------");
	assert_true(t.select.window_s == 1);
	t = typed("++++++++");
	assert_true(t.select.window_s * 1000 < (double)LIVE_HISTORY * LIVE_SLICE_MS);
}

static void quitting_asks_only_what_is_open(void **state)
{
	struct live_view v = example();
	struct top t = typed("");

	(void)state;
	t.can_save = false;
	assert_int_equal(top_key(&t, 'q', &v), TOP_QUIT);
	t = typed("q");
	assert_int_equal(t.question, TOP_ASKS_SAVE);
	assert_int_equal(top_key(&t, 'x', &v), TOP_DRAW);
	assert_int_equal(top_key(&t, 'y', &v), TOP_QUIT);
	assert_true(t.wants_save);
	t = typed("q");
	assert_int_equal(top_key(&t, 'q', &v), TOP_QUIT);
	assert_false(t.wants_save);
	t = typed("q\033");
	assert_int_equal(t.question, TOP_ASKS_NOTHING);
	t.can_end = true;
	assert_int_equal(top_key(&t, 3, &v), TOP_DRAW);
	assert_int_equal(t.question, TOP_ASKS_END);
	assert_int_equal(top_key(&t, 'y', &v), TOP_DRAW);
	assert_int_equal(top_key(&t, 'n', &v), TOP_QUIT);
	assert_true(t.wants_end && !t.wants_save);
}

static void scrolling_stays_inside(void **state)
{
	struct live_view v = example();
	struct top t = typed("");
	char *got;

	(void)state;
	top_key(&t, KEY_END, &v);
	got = screen(&t, &v, 7, 80); /* two rows of five */
	assert_int_equal(t.first, 3);
	assert_non_null(strstr(got, "relu_backward"));
	free(got);
	top_key(&t, KEY_UP, &v);
	assert_int_equal(t.first, 2);
	top_key(&t, KEY_PAGE_UP, &v);
	assert_int_equal(t.first, 1);
	top_key(&t, KEY_HOME, &v);
	top_key(&t, KEY_UP, &v);
	assert_int_equal(t.first, 0);
}

/* ---- grid and key sequences ------------------------------------------------------------------ */

static void wide_and_combined_characters_keep_their_cells(void **state)
{
	struct grid g = GRID_INIT;
	struct buf text = BUF_INIT;

	(void)state;
	grid_resize(&g, 2, 6);
	assert_int_equal(grid_put(&g, 0, 0, STYLE_PLAIN, "a漢e\xcc\x81z"), 5);
	assert_int_equal(grid_put(&g, 1, 0, STYLE_PLAIN, "漢漢漢漢"), 6);
	grid_put(&g, 1, 1, STYLE_PLAIN, "x"); /* over half of a wide one */
	grid_emit(&g, false, false, &text);
	assert_string_equal(buf_str(&text), "a漢e\xcc\x81z\n x漢漢\n");
	buf_done(&text);
	grid_done(&g);
}

static void only_changes_are_sent(void **state)
{
	struct grid a = GRID_INIT, b = GRID_INIT;
	struct buf out = BUF_INIT;

	(void)state;
	grid_resize(&b, 2, 10);
	grid_put(&b, 1, 0, STYLE_PLAIN, "abc");
	grid_diff(&a, &b, true, &out);
	assert_string_equal(buf_str(&out), "\033[0m\033[2J\033[2;1Habc");
	buf_clear(&out);
	grid_resize(&a, 2, 10);
	grid_put(&a, 1, 0, STYLE_PLAIN, "aXc");
	grid_diff(&a, &b, true, &out);
	assert_string_equal(buf_str(&out), "\033[2;2Hb");
	buf_clear(&out);
	grid_diff(&b, &b, true, &out);
	assert_string_equal(buf_str(&out), "");
	grid_put(&a, 1, 0, STYLE_ACCENT, "abc");
	grid_diff(&b, &a, false, &out); /* without colours the style is switched, not coloured */
	assert_string_equal(buf_str(&out), "\033[2;1H\033[0mabc\033[0m");
	buf_done(&out);
	grid_done(&a);
	grid_done(&b);
}

static uint32_t key_of(const char *bytes, int is_all, size_t *ret_used)
{
	uint32_t key = 0;

	*ret_used = keys_decode(bytes, strlen(bytes), is_all, &key);
	return key;
}

static void sequences_are_keys(void **state)
{
	static const struct {
		const char *bytes;
		uint32_t key;
	} known[] = { { "q", 'q' }, { "\033[A", KEY_UP }, { "\033OB", KEY_DOWN },
		{ "\033[1;5A", KEY_UP }, { "\033[5~", KEY_PAGE_UP }, { "\033[6~", KEY_PAGE_DOWN },
		{ "\033[H", KEY_HOME }, { "\033[4~", KEY_END }, { "\r", KEY_ENTER },
		{ "\177", KEY_ERASE }, { "\033[15~", KEY_UNKNOWN }, { "\033[<0;1;1M", KEY_ENTER },
		{ "é", 0xe9 } };
	size_t used;

	(void)state;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
		if (strcmp(known[i].bytes, "\033[<0;1;1M") == 0)
			continue;
		assert_int_equal(key_of(known[i].bytes, 0, &used), known[i].key);
		assert_int_equal(used, strlen(known[i].bytes));
	}
	key_of("\033", 0, &used);
	assert_int_equal(used, 0);
	assert_int_equal(key_of("\033", 1, &used), KEY_ESCAPE);
	key_of("\033[1;", 0, &used);
	assert_int_equal(used, 0);
	assert_int_equal(key_of("\033[1;", 1, &used), KEY_UNKNOWN);
	assert_int_equal(key_of("\033q", 0, &used), KEY_ESCAPE); /* typed fast, or Alt */
	assert_int_equal(used, 1);
	key_of("\xc3", 0, &used);
	assert_int_equal(used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(small_screen),
		cmocka_unit_test(usual_screen),
		cmocka_unit_test(large_screen),
		cmocka_unit_test(lines_screen),
		cmocka_unit_test(threads_screen),
		cmocka_unit_test(help_screen),
		cmocka_unit_test(every_size_and_every_pane_is_survived),
		cmocka_unit_test(an_empty_table_says_why),
		cmocka_unit_test(the_end_is_told),
		cmocka_unit_test(columns_are_sorted_by_their_numbers),
		cmocka_unit_test(the_filter_is_typed_and_cleared),
		cmocka_unit_test(a_thread_is_chosen),
		cmocka_unit_test(state_and_window_are_chosen),
		cmocka_unit_test(quitting_asks_only_what_is_open),
		cmocka_unit_test(scrolling_stays_inside),
		cmocka_unit_test(wide_and_combined_characters_keep_their_cells),
		cmocka_unit_test(only_changes_are_sent),
		cmocka_unit_test(sequences_are_keys),
	};

	return cmocka_run_group_tests_name("view/samples/top", tests, NULL, NULL);
}
