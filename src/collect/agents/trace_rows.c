/* SPDX-License-Identifier: MIT
 * See trace_rows.h. */
#include "collect/agents/trace_rows.h"

#include <stdlib.h>

#include "base/map.h"
#include "base/xalloc.h"
#include "collect/agents/session.h"
#include "collect/agents/trace_args.h"
#include "collect/agents/trace_budget.h"
#include "collect/agents/trace_state.h"
#include "collect/rows.h"
#include "store/writer.h"
#include "wire/records.h"
#include "base/banned.h"

uint64_t trace_to_ns(const struct trace *t, uint64_t ticks)
{
	uint64_t run = t->now.ticks - t->first.ticks;
	unsigned __int128 ns;

	if (t->clock_mode == CLOCK_MODE_MONOTONIC || run == 0)
		return ticks;
	ns = (unsigned __int128)ticks * (t->now.monotonic_ns - t->first.monotonic_ns) / run;
	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* A stamp of the session's clock as CLOCK_MONOTONIC. */
static uint64_t to_monotonic(const struct trace *t, uint64_t ticks)
{
	return ticks > t->first.ticks && t->clock_mode != CLOCK_MODE_MONOTONIC
		? t->first.monotonic_ns + trace_to_ns(t, ticks - t->first.ticks)
		: ticks;
}

static uint32_t process_row(struct trace *t, struct traced *p)
{
	const struct session_process *s = p->process;

	if (p->row && p->segment == writer_segment(t->c.writer))
		return p->row;
	p->segment = writer_segment(t->c.writer);
	return p->row = rows_process(t->c.writer, s->pid, s->start_ns, s->parent_pid);
}

static size_t put_varint(unsigned char *to, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		to[n++] = (unsigned char)(v | 0x80);
	to[n++] = (unsigned char)v;
	return n;
}

static size_t encode_histogram(const struct trace_node *node, unsigned char *to)
{
	size_t n = 0, n_buckets = TRACE_BUCKETS;

	while (n_buckets && !node->histogram[n_buckets - 1])
		n_buckets--;
	for (size_t i = 0; n_buckets && i < TRACE_BUCKET_LOG2; i++)
		to[n++] = 0;
	for (size_t i = 0; i < n_buckets; i++)
		n += put_varint(to + n, node->histogram[i]);
	return n;
}

static uint64_t place_of(const struct traced *p, uint32_t ref)
{
	return (uint64_t)p->process->id << 32 | ref;
}

static void write_node(void *ctx, const struct trace_tree_node *n)
{
	const struct trace_writing *to = ctx;
	struct trace *t = to->t;
	const struct trace_node *node = n->node;
	struct trace_function_row function =
		trace_functions_row(&to->p->functions, node->function, t->c.writer);
	unsigned char histogram[TRACE_BUCKET_LOG2 + TRACE_BUCKETS * 5];
	uint64_t hidden, parent = map_find(&to->p->hidden, n->parent, &hidden) ? hidden : n->parent;
	struct rec_thread thread = { .process = process_row(t, to->p),
		.tid = (uint32_t)n->granule->tid };
	struct rec_node r = { .thread = writer_row(t->c.writer, RECORD_thread, &thread),
		.id = n->id,
		.parent = (uint32_t)parent,
		.code = function.code,
		.builtin = function.builtin,
		.calls = node->calls,
		.resumes = node->resumes,
		.recursive_calls = node->recursive_calls,
		.inclusive_ns = trace_to_ns(t, n->inclusive),
		.self_ns = trace_to_ns(t, node->self),
		.awaited_ns = trace_to_ns(t, node->awaited),
		.min_ns = node->not_min ? trace_to_ns(t, ~node->not_min) : RECORD_UNKNOWN,
		.max_ns = trace_to_ns(t, node->max),
		.histogram = { histogram, (uint32_t)encode_histogram(node, histogram) },
		.place = trace_has_timeline(t) ? place_of(to->p, n->ref) : 0,
		.cost_ns = trace_to_ns(t, node->cost >> 8) };

	if (function.is_own) {
		map_put(&to->p->hidden, n->id, parent);
		map_put(&to->p->hidden_events, n->id, node->calls + node->resumes);
		return;
	}
	if (node->function && !function.code && !function.builtin)
		r.builtin = writer_string(t->c.writer, "<function without a name>");
	writer_add(t->c.writer, RECORD_node, &r);
}

static void write_line(
	void *ctx, const struct trace_counted *of, uint32_t line, const struct trace_line *c)
{
	const struct trace_writing *to = ctx;
	struct trace *t = to->t;
	struct rec_thread thread = { .process = process_row(t, to->p), .tid = (uint32_t)of->tid };
	struct rec_line_count r = { .thread = writer_row(t->c.writer, RECORD_thread, &thread),
		.code = trace_functions_row(&to->p->functions, of->function, t->c.writer).code,
		.line = line,
		.hits = c->hits,
		.total_ns = trace_to_ns(t, c->total),
		.own_ns = trace_to_ns(t, c->own),
		.callees_ns = trace_to_ns(t, c->total > c->own ? c->total - c->own : 0),
		.max_ns = trace_to_ns(t, c->max) };

	if (!t->c.agent_options.wants_line_times) /* counted without a clock */
		r.total_ns = r.own_ns = r.callees_ns = r.max_ns = RECORD_UNKNOWN;
	if (line == 0) /* a function has no time of its own beside its lines' */
		r.own_ns = r.callees_ns = RECORD_UNKNOWN;
	writer_add(t->c.writer, RECORD_line_count, &r);
}

void trace_rows_events(void *ctx, const struct event_block *b, const void *bytes)
{
	const struct trace_writing *to = ctx;
	struct trace *t = to->t;
	struct rec_thread thread = { .process = process_row(t, to->p), .tid = (uint32_t)b->tid };
	struct rec_call_events r = { .t_ns = to_monotonic(t, b->base),
		.thread = writer_row(t->c.writer, RECORD_thread, &thread),
		.image = to->p->process->id,
		.sequence = b->sequence,
		.tick = trace_to_ns(t, (uint64_t)1 << 32),
		.depth = b->depth,
		.ref = b->ref,
		.n_events = (uint32_t)(b->filled >> 32),
		.events = { bytes, (uint32_t)b->filled } };

	writer_add(t->c.writer, RECORD_call_events, &r);
}

static void write_units(void *ctx, const struct trace_units *of)
{
	const struct trace_writing *to = ctx;
	struct trace *t = to->t;
	struct rec_thread thread = { .process = process_row(t, to->p), .tid = (uint32_t)of->tid };
	unsigned char *hits = xmalloc((size_t)of->n * 10 + 1);
	struct rec_instruction_count r = { .thread =
						   writer_row(t->c.writer, RECORD_thread, &thread),
		.code = trace_functions_row(&to->p->functions, of->function, t->c.writer).code,
		.is_derived = of->is_derived };
	size_t n = 0, end = of->n;

	while (end && !of->now[end - 1])
		end--;
	for (size_t i = 0; i < end; i++)
		n += put_varint(hits + n, of->now[i]);
	r.hits = (rec_bytes){ hits, (uint32_t)n };
	writer_add(t->c.writer, RECORD_instruction_count, &r);
	free(hits);
}

static void write_budget(void *ctx, const struct budget_entry *e)
{
	const struct trace_writing *to = ctx;
	struct trace *t = to->t;
	struct trace_function_row function =
		trace_functions_row(&to->p->functions, e->function, t->c.writer);
	struct rec_budget r = { .process = process_row(t, to->p),
		.code = function.code,
		.builtin = function.builtin,
		.off_ns = e->last > e->off_at ? e->last - e->off_at : 0,
		.n_windows = e->n_windows,
		.window_ns = e->span,
		.window_cost_ns = e->cost,
		.outside_cost_ns = e->outside_cost,
		.calls = e->calls,
		.resumes = e->resumes,
		.self_ns = trace_to_ns(t, e->self),
		.calls_squared = e->calls_squared,
		.calls_net = e->calls_net,
		.net_squared = e->net_squared,
		.gap_ns = e->gap,
		.off_rate = e->off_rate,
		.first_rate = e->first_rate,
		.tells_blind = 1,
		.counted = e->counted,
		.counted_resumes = e->counted_resumes,
		.blind_ns = e->blind,
		.others_self_ns = trace_to_ns(t, e->others_self),
		.wall_ns = trace_to_ns(t, e->off_clock) };

	if (function.code || function.builtin)
		writer_add(t->c.writer, RECORD_budget, &r);
}

static void write_arguments(void *ctx, int32_t tid, const struct args_sketch *s)
{
	const struct trace_writing *to = ctx;
	struct trace *t = to->t;
	struct trace_function_row function =
		trace_functions_row(&to->p->functions, s->function, t->c.writer);
	struct rec_thread thread = { .process = process_row(t, to->p), .tid = (uint32_t)tid };
	struct args_sample samples[ARGS_SAMPLES];
	struct rec_arguments r = { .thread = writer_row(t->c.writer, RECORD_thread, &thread),
		.code = function.code,
		.calls = s->n_calls,
		.opaque = s->n_opaque,
		.level = (uint8_t)s->level };
	uint32_t n = 0;

	if (!function.code || function.is_own)
		return;
	for (int i = 0; i < ARGS_SAMPLES; i++)
		if (s->samples[i].hash)
			samples[n++] = s->samples[i];
	r.samples = (rec_bytes){ samples, n * (uint32_t)sizeof *samples };
	writer_add(t->c.writer, RECORD_arguments, &r);
	for (const struct args_frequent *f = s->frequent; f < s->frequent + ARGS_FREQUENT; f++)
		if (f->hash && f->text[0])
			writer_add(t->c.writer, RECORD_argument_shape,
				&(struct rec_argument_shape){ .thread = r.thread,
					.code = r.code,
					.hash = f->hash,
					.calls = f->count,
					.over = f->over,
					.text = writer_string(t->c.writer, f->text) });
}

void trace_rows_ops(struct trace *t, struct traced *p, bool is_last)
{
	struct trace_ops_target to = { .writer = t->c.writer,
		.interpreter = p->interpreter,
		.sources = t->c.sources,
		.source_process = p->functions.source_process,
		.clock = &t->ticks };

	if (!trace_has_torch(t) || !p->ops.blocks.n)
		return;
	to.process = process_row(t, p);
	clock_triple_take(&t->now);
	tick_map_add(&t->ticks, &t->now);
	if (is_last)
		trace_ops_write_all(&p->ops, &to);
	else
		trace_ops_write(&p->ops, &to);
}

void trace_rows_loss(struct trace *t, struct traced *p, const char *what, uint64_t count)
{
	if (count)
		writer_add(t->c.writer, RECORD_loss,
			&(struct rec_loss){ .t_ns = t->now.monotonic_ns,
				.process = process_row(t, p),
				.what = writer_string(t->c.writer, what),
				.count = count });
}

void trace_rows_tree(struct trace *t, struct traced *p)
{
	struct trace_writing to = { .t = t, .p = p };

	trace_tree_each(&p->tree, write_node, &to);
	trace_lines_each(&p->lines, write_line, &to);
	trace_opcodes_each(&p->opcodes, write_units, &to);
}

void trace_rows_end(struct trace *t, struct traced *p)
{
	struct trace_writing to = { .t = t, .p = p };

	trace_budget_each(&p->tree.area, write_budget, &to);
	trace_args_each(&p->tree.area, write_arguments, &to);
}
