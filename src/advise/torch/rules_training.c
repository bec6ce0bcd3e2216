/* SPDX-License-Identifier: MIT
 * See op_facts.h: rules about the training itself: optimizer, autograd, layers, ranks, torch.compile. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/op_compile.h"
#include "analyze/op_compile_told.h"
#include "analyze/op_facts.h"
#include "analyze/op_steps.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	LOOP = 30
}; /* operators in a call of an optimizer, from which on it goes through parameters one by one */

/* ---- optimizer ------------------------------------------------------------------------------- */

bool op_rule_zero_grad(const struct op_facts *f, double threshold, struct finding *to)
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

struct optimizer_call {
	uint32_t node;
	uint64_t n_operators;
	bool is_foreach;
};

static bool is_loop(const struct optimizer_call *c)
{
	return c->node != OPS_NONE && !c->is_foreach && c->n_operators >= LOOP;
}

/* On a device alone: on the CPU there is nothing to be won. */
bool op_rule_optimizer_loop(const struct op_facts *f, double threshold, struct finding *to)
{
	struct optimizer_call call = { .node = OPS_NONE };
	uint64_t n = 0, n_operators = 0;
	int64_t sum = 0;
	const char *name = "";

	for (size_t i = 0; f->n_device && i <= f->tree.n; i++) {
		uint32_t node = i < f->tree.n ? f->tree.order[i] : OPS_NONE;
		const struct op_event *e = node == OPS_NONE ? NULL : ops_node(&f->tree, node);

		if (!e || (e->category == OP_ANNOTATION && op_kinds(f, e) & OP_NAME_OPTIMIZER)) {
			if (is_loop(&call)) {
				n++;
				n_operators += call.n_operators;
				sum += ops_node(&f->tree, call.node)->duration_ns;
				op_add_line(
					f, call.node, ops_node(&f->tree, call.node)->duration_ns);
				name = op_events_name(f->x, ops_node(&f->tree, call.node)->name);
			}
			call = (struct optimizer_call){ .node = node };
		} else if (e->category == OP_CPU && call.node != OPS_NONE &&
			op_within(f, node, OP_NAME_OPTIMIZER) == call.node) {
			call.is_foreach |= (op_kinds(f, e) & OP_NAME_FOREACH) != 0;
			call.n_operators += f->tree.parent[node] == call.node;
		}
	}
	if (!op_is_over(f, (double)sum / 1e9, threshold))
		return false;
	to->saving.value = (double)sum / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " calls of %s went through the parameters one by one, with %" PRIu64
		" operators each, for %s",
		n, name, n_operators / n, op_of_steps(f, to->saving.value));
	return true;
}

/* ---- layers ---------------------------------------------------------------------------------- */

struct bias {       /* that was added on a thread, and nothing else since */
	int64_t ns; /* on the device */
	uint32_t asked;
};

/* A convolution that adds its bias, and then batch_norm, which takes means away again; the counter of batches may be between them. */
bool op_rule_conv_bias(const struct op_facts *f, double threshold, struct finding *to)
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
		"%" PRIu64 " times a convolution added a bias, and the batch norm after it took it "
		"away again, for %s",
		n, op_of_steps(f, to->saving.value));
	return true;
}

/* ---- autograd -------------------------------------------------------------------------------- */

/* Numbers go on only where autograd keeps something for later. */
bool op_rule_no_grad(const struct op_facts *f, double threshold, struct finding *to)
{
	uint32_t last = 0;
	uint64_t n = 0;

	for (size_t i = 0; i < f->x->sequences.n; i++) {
		const struct op_sequence *s = &f->x->sequences.v[i];

		if (f->x->v.v[s->event].is_backward)
			return false;
		n += i && s->number != last;
		last = s->number;
		op_add_line(f, s->event, 1);
	}
	if ((double)n < threshold || op_find_row(f, "Optimizer.") ||
		op_find_row(f, "autograd::engine::evaluate_function"))
		return false;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " operators were noted for autograd, and nothing went backward", n);
	return true;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

bool op_rule_no_sync(const struct op_facts *f, double threshold, struct finding *to)
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
		" steps of the optimizer; communication that no computation covers took %s",
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
	const struct op_told_frame *most = NULL;

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
static void tell_break(const struct op_told *told, struct finding *to)
{
	const struct op_told_break *most = NULL;
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

bool op_rule_recompiles(const struct op_facts *f, double threshold, struct finding *to)
{
	double later = 0;
	size_t n = 0;

	for (size_t i = 1; i < f->steps->n; i++) {
		later += f->steps->v[i].parts_s[OP_PART_COMPILE];
		n += f->steps->v[i].parts_s[OP_PART_COMPILE] > 0;
	}
	if (!f->compile->n_again || !op_is_over(f, later, threshold))
		return false;
	to->saving.value = later;
	if (!is_all_again(f))
		to->confidence = FINDING_BOUND;
	tell_compiled_again(f, to);
	to->evidence = arena_printf(f->a,
		"torch.compile was at work in %zu steps after the first, for %s, and compiled "
		"%" PRIu64 " frames that it had compiled before",
		n, op_of_steps(f, later), f->compile->n_again);
	return true;
}

bool op_rule_graph_breaks(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct op_compile *c = f->compile;

	if (!c->n_calls || (double)c->n_breaks <= threshold * (double)c->n_calls)
		return false;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " of %" PRIu64
		" calls of compiled code only went on after a graph break%s%s",
		c->n_breaks, c->n_calls, c->n_places ? ", the first at " : "",
		c->n_places ? c->breaks[0].where : "");
	tell_break(c->told, to);
	return true;
}
