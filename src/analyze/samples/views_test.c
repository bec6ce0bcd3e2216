/* SPDX-License-Identifier: MIT
 * What views are made of, on hand-made recordings whose answers are known: idle threads, whose code it is,
 * call trees, callers and callees, patterns, crash stacks, source texts. */
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/code/pattern.h"
#include "analyze/code/source_texts.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/crash_stacks.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks_rig.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/writer.h"
#include "wire/records.h"

static const char *const THREADING = "/usr/lib/python3.12/threading.py";

static const struct profile_function *find(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i].name, name) == 0)
			return &p->functions[i];
	fail_msg("no function %s", name);
	return NULL;
}

static bool has(const struct profile *p, const char *name)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i].name, name) == 0)
			return true;
	return false;
}

/* ---- whose code ------------------------------------------------------------------------------ */

static void library_code_is_known_by_its_path(void **state)
{
	(void)state;
	assert_true(frames_is_library("/usr/lib/python3.12/json/encoder.py"));
	assert_true(frames_is_library("/opt/x/lib/python3.13t/site.py"));
	assert_true(frames_is_library("/usr/lib64/python3.9/os.py"));
	assert_true(frames_is_library("/v/lib/python3.11/site-packages/torch/nn/functional.py"));
	assert_true(frames_is_library("/usr/lib/python3/dist-packages/yaml/nodes.py"));
	assert_true(frames_is_library("/x/python311.zip/os.py"));
	assert_true(frames_is_library("<frozen importlib._bootstrap>"));
	assert_true(frames_is_library("<__array_function__ internals>"));
	assert_false(frames_is_library("/home/me/train.py"));
	assert_false(frames_is_library("/home/me/python3.12/train.py"));
	assert_false(frames_is_library("/home/lib/pythonic/train.py"));
	assert_false(frames_is_library("<string>"));
	assert_false(frames_is_library("<ipython-input-3-abc>"));
	assert_false(frames_is_library(""));
	assert_string_equal(frames_module_path("/v/lib/python3.11/site-packages/torch/nn/f.py"),
		"torch/nn/f.py");
	assert_string_equal(
		frames_module_path("/usr/lib/python3.12/json/encoder.py"), "json/encoder.py");
	assert_string_equal(frames_module_path("/x/python311.zip/os.py"), "os.py");
	assert_string_equal(frames_module_path("/home/me/train.py"), "/home/me/train.py");
}

static void time_of_the_library_is_its_callers_when_only_mine_counts(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.files['L'] = m.files['l'] = "/usr/lib/python3.12/json/encoder.py";
	rig_sample(&m, 0, 0, "maLl", 0);
	rig_sample(&m, 10, 0, "maLb", 0); /* mine, called back by the library */
	rig_sample(&m, 20, 0, "Ll", 0);   /* nobody of mine */
	rig_sample(&m, 30, 0, "maL!", 0); /* cut: not self time of a */
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .only_mine = true });
	assert_int_equal(find(p, "a")->cost.self_n, 1);
	assert_int_equal(find(p, "a")->cost.total_n, 3);
	assert_int_equal(find(p, "b")->cost.self_n, 1);
	assert_int_equal(find(p, "[library]")->cost.self_n, 1);
	assert_int_equal(find(p, "[cut]")->cost.self_n, 1);
	assert_false(has(p, "L"));
	assert_int_equal(p->n_samples, 4);
	rig_done(&m);
}

/* ---- idle threads ---------------------------------------------------------------------------- */

/* Thread 0 works; 1 waits all the time; 2 works every fourth time and else waits for work; 3 sleeps in
 * code of the user's own. */
static void make_pool(struct rig *m, const char *first)
{
	rig_begin(m);
	m->names['w'] = "Condition.wait";
	m->files['w'] = THREADING;
	for (uint64_t i = 0; i < 100; i++) {
		rig_sample(m, i, 0, first, strchr(first, 'w') ? 0 : SAMPLE_ON_CPU);
		rig_sample(m, i, 1, "tw", 0);
		rig_sample(m, i, 2, i % 4 ? "tw" : "tk", i % 4 ? 0 : SAMPLE_ON_CPU);
		rig_sample(m, i, 3, "ts", 0);
	}
	rig_finish(m);
}

static void threads_that_wait_for_work_are_folded(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	make_pool(&m, "mc");
	p = rig_profile_of(&m, (struct stacks_options){ .fold_idle = true });
	assert_int_equal(m.stacks->n_idle_threads, 2);
	assert_false(m.stacks->threads[0].is_idle);
	assert_true(m.stacks->threads[1].is_idle);
	assert_false(m.stacks->threads[2].is_idle);
	assert_true(m.stacks->threads[3].is_idle);
	assert_true(fabs(m.stacks->threads[2].waiting_s / m.stacks->threads[2].all - 0.75) < 0.01);
	assert_int_equal(m.stacks->n_folded, 100 + 75 + 100);
	assert_int_equal(p->n_samples, 125);
	assert_int_equal(find(p, "c")->cost.self_n, 100);
	assert_int_equal(find(p, "k")->cost.self_n, 25);
	assert_false(has(p, "Condition.wait"));
	assert_false(has(p, "s"));
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(p->n_samples, 400);
	assert_int_equal(find(p, "Condition.wait")->cost.self_n, 175);
	rig_done(&m);
}

static void launchers_wait_in_code_of_their_own(void **state)
{
#define ELASTIC "/v/lib/python3.11/site-packages/torch/distributed/elastic/"
	(void)state;
	assert_true(
		stacks_is_wait(ELASTIC "agent/server/api.py", "SimpleElasticAgent._invoke_run"));
	assert_true(stacks_is_wait(ELASTIC "multiprocessing/api.py", "PContext.wait"));
	assert_false(
		stacks_is_wait(ELASTIC "agent/server/api.py", "SimpleElasticAgent._start_workers"));
	assert_false(stacks_is_wait("/srv/agent/server/api.py", "_invoke_run"));
#undef ELASTIC
}

static void a_main_threads_waits_are_folded_only_where_others_did_the_work(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	make_pool(&m, "mw"); /* joins the others */
	p = rig_profile_of(&m, (struct stacks_options){ .fold_idle = true });
	assert_true(m.stacks->threads[0].is_idle);
	assert_int_equal(p->n_samples, 25);
	rig_done(&m);

	rig_begin(&m);
	m.names['w'] = "Condition.wait";
	m.files['w'] = THREADING;
	for (uint64_t i = 0; i < 100; i++) {
		rig_sample(&m, i, 0, i % 2 ? "mw" : "ms", 0); /* sleeps in code of its own, too */
		rig_sample(&m, i, 1, "tk", SAMPLE_ON_CPU);
	}
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .fold_idle = true });
	assert_false(m.stacks->threads[0].is_idle);
	assert_int_equal(m.stacks->n_folded, 50);
	assert_false(has(p, "Condition.wait"));
	assert_int_equal(find(p, "s")->cost.self_n, 50);
	rig_done(&m);

	rig_begin(&m);
	m.names['w'] = "Condition.wait";
	m.files['w'] = THREADING;
	for (uint64_t i = 0; i < 100; i++) {
		rig_sample(&m, i, 0, i % 4 ? "mw" : "mc", i % 4 ? 0 : SAMPLE_ON_CPU);
		rig_sample(&m, i, 1, i % 8 ? "tw" : "tk", i % 8 ? 0 : SAMPLE_ON_CPU);
	}
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .fold_idle = true });
	assert_int_equal(find(p, "Condition.wait")->cost.self_n, 75); /* the main thread's own */
	assert_int_equal(m.stacks->n_folded, 87);
	rig_done(&m);
}

static void time_on_a_cpu_is_never_folded(void **state)
{
	const struct profile *p;
	struct rig m;
	struct buf text = BUF_INIT;

	(void)state;
	rig_begin(&m);
	m.names['w'] = "Condition.wait";
	m.files['w'] = THREADING;
	for (uint64_t i = 0; i < 100; i++)
		rig_sample(&m, i, 0, "mc", SAMPLE_ON_CPU);
	for (uint64_t i = 0; i < 20; i++) /* a sleeper is looked at rarely */
		rig_sample(&m, i * 50, 1, "tw", i == 10 ? SAMPLE_ON_CPU : 0);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .fold_idle = true });
	assert_int_equal(m.stacks->n_folded, 19);
	assert_int_equal(find(p, "Condition.wait")->cost.self_n, 1);
	/* 900 of 1049 ms, by time; of the samples they are 16 %. */
	stacks_describe_idle(m.stacks, &text);
	assert_string_equal(
		buf_str(&text), "threads that wait for work, 85.8 % of all sampled time");
	buf_done(&text);
	rig_done(&m);
}

static void nothing_is_folded_when_nothing_would_remain(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.names['w'] = "Condition.wait";
	m.files['w'] = THREADING;
	for (uint64_t i = 0; i < 50; i++) {
		rig_sample(&m, i, 0, "mw", 0);
		rig_sample(&m, i, 1, "tw", 0);
	}
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .fold_idle = true });
	assert_int_equal(m.stacks->n_folded, 0);
	assert_int_equal(p->n_samples, 100);
	rig_done(&m);
}

/* ---- call trees ------------------------------------------------------------------------------ */

static const struct calltree_node *child(
	const struct rig *m, const struct calltree_node *n, const char *name)
{
	for (size_t i = 0; i < n->n_children; i++)
		if (strcmp(frames_function(m->stacks->frames, n->children[i]->function)->name,
			    name) == 0)
			return n->children[i];
	fail_msg("no child %s", name);
	return NULL;
}

static void a_call_tree_adds_up(void **state)
{
	const struct calltree_node *root, *m_node, *a;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "mab", 0);
	rig_sample(&m, 10, 0, "mac", 0);
	rig_sample(&m, 20, 0, "ma", 0);
	rig_sample(&m, 30, 0, "mb", 0);
	rig_sample(&m, 40, 0, "mac", 0);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	root = calltree_build(&m.arena, m.stacks, 0, NULL);
	assert_int_equal(root->total_n, 5);
	assert_int_equal(root->n_children, 1);
	m_node = child(&m, root, "m");
	assert_int_equal(m_node->self_n, 0);
	a = m_node->children[0]; /* by time: a before b */
	assert_ptr_equal(a, child(&m, m_node, "a"));
	assert_int_equal(a->total_n, 4);
	assert_int_equal(a->self_n, 1);
	assert_int_equal(child(&m, a, "b")->total_n, 1);
	assert_int_equal(child(&m, a, "c")->self_n, 2);
	assert_true(fabs(a->total - 0.030) < 1e-9);
	rig_done(&m);
}

static void repetitions_are_one_branch(void **state)
{
	const struct calltree_node *root, *n;
	struct rig m;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 0, "mffffg", 0);    /* f calls itself */
	rig_sample(&m, 10, 0, "mpqpqpqg", 0); /* through another */
	rig_sample(&m, 20, 0, "mcxcyczg", 0); /* c recurs, but nothing repeats */
	rig_sample(&m, 30, 0, "mf", 0);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	root = calltree_build(&m.arena, m.stacks, 0, NULL);
	n = child(&m, child(&m, root, "m"), "f");
	assert_true(n->is_recursive);
	assert_int_equal(n->total_n, 2);
	assert_int_equal(n->self_n, 1);
	assert_int_equal(n->n_children, 1);
	assert_int_equal(child(&m, n, "g")->self_n, 1);
	n = child(&m, child(&m, root, "m"), "p");
	assert_true(n->is_recursive && child(&m, n, "q")->is_recursive);
	assert_int_equal(child(&m, child(&m, n, "q"), "g")->self_n, 1);
	n = child(&m, child(&m, child(&m, root, "m"), "c"), "x");
	assert_false(n->is_recursive);
	n = child(&m, child(&m, child(&m, child(&m, n, "c"), "y"), "c"), "z");
	assert_int_equal(child(&m, n, "g")->self_n, 1);
	rig_done(&m);
}

/* ---- callers and callees --------------------------------------------------------------------- */

static void callers_and_callees_add_up_to_the_total(void **state)
{
	const struct neighbours *n;
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 0; i < 10; i++)
		rig_sample(&m, i, 0, i < 5 ? "maf" : i < 8 ? "mbffg" : i < 9 ? "fg" : "mab", 0);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	n = neighbours_build(&m.arena, m.stacks, 0, find(p, "f")->function);
	assert_int_equal(n->total_n, 9);
	assert_int_equal(n->n_callers, 3);
	assert_int_equal(n->callers[0].n, 5);
	assert_int_equal(n->callers[0].function, find(p, "a")->function);
	assert_int_equal(n->callers[1].n, 3); /* the one that entered the recursion */
	assert_int_equal(n->callers[1].function, find(p, "b")->function);
	assert_true(n->callers[2].is_none);
	assert_int_equal(n->n_callees, 2);
	assert_true(n->callees[0].is_none);
	assert_int_equal(n->callees[0].n, 5);
	assert_int_equal(n->callees[1].n, 4);
	assert_int_equal(n->callees[1].function, find(p, "g")->function);
	rig_done(&m);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static void functions_are_found_by_name_before_pattern(void **state)
{
	const struct profile *p;
	struct err e = ERR_INIT;
	struct rig m;
	size_t *found, n;

	(void)state;
	rig_begin(&m);
	m.names['a'] = "Net.forward";
	m.names['b'] = "Loss.forward";
	m.names['c'] = "forward_all";
	m.files['c'] = "/home/me/net.py";
	rig_sample(&m, 0, 0, "ma", 0);
	rig_sample(&m, 10, 0, "mb", 0);
	rig_sample(&m, 20, 0, "mcb", 0);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(pattern_functions(&m.arena, p, "Net.forward", &found, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_int_equal(pattern_functions(&m.arena, p, "forward", &found, &n, &e), 0);
	assert_int_equal(n, 2);                                           /* not forward_all */
	assert_string_equal(p->functions[found[0]].name, "Loss.forward"); /* more time */
	assert_int_equal(
		pattern_functions(&m.arena, p, "^forward_.*net\\.py:99", &found, &n, &e), 0);
	assert_int_equal(n, 1);
	assert_true(pattern_functions(&m.arena, p, "nowhere", &found, &n, &e) < 0);
	assert_int_equal(e.code, ERR_USAGE);
	assert_true(pattern_functions(&m.arena, p, "(", &found, &n, &e) < 0);
	assert_non_null(strstr(e.text, "not a regular expression"));
	rig_done(&m);
}

static void patterns_that_would_take_all_memory_are_refused(void **state)
{
	static const char *const bad[] = { "(a{255}){255}", "((a{99}){99}){99}", "a{1001}", "(" };
	struct pattern *p;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		assert_true(pattern_new(&p, bad[i], &e) < 0);
		assert_int_equal(e.code, ERR_USAGE);
	}
	assert_int_equal(pattern_new(&p, "a{2,30}b{3}[{]x", &(struct err){ 0 }), 0);
	pattern_free(p);
}

static void a_filter_chooses_rows_and_keeps_their_shares(void **state)
{
	const struct profile *p, *few;
	struct pattern *pattern;
	struct err e = ERR_INIT;
	struct rig m;

	(void)state;
	rig_begin(&m);
	for (uint64_t i = 0; i < 10; i++)
		rig_sample(&m, i, 0, i % 2 ? "ma" : "mb", 0);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_int_equal(pattern_new(&pattern, "^a ", &e), 0);
	few = pattern_rows(&m.arena, p, pattern);
	pattern_free(pattern);
	assert_int_equal(few->n_functions, 1);
	assert_string_equal(few->functions[0].name, "a");
	assert_true(few->functions[0].cost.self_value == find(p, "a")->cost.self_value);
	assert_true(few->value == p->value);
	rig_done(&m);
}

static void rows_can_be_put_in_other_orders(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	rig_begin(&m);
	m.files['c'] = "a.py";
	for (uint64_t i = 0; i < 10; i++)
		rig_sample(&m, i, 0, i < 6 ? "zb" : i < 9 ? "zc" : "z", 0);
	rig_finish(&m);
	p = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_string_equal(p->functions[0].name, "b");
	p = profile_sorted(&m.arena, p, PROFILE_TOTAL);
	assert_string_equal(p->functions[0].name, "z");
	p = profile_sorted(&m.arena, p, PROFILE_FILE);
	assert_string_equal(p->functions[0].name, "c");
	p = profile_sorted(&m.arena, p, PROFILE_LINE);
	assert_string_equal(p->functions[0].name, "b"); /* line 98 */
	p = profile_sorted(&m.arena, p, PROFILE_NAME);
	assert_string_equal(p->functions[2].name, "z");
	rig_done(&m);
}

/* ---- crash stacks --------------------------------------------------------------------------- */

static void a_killed_process_shows_where_its_threads_were_last(void **state)
{
	struct stack_frame frames[STACKS_DEPTH];
	const struct crash_stacks *e;
	struct rig m;
	size_t n;

	(void)state;
	rig_begin(&m);
	rig_sample(&m, 0, 2, "tk", 0); /* ended long before */
	rig_sample(&m, 1000, 1, "tw", 0);
	rig_sample(&m, 1990, 0, "ma", 0);
	rig_sample(&m, 2000, 0, "mb", 0);
	rig_end_process(&m, 2004, SIGSEGV);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ .state = STACKS_CPU });
	e = crash_stacks_build(&m.arena, m.tables, m.stacks, &n);
	assert_int_equal(n, 1);
	assert_int_equal(e->pid, 10);
	assert_int_equal(e->signal, SIGSEGV);
	assert_int_equal(e->n_threads, 1);
	assert_true(fabs(e->threads[0].age_s - 0.004) < 1e-9);
	assert_int_equal(stacks_last_frames(m.stacks, e->threads[0].thread, frames), 2);
	assert_string_equal(frames[0].name, "b");
	rig_done(&m);

	rig_begin(&m);
	rig_sample(&m, 0, 0, "m", 0);
	rig_end_process(&m, 10, 3 << 8); /* it exited */
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	crash_stacks_build(&m.arena, m.tables, m.stacks, &n);
	assert_int_equal(n, 0);
	rig_done(&m);
}

static void a_last_look_without_python_hides_no_stack(void **state)
{
	struct stack_frame frames[STACKS_DEPTH];
	const struct crash_stacks *e;
	struct rig m;
	size_t n;

	(void)state;
	rig_begin(&m);
	rig_bare_sample(&m, 0, 0, "[interpreter starting]", 0);
	rig_sample(&m, 1000, 0, "mb", 0);
	rig_sample(&m, 1500, 1, "tw", 0); /* ended before, but ran Python later */
	rig_bare_sample(&m, 3000, 0, "[interpreter ending]", 0);
	rig_end_process(&m, 3004, SIGSEGV);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	e = crash_stacks_build(&m.arena, m.tables, m.stacks, &n);
	assert_int_equal(n, 1);
	assert_int_equal(e->n_threads, 1);
	assert_true(fabs(e->threads[0].age_s - 2.004) < 1e-9);
	assert_int_equal(stacks_last_frames(m.stacks, e->threads[0].thread, frames), 2);
	assert_string_equal(frames[0].name, "b");
	rig_done(&m);

	rig_begin(&m);
	rig_bare_sample(&m, 0, 0, "[interpreter starting]", 0);
	rig_bare_sample(&m, 5, 0, "[stopped]", 0);
	rig_end_process(&m, 10, SIGKILL);
	rig_finish(&m);
	rig_profile_of(&m, (struct stacks_options){ 0 });
	e = crash_stacks_build(&m.arena, m.tables, m.stacks, &n);
	assert_int_equal(e->n_threads, 1);
	assert_int_equal(stacks_last_frames(m.stacks, e->threads[0].thread, frames), 1);
	assert_string_equal(frames[0].name, "[stopped]");
	rig_done(&m);
}

/* ---- source texts ---------------------------------------------------------------------------- */

static void add_text(struct rig *m, const char *file, const char *text, enum source_state state)
{
	writer_add(m->w, RECORD_source,
		&(struct rec_source){ .file = writer_string(m->w, file),
			.text = { text, (uint32_t)strlen(text) },
			.state = (uint8_t)state });
}

static void assert_line(const struct source_texts *t, const char *file, int line, const char *want)
{
	struct text_line l = source_texts_line(t, file, line);

	assert_int_equal(l.n, strlen(want));
	assert_memory_equal(l.p, want, l.n);
}

static void texts_are_found_by_line(void **state)
{
	struct source_texts *t;
	struct rig m;

	(void)state;
	rig_begin(&m);
	add_text(&m, "x.py", "one\r\n\nthree", SOURCE_AS_RUN);
	add_text(&m, "y.py", "", SOURCE_MISSING);
	add_text(&m, "z.py", "a\n", SOURCE_CHANGED);
	rig_finish(&m);
	t = source_texts_load(&m.arena, m.tables);
	assert_int_equal(source_texts_n_lines(t, "x.py"), 3);
	assert_line(t, "x.py", 1, "one");
	assert_line(t, "x.py", 2, "");
	assert_line(t, "x.py", 3, "three");
	assert_null(source_texts_line(t, "x.py", 4).p);
	assert_null(source_texts_line(t, "x.py", 0).p);
	assert_null(source_texts_line(t, "y.py", 1).p);
	assert_int_equal(source_texts_n_lines(t, "z.py"), 1);
	assert_string_equal(source_texts_note(t, "x.py"), "");
	assert_non_null(strstr(source_texts_note(t, "y.py"), "not there"));
	assert_non_null(strstr(source_texts_note(t, "z.py"), "changed"));
	assert_non_null(strstr(source_texts_note(t, "q.py"), "does not hold"));
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(library_code_is_known_by_its_path),
		cmocka_unit_test(time_of_the_library_is_its_callers_when_only_mine_counts),
		cmocka_unit_test(threads_that_wait_for_work_are_folded),
		cmocka_unit_test(launchers_wait_in_code_of_their_own),
		cmocka_unit_test(a_main_threads_waits_are_folded_only_where_others_did_the_work),
		cmocka_unit_test(time_on_a_cpu_is_never_folded),
		cmocka_unit_test(nothing_is_folded_when_nothing_would_remain),
		cmocka_unit_test(a_call_tree_adds_up),
		cmocka_unit_test(repetitions_are_one_branch),
		cmocka_unit_test(callers_and_callees_add_up_to_the_total),
		cmocka_unit_test(functions_are_found_by_name_before_pattern),
		cmocka_unit_test(patterns_that_would_take_all_memory_are_refused),
		cmocka_unit_test(a_filter_chooses_rows_and_keeps_their_shares),
		cmocka_unit_test(rows_can_be_put_in_other_orders),
		cmocka_unit_test(a_killed_process_shows_where_its_threads_were_last),
		cmocka_unit_test(a_last_look_without_python_hides_no_stack),
		cmocka_unit_test(texts_are_found_by_line),
	};

	return cmocka_run_group_tests_name("views", tests, NULL, NULL);
}
