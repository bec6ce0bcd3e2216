/* SPDX-License-Identifier: MIT
 * Trees of any depth and width with any counts and times, through all that shows them: --tree at several widths, callers and
 * callees, tables, names, JSON, and the trees of a page. The first two bytes choose how; then come four bytes for each chain
 * of calls: function, where it begins, how long it is, which figures it has. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/calls/exact.h"
#include "analyze/samples/by_name.h"
#include "analyze/samples/callgraph.h"
#include "analyze/samples/calltree.h"
#include "analyze/samples/neighbours.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stack_filter.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "json/functions.h"
#include "json/lines.h"
#include "json/threads.h"
#include "serve/answers/answer.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "store/writer.h"
#include "view/calls/exact.h"
#include "view/samples/profile.h"
#include "wire/records.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { FUNCTIONS = 16, NODES_MOST = 4000 };

static const uint64_t FIGURES[] = { 0, 1, 999, 1000000000, 1000000000000000000, INT64_MAX,
	UINT64_MAX - 1, UINT64_MAX };

static uint64_t figure(unsigned choice)
{
	return FIGURES[choice % (sizeof FIGURES / sizeof *FIGURES)];
}

struct maker {
	struct writer *w;
	uint32_t threads[2], codes[FUNCTIONS];
	uint32_t stacks[NODES_MOST + 1]; /* by number, of samples */
	uint32_t n;
};

static void begin(struct maker *m, const char *path)
{
	static const char *const files[] = { "x.py", "/usr/lib/python3.12/json/encoder.py", "" };
	struct err e = ERR_INIT;
	uint32_t process;
	char name[8];

	if (writer_open(&m->w, path, NULL, &e) < 0)
		abort();
	process = writer_row(m->w, RECORD_process, &(struct rec_process){ .pid = 10 });
	writer_add(m->w, RECORD_life,
		&(struct rec_life){ .t_ns = 5000000000, .process = process, .event = LIFE_START });
	for (uint32_t i = 0; i < 2; i++)
		m->threads[i] = writer_row(m->w, RECORD_thread,
			&(struct rec_thread){ .process = process, .tid = 10 + i });
	for (uint32_t i = 0; i < FUNCTIONS; i++) {
		snprintf(name, sizeof name, "f%u", i % 12); /* some have the same name */
		m->codes[i] = writer_row(m->w, RECORD_code,
			&(struct rec_code){ .file = writer_string(m->w, files[i % 3]),
				.qualname = writer_string(m->w, name),
				.first_line = i });
	}
}

static void add_node(struct maker *m, uint32_t parent, const uint8_t *x)
{
	uint32_t id = ++m->n;

	writer_add(m->w, RECORD_node,
		&(struct rec_node){ .thread = m->threads[x[1] >> 7],
			.id = id,
			.parent = parent,
			.code = m->codes[x[0] % FUNCTIONS],
			.calls = figure(x[3]),
			.recursive_calls = figure(x[3] >> 1),
			.resumes = figure(x[3] >> 2),
			.self_ns = figure(x[3] >> 3),
			.inclusive_ns = figure(x[3] >> 4),
			.cost_ns = figure(x[3] >> 5),
			.max_ns = figure(x[0] >> 4) });
}

static void add_sample(struct maker *m, uint32_t parent, const uint8_t *x)
{
	uint32_t id = ++m->n,
		 frame = writer_row(m->w, RECORD_frame,
			 &(struct rec_frame){
				 .tag = FRAME_PY, .code = m->codes[x[0] % FUNCTIONS] });

	m->stacks[id] = writer_row(m->w, RECORD_stack,
		&(struct rec_stack){ .parent = m->stacks[parent], .frame = frame });
	writer_add(m->w, RECORD_sample,
		&(struct rec_sample){ .t_ns = 5000000000 + id * (1 + figure(x[3]) % 1000000000),
			.thread = m->threads[x[1] >> 7],
			.stack = m->stacks[id],
			.leaf_code = x[3] & 64 ? m->codes[x[3] % FUNCTIONS] : 0,
			.state = x[3] & 128 ? SAMPLE_ON_CPU : 0 });
}

/* Chains begin at the root, at the last call or at one before. */
static void fill(struct maker *m, bool is_traced, const uint8_t *x, size_t n)
{
	for (; n >= 4; x += 4, n -= 4) {
		uint32_t parent = x[1] & 1 ? m->n : m->n ? (x[1] & 127) % (m->n + 1) : 0;

		for (unsigned k = 0; k < (x[2] > 128 ? x[2] * 8u : x[2] % 8u + 1); k++) {
			if (m->n == NODES_MOST)
				return;
			if (is_traced)
				add_node(m, parent, x);
			else
				add_sample(m, parent, x);
			parent = m->n;
		}
	}
}

/* ---- looking --------------------------------------------------------------------------------- */

/* Nobody has more samples than its caller. */
static void check_sums(const struct calltree_node *root)
{
	VEC(const struct calltree_node *) open = VEC_INIT;

	vec_push(&open, root);
	while (open.n) {
		const struct calltree_node *x = open.v[--open.n];

		for (size_t i = 0; i < x->n_children; i++) {
			vec_push(&open, x->children[i]);
			if (x->children[i]->total_n > x->total_n)
				abort();
		}
	}
	vec_done(&open);
}

static void look(struct recording *r, const struct stacks_options *o, struct profile_view v)
{
	struct arena a = ARENA_INIT;
	const struct stacks *s = stacks_build(&a, r->tables, o);
	const struct exact *x = exact_build(&a, r->tables, r->frames, s->nodes);
	const struct profile *p = x && !o->shape ? exact_profile(&a, x) : profile_build(&a, s);
	const struct calltree_node *tree = calltree_build(&a, s, s->lost_share, NULL);
	struct buf out = BUF_INIT;
	struct json_writer w;

	check_sums(tree);
	json_init(&w, &out, v.width % 2);
	json_object_begin(&w);
	tree_json(tree, s, &w);
	json_key(&w, "functions");
	functions_json_rows(p, x && !o->shape ? x : NULL, s->frames,
		&(struct json_rows){ .n = p->n_functions, .details = true }, &w);
	json_key(&w, "lines");
	lines_json_rows(p, 0, p->n_lines, &w);
	threads_json(s, &w);
	if (x)
		trace_json(x, &w);
	json_object_end(&w);
	buf_clear(&out);
	profile_print_tree(tree, s, p, &v, &out);
	profile_print_functions(p, &v, &out);
	profile_print_lines(p, NULL, &v, &out);
	if (x) {
		exact_print_functions(x, p, "internal time", false, &v, &out);
		exact_print_fidelity(x, &v, &out);
	}
	for (size_t i = 0; i < p->n_functions && i < 3; i++) {
		const struct neighbours *n = x && !o->shape
			? exact_neighbours(&a, x, p->functions[i].function)
			: neighbours_build(&a, s, s->lost_share, p->functions[i].function);

		profile_print_callers(n, s, p, &v, &out);
		profile_print_callees(n, s, p, &v, &out);
	}
	by_name_build(&a, s, v.width % 2);
	callgraph_build(&a, s, o->shape ? NULL : x,
		&(struct callgraph_options){ .node_share = 0.01, .root = "f1*", .leaf = "f2" });
	buf_done(&out);
	arena_done(&a);
}

static void ask(struct library *l, const char *name, const char *query)
{
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	struct params p;

	if (params_parse(&p, query, &e) < 0)
		abort();
	if (answer_make(l, name, &p, &out, &e) < 0 && !e.text[0])
		abort();
	params_done(&p);
	buf_done(&out);
}

static void show(struct library *l, uint8_t how, uint8_t shape)
{
	static const char *const merge[] = { "f1$" }, *const focus[] = { "f2" };
	struct recording *r = l->recordings.v[0];
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	struct stacks_options o = {
		.only_mine = how & 2, .frames = r->frames, .frames_most = how & 4 ? 3000 : 0
	};

	if (stack_filter_new(&o.shape, &a, r->frames,
		    &(struct stack_filter_options){ .merge = { merge, shape & 1 },
			    .focus = { focus, shape >> 1 & 1 },
			    .drop = { focus, shape >> 2 & 1 },
			    .keep = { merge, shape >> 3 & 1 },
			    .collapse = shape & 16 },
		    &e) < 0)
		abort();
	look(r, &o,
		(struct profile_view){
			.width = 20 + (how >> 3), .limit = how >> 5, .legend = true, .what = "" });
	stack_filter_free(o.shape);
	arena_done(&a);
	ask(l, "tree", "r=0&direction=left-heavy&width=2000");
	ask(l, "tree", how & 8 ? "r=0&direction=inverted" : "r=0&direction=inverted&only_mine=1");
	ask(l, "sandwich", "r=0&function=3&width=600");
	ask(l, "spread", "r=0&function=3");
	ask(l, "table", "r=0&what=functions");
	ask(l, "table", "r=0&what=callers&function=3");
	ask(l, "search", "r=0&q=f1");
	ask(l, "graph", "r=0");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static char path[64];
	static struct maker m;
	struct library l = LIBRARY_INIT;
	struct err e = ERR_INIT;

	if (n < 2)
		return 0;
	if (!*path)
		snprintf(path, sizeof path, "/tmp/fuzz_tree.%d.lead", (int)getpid());
	unlink(path);
	m = (struct maker){ 0 };
	begin(&m, path);
	fill(&m, data[0] & 1, data + 2, n - 2);
	if (writer_close(m.w, &e) < 0)
		abort();
	if (library_open(&l, path, &e) == 0)
		show(&l, data[0], data[1]);
	else if (!e.text[0])
		abort();
	library_done(&l);
	unlink(path);
	return 0;
}
