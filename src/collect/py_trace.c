/* SPDX-License-Identifier: MIT
 * See py_trace.h. What the memory and the records of a target mean is trace_tree.c's and trace_functions.c's;
 * here are the session, the environment of the program, the schedule and the records of the recording. */
#include "collect/py_trace.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/bootstrap.h"
#include "collect/collector.h"
#include "collect/embedded.h"
#include "collect/line_wishes.h"
#include "collect/regions_file.h"
#include "collect/rows.h"
#include "collect/session.h"
#include "collect/sources.h"
#include "collect/tick_map.h"
#include "collect/trace_args.h"
#include "collect/trace_budget.h"
#include "collect/trace_events.h"
#include "collect/trace_functions.h"
#include "collect/trace_lines.h"
#include "collect/trace_opcodes.h"
#include "collect/trace_ops.h"
#include "collect/trace_tree.h"
#include "store/writer.h"
#include "sys/clocksource.h"
#include "wire/records.h"
#include "wire/session_layout.h"
#include "wire/trace.h"

#define LOG_TOPIC "trace"
#include "base/log.h"
#include "base/banned.h"

enum {
	LOOK_MS = 40, /* at rings and the door */
	LOOK_TIMELINE_MS = 4,
	SNAPSHOT_MS = 1000,
	SNAPSHOT_SHARE = 20, /* a snapshot is taken again after this many times what it took */
	NOTES_MOST = 16,
};

static const double PACE_FACTOR_LEAST = 0.25, PACE_FACTOR_MOST = 4; /* more is not believed */
static const uint64_t MS = 1000000;
static const uint64_t AREA_BYTES = (uint64_t)256 << 20; /* of calling contexts, per process */

/* One process that has said hello. */
struct traced {
	struct session_process *process; /* borrowed from the session */
	struct trace_tree tree;
	struct trace_functions functions;
	struct trace_lines lines;
	struct trace_events events;
	struct trace_opcodes opcodes;
	struct trace_ops ops;
	struct map
		hidden; /* node of the package's own → its parent, or the nearest above that is shown */
	char *interpreter; /* owned */
	uint32_t row, segment;
	uint64_t n_nonsense; /* records that were not believed */
};

/* What became of PyTorch in all processes that have ended. */
struct trace_torch {
	uint64_t n_ops, n_lost, n_processes, n_gaps, gap_ns;
	uint32_t n_threads_unseen;
	char version[40], cannot[304];
};

struct trace {
	struct collect_context c;
	struct session *session;
	enum clock_mode clock_mode;
	struct clock_triple first, now;
	VEC(struct traced *) processes;
	uint32_t next_id;
	uint64_t next_snapshot_ns;
	struct line_wishes wishes;
	uint64_t n_events, n_event_bytes,
		n_events_lost; /* of the timeline, of processes that have ended */
	struct regions_file regions;
	struct buf notes; /* lines */
	unsigned n_notes;
	bool has_cost;
	struct trace_cost cost;  /* of an event, as the first process measured it */
	uint64_t n_paces, paces; /* the CPU's pace, of processes that have ended */
	struct tick_map ticks;   /* with TRACE_TORCH */
	struct trace_torch torch;
	bool is_over; /* what is to be recorded is */
};

/* ---- time ------------------------------------------------------------------------------------ */

/* A duration in the session's clock. */
static uint64_t to_ns(const struct trace *t, uint64_t ticks)
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
		? t->first.monotonic_ns + to_ns(t, ticks - t->first.ticks)
		: ticks;
}

/* × 2^32, from two readings a moment apart: exact to some 10^-5. */
static uint64_t measure_tick(enum clock_mode mode)
{
	struct timespec moment = { .tv_nsec = 2 * 1000000 };
	struct clock_triple a, b;

	if (mode == CLOCK_MODE_MONOTONIC)
		return (uint64_t)1 << 32;
	clock_triple_take(&a);
	nanosleep(&moment, NULL);
	clock_triple_take(&b);
	return (uint64_t)(((unsigned __int128)(b.monotonic_ns - a.monotonic_ns) << 32) /
		(b.ticks > a.ticks ? b.ticks - a.ticks : 1));
}

/* ---- rows ------------------------------------------------------------------------------------ */

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

static bool has_timeline(const struct trace *t)
{
	return t->c.trace_options & TRACE_TIMELINE;
}

static uint64_t place_of(const struct traced *p, uint32_t ref)
{
	return (uint64_t)p->process->id << 32 | ref;
}

struct writing {
	struct trace *t;
	struct traced *p;
};

static void write_node(void *ctx, const struct trace_tree_node *n)
{
	const struct writing *to = ctx;
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
		.inclusive_ns = to_ns(t, n->inclusive),
		.self_ns = to_ns(t, node->self),
		.awaited_ns = to_ns(t, node->awaited),
		.min_ns = node->not_min ? to_ns(t, ~node->not_min) : RECORD_UNKNOWN,
		.max_ns = to_ns(t, node->max),
		.histogram = { histogram, (uint32_t)encode_histogram(node, histogram) },
		.place = has_timeline(t) ? place_of(to->p, n->ref) : 0,
		.cost_ns = to_ns(t, node->cost >> 8) };

	if (function.is_own) {
		map_put(&to->p->hidden, n->id, parent);
		return;
	}
	if (node->function && !function.code && !function.builtin)
		r.builtin = writer_string(t->c.writer, "<function without a name>");
	writer_add(t->c.writer, RECORD_node, &r);
}

static void write_line(
	void *ctx, const struct trace_counted *of, uint32_t line, const struct trace_line *c)
{
	const struct writing *to = ctx;
	struct trace *t = to->t;
	struct rec_thread thread = { .process = process_row(t, to->p), .tid = (uint32_t)of->tid };
	struct rec_line_count r = { .thread = writer_row(t->c.writer, RECORD_thread, &thread),
		.code = trace_functions_row(&to->p->functions, of->function, t->c.writer).code,
		.line = line,
		.hits = c->hits,
		.total_ns = to_ns(t, c->total),
		.own_ns = to_ns(t, c->own),
		.callees_ns = to_ns(t, c->total > c->own ? c->total - c->own : 0),
		.max_ns = to_ns(t, c->max) };

	if (!(t->c.trace_options & TRACE_LINES)) /* counted without a clock */
		r.total_ns = r.own_ns = r.callees_ns = r.max_ns = RECORD_UNKNOWN;
	if (line == 0) /* a function has no time of its own beside its lines' */
		r.own_ns = r.callees_ns = RECORD_UNKNOWN;
	writer_add(t->c.writer, RECORD_line_count, &r);
}

static void write_events(void *ctx, const struct event_block *b, const void *bytes)
{
	const struct writing *to = ctx;
	struct trace *t = to->t;
	struct rec_thread thread = { .process = process_row(t, to->p), .tid = (uint32_t)b->tid };
	struct rec_call_events r = { .t_ns = to_monotonic(t, b->base),
		.thread = writer_row(t->c.writer, RECORD_thread, &thread),
		.image = to->p->process->id,
		.sequence = b->sequence,
		.tick = to_ns(t, (uint64_t)1 << 32),
		.depth = b->depth,
		.ref = b->ref,
		.n_events = (uint32_t)(b->filled >> 32),
		.events = { bytes, (uint32_t)b->filled } };

	writer_add(t->c.writer, RECORD_call_events, &r);
}

static void write_units(void *ctx, const struct trace_units *of)
{
	const struct writing *to = ctx;
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
	const struct writing *to = ctx;
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
		.self_ns = to_ns(t, e->self),
		.calls_squared = e->calls_squared,
		.calls_net = e->calls_net,
		.net_squared = e->net_squared,
		.gap_ns = e->gap,
		.off_rate = e->off_rate,
		.first_rate = e->first_rate };

	if (function.code || function.builtin)
		writer_add(t->c.writer, RECORD_budget, &r);
}

static void write_arguments(void *ctx, int32_t tid, const struct args_sketch *s)
{
	const struct writing *to = ctx;
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

static bool has_torch(const struct trace *t)
{
	return t->c.trace_options & TRACE_TORCH;
}

/* After a drain of all rings. is_last: of this process. */
static void write_ops(struct trace *t, struct traced *p, bool is_last)
{
	struct trace_ops_target to = { .writer = t->c.writer,
		.interpreter = p->interpreter,
		.sources = t->c.sources,
		.source_process = p->functions.source_process,
		.clock = &t->ticks };

	if (!has_torch(t) || !p->ops.blocks.n)
		return;
	to.process = process_row(t, p);
	clock_triple_take(&t->now);
	tick_map_add(&t->ticks, &t->now);
	if (is_last)
		trace_ops_write_all(&p->ops, &to);
	else
		trace_ops_write(&p->ops, &to);
}

static void write_loss(struct trace *t, struct traced *p, const char *what, uint64_t count)
{
	if (count)
		writer_add(t->c.writer, RECORD_loss,
			&(struct rec_loss){ .t_ns = t->now.monotonic_ns,
				.process = process_row(t, p),
				.what = writer_string(t->c.writer, what),
				.count = count });
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static int on_event(void *ctx, const struct session_event *ev, struct err *e);

/* The memory first, then the rings: what the memory refers to has been told by then. is_over: nobody writes it
 * any more. */
static void snapshot(struct trace *t, struct traced *p, bool is_over)
{
	struct buf area = BUF_INIT;

	session_snapshot(p->process, &area);
	clock_triple_take(&t->now);
	trace_lines_take(&p->lines, &area);
	trace_opcodes_take(&p->opcodes, &area);
	if (is_over) {
		struct writing to = { .t = t, .p = p };

		trace_events_rest(&p->events, &area, write_events, &to);
	}
	if (is_over)
		trace_ops_rest(&p->ops, &area);
	trace_tree_take(&p->tree, &area);
}

static void write_tree(struct trace *t, struct traced *p)
{
	struct writing to = { .t = t, .p = p };

	trace_tree_each(&p->tree, write_node, &to);
	trace_lines_each(&p->lines, write_line, &to);
	trace_opcodes_each(&p->opcodes, write_units, &to);
}

static void snapshot_all(struct trace *t, uint64_t now_ns)
{
	struct err e = ERR_INIT;
	uint64_t took_ns;

	if (now_ns < t->next_snapshot_ns)
		return;
	vec_each (&t->processes, p)
		snapshot(t, *p, false);
	session_drain(t->session, on_event, t, &e);
	vec_each (&t->processes, p)
		write_tree(t, *p);
	took_ns = clock_monotonic_ns() - now_ns;
	t->next_snapshot_ns = now_ns + SNAPSHOT_MS * MS;
	if (took_ns * SNAPSHOT_SHARE > SNAPSHOT_MS * MS)
		t->next_snapshot_ns = now_ns + took_ns * SNAPSHOT_SHARE;
}

/* ---- what the session tells ------------------------------------------------------------------ */

static struct traced *traced_new(struct trace *t, struct session_process *process)
{
	struct traced *p = xcalloc(1, sizeof *p);

	p->process = process;
	p->interpreter = xstrdup(process->build);
	p->tree.next_id = &t->next_id;
	p->functions.interpreter = p->interpreter;
	p->functions.sources = t->c.sources;
	if (t->c.sources)
		p->functions.source_process =
			sources_process(t->c.sources, process->pid, process->start_ns);
	process->user = p;
	vec_push(&t->processes, p);
	return p;
}

static void traced_free(struct traced *p)
{
	trace_tree_done(&p->tree);
	trace_lines_done(&p->lines);
	trace_events_done(&p->events);
	trace_opcodes_done(&p->opcodes);
	trace_ops_done(&p->ops);
	trace_functions_done(&p->functions);
	map_done(&p->hidden);
	free(p->interpreter);
	free(p);
}

static void add_note(struct trace *t, const struct session_process *p, const char *text, size_t n)
{
	if (t->n_notes++ < NOTES_MOST)
		buf_printf(&t->notes, "process %d: %.*s\n", (int)p->pid, (int)(n < 400 ? n : 400),
			text);
}

/* Full memory: what is exact still, and what is not. */
static void note_folded(struct trace *t, const struct traced *p)
{
	char text[200];
	uint64_t n = trace_tree_counters(&p->tree).n_folded;

	if (!n)
		return;
	snprintf(text, sizeof text,
		"%llu calls had no room for calling contexts of their own; counts and own times "
		"per function are "
		"exact, callers and total times are not",
		(unsigned long long)n);
	add_note(t, p->process, text, strlen(text));
}

/* The program ran at its own pace, which may not be that of the moment in which costs were measured. */
static double pace_factor(const struct trace *t)
{
	double factor;

	if (!t->n_paces || !t->cost.pace)
		return 1;
	factor = (double)t->paces / (double)t->n_paces / (double)t->cost.pace;
	return factor < PACE_FACTOR_LEAST   ? PACE_FACTOR_LEAST
		: factor > PACE_FACTOR_MOST ? PACE_FACTOR_MOST
					    : factor;
}

/* Again when a process has ended: the last one counts. */
static void write_cost(struct trace *t)
{
	const struct trace_cost *c = &t->cost;
	const uint64_t parts[] = { c->call_inside, c->call_outside, c->builtin_inside,
		c->builtin_outside, c->resume_inside, c->resume_outside };
	char text[200];
	size_t n = 0;

	if (!t->has_cost)
		return;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%.2f", i ? " " : "",
			(double)to_ns(t, parts[i]) / 256 * pace_factor(t));
	writer_meta(t->c.writer, "trace_cost_ns", text);
	snprintf(text, sizeof text, "%.3f %.3f", (double)c->error_permille / 1000, pace_factor(t));
	writer_meta(t->c.writer, "trace_cost_error", text);
	snprintf(text, sizeof text, "%.3f", (double)c->slower_permille / 1000);
	writer_meta(t->c.writer, "trace_code_slower", text);
}

/* A process that has not told of torch never imported it. */
static void torch_end(struct trace *t, struct traced *p)
{
	const struct trace_ops *o = &p->ops;

	if (!has_torch(t))
		return;
	write_ops(t, p, true);
	if (o->cannot[0])
		memcpy(t->torch.cannot, o->cannot, sizeof t->torch.cannot);
	if (o->version[0])
		memcpy(t->torch.version, o->version, sizeof t->torch.version);
	t->torch.n_processes += o->version[0] || o->n_ops; /* a forked one has not imported it */
	t->torch.n_ops += o->n_ops;
	t->torch.n_lost += o->n_lost;
	t->torch.n_gaps += o->n_gaps;
	t->torch.gap_ns += to_ns(t, o->gap_ticks);
	t->torch.n_threads_unseen += o->n_threads_unseen;
}

static void traced_end(struct trace *t, struct traced *p, bool is_over)
{
	struct trace_tree_counters counted;

	snapshot(t, p, is_over);
	torch_end(t, p);
	trace_budget_each(&p->tree.area, write_budget, &(struct writing){ .t = t, .p = p });
	trace_args_each(&p->tree.area, write_arguments, &(struct writing){ .t = t, .p = p });
	write_tree(t, p);
	counted = trace_tree_counters(&p->tree);
	write_loss(t, p, "agent records", p->process->counts.n_dropped + p->process->n_homeless);
	write_loss(t, p, "agent nonsense", p->n_nonsense);
	write_loss(t, p, "timeline events", p->events.n_lost);
	t->n_events += p->events.n_events;
	t->n_event_bytes += p->events.n_bytes;
	t->n_events_lost += p->events.n_lost;
	note_folded(t, p);
	write_loss(t, p, "contexts folded", counted.n_folded);
	write_loss(t, p, "stacks found again", counted.n_resynced);
	t->n_paces += counted.n_paces;
	t->paces += counted.paces;
	write_cost(t);
	for (size_t i = 0; i < t->processes.n; i++)
		if (t->processes.v[i] == p) {
			vec_remove_swap(&t->processes, i);
			break;
		}
	traced_free(p);
}

static bool on_lines_record(struct trace *t, struct traced *p, const struct session_event *ev)
{
	if (ev->kind == TRACE_RECORD_LINES_NEAR)
		return line_wishes_near(&t->wishes, ev->data, ev->n_bytes);
	if (!trace_lines_add(&p->lines, ev->thread->tid, ev->data, ev->n_bytes))
		return false;
	line_wishes_found(&t->wishes, ((const struct line_block *)ev->data)->pattern);
	return true;
}

static void on_record(struct trace *t, struct traced *p, const struct session_event *ev)
{
	if (ev->kind == TRACE_RECORD_NOTE)
		add_note(t, ev->process, ev->data, ev->n_bytes);
	else if (trace_ops_is_own(ev->kind))
		p->n_nonsense += !trace_ops_add(&p->ops, ev->kind, ev->data, ev->n_bytes);
	else if (ev->kind == TRACE_RECORD_LINES || ev->kind == TRACE_RECORD_LINES_NEAR)
		p->n_nonsense += !on_lines_record(t, p, ev);
	else if (ev->kind == TRACE_RECORD_EVENTS)
		p->n_nonsense += !trace_events_add(&p->events, ev->data, ev->n_bytes, write_events,
			&(struct writing){ .t = t, .p = p });
	else if (ev->kind == TRACE_RECORD_OPCODES)
		p->n_nonsense +=
			!trace_opcodes_add(&p->opcodes, ev->thread->tid, ev->data, ev->n_bytes);
	else if (ev->kind == TRACE_RECORD_COST && ev->n_bytes == sizeof(struct trace_cost) &&
		!t->has_cost) {
		t->has_cost = true;
		memcpy(&t->cost, ev->data, sizeof t->cost);
		clock_triple_take(&t->now);
		write_cost(t);
	} else if (!trace_functions_add(&p->functions, ev->kind, ev->data, ev->n_bytes)) {
		p->n_nonsense++;
	}
}

static int on_event(void *ctx, const struct session_event *ev, struct err *e)
{
	struct trace *t = ctx;

	(void)e;
	switch (ev->what) {
	case SESSION_PROCESS_BEGAN:
		*t->c.has_agents = true;
		traced_new(t, ev->process);
		break;
	case SESSION_RECORD:
		on_record(t, ev->process->user, ev);
		break;
	case SESSION_PROCESS_ENDED:
		traced_end(t, ev->process->user, true);
		break;
	case SESSION_THREAD_ABANDONED:
		add_note(t, ev->process, ev->text, strlen(ev->text));
		break;
	case SESSION_THREAD_BEGAN:
	case SESSION_THREAD_ENDED:
		break;
	}
	return 0;
}

/* ---- the collector --------------------------------------------------------------------------- */

static void trace_probe(struct probe *ret)
{
	size_t n = 0;
	char *to = ret->reason;
	size_t room = sizeof ret->reason;

	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (strncmp(f->name, "agents/", 7) == 0) {
			int length = (int)strcspn(f->name + 7, ".");
			int used = snprintf(
				to, room, "%s%.*s", n++ ? " " : "agents: ", length, f->name + 7);

			if (used < 0 || (size_t)used >= room)
				break;
			to += used;
			room -= (size_t)used;
		}
	ret->answer = n ? PROBE_YES : PROBE_NO;
	if (n)
		return;
	snprintf(ret->reason, sizeof ret->reason, "this leadline was built without agents");
	snprintf(ret->remedy, sizeof ret->remedy,
		"build it where Python's headers are: apt-get install python3-dev; make build");
}

static void write_number(struct writer *w, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	writer_meta(w, key, text);
}

/* Patterns; NULL: lines are not counted. */
static const char *lines_of(const struct collect_context *c)
{
	return !(c->trace_options & TRACE_LINES) ? NULL : c->lines ? c->lines : "";
}

static int trace_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct trace *t = xcalloc(1, sizeof *t);
	struct session_options o = { .clock_mode = clock_choose(NULL),
		.sparse_bytes = AREA_BYTES,
		.ring_bytes = c->trace_options & (TRACE_TIMELINE | TRACE_TORCH) ? 1 << 20 : 1 << 18,
		.n_slots = 1024,
		.wait_max_ns = 1000 * MS,
		.agent_options = c->trace_options };

	t->c = *c;
	t->clock_mode = o.clock_mode;
	t->next_id = 1;
	t->regions = REGIONS_FILE_INIT;
	t->wishes.patterns = c->lines && strcmp(c->lines, "auto") != 0 ? c->lines : NULL;
	o.ns_per_tick = measure_tick(o.clock_mode);
	clock_triple_take(&t->first);
	t->now = t->first;
	t->ticks.mode = o.clock_mode;
	tick_map_add(&t->ticks, &t->first);
	if (session_open(&t->session, &o, e) < 0 ||
		regions_file_open(&t->regions, session_dir(t->session), e) < 0 ||
		bootstrap_prepare(session_dir(t->session),
			&(struct bootstrap_options){ .with_agents = true,
				.lines = lines_of(c),
				.exclude = c->exclude,
				.torch = c->trace_options & TRACE_TORCH },
			e) < 0) {
		regions_file_done(&t->regions);
		session_close(t->session);
		free(t);
		return -(int)e->code;
	}
	if (c->trace_options & TRACE_CALLS)
		writer_meta(
			c->writer, "trace", c->trace_options & TRACE_NO_CLOCK ? "counts" : "calls");
	if (c->trace_options & TRACE_TIMELINE)
		write_number(c->writer, "min_duration_ns", c->trace_options >> TRACE_MIN_NS_SHIFT);
	if (c->trace_options & TRACE_BUDGET)
		write_number(c->writer, "budget_percent",
			c->trace_options >> TRACE_BUDGET_SHIFT & TRACE_BUDGET_MASK);
	if (lines_of(c))
		writer_meta(c->writer, "lines", lines_of(c));
	*ret_state = t;
	return 0;
}

static uint64_t trace_drain(void *state, uint64_t now_ns)
{
	struct trace *t = state;
	struct err e = ERR_INIT;

	if (has_timeline(t))
		clock_triple_take(&t->now);
	if (session_poll(t->session, &e) < 0 || session_drain(t->session, on_event, t, &e) < 0)
		log_debug(1, "%s", e.text);
	vec_each (&t->processes, p)
		write_ops(t, *p, false);
	snapshot_all(t, now_ns);
	regions_file_take(&t->regions, t->c.writer);
	return now_ns + (has_timeline(t) ? LOOK_TIMELINE_MS : LOOK_MS) * MS;
}

static int trace_fd(const void *state)
{
	const struct trace *t = state;

	return session_fd(t->session);
}

/* Processes that have ended are read to their end, those that go on up to now. */
static void trace_enough(void *state)
{
	struct trace *t = state;
	struct err e = ERR_INIT;

	if (t->is_over)
		return;
	t->is_over = true;
	session_stop(t->session);
	session_poll(t->session, &e);
	session_drain(t->session, on_event, t, &e);
	while (t->processes.n)
		traced_end(t, t->processes.v[0], false);
}

/* Nobody came. Where only operators were wanted, samples are there all the same. */
static void write_no_process(struct trace *t)
{
	static const char why[] = "no interpreter took the agent in; python -I, -E and -S, and "
				  "launchers that set PYTHONPATH anew, keep it out",
			  sampled[] = ". Such programs are sampled from outside after their first "
				      "second";
	char text[sizeof why + sizeof sampled];

	snprintf(t->torch.cannot, sizeof t->torch.cannot, "%s", why);
	snprintf(text, sizeof text, "%s%s", why, sampled);
	if (!t->n_notes && t->c.trace_options != TRACE_TORCH)
		writer_meta(t->c.writer, "no_trace", text);
}

/* Without a version: torch was never imported, or could not be asked. */
static void write_torch(struct trace *t)
{
	if (!has_torch(t))
		return;
	writer_meta(t->c.writer, "torch", t->torch.version);
	writer_meta(t->c.writer, "torch_cannot", t->torch.cannot);
	write_number(t->c.writer, "torch_operators", t->torch.n_ops);
	write_number(t->c.writer, "torch_lost", t->torch.n_lost);
	write_number(t->c.writer, "torch_processes", t->torch.n_processes);
	write_number(t->c.writer, "torch_gaps", t->torch.n_gaps);
	write_number(t->c.writer, "torch_gap_ns", t->torch.gap_ns);
	write_number(t->c.writer, "torch_threads_unseen", t->torch.n_threads_unseen);
}

static void trace_stop(void *state)
{
	struct trace *t = state;
	const struct session_stats *stats = session_stats(t->session);

	trace_enough(t);
	while (regions_file_take(&t->regions, t->c.writer))
		;
	t->n_notes += bootstrap_missing(session_dir(t->session),
		NOTES_MOST > t->n_notes ? NOTES_MOST - t->n_notes : 0, &t->notes);
	line_wishes_tell(&t->wishes, &t->notes);
	write_number(t->c.writer, "trace_processes", stats->n_processes);
	if (has_timeline(t)) {
		write_number(t->c.writer, "timeline_events", t->n_events);
		write_number(t->c.writer, "timeline_bytes", t->n_event_bytes);
		write_number(t->c.writer, "timeline_lost", t->n_events_lost);
	}
	if (!stats->n_processes)
		write_no_process(t);
	if (t->notes.n)
		writer_meta(t->c.writer, "trace_notes", buf_str(&t->notes));
	write_torch(t);
	regions_file_done(&t->regions);
	session_close(t->session);
	vec_done(&t->processes);
	tick_map_done(&t->ticks);
	buf_done(&t->notes);
	free(t);
}

const struct collector collector_trace = {
	.name = "trace",
	.what = COLLECT_CALLS | COLLECT_LINES | COLLECT_OPS,
	.sees = "every call of Python and C functions, and PyTorch's operators, by agents inside "
		"the program",
	.probe = trace_probe,
	.start = trace_start,
	.drain = trace_drain,
	.enough = trace_enough,
	.stop = trace_stop,
	.fd = trace_fd,
};
