/* SPDX-License-Identifier: MIT
 * See trace.h. What the memory and the records of a target mean is trace_tree.c's and trace_functions.c's;
 * the records of the recording are trace_rows.c's; here are the session, the environment of the program and the
 * schedule. */
#include "collect/agents/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/agents/bootstrap.h"
#include "collect/agents/embedded.h"
#include "collect/agents/line_patterns.h"
#include "collect/agents/session.h"
#include "collect/agents/tick_map.h"
#include "collect/agents/trace_events.h"
#include "collect/agents/trace_functions.h"
#include "collect/agents/trace_lines.h"
#include "collect/agents/trace_opcodes.h"
#include "collect/agents/trace_rows.h"
#include "collect/agents/trace_state.h"
#include "collect/agents/trace_tree.h"
#include "collect/collector.h"
#include "collect/samples/regions_file.h"
#include "collect/sources.h"
#include "collect/torch/operators.h"
#include "store/writer.h"
#include "sys/clocksource.h"
#include "wire/session_layout.h"
#include "wire/trace.h"

#define LOG_TOPIC "trace"
#include "base/log.h"
#include "base/banned.h"

enum {
	LOOK_MS = 40, /* at rings and the door */
	LOOK_TIMELINE_MS = 4,
	NOTES_MOST = 16,
};

static const double PACE_FACTOR_LEAST = 0.25, PACE_FACTOR_MOST = 4; /* more is not believed */
static const uint64_t MS = 1000000;
static const uint64_t AREA_BYTES = (uint64_t)256 << 20; /* of calling contexts, per process */

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
		struct trace_writing to = { .t = t, .p = p };

		trace_events_rest(&p->events, &area, trace_rows_events, &to);
	}
	if (is_over)
		trace_ops_rest(&p->ops, &area);
	trace_tree_take(&p->tree, &area);
}

static void snapshot_all(struct trace *t, uint64_t now_ns)
{
	struct err e = ERR_INIT;

	if (now_ns < t->next_snapshot_ns)
		return;
	vec_each (&t->processes, p)
		snapshot(t, *p, false);
	session_drain(t->session, on_event, t, &e);
	vec_each (&t->processes, p)
		trace_rows_tree(t, *p);
	t->next_snapshot_ns =
		trace_tree_next(t->first.monotonic_ns, now_ns, clock_monotonic_ns() - now_ns);
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
			sources_process(t->c.sources, process->pid, process->start_ns, true);
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
	map_done(&p->hidden_events);
	free(p->interpreter);
	free(p);
}

static void add_note(struct trace *t, const struct session_process *p, const char *text, size_t n)
{
	if (t->n_notes++ < NOTES_MOST)
		buf_printf(&t->notes, "process %d: %.*s\n", (int)p->pid, (int)(n < 400 ? n : 400),
			text);
}

static void add_note_f(struct trace *t, const struct traced *p, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

static void add_note_f(struct trace *t, const struct traced *p, const char *format, ...)
{
	char text[300];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof text, format, args);
	va_end(args);
	add_note(t, p->process, text, strlen(text));
}

/* Records that never came: of functions, and of where lines are counted. */
static uint64_t n_records_lost(const struct traced *p)
{
	return p->process->counts.n_dropped + p->process->n_homeless;
}

static bool counts_lines(const struct trace *t)
{
	const struct agent_options *o = &t->c.agent_options;

	return o->wants_line_times || o->wants_line_hits || o->wants_opcodes;
}

/* What found no room, and what is exact all the same. "Exact" is said where nothing else is missing. */
static void note_losses(struct trace *t, const struct traced *p)
{
	const struct session_process *s = p->process;
	const struct trace_tree_counters *c = &p->tree.counters;
	unsigned long long folded = c->n_folded, threads = s->n_threads_missed,
			   events = s->n_events_missed, records = n_records_lost(p),
			   rooms = s->n_sparse_failed;

	if (threads)
		add_note_f(t, p,
			"incomplete: there was no room to count %llu threads; %llu of their calls and all their lines are missing",
			threads, events);
	if (records)
		add_note_f(t, p,
			"incomplete: %llu records of the agent were lost; some functions may lack names, some lines counts",
			records);
	if (counts_lines(t) && rooms)
		add_note_f(t, p,
			"incomplete: there was no room to count lines %llu times; those lines are missing",
			rooms);
	if (folded)
		add_note_f(t, p,
			"there was no room to tell the callers of %llu calls apart; counts and "
			"self times per function are %s, callers and total times are not",
			folded,
			threads || records || p->n_nonsense ? "complete but for that" : "exact");
	if (c->n_threads > c->n_trees)
		add_note_f(t, p,
			"%llu threads were traced; those after the first %llu share rows with threads that had ended, so a row may stand for several threads",
			(unsigned long long)c->n_threads, (unsigned long long)c->n_trees);
}

/* What the recording must hold, all rows together: readers check it. */
static uint64_t n_counted(const struct traced *p)
{
	uint64_t n = p->tree.counters.n_events, id, hidden;

	for (size_t i = 0; map_next(&p->hidden_events, &i, &id, &hidden);)
		n -= hidden;
	return n;
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
	uint64_t c_all = c->builtin_inside + c->builtin_outside;
	char text[200];
	size_t n = 0;

	if (!t->has_cost)
		return;
	for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
		n += (size_t)snprintf(text + n, sizeof text - n, "%s%.2f", i ? " " : "",
			(double)trace_to_ns(t, parts[i]) / 256 * trace_cost_growth(pace_factor(t)));
	writer_meta(t->c.writer, "trace_cost_ns", text);
	snprintf(text, sizeof text, "%.3f %.3f", (double)c->error_permille / 1000, pace_factor(t));
	writer_meta(t->c.writer, "trace_cost_error", text);
	snprintf(text, sizeof text, "%.3f", (double)c->slower_permille / 1000);
	writer_meta(t->c.writer, "trace_code_slower", text);
	if (!c_all)
		return;
	snprintf(text, sizeof text, "%.3f %.3f", (double)c->c_function / (double)c_all,
		(double)c->c_method / (double)c_all);
	writer_meta(t->c.writer, "trace_cost_c", text);
}

/* A process that has not told of torch never imported it. */
static void torch_end(struct trace *t, struct traced *p)
{
	const struct trace_ops *o = &p->ops;

	if (!trace_has_torch(t))
		return;
	trace_rows_ops(t, p, true);
	if (o->cannot[0])
		memcpy(t->torch.cannot, o->cannot, sizeof t->torch.cannot);
	if (o->version[0])
		memcpy(t->torch.version, o->version, sizeof t->torch.version);
	if (o->compiled.n && !t->torch.compiled.n)
		buf_add(&t->torch.compiled, o->compiled.data, o->compiled.n);
	t->torch.n_processes += o->version[0] || o->n_ops; /* a forked one has not imported it */
	t->torch.n_ops += o->n_ops;
	t->torch.n_lost += o->n_lost;
	t->torch.n_gaps += o->n_gaps;
	t->torch.gap_ns += trace_to_ns(t, o->gap_ticks);
	t->torch.n_threads_unseen += o->n_threads_unseen;
	if (o->n_ops > t->torch.n_ops_there) {
		t->torch.n_ops_there = o->n_ops;
		t->torch.cost_ns = o->cost_ns;
		t->torch.slowdown = trace_ops_slowdown(o);
	}
}

static void traced_end(struct trace *t, struct traced *p, bool is_over)
{
	const struct trace_tree_counters *counted = &p->tree.counters;

	snapshot(t, p, is_over);
	torch_end(t, p);
	trace_rows_end(t, p);
	trace_rows_tree(t, p);
	trace_rows_loss(t, p, "agent records", n_records_lost(p));
	trace_rows_loss(t, p, "threads without room", p->process->n_threads_missed);
	trace_rows_loss(t, p, "calls without room", p->process->n_events_missed);
	if (counts_lines(t))
		trace_rows_loss(t, p, "lines without room", p->process->n_sparse_failed);
	trace_rows_loss(t, p, "agent nonsense", p->n_nonsense);
	trace_rows_loss(t, p, "timeline events", p->events.n_lost);
	t->n_events += p->events.n_events;
	t->n_event_bytes += p->events.n_bytes;
	t->n_events_lost += p->events.n_lost;
	note_losses(t, p);
	trace_rows_loss(t, p, "contexts folded", counted->n_folded);
	trace_rows_loss(t, p, "stacks found again", counted->n_resynced);
	t->n_paces += counted->n_paces;
	t->paces += counted->paces;
	t->n_counted += n_counted(p);
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
		return line_patterns_near(&t->wishes, ev->data, ev->n_bytes);
	if (!trace_lines_add(&p->lines, ev->data, ev->n_bytes))
		return false;
	line_patterns_found(&t->wishes, ((const struct line_block *)ev->data)->patterns);
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
		p->n_nonsense += !trace_events_add(&p->events, ev->data, ev->n_bytes,
			trace_rows_events, &(struct trace_writing){ .t = t, .p = p });
	else if (ev->kind == TRACE_RECORD_OPCODES)
		p->n_nonsense += !trace_opcodes_add(&p->opcodes, ev->data, ev->n_bytes);
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
	snprintf(ret->reason, sizeof ret->reason, "leadline was built without agents");
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
	return !c->agent_options.wants_line_times ? NULL : c->lines ? c->lines : "";
}

static int trace_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	const struct agent_options *a = &c->agent_options;
	struct trace *t = xcalloc(1, sizeof *t);
	struct session_options o = { .clock_mode = clock_choose(NULL),
		.sparse_bytes = AREA_BYTES,
		.ring_bytes = a->wants_timeline || a->wants_torch ? 1 << 20 : 1 << 18,
		.n_slots = 1024,
		.wait_max_ns = 1000 * MS,
		.agent_options = *a };

	t->c = *c;
	t->options = o;
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
				.torch = a->wants_torch },
			e) < 0) {
		regions_file_done(&t->regions);
		session_close(t->session);
		free(t);
		return -(int)e->code;
	}
	if (a->calls)
		writer_meta(c->writer, "trace", a->calls == AGENT_CALLS_TIMED ? "calls" : "counts");
	if (a->wants_timeline)
		write_number(c->writer, "min_duration_ns", a->timeline_min_ns);
	if (a->budget_pct)
		write_number(c->writer, "budget_percent", a->budget_pct);
	if (c->exclude)
		writer_meta(c->writer, "exclude", c->exclude);
	if (lines_of(c))
		writer_meta(c->writer, "lines", lines_of(c));
	*ret_state = t;
	return 0;
}

static bool has_agent(const void *ctx, pid_t pid)
{
	const struct trace *t = ctx;

	for (size_t i = 0; i < t->processes.n; i++)
		if (t->processes.v[i]->process->pid == pid)
			return true;
	return false;
}

static uint64_t trace_drain(void *state, uint64_t now_ns)
{
	struct trace *t = state;
	struct err e = ERR_INIT;

	if (trace_has_timeline(t))
		clock_triple_take(&t->now);
	if (session_poll(t->session, &e) < 0 || session_drain(t->session, on_event, t, &e) < 0)
		log_debug(1, "%s", e.text);
	vec_each (&t->processes, p)
		trace_rows_ops(t, *p, false);
	snapshot_all(t, now_ns);
	untraced_look(&t->untraced, t->c.tree, session_dir(t->session), has_agent, t, now_ns);
	regions_file_take(&t->regions, t->c.writer);
	return now_ns + (trace_has_timeline(t) ? LOOK_TIMELINE_MS : LOOK_MS) * MS;
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

/* Nobody came, for a reason that is known or not. Where only operators were wanted, samples are there all the same. */
static void write_no_process(struct trace *t, const char *limit)
{
	static const struct agent_options only_torch = { .wants_torch = 1 };
	static const char why[] =
		"no interpreter loaded the agent; python -I, -E and -S, and launchers that reset PYTHONPATH, keep it out",
			  sampled[] =
				  "Such programs are sampled from outside after their first second";
	struct buf text = BUF_INIT;

	snprintf(t->torch.cannot, sizeof t->torch.cannot, "%s", *limit ? limit : why);
	buf_printf(&text, "%s. %s", *limit ? limit : why, sampled);
	if (!t->n_notes && memcmp(&t->c.agent_options, &only_torch, sizeof only_torch) != 0)
		writer_meta(t->c.writer, "no_trace", buf_str(&text));
	buf_done(&text);
}

/* Processes whose own limits kept the agent out have said hello, or could not even do that; agents of another version have. */
static void tell_processes(struct trace *t)
{
	const struct session_stats *stats = session_stats(t->session);
	struct session_layout l = { 0 };
	struct buf limit = BUF_INIT;
	unsigned n_limited;

	session_layout_init(&l, t->options.n_slots, t->options.ring_bytes, t->options.sparse_bytes);
	n_limited = bootstrap_limited(session_dir(t->session), l.map_bytes, &limit);
	if (!limit.n && stats->n_other_version)
		buf_adds(&limit,
			"the program had loaded the agent of another leadline version, which was refused: restart it");
	if (stats->n_processes <= n_limited) {
		write_no_process(t, buf_str(&limit));
	} else {
		untraced_tell(&t->untraced, &t->notes);
		if (limit.n)
			buf_printf(&t->notes, "%s\n", buf_str(&limit));
	}
	buf_done(&limit);
}

/* Without a version: torch was never imported, or could not be asked. */
static void write_torch(struct trace *t)
{
	if (!trace_has_torch(t))
		return;
	writer_meta(t->c.writer, "torch", t->torch.version);
	writer_meta(t->c.writer, "torch_cannot", t->torch.cannot);
	if (t->torch.compiled.n)
		writer_meta(t->c.writer, "torch_compiled", buf_str(&t->torch.compiled));
	buf_done(&t->torch.compiled);
	write_number(t->c.writer, "torch_operators", t->torch.n_ops);
	write_number(t->c.writer, "torch_lost", t->torch.n_lost);
	write_number(t->c.writer, "torch_processes", t->torch.n_processes);
	write_number(t->c.writer, "torch_gaps", t->torch.n_gaps);
	write_number(t->c.writer, "torch_gap_ns", t->torch.gap_ns);
	write_number(t->c.writer, "torch_threads_unseen", t->torch.n_threads_unseen);
	if (t->torch.cost_ns)
		write_number(t->c.writer, "torch_cost_ns", t->torch.cost_ns);
	if (t->torch.cost_ns && units_is_known(t->torch.slowdown)) {
		char text[32];

		snprintf(text, sizeof text, "%.5f", t->torch.slowdown);
		writer_meta(t->c.writer, "torch_slowdown_est", text);
	}
}

static void tell_interpreters(struct trace *t)
{
	unsigned n_processes;
	uint64_t n = bootstrap_interpreters(session_dir(t->session), &n_processes);

	if (n)
		buf_printf(&t->notes,
			"%llu sub-interpreter%s of %u process%s not traced (each has its own "
			"sys.monitoring); their time counts as self time of what ran them\n",
			(unsigned long long)n, n == 1 ? "" : "s", n_processes,
			n_processes == 1 ? (n == 1 ? " was" : " were") : "es were");
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
	tell_interpreters(t);
	line_patterns_tell(&t->wishes, &t->notes);
	tell_processes(t);
	write_number(t->c.writer, "trace_processes", stats->n_processes);
	if (t->c.agent_options.calls)
		write_number(t->c.writer, "trace_counted", t->n_counted);
	if (trace_has_timeline(t)) {
		write_number(t->c.writer, "timeline_events", t->n_events);
		write_number(t->c.writer, "timeline_bytes", t->n_event_bytes);
		write_number(t->c.writer, "timeline_lost", t->n_events_lost);
	}
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
	.sees = "every call of Python and C functions, and PyTorch's operators, by agents inside the program",
	.probe = trace_probe,
	.start = trace_start,
	.drain = trace_drain,
	.enough = trace_enough,
	.stop = trace_stop,
	.fd = trace_fd,
};
