/* SPDX-License-Identifier: MIT
 * See rule.h: rules about the training itself: optimizer, autograd, layers, ranks, torch.compile. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/torch/rule.h"
#include "analyze/torch/compile.h"
#include "analyze/torch/compile_log.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	BESIDE = 30
}; /* operators noted for nothing beside a training, from which on it is an evaluation */

/* ---- optimizer ------------------------------------------------------------------------------- */

static bool check_zero_grad(const struct op_facts *f, double threshold, struct finding *to)
{
	uint32_t counted = OPS_NONE;
	int64_t sum = 0;
	uint64_t n = 0, n_calls = 0;

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i], call;
		const struct op_event *e = ops_node(&f->tree, node);

		if (e->category != OP_CPU || !(op_kinds(f, e) & OP_NAME_ZEROES) ||
			!op_in_steps(f, e->start_ns))
			continue;
		call = op_within(f, node, OP_NAME_ZERO_GRAD);
		if (call == OPS_NONE)
			continue;
		n++;
		if (call != counted) {
			n_calls++;
			sum += ops_node(&f->tree, call)->duration_ns;
			op_add_line(f, call, ops_node(&f->tree, call)->duration_ns);
			counted = call;
		}
	}
	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " calls of zero_grad filled gradients with zeros (%" PRIu64
		" times), for %s",
		n_calls, n, op_of_steps(f, to->saving.value));
	return true;
}

/* ---- layers ---------------------------------------------------------------------------------- */

struct bias {       /* that was added on a thread, and nothing else since */
	int64_t ns; /* on the device */
	uint32_t asked;
};

/* A convolution that adds its bias, and then batch_norm, which takes means away again; the counter of batches may be between them. */
static bool check_conv_bias(const struct op_facts *f, double threshold, struct finding *to)
{
	struct bias *biases = xcalloc(f->x->tracks.items.n + 1, sizeof *biases);
	int64_t sum = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < f->tree.n; i++) {
		uint32_t node = f->tree.order[i];
		const struct op_event *e = ops_node(&f->tree, node);
		uint32_t kinds = op_kinds(f, e);
		struct bias *b = &biases[e->track];

		if (e->category != OP_CPU || node >= f->tree.n_events ||
			!op_in_steps(f, e->start_ns))
			continue;
		if (!op_is_top(f, node)) {
			if (kinds & OP_NAME_ADDS &&
				op_within(f, node, OP_NAME_CONVOLUTION) != OPS_NONE)
				*b = (struct bias){ b->ns + f->device_ns[node], op_asked(f, node) };
			continue;
		}
		if (kinds & OP_NAME_BATCH_NORM && b->ns) {
			sum += b->ns;
			op_add_asked(f, b->asked, b->ns);
			n++;
		}
		if (!(kinds & OP_NAME_ADDS))
			*b = (struct bias){ 0 };
	}
	free(biases);
	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence = arena_printf(f->a,
		"a convolution added a bias %" PRIu64
		" times, and the batch norm after it cancelled that, for %s",
		n, op_of_steps(f, to->saving.value));
	return true;
}

/* ---- autograd -------------------------------------------------------------------------------- */

/* What autograd keeps for later has a number of its own; operators that keep nothing have the one that comes next. */
struct noted {
	struct map gone_back; /* numbers that something went backward through */
	uint64_t n_forward, n_unused;
	int64_t unused_ns;
};

static void read_numbers(const struct op_facts *f, struct noted *to)
{
	for (size_t i = 0; i < f->x->sequences.n; i++) {
		const struct op_sequence *s = &f->x->sequences.v[i];

		if (f->x->v.v[s->event].is_backward)
			map_put(&to->gone_back, (uint64_t)s->number + 1, 1);
	}
}

/* The last number may be of an operator that keeps nothing. */
static void count_unused(const struct op_facts *f, struct noted *to)
{
	const struct op_sequence *last = NULL;

	for (size_t i = 0; i < f->x->sequences.n; i++) {
		const struct op_sequence *s = &f->x->sequences.v[i];
		uint64_t is_there;

		if (f->x->v.v[s->event].is_backward)
			continue;
		if (last && s->number != last->number) {
			to->n_forward++;
			if (!map_find(&to->gone_back, (uint64_t)last->number + 1, &is_there)) {
				to->n_unused++;
				to->unused_ns += f->x->v.v[last->event].duration_ns;
				op_add_line(f, last->event, 1);
			}
		}
		last = s;
	}
}

/* Nothing went backward at all, or not through a third of it: an evaluation beside the training. */
static bool check_no_grad(const struct op_facts *f, double threshold, struct finding *to)
{
	struct noted all = { 0 };
	bool trains, goes_back;

	read_numbers(f, &all);
	count_unused(f, &all);
	goes_back = all.gone_back.n > 0;
	trains = goes_back || op_find_row(f, "Optimizer.") ||
		op_find_row(f, "autograd::engine::evaluate_function");
	map_done(&all.gone_back);
	if ((double)all.n_unused < threshold || 3 * all.n_unused < all.n_forward)
		return false;
	if (!trains) {
		to->evidence = arena_printf(f->a,
			"%" PRIu64
			" operators were recorded for autograd, and there was no backward pass",
			all.n_unused);
		return true;
	}
	if (!goes_back || all.n_unused < BESIDE)
		return false;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " of %" PRIu64
		" operators recorded for autograd took no part in the backward pass%s",
		all.n_unused, all.n_forward, op_mostly_from(f));
	return true;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

static bool check_no_sync(const struct op_facts *f, double threshold, struct finding *to)
{
	uint64_t n_forward = 0, n_steps = 0, n_reduced = 0;
	double exposed = f->steps->parts_s[OP_PART_COMMUNICATION], share;

	vec_each (&f->x->v, e) {
		uint32_t kinds = op_is_device(e) ? 0 : op_kinds(f, e);

		n_forward += (kinds & OP_NAME_DDP) != 0;
		n_steps += (kinds & OP_NAME_OPTIMIZER) != 0;
		n_reduced += (kinds & OP_NAME_ALL_REDUCE) != 0;
	}
	if (!n_steps || n_forward < 2 * n_steps || n_reduced < n_forward)
		return false;
	share = 1 - (double)n_steps / (double)n_forward;
	if (!op_is_over(f, share * exposed, threshold))
		return false;
	to->saving.value = share * exposed;
	to->evidence = arena_printf(f->a,
		"gradients of %" PRIu64 " batches were sent %" PRIu64 " times for %" PRIu64
		" steps of the optimizer; communication that did not overlap computation took %s",
		n_forward, n_reduced, n_steps, op_of_steps(f, exposed));
	return true;
}

/* ---- torch.compile --------------------------------------------------------------------------- */

/* Compilations after the first step were all of frames that had been compiled before. */
static bool is_all_again(const struct op_facts *f)
{
	double later_s = (double)(f->steps->v[0].end_ns - f->x->zero_ns) / 1e9;

	for (size_t i = 0; i < f->compile->n; i++)
		if (f->compile->v[i].at_s >= later_s && !f->compile->v[i].is_again)
			return false;
	return true;
}

/* The function that was compiled again for at least half of that time, where torch has told its line. */
static void tell_compiled_again(const struct op_facts *f, struct finding *to)
{
	const struct op_compile *c = f->compile;
	double all_s = 0, most_s = 0;
	const struct op_compile_log_frame *most = NULL;

	for (size_t i = 0; i < c->n; i++)
		all_s += c->v[i].is_again ? c->v[i].seconds : 0;
	for (size_t k = 0; k < c->n_frames; k++) {
		size_t n = strlen(c->frames[k].id);
		double seconds = 0;

		for (size_t i = 0; i < c->n; i++)
			if (c->v[i].is_again && strncmp(c->v[i].id, c->frames[k].id, n) == 0 &&
				c->v[i].id[n] == '/')
				seconds += c->v[i].seconds;
		if (seconds > most_s) {
			most_s = seconds;
			most = c->frames[k].told;
		}
	}
	if (most && *most->file && most_s >= all_s / 2) {
		to->file = most->file;
		to->line = (uint32_t)(most->line <= INT32_MAX ? most->line : 0);
	}
}

/* The place of at least half of the breaks that torch has told. */
static void tell_break(const struct op_compile_log *told, struct finding *to)
{
	const struct op_compile_log_break *most = NULL;
	uint64_t all = 0;

	for (size_t i = 0; told && i < told->n_breaks; i++) {
		all += told->breaks[i].n_times;
		if (!most || told->breaks[i].n_times > most->n_times)
			most = &told->breaks[i];
	}
	if (most && *most->file && most->n_times >= all - most->n_times) {
		to->file = most->file;
		to->line = (uint32_t)(most->line <= INT32_MAX ? most->line : 0);
	}
}

static bool check_recompiles(const struct op_facts *f, double threshold, struct finding *to)
{
	double later = 0;
	char took[UNITS_TEXT];
	size_t n = 0;

	for (size_t i = 1; i < f->steps->n; i++) {
		later += f->steps->v[i].parts_s[OP_PART_COMPILE];
		n += f->steps->v[i].parts_s[OP_PART_COMPILE] > 0;
	}
	if (!f->compile->n_again || !op_is_over(f, later, threshold))
		return false;
	to->saving.value = later;
	to->saving.whole = NAN; /* it is not spent in each step: a longer run has it once */
	if (!is_all_again(f))
		to->confidence = FINDING_BOUND;
	tell_compiled_again(f, to);
	to->evidence = arena_printf(f->a,
		"after the first step, torch.compile compiled in %zu more, for %s, and recompiled %" PRIu64
		" frames",
		n, units_format(took, UNIT_SECONDS, later), f->compile->n_again);
	return true;
}

static bool check_graph_breaks(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct op_compile *c = f->compile;

	if (!c->n_calls || (double)c->n_breaks <= threshold * (double)c->n_calls)
		return false;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " of %" PRIu64
		" calls of compiled code only continued after a graph break%s%s",
		c->n_breaks, c->n_calls, c->n_places ? ", the first at " : "",
		c->n_places ? c->breaks[0].where : "");
	tell_break(c->told, to);
	return true;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const struct op_rule op_rules_training[] = {
	{
		.name = "zero-grad",
		.threshold = 0.01,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_zero_grad,
		.change = "use zero_grad(set_to_none=True), which is the default",
		.proof = BY_OPS,
	},
	{
		.name = "conv-bias",
		.threshold = 0.005,
		.saves = SAVES_BUSY,
		.confidence = FINDING_MEASURED,
		.check = check_conv_bias,
		.change = "create the convolution with bias=False",
		.proof = BY_SHAPES,
	},
	{
		.name = "no-grad",
		.threshold = 3,
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_no_grad,
		.change = "put torch.inference_mode() or torch.no_grad() around it",
		.proof = BY_OPS,
	},
	{
		.name = "no-sync",
		.threshold = 0.02,
		.saves = SAVES_BUSY,
		.confidence = FINDING_HEURISTIC,
		.check = check_no_sync,
		.change =
			"put model.no_sync() around all batches but the last before each step of the optimizer",
		.proof = BY_OPS,
	},
	{
		.name = "recompiles",
		.threshold = 0.05,
		.saves = SAVES_HOST,
		.confidence = FINDING_MEASURED,
		.check = check_recompiles,
		.change =
			"keep shapes, types and flags the same, or mark the dimensions that vary (torch._dynamo.mark_dynamic, dynamic=True); TORCH_LOGS=recompiles says why",
		.proof = BY_COMPILE,
	},
	{
		.name = "graph-breaks",
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_graph_breaks,
		.change =
			"move what breaks the graph (.item(), print, unknown calls) out of the compiled function; TORCH_LOGS=graph_breaks says what and why",
		.proof = BY_COMPILE,
	},
	{ 0 },
};
