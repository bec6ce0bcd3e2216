/* SPDX-License-Identifier: MIT
 * Imports in one row, on hand-made recordings whose answers are known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "analyze/samples/calltree.h"
#include "analyze/samples/imports.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/samples/stacks_rig.h"
#include "base/buf.h"
#include "base/err.h"
#include "wire/records.h"

/* m: the program; F, X: importlib; t, u: modules of torch; n: of numpy; o: a module of the user's own, and w: what it does. */
static void name(struct rig *m)
{
	static const char *const torch = "/x/lib/python3.12/site-packages/torch/__init__.py";

	rig_begin(m);
	m->files['m'] = "/srv/app.py";
	m->names['F'] = "_find_and_load";
	m->files['F'] = "<frozen importlib._bootstrap>";
	m->names['X'] = "SourceLoader.exec_module";
	m->files['X'] = "<frozen importlib._bootstrap_external>";
	m->names['t'] = "<module>";
	m->files['t'] = torch;
	m->names['u'] = "make_op";
	m->files['u'] = torch;
	m->names['n'] = "<module>";
	m->files['n'] = "/x/lib/python3.12/site-packages/numpy/core/umath.py";
	m->names['z'] = "<module>";
	m->files['z'] = "<frozen abc>";
	m->files['o'] = m->files['w'] = "/srv/mylib.py";
}

static void make(struct rig *m)
{
	static const char *const chains[] = { "mc", "mFX", "mFXt", "mFXtu", "mFXtFXn", "mFXo",
		"mFXow", "mFXoFXn", "mFX!", "mFXz" };

	name(m);
	for (uint64_t i = 0; i <= 1000; i++)
		rig_sample(m, i, 0, chains[i % 10], SAMPLE_ON_CPU);
	rig_finish(m);
}

static const struct profile_function *find(const struct profile *p, const char *wanted)
{
	for (size_t i = 0; i < p->n_functions; i++)
		if (strcmp(p->functions[i].name, wanted) == 0)
			return &p->functions[i];
	return NULL;
}

static double self(const struct profile *p, const char *wanted)
{
	const struct profile_function *f = find(p, wanted);

	return f ? f->cost.self_value : 0;
}

static void assert_near(double got, double want)
{
	if (!(fabs(got - want) < 0.002))
		print_error("got %g, want %g\n", got, want);
	assert_true(fabs(got - want) < 0.002);
}

static void imports_are_one_row(void **state)
{
	const struct profile *whole, *p;
	const struct imports *x;
	double sum = 0;
	struct rig m;

	(void)state;
	make(&m);
	whole = rig_profile_of(&m, (struct stacks_options){ 0 });
	assert_null(find(whole, "[imports]"));
	assert_true(m.stacks->paths->imports.value == 0);
	p = rig_profile_of(&m, (struct stacks_options){ .imports = IMPORTS_FOLDED });
	assert_near(p->value, whole->value); /* nothing goes */
	assert_near(self(p, "[imports]"), 0.7);
	assert_near(self(p, "c"), 0.1);
	assert_near(find(p, "m")->cost.total_value, 1);
	assert_null(find(p, "_find_and_load"));
	assert_null(find(p, "make_op"));
	for (size_t i = 0; i < p->n_functions; i++)
		sum += p->functions[i].cost.self_value;
	assert_near(sum, p->value);
	for (size_t i = 0; i < p->n_lines; i++) /* it is no line to look at */
		assert_int_not_equal(*p->lines[i].file, '<');
	x = &m.stacks->paths->imports;
	assert_near(x->value, 0.7);
	assert_int_equal(x->n_packages, 3);
	assert_string_equal(x->packages[0].name, "torch");
	assert_near(x->packages[0].value, 0.3);
	assert_string_equal(x->packages[1].name, "abc");
	assert_string_equal(x->packages[2].name, "numpy");
	rig_done(&m);
}

/* A module of the user's own does when it is imported what he wrote: that is work, and what it imports is not. */
static void code_of_ones_own_is_no_import(void **state)
{
	const struct profile *p;
	struct rig m;

	(void)state;
	make(&m);
	p = rig_profile_of(&m, (struct stacks_options){ .imports = IMPORTS_FOLDED });
	assert_near(self(p, "o"), 0.1);
	assert_near(self(p, "w"), 0.1);
	assert_near(find(p, "o")->cost.total_value, 0.3);
	p = rig_profile_of(
		&m, (struct stacks_options){ .imports = IMPORTS_FOLDED, .only_mine = true });
	assert_near(self(p, "[imports]"), 0.7);
	assert_near(self(p, "m"), 0);
	assert_null(find(p, "[library]"));
	rig_done(&m);
}

/* What asks for a sample's frames gets those of its place. */
static void frames_by_time_are_those_of_the_paths(void **state)
{
	static struct stack_frame a[STACKS_DEPTH], b[STACKS_DEPTH];
	struct rig m;

	(void)state;
	make(&m);
	for (int mode = IMPORTS_WHOLE; mode <= IMPORTS_FOLDED; mode++)
		for (int mine = 0; mine < 2; mine++) {
			rig_profile_of(&m,
				(struct stacks_options){
					.imports = (enum imports_mode)mode, .only_mine = mine });
			assert_true(m.stacks->n > 5);
			for (size_t i = 0; i < m.stacks->n; i++) {
				const struct stack_place *p = &m.stacks->v[i];
				size_t n = stacks_frames(m.stacks, i, a);

				assert_int_equal(stacks_frames_at(m.stacks, p->stack, p->leaf_code,
							 p->leaf_offset, b),
					n);
				for (size_t k = 0; k < n; k++)
					assert_int_equal(a[k].function, b[k].function);
			}
		}
	rig_done(&m);
}

static void shapes_see_what_is_shown(void **state)
{
	const char *hidden = "make_op", *shown = "imports";
	struct err e = ERR_INIT;
	struct stack_filter *shape;
	struct frames *f;
	struct rig m;

	(void)state;
	make(&m);
	f = frames_new(&m.arena, m.tables);
	assert_int_equal(stack_filter_new(&shape, &m.arena, f,
				 &(struct stack_filter_options){
					 .keep = { (const char *const *)&hidden, 1 } },
				 &e),
		0);
	rig_profile_of(&m,
		(struct stacks_options){ .imports = IMPORTS_FOLDED, .frames = f, .shape = shape });
	assert_int_equal(m.stacks->n, 0);
	assert_true(m.stacks->paths->imports.value == 0);
	stack_filter_free(shape);
	assert_int_equal(stack_filter_new(&shape, &m.arena, f,
				 &(struct stack_filter_options){
					 .keep = { (const char *const *)&shown, 1 } },
				 &e),
		0);
	rig_profile_of(&m,
		(struct stacks_options){ .imports = IMPORTS_FOLDED, .frames = f, .shape = shape });
	assert_near(m.stacks->value, 0.7);
	assert_near(m.stacks->paths->imports.value, 0.7);
	stack_filter_free(shape);
	rig_done(&m);
}

static void the_row_opens_into_modules(void **state)
{
	const struct calltree_node *root, *torch = NULL;
	struct rig m;

	(void)state;
	make(&m);
	rig_profile_of(&m, (struct stacks_options){ .imports = IMPORTS_ALONE });
	assert_near(m.stacks->value, 0.7);
	root = calltree_build(&m.arena, m.stacks, 0, NULL);
	for (size_t i = 0; i < root->n_children; i++)
		if (strstr(frames_function(m.stacks->frames, root->children[i]->function)->file,
			    "torch"))
			torch = root->children[i];
	assert_non_null(torch);
	assert_near(torch->total, 0.3);
	assert_near(torch->self, 0.2); /* with what its functions did */
	assert_int_equal(torch->n_children, 1);
	assert_near(torch->children[0]->total, 0.1);
	rig_done(&m);
}

static void packages_are_told(void **state)
{
	struct buf text = BUF_INIT;
	struct rig m;

	(void)state;
	make(&m);
	rig_profile_of(&m, (struct stacks_options){ .imports = IMPORTS_FOLDED });
	imports_describe(&m.stacks->paths->imports, 2, &text);
	assert_string_equal(buf_str(&text), "torch, abc …");
	buf_done(&text);
	rig_done(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(imports_are_one_row),
		cmocka_unit_test(code_of_ones_own_is_no_import),
		cmocka_unit_test(frames_by_time_are_those_of_the_paths),
		cmocka_unit_test(shapes_see_what_is_shown),
		cmocka_unit_test(the_row_opens_into_modules),
		cmocka_unit_test(packages_are_told),
	};

	return cmocka_run_group_tests_name("imports", tests, NULL, NULL);
}
