/* SPDX-License-Identifier: MIT
 * See rule.h: rules about operators on the CPU: many small ones, slices, optimizers, copies, requests one by one.
 *
 * The shares that estimates take of a bound are what the fixes of docs/decisions/0056 brought. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/torch/rule.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	LOOP_OPERATORS = 30,     /* small ones of a line in a step, from which on it is a loop */
	SMALL_NS = 20000,        /* the most that one, or one that it calls, takes itself … */
	CALL_NS = 10000,         /* … and so much of it is the call, at most */
	PAUSE_NS = 200000,       /* Python between two of them takes no longer … */
	STOPPED_NS = 1000000000, /* … unless it was interrupted, now and then */
	SELECTS = 8,             /* gone back through in a step */
	OPTIMIZER_LOOP = 30,     /* operators in a call of an optimizer */
	REQUESTS = 20,           /* steps, from which on they are requests */
	DEPTH = 64,              /* of operators in each other */
	MANY = 8,                /* requests at once that an estimate assumes */
};

#define ONE_ROW 0.2  /* of the steps, as the table has it for `batching` */
#define ALONG   1.2  /* of a loop, at most: what puts its results together goes, too */
#define FUSED   0.7  /* of an optimizer's calls: each parameter is still read and written once */
#define SLICED  1.25 /* of going back through slices, at most: the way there and the sums go, too */
#define COLDER \
	1.1 /* of copies: memory is taken from the system and given back for each, and caches hold something else after it … */
#define RELEASED 1.4  /* … which was no more than this */
#define TOGETHER 0.75 /* of answering requests one by one, with MANY at once */

/* ---- requests -------------------------------------------------------------------------------- */

/* Rows of what a product multiplies with a matrix, from "[[64], [1, 512], [512, 64]]"; 0: not known. */
static uint64_t rows_of(const struct op_facts *f, const struct op_event *e)
{
	const struct intern_item *shapes = e->detail && e->detail <= f->x->shapes.items.n
		? intern_get(&f->x->shapes, e->detail - 1)
		: NULL;
	bool has_bias = strcmp(op_events_name(f->x, e->name), "aten::addmm") == 0;
	const char *text = shapes && shapes->n ? shapes->p : "";
	const char *at = *text == '[' ? text + 1 : NULL;

	if (at && has_bias)
		at = strchr(at + 1, '[');
	if (!at || *at != '[' || at[1] < '0' || at[1] > '9')
		return 0;
	return strtoull(at + 1, NULL, 10);
}

struct requests {
	uint64_t n_products, n_alone; /* of one row */
	int64_t alone_ns, all_ns;
	bool trains;
};

static struct requests look_at_requests(const struct op_facts *f, bool adds_lines)
{
	struct requests to = { 0 };

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];
		uint32_t kinds = op_is_device(e) ? 0 : op_kinds(f, e);
		uint64_t rows;

		to.trains |= (kinds & (OP_NAME_OPTIMIZER | OP_NAME_BACKWARD)) || e->is_backward;
		if (e->category != OP_CPU || !(kinds & OP_NAME_PRODUCT) ||
			!op_in_steps(f, e->start_ns) || !(rows = rows_of(f, e)))
			continue;
		to.n_products++;
		to.all_ns += e->duration_ns;
		to.n_alone += rows == 1;
		to.alone_ns += rows == 1 ? e->duration_ns : 0;
		if (rows == 1 && adds_lines)
			op_add_line(f, (uint32_t)i, e->duration_ns);
	}
	return to;
}

/* Answers, each with a row of its own. */
static bool are_alone(const struct op_facts *f, const struct requests *r, double threshold)
{
	return f->steps->n >= REQUESTS && f->steps->how != OP_STEPS_ALL && !r->trains &&
		r->n_products && 10 * r->alone_ns >= 9 * r->all_ns &&
		op_is_over(f, (double)r->alone_ns / 1e9, threshold);
}

/* Matrices are read once for each request: eight at a time read them once for all. */
static bool check_batching(const struct op_facts *f, double threshold, struct finding *to)
{
	struct requests r;

	if (f->n_device)
		return false;
	r = look_at_requests(f, true);
	if (!are_alone(f, &r, threshold))
		return false;
	/* with the Python around the operators, but not with what is waiting for requests */
	to->saving.value = f->steps->parts_s[OP_PART_CPU] +
		fmin(f->steps->parts_s[OP_PART_OTHER], 0.5 * f->steps->parts_s[OP_PART_CPU]);
	to->saving.estimate = TOGETHER * to->saving.value;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " of %" PRIu64
		" matrix products had one row, in %zu steps without training%s; they took %s",
		r.n_alone, r.n_products, f->steps->n, op_mostly_from(f),
		op_of_steps(f, (double)r.alone_ns / 1e9));
	to->change = arena_printf(
		f->a, "batch waiting requests: stack %d of them and call the model once", MANY);
	return true;
}

/* ---- many small operators -------------------------------------------------------------------- */

struct group { /* of the operators that a line asked for, without those that operators called */
	uint32_t asked;
	uint64_t n, n_small;
	int64_t ns, pauses_ns;      /* all of them; Python between two of them */
	uint64_t n_pauses, n_stops; /* those; the longer ones */
	int64_t stops_ns;
	int64_t small_ns, calls_ns; /* of the small ones; of that, what is taken for calling them */
};

struct groups {
	struct map index; /* asked → group */
	VEC(struct group) v;
	struct group backward;
	uint64_t n_forward;
};

static struct group *group_of(struct groups *g, uint32_t asked)
{
	uint64_t at;

	if (!map_find(&g->index, asked, &at)) {
		at = g->v.n;
		map_put(&g->index, asked, at);
		vec_push(&g->v, (struct group){ .asked = asked });
	}
	return &g->v.v[at];
}

/* What an operator that none called takes with those it calls. */
struct weight {
	int64_t most_ns;  /* the longest of them, by itself */
	int64_t calls_ns; /* taken for calling them */
};

/* By node; of other nodes nothing. */
static struct weight *weigh(const struct op_facts *f)
{
	size_t n = f->tree.n_events + f->tree.extra.n;
	struct weight *to = arena_new_n(f->a, struct weight, n + 1);
	int64_t *self = xcalloc(n + 1, sizeof *self);

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i], up = f->tree.parent[node];
		const struct op_event *e = ops_node(&f->tree, node);

		if (e->category != OP_CPU)
			continue;
		self[node] += e->duration_ns;
		while (up != OPS_NONE && ops_node(&f->tree, up)->category != OP_CPU)
			up = f->tree.parent[up];
		if (up != OPS_NONE)
			self[up] -= e->duration_ns;
	}
	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i], top = node;

		if (ops_node(&f->tree, node)->category != OP_CPU)
			continue;
		for (unsigned depth = 0; depth < DEPTH && !op_is_top(f, top); depth++)
			top = f->tree.parent[top];
		to[top].most_ns = self[node] > to[top].most_ns ? self[node] : to[top].most_ns;
		to[top].calls_ns += self[node] < CALL_NS ? self[node] : CALL_NS;
	}
	free(self);
	return to;
}

static void add_pause(struct group *to, int64_t ns)
{
	if (ns > 0 && ns < PAUSE_NS) {
		to->n_pauses++;
		to->pauses_ns += ns;
	} else if (ns >= PAUSE_NS && ns < STOPPED_NS) {
		to->n_stops++;
		to->stops_ns += ns;
	}
}

/* One of twenty may have been interrupted; more are Python's own work, which stays. */
static int64_t interrupted_ns(const struct group *x)
{
	return 20 * x->n_stops <= x->n_pauses ? x->stops_ns : 0;
}

static void add_operator(
	struct group *to, const struct op_event *e, const struct weight *w, int64_t pause_ns)
{
	to->n++;
	to->ns += e->duration_ns;
	add_pause(to, pause_ns);
	if (w->most_ns >= SMALL_NS)
		return;
	to->n_small++;
	to->small_ns += e->duration_ns;
	to->calls_ns += w->calls_ns;
}

struct before { /* the operator before it on a thread */
	int64_t end_ns;
	size_t step;
	uint32_t key; /* asked; UINT32_MAX: it went backward */
};

static void gather(const struct op_facts *f, struct groups *g)
{
	const struct weight *weights = weigh(f);
	struct before *last = arena_new_n(f->a, struct before, f->x->tracks.items.n + 1);

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i], key;
		size_t step;
		const struct op_event *e = ops_node(&f->tree, node);
		struct before *b = &last[e->track];
		int64_t pause;

		step = op_step_of(f, e->start_ns);
		if (!step || e->category != OP_CPU || !op_is_top(f, node) ||
			op_within(f, node,
				OP_NAME_OPTIMIZER | OP_NAME_ZERO_GRAD | OP_NAME_LOADER) != OPS_NONE)
			continue;
		key = op_kinds(f, e) & OP_NAME_BACKWARD ? UINT32_MAX : op_asked(f, node);
		pause = b->step == step && b->key == key ? e->start_ns - b->end_ns : 0;
		*b = (struct before){ e->start_ns + e->duration_ns, step, key };
		if (key == UINT32_MAX) {
			add_operator(&g->backward, e, &weights[node], pause);
		} else {
			g->n_forward++;
			add_operator(group_of(g, key), e, &weights[node], pause);
		}
	}
}

/* Most are: on a busy machine some were interrupted. */
static bool is_small(const struct group *x)
{
	return 10 * x->n_small >= 6 * x->n;
}

static bool is_loop(const struct group *x, size_t n_steps)
{
	return x->asked && x->n >= LOOP_OPERATORS * n_steps && is_small(x);
}

static void add_part(struct group *to, const struct group *x, double part)
{
	to->ns += (int64_t)(part * (double)(x->ns + interrupted_ns(x)));
	to->pauses_ns += (int64_t)(part * (double)x->pauses_ns);
	to->small_ns += (int64_t)(part * (double)x->small_ns);
	to->calls_ns += (int64_t)(part * (double)x->calls_ns);
}

/* What it would be if all of it were as small as most of it is: the backward pass of a convolution beside the loop is none of the loop's. */
static struct group as_small(const struct group *x)
{
	struct group r = *x;

	r.ns = x->n_small ? (int64_t)((double)x->small_ns * (double)x->n / (double)x->n_small) : 0;
	return r;
}

/* All loops, and of what goes backward their part: as many operators as they had of those that went forward. */
static struct group sum_loops(const struct op_facts *f, const struct groups *g)
{
	struct group all = { 0 };

	for (size_t i = 0; i < g->v.n; i++) {
		const struct group *x = &g->v.v[i];

		if (!is_loop(x, f->steps->n))
			continue;
		all.n += x->n;
		add_part(&all, x, 1);
		op_add_asked(f, x->asked, x->ns + x->pauses_ns);
	}
	if (all.n && is_small(&g->backward)) {
		struct group backward = as_small(&g->backward);

		add_part(&all, &backward, (double)all.n / (double)g->n_forward);
	}
	return all;
}

static bool check_overhead(const struct op_facts *f, double threshold, struct finding *to)
{
	struct groups g = { .v = VEC_INIT };
	struct requests requests;
	struct group all;
	char each[UNITS_TEXT];
	double seconds, small;

	if (f->n_device || !f->steps->n)
		return false;
	requests = look_at_requests(f, false);
	if (are_alone(f, &requests, ONE_ROW)) /* the rule `batching` says more */
		return false;
	gather(f, &g);
	all = sum_loops(f, &g);
	vec_done(&g.v);
	map_done(&g.index);
	seconds = fmin((double)(all.ns + all.pauses_ns) / 1e9, f->steps->seconds);
	if (!all.n || !op_is_over(f, seconds, threshold))
		return false;
	small = (double)(all.small_ns + all.pauses_ns);
	to->saving.value = fmin(ALONG * seconds, f->steps->seconds);
	to->saving.estimate =
		small > 0 ? seconds * (double)(all.calls_ns + all.pauses_ns) / small : NAN;
	to->evidence = arena_printf(f->a,
		"each step calls %" PRIu64
		" small operators in a loop (%s each with the Python around them)%s; with the backward pass they take %s",
		all.n / f->steps->n, units_format(each, UNIT_SECONDS, seconds / (double)all.n),
		op_mostly_from(f), op_of_steps(f, seconds));
	return true;
}

/* ---- slices ---------------------------------------------------------------------------------- */

/* Each slice's gradient is a tensor of the whole's size, filled with zeros but for the slice, and all of them are added up. */
static bool check_select_backward(const struct op_facts *f, double threshold, struct finding *to)
{
	int64_t sum = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i];
		const struct op_event *e = ops_node(&f->tree, node);
		uint32_t kinds = e->category == OP_CPU ? op_kinds(f, e) : 0;

		if (!(kinds & (OP_NAME_SELECT | OP_NAME_SELECT_BACKWARD)) || !op_is_top(f, node) ||
			!op_in_steps(f, e->start_ns))
			continue;
		if (kinds & OP_NAME_SELECT_BACKWARD) {
			sum += e->duration_ns;
			n++;
		} else {
			op_add_line(f, node, 1);
		}
	}
	if (n < SELECTS * f->steps->n || !op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.estimate = (double)sum / 1e9;
	to->saving.value = fmin(SLICED * to->saving.estimate, f->steps->seconds);
	to->evidence = arena_printf(f->a,
		"the backward pass went through %" PRIu64
		" slices in each step%s, and each filled a tensor as large as the whole, for %s",
		n / f->steps->n, op_mostly_from(f), op_of_steps(f, to->saving.estimate));
	return true;
}

/* ---- optimizer ------------------------------------------------------------------------------- */

struct optimizer_call {
	uint32_t node;
	uint64_t n_operators;
	bool is_foreach;
};

struct optimizer_calls {
	uint64_t n, n_operators;
	int64_t ns;
	const char *name;
};

static void end_call(
	const struct op_facts *f, const struct optimizer_call *c, struct optimizer_calls *to)
{
	const struct op_event *e = c->node == OPS_NONE ? NULL : ops_node(&f->tree, c->node);

	if (!e || c->is_foreach || c->n_operators < OPTIMIZER_LOOP || !op_in_steps(f, e->start_ns))
		return;
	if (!f->n_device && !(op_kinds(f, e) & OP_NAME_FUSES))
		return;
	to->n++;
	to->n_operators += c->n_operators;
	to->ns += e->duration_ns;
	to->name = op_events_name(f->x, e->name);
	op_add_line(f, c->node, e->duration_ns);
}

static struct optimizer_calls find_loops(const struct op_facts *f)
{
	struct optimizer_call call = { .node = OPS_NONE };
	struct optimizer_calls to = { .name = "" };

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i];
		const struct op_event *e = ops_node(&f->tree, node);

		if (e->category == OP_ANNOTATION && op_kinds(f, e) & OP_NAME_OPTIMIZER) {
			end_call(f, &call, &to);
			call = (struct optimizer_call){ .node = node };
		} else if (e->category == OP_CPU && call.node != OPS_NONE &&
			op_within(f, node, OP_NAME_OPTIMIZER) == call.node) {
			call.is_foreach |= (op_kinds(f, e) & OP_NAME_FOREACH) != 0;
			call.n_operators += f->tree.parent[node] == call.node;
		}
	}
	end_call(f, &call, &to);
	return to;
}

/* On the CPU only of those that have a fused form there: foreach alone brings little without a device. */
static bool check_optimizer_loop(const struct op_facts *f, double threshold, struct finding *to)
{
	struct optimizer_calls all = find_loops(f);
	double seconds = (double)all.ns / 1e9;

	if (!op_is_over(f, seconds, threshold))
		return false;
	to->saving.value = seconds;
	to->saving.estimate = f->n_device ? NAN : FUSED * seconds;
	if (!f->n_device)
		to->change = "create the optimizer with fused=True";
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " calls of %s updated the parameters one by one, with %" PRIu64
		" operators each, for %s",
		all.n, all.name, all.n_operators / all.n, op_of_steps(f, seconds));
	return true;
}

/* ---- copies ---------------------------------------------------------------------------------- */

/* contiguous() or reshape() that copies, twice or more in a step from one line; a step that was found as the shortest period is a turn of
 * the loop itself. */
static bool check_copies(const struct op_facts *f, double threshold, struct finding *to)
{
	uint64_t least = f->steps->how == OP_STEPS_PERIOD ? 1 : 2;
	struct groups g = { .v = VEC_INIT };
	uint32_t counted = OPS_NONE;
	int64_t sum = 0;
	uint64_t n = 0;
	double saved = 0;

	for (size_t i = 0; i < f->tree.n && !f->n_device; i++) {
		uint32_t node = f->tree.order[i], top;
		const struct op_event *e = ops_node(&f->tree, node);

		if (e->category != OP_CPU || !(op_kinds(f, e) & OP_NAME_CLONES) ||
			!op_in_steps(f, e->start_ns))
			continue;
		top = op_within(f, node, OP_NAME_ARRANGES);
		if (top == OPS_NONE || !op_is_top(f, top) || top == counted)
			continue;
		counted = top;
		add_operator(group_of(&g, op_asked(f, top)), ops_node(&f->tree, top),
			&(struct weight){ 0 }, 0);
	}
	for (size_t i = 0; i < g.v.n; i++) {
		const struct group *x = &g.v.v[i];

		if (!x->asked || x->n < least * f->steps->n)
			continue;
		n += x->n;
		sum += x->ns;
		saved += (double)x->ns * (least > 1 ? 1 - (double)f->steps->n / (double)x->n : 1);
		op_add_asked(f, x->asked, x->ns);
	}
	vec_done(&g.v);
	map_done(&g.index);
	if (!n || !op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = fmin(RELEASED * (double)sum / 1e9, f->steps->seconds);
	to->saving.estimate = fmin(COLDER * saved / 1e9, to->saving.value);
	to->evidence = arena_printf(f->a,
		"contiguous() or reshape() copied a tensor %" PRIu64
		" times in %zu steps%s, for %s",
		n, f->steps->n, op_mostly_from(f), op_of_steps(f, (double)sum / 1e9));
	return true;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const struct op_rule op_rules_cpu[] = {
	{
		.name = "optimizer-loop",
		.threshold = 0.05,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_optimizer_loop,
		.change = "create the optimizer with fused=True or foreach=True",
		.proof = BY_OPS,
	},
	{
		.name = "overhead",
		.threshold = 0.10,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_overhead,
		.change =
			"replace the loop by one call: give the layer the whole batch, stack independent tensors, use nn.LSTM or nn.GRU for loops of cells; for a whole model, use larger batches or torch.compile",
		.proof = BY_OPS,
	},
	{
		.name = "select-backward",
		.threshold = 0.05,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_select_backward,
		.change =
			"split the tensor once, with unbind() or split(), instead of indexing it in the loop",
		.proof = BY_OPS,
	},
	{
		.name = "copies",
		.threshold = 0.10,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_copies,
		.change =
			"copy once, before the loop, or not at all: most operators accept tensors in any memory order",
		.proof = BY_OPS,
	},
	{
		.name = "batching",
		.threshold = 0.20,
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_batching,
		.change = "answer waiting requests in one call",
		.proof = BY_SHAPES,
	},
	{ 0 },
};
