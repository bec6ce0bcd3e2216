/* SPDX-License-Identifier: MIT
 * See compile.h. */
#include "analyze/torch/compile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/compile_log.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/banned.h"

const char *const op_stage_names[OP_N_STAGES] = { "tracing", "guards", "autograd", "inductor",
	"compiler", "cache", "other" };

static const char REGION[] = "Torch-Compiled Region", BACKWARD[] = "entire_backward_compile",
		  BACKWARD_TIMED[] = "backward._backward_impl", SCRIPT[] = "torch.jit.",
		  SCRIPT_END[] = " (compile)",
		  ID[] = "compile_id=", CODEGEN[] = "fx_codegen_and_compile",
		  TUNING[] = "CachingAutotuner";

enum { NO_STAGE = OP_N_STAGES, NO_FRAME = UINT32_MAX };

struct stage_row {
	const char *begin;
	enum op_stage stage;
};

static const struct stage_row stage_rows[] = {
	{ "bytecode_tracing", OP_STAGE_TRACING },
	{ "build_guards", OP_STAGE_GUARDS },
	{ "create_aot_dispatcher_function", OP_STAGE_AUTOGRAD },
	{ "aot_", OP_STAGE_AUTOGRAD },
	{ "min_cut_rematerialization", OP_STAGE_AUTOGRAD },
	{ "_recursive_joint_graph_passes", OP_STAGE_AUTOGRAD },
	{ "inductor_compile", OP_STAGE_INDUCTOR },
	{ "compile_fx", OP_STAGE_INDUCTOR },
	{ "fx_codegen_and_compile", OP_STAGE_INDUCTOR },
	{ "_recursive_post_grad_passes", OP_STAGE_INDUCTOR },
	{ "GraphLowering", OP_STAGE_INDUCTOR },
	{ "Scheduler", OP_STAGE_INDUCTOR },
	{ "code_gen", OP_STAGE_INDUCTOR },
	{ "compile_file", OP_STAGE_COMPILER },
	{ "async_compile", OP_STAGE_COMPILER },
	{ "PyCodeCache", OP_STAGE_COMPILER },
	{ "CachingAutotuner", OP_STAGE_COMPILER },
	{ "TritonBundler", OP_STAGE_COMPILER },
	{ "AOTAutogradCache", OP_STAGE_CACHE },
	{ "FxGraphCache", OP_STAGE_CACHE },
};

struct call { /* of compiled code */
	uint32_t frame;
	int64_t compile_ns; /* within it */
	int64_t duration_ns;
};

struct gathering {
	struct ops_tree tree;
	struct arena *arena;
	uint8_t *stage_of_name;       /* NO_STAGE */
	bool *is_compile, *is_region; /* by name */
	uint8_t *stage;               /* by node */
	uint32_t *compilation, *call; /* by node: the one it lies in; OPS_NONE */
	int64_t *self_ns;             /* by node */
	VEC(struct op_compilation) compilations;
	VEC(uint32_t) compiled; /* frames, as compilations */
	VEC(bool) is_coded;     /* as compilations: something was made anew */
	VEC(struct op_frame) frames;
	VEC(struct call) calls;
	struct map frame_of; /* hash of an id → frame */
	struct op_compile *to;
};

/* ---- names ----------------------------------------------------------------------------------- */

static bool begins(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static bool ends(const char *s, const char *with)
{
	size_t n = strlen(s), n_with = strlen(with);

	return n > n_with && strcmp(s + n - n_with, with) == 0;
}

static bool is_script(const char *name)
{
	return begins(name, SCRIPT) && ends(name, SCRIPT_END);
}

bool op_is_compile(const char *name)
{
	return strcmp(name, "dynamo") == 0 || strcmp(name, "entire_frame_compile") == 0 ||
		strcmp(name, BACKWARD) == 0 || ends(name, " (dynamo_timed)") || is_script(name);
}

static void look_at_names(struct gathering *g)
{
	size_t n = g->tree.x->names.items.n;

	g->stage_of_name = xcalloc(n + 1, 1);
	g->is_compile = xcalloc(n + 1, sizeof *g->is_compile);
	g->is_region = xcalloc(n + 1, sizeof *g->is_region);
	for (size_t i = 0; i < n; i++) {
		const char *name = op_events_name(g->tree.x, (uint32_t)i);

		g->is_compile[i] = op_is_compile(name);
		g->is_region[i] = begins(name, REGION);
		g->stage_of_name[i] = NO_STAGE;
		for (size_t k = 0; k < sizeof stage_rows / sizeof *stage_rows; k++)
			if (begins(name, stage_rows[k].begin))
				g->stage_of_name[i] = (uint8_t)stage_rows[k].stage;
	}
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* "2" of "2/1". */
static uint32_t frame_of(struct gathering *g, const char *id)
{
	const char *number = arena_strndup(g->arena, id, strcspn(id, "/"));
	uint64_t key, at;
	uint32_t frame = (uint32_t)g->frames.n;

	if (!text_parse_u64(number, &key))
		key = UINT64_MAX;
	if (map_find(&g->frame_of, key, &at))
		return (uint32_t)at;
	map_put(&g->frame_of, key, frame);
	vec_push(&g->frames,
		(struct op_frame){ .id = number,
			.within = "",
			.first_s = NAN,
			.later_s = NAN,
			.equal_calls = NAN });
	return frame;
}

/* ---- the tree -------------------------------------------------------------------------------- */

static const struct op_compilation *begin_compilation(
	struct gathering *g, uint32_t node, const struct op_event *e)
{
	const char *name = op_events_name(g->tree.x, e->name);
	uint32_t call = g->call[node];

	g->compilation[node] = (uint32_t)g->compilations.n;
	vec_push(&g->compilations,
		(struct op_compilation){ .id = is_script(name)
				? arena_strndup(g->arena, name, strlen(name) - strlen(SCRIPT_END))
				: "",
			.reason = "",
			.at_s = (double)(e->start_ns - g->tree.x->zero_ns) / 1e9,
			.seconds = (double)e->duration_ns / 1e9,
			.is_tuning = begins(name, TUNING),
			.is_script = is_script(name),
			.is_backward = begins(name, BACKWARD) || begins(name, BACKWARD_TIMED) });
	vec_push(&g->compiled, NO_FRAME);
	vec_push(&g->is_coded, false);
	if (call != OPS_NONE)
		g->calls.v[call].compile_ns += e->duration_ns;
	return &g->compilations.v[g->compilations.n - 1];
}

/* A frame that has no number told in it is the one that runs next. */
static void name_compilation(struct gathering *g, uint32_t which, const char *id)
{
	struct op_compilation *c = &g->compilations.v[which];
	const char *again;
	size_t n = strspn(id, "0123456789/");

	if (*c->id || !n)
		return;
	c->id = arena_strndup(g->arena, id, n);
	again = strchr(c->id, '/');
	c->is_again = !c->is_backward && again && strcmp(again, "/0") != 0;
	g->compiled.v[which] = frame_of(g, c->id);
}

static void begin_call(
	struct gathering *g, uint32_t node, const struct op_event *e, uint32_t *waiting)
{
	const char *name = op_events_name(g->tree.x, e->name), *id = name + strlen(REGION);
	uint32_t outer = g->call[node], frame;

	id += strspn(id, ": ");
	if (*waiting != OPS_NONE)
		name_compilation(g, *waiting, id);
	*waiting = OPS_NONE;
	frame = frame_of(g, id);
	if (outer != OPS_NONE && g->calls.v[outer].frame != frame) {
		g->frames.v[frame].within = g->frames.v[g->calls.v[outer].frame].id;
		g->to->n_breaks++;
	}
	g->frames.v[frame].n_calls++;
	g->call[node] = (uint32_t)g->calls.n;
	vec_push(&g->calls, (struct call){ .frame = frame, .duration_ns = e->duration_ns });
}

static void visit(struct gathering *g, uint32_t node, uint32_t *waiting)
{
	const struct op_event *e = ops_node(&g->tree, node);
	uint32_t up = g->tree.parent[node];
	const char *id;

	g->stage[node] = g->stage_of_name[e->name];
	g->compilation[node] = g->call[node] = OPS_NONE;
	if (up != OPS_NONE) {
		g->compilation[node] = g->compilation[up];
		g->call[node] = g->call[up];
		if (g->stage[node] == NO_STAGE)
			g->stage[node] = g->stage[up];
	}
	if (g->is_compile[e->name] && g->compilation[node] == OPS_NONE) {
		const struct op_compilation *c = begin_compilation(g, node, e);

		if (!c->is_backward && !c->is_tuning && !c->is_script)
			*waiting = g->compilation[node];
	}
	if (g->is_region[e->name])
		begin_call(g, node, e, waiting);
	if (g->compilation[node] == OPS_NONE)
		return;
	id = strstr(op_events_name(g->tree.x, e->name), ID);
	if (id)
		name_compilation(g, g->compilation[node], id + strlen(ID));
	if (g->stage_of_name[e->name] == OP_STAGE_CACHE)
		g->compilations.v[g->compilation[node]].is_cached = true;
	if (begins(op_events_name(g->tree.x, e->name), CODEGEN))
		g->is_coded.v[g->compilation[node]] = true;
}

static void walk(struct gathering *g)
{
	const struct ops_tree *t = &g->tree;
	size_t n = t->n_events + t->extra.n + 1;
	uint32_t waiting = OPS_NONE;

	g->stage = xcalloc(n, 1);
	g->compilation = xcalloc(n, sizeof *g->compilation);
	g->call = xcalloc(n, sizeof *g->call);
	g->self_ns = xcalloc(n, sizeof *g->self_ns);
	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i];
		const struct op_event *e = ops_node(t, node);

		if (op_is_device(e)) {
			if (e->category == OP_KERNEL &&
				begins(op_events_name(t->x, e->name), "triton_"))
				g->to->triton_s += (double)e->duration_ns / 1e9;
			continue;
		}
		visit(g, node, &waiting);
		g->self_ns[node] += e->duration_ns;
		if (t->parent[node] != OPS_NONE)
			g->self_ns[t->parent[node]] -= e->duration_ns;
	}
}

/* ---- results --------------------------------------------------------------------------------- */

static void sum_stages(struct gathering *g)
{
	const struct ops_tree *t = &g->tree;

	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i];
		unsigned stage = g->stage[node] == NO_STAGE ? OP_STAGE_OTHER : g->stage[node];
		double s = (double)g->self_ns[node] / 1e9;

		if (op_is_device(ops_node(t, node)) || g->compilation[node] == OPS_NONE)
			continue;
		g->compilations.v[g->compilation[node]].stages_s[stage] += s;
		g->to->stages_s[stage] += s;
	}
	for (size_t i = 0; i < g->compilations.n; i++) {
		struct op_compilation *c = &g->compilations.v[i];

		c->is_cached &= !g->is_coded.v[i];
		g->to->seconds += c->seconds;
		g->to->n_again += c->is_again;
		g->to->n_cached += c->is_cached;
		g->to->n_backward += c->is_backward;
		g->to->n_tuning += c->is_tuning;
		g->to->n_scripts += c->is_script;
		g->to->scripts_s += c->is_script ? c->seconds : 0;
		if (g->compiled.v[i] == NO_FRAME)
			continue;
		g->frames.v[g->compiled.v[i]].compile_s += c->seconds;
		g->frames.v[g->compiled.v[i]].n_compiled += !c->is_backward;
	}
}

static int by_length(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

/* The calls of each frame side by side: the first, then the others. */
static void time_frames(struct gathering *g)
{
	double *all = xcalloc(g->calls.n + 1, sizeof *all), *at = all;
	size_t *n = xcalloc(g->frames.n + 1, sizeof *n),
	       *begin = xcalloc(g->frames.n + 1, sizeof *begin);

	for (size_t i = 0; i < g->frames.n; i++)
		begin[i + 1] = begin[i] + g->frames.v[i].n_calls;
	vec_each (&g->calls, c)
		all[begin[c->frame] + n[c->frame]++] =
			(double)(c->duration_ns - c->compile_ns) / 1e9;
	for (size_t i = 0; i < g->frames.n; i++, at = all + begin[i]) {
		struct op_frame *f = &g->frames.v[i];
		size_t later = n[i] ? n[i] - 1 : 0;

		if (n[i])
			f->first_s = at[0];
		qsort(at + 1, later, sizeof *at, by_length);
		if (later)
			f->later_s = (at[1 + later / 2] + at[1 + (later - 1) / 2]) / 2;
		if (f->compile_s > 0 && f->later_s > 0)
			f->equal_calls = f->compile_s / f->later_s;
	}
	free(all);
	free(n);
	free(begin);
}

/* With Python functions recorded, what goes on after a break tells where it was: "train.py(8): torch_dynamo_resume_in_f_at_8". */
static void find_breaks(struct gathering *g)
{
	static const char resume[] = "torch_dynamo_resume_in_";
	struct op_events *x = g->tree.x;
	uint64_t *n = xcalloc(x->names.items.n + 1, sizeof *n);
	VEC(struct op_break) breaks = VEC_INIT;

	vec_each (&x->v, e)
		n[e->name] += e->category == OP_PYTHON;
	for (size_t i = 0; i < x->names.items.n; i++) {
		const char *name = op_events_name(x, (uint32_t)i), *in, *line = NULL;

		in = n[i] ? strstr(name, resume) : NULL;
		for (const char *next = in; next && (next = strstr(next, "_at_")); next++)
			line = next;
		if (!line)
			continue;
		in += strlen(resume);
		vec_push(&breaks,
			(struct op_break){ .n_times = n[i],
				.where = arena_printf(g->arena, "%.*s: %.*s, line %s",
					(int)strcspn(name, "("), name, (int)(line - in), in,
					line + 4) });
	}
	g->to->breaks = arena_copy(g->arena, breaks.v, breaks.n * sizeof *breaks.v);
	g->to->n_places = breaks.n;
	vec_done(&breaks);
	free(n);
}

/* The latest of a number: after torch._dynamo.reset() they begin anew. */
static void take_told(struct gathering *g)
{
	const struct op_compile_log *told = op_compile_log_read(g->arena, &g->tree.x->compiled);

	g->to->told = told;
	for (size_t i = 0; i < told->n_frames; i++) {
		const struct op_compile_log_frame *f = &told->frames[i];
		uint64_t number, at;

		vec_each (&g->compilations, c)
			if (*f->reason && !c->is_backward && strcmp(c->id, f->id) == 0)
				c->reason = f->reason;
		if (*f->function &&
			text_parse_u64(
				arena_strndup(g->arena, f->id, strcspn(f->id, "/")), &number) &&
			map_find(&g->frame_of, number, &at))
			g->frames.v[at].told = f;
	}
}

static void find_span(struct gathering *g)
{
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < g->tree.n; i++) {
		const struct op_event *e = ops_node(&g->tree, g->tree.order[i]);
		int64_t end = e->start_ns + e->duration_ns;

		first = e->start_ns < first ? e->start_ns : first;
		last = end > last ? end : last;
	}
	g->to->span_s = last > first ? (double)(last - first) / 1e9 : 0;
}

const struct op_compile *op_compile_build(struct arena *a, struct op_events *x)
{
	struct gathering g = { .arena = a, .to = arena_new(a, struct op_compile) };

	ops_tree_init(&g.tree, x, false);
	look_at_names(&g);
	walk(&g);
	sum_stages(&g);
	time_frames(&g);
	find_breaks(&g);
	take_told(&g);
	find_span(&g);
	g.to->v = arena_copy(a, g.compilations.v, g.compilations.n * sizeof *g.compilations.v);
	g.to->n = g.compilations.n;
	g.to->frames = arena_copy(a, g.frames.v, g.frames.n * sizeof *g.frames.v);
	g.to->n_frames = g.frames.n;
	g.to->n_calls = g.calls.n;
	free(g.stage_of_name);
	free(g.is_compile);
	free(g.is_region);
	free(g.stage);
	free(g.compilation);
	free(g.call);
	free(g.self_ns);
	vec_done(&g.compilations);
	vec_done(&g.compiled);
	vec_done(&g.is_coded);
	vec_done(&g.frames);
	vec_done(&g.calls);
	map_done(&g.frame_of);
	ops_tree_done(&g.tree);
	return g.to;
}
