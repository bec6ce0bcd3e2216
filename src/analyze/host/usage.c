/* SPDX-License-Identifier: MIT
 * See usage.h. One pass per kind of record; each pass is one function. */
#include "analyze/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

#define WINDOW_S 0.2 /* GIL turns take 5 ms, the kernel's ticks 4: shares need a longer window */

struct thread_state { /* of one thread while thread_usage is read */
	uint64_t cpu_ns, queue_ns;
	size_t window; /* number of the window its cpu_in_window belongs to */
	double cpu_in_window, queue_in_window; /* ns */
	unsigned sleeps, futex_sleeps;         /* in the window */
};

struct gil_window { /* one process in one window */
	uint32_t process;
	size_t window;
	unsigned n_active;
	double cpu;   /* cores, of the active threads */
	double queue; /* the same waiting for a core */
	unsigned sleeps, futex_sleeps;
};

struct builder {
	struct arena *a;
	struct tables *t;
	struct usage *u;
	uint64_t start_ns, end_ns;
	uint32_t root; /* row of the program itself */
	VEC(struct usage_tick) ticks;
	VEC(uint64_t) tick_ns;
	VEC(size_t)
	tick_window;          /* the window each tick belongs to: whole ticks, WINDOW_S or longer */
	VEC(double) window_s; /* their lengths */
	struct usage_process *processes; /* by row - 1 */
	struct rec_process_usage *first; /* look at each process that ran before; by row - 1 */
	VEC(struct gil_window) windows;
	struct map window_index;      /* process << 32 | window → index */
	struct thread_state *threads; /* by row - 1 */
};

static double known(uint64_t v)
{
	return v == RECORD_UNKNOWN ? UNITS_UNKNOWN : (double)v;
}

static double since_start(const struct builder *b, uint64_t t_ns)
{
	return t_ns > b->start_ns ? (double)(t_ns - b->start_ns) / 1e9 : 0;
}

/* Adds what is known; a sum with an unknown part stays a number as long as one part is known. */
static void add(double *sum, double v)
{
	if (units_is_known(v))
		*sum = units_is_known(*sum) ? *sum + v : v;
}

static void raise_to(double *most, double v)
{
	if (units_is_known(v) && (!units_is_known(*most) || v > *most))
		*most = v;
}

/* ---- meta, life ------------------------------------------------------------------------------ */

/* Words, each ended by NUL. */
static void read_argv(struct builder *b, const char *words, size_t n)
{
	const char **argv = arena_new_n(b->a, const char *, n + 1);
	struct buf line = BUF_INIT;
	size_t n_words = 0;

	for (size_t at = 0; at < n; at += strlen(words + at) + 1)
		argv[n_words++] = words + at;
	text_add_command(&line, (char *const *)argv);
	b->u->argv = argv;
	b->u->command = arena_strdup(b->a, buf_str(&line));
	buf_done(&line);
}

static void read_meta(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_meta);

	for (const struct rec_meta *m; (m = record_next(&it));) {
		const char *key = tables_string(b->t, m->key);
		const char *value = arena_strndup(b->a, m->value.p, m->value.n);

		if (strcmp(key, "format") == 0)
			b->u->is_foreign = true;
		else if (strcmp(key, "argv") == 0)
			read_argv(b, value, m->value.n);
		else if (strcmp(key, "tool") == 0)
			b->u->tool = value;
		else if (strcmp(key, "system") == 0)
			b->u->system = value;
		else if (strcmp(key, "cpus_allowed") == 0)
			b->u->cpus_allowed = strtod(value, NULL);
		else if (strcmp(key, "cpus_online") == 0)
			b->u->cpus_online = strtod(value, NULL);
		else if (strcmp(key, "wall_s") == 0)
			b->u->wall_s = strtod(value, NULL);
		else if (strcmp(key, "own_cpu_s") == 0)
			b->u->own_cpu_s = strtod(value, NULL);
		else if (strcmp(key, "looks") == 0)
			b->u->n_looks = strtod(value, NULL);
		else if (strcmp(key, "tree_method") == 0)
			b->u->method = value;
		else if (strcmp(key, "tree_complete") == 0)
			b->u->is_complete = strcmp(value, "yes") == 0;
	}
	record_iter_done(&it);
}

static struct usage_process *process_at(struct builder *b, uint32_t row)
{
	return row ? &b->processes[row - 1] : NULL;
}

static void read_life(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_life);

	for (const struct rec_life *l; (l = record_next(&it));) {
		struct usage_process *p = process_at(b, l->process);

		if (!p)
			continue;
		if (l->event == LIFE_START && !b->root) {
			b->root = l->process;
			b->start_ns = l->t_ns;
			b->u->is_attached = l->value;
			b->u->is_running = true; /* until its end is read */
		}
		if (l->event == LIFE_START) {
			p->start_s = since_start(b, l->t_ns);
			p->was_running = l->value;
		} else if (l->event == LIFE_EXEC && l->command) {
			p->command = tables_string(b->t, l->command);
			p->rank = l->value <= INT32_MAX ? (int)l->value - 1 : -1;
		} else if (l->event == LIFE_PYTHON) {
			p->is_python = l->value != 0;
		}
	}
	record_iter_done(&it);
}

/* ---- processes that ran before --------------------------------------------------------------- */

static void read_first_looks(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_process_usage);

	b->first = arena_new_n(b->a, struct rec_process_usage, b->u->n_processes + 1);
	for (const struct rec_process_usage *r; (r = record_next(&it));) {
		const struct usage_process *p = process_at(b, r->process);

		if (p && p->was_running && !b->first[r->process - 1].t_ns)
			b->first[r->process - 1] = *r;
	}
	record_iter_done(&it);
}

static void subtract(uint64_t *from, uint64_t before)
{
	if (*from != RECORD_UNKNOWN && before != RECORD_UNKNOWN)
		*from = *from > before ? *from - before : 0;
}

/* What the process did since the first look at it. */
static struct rec_process_end since_first_look(
	const struct builder *b, const struct rec_process_end *end)
{
	struct rec_process_end r = *end;
	const struct rec_process_usage *first;

	if (!r.process || !b->first[r.process - 1].t_ns)
		return r;
	first = &b->first[r.process - 1];
	subtract(&r.own_user_ns, first->user_ns);
	subtract(&r.own_system_ns, first->system_ns);
	subtract(&r.minor_faults, first->minor_faults);
	subtract(&r.major_faults, first->major_faults);
	subtract(&r.read_chars, first->read_chars);
	subtract(&r.write_chars, first->write_chars);
	subtract(&r.read_calls, first->read_calls);
	subtract(&r.write_calls, first->write_calls);
	subtract(&r.read_bytes, first->read_bytes);
	subtract(&r.write_bytes, first->write_bytes);
	return r;
}

/* ---- ends: the totals ------------------------------------------------------------------------ */

/* The kernel's sums of a process we waited for hold its waited-for children too, so adding all that
 * we waited for counts everything once; processes others waited for are inside their parents. Of a
 * program that ran before nobody is waited for by us: there each counts for itself, but for IO, whose
 * counts go to the parent. */
static void add_totals(struct usage *u, const struct rec_process_end *r)
{
	bool reaped = r->source == END_REAPED, last_seen = r->source == END_LAST_SEEN;

	if (last_seen && !u->is_attached)
		return;
	add(&u->user_s, known(reaped ? r->user_ns : r->own_user_ns) / 1e9);
	add(&u->system_s, known(reaped ? r->system_ns : r->own_system_ns) / 1e9);
	add(&u->minor_faults, known(r->minor_faults));
	add(&u->major_faults, known(r->major_faults));
	if (last_seen)
		return;
	add(&u->voluntary_switches, known(r->voluntary_switches));
	add(&u->involuntary_switches, known(r->involuntary_switches));
	add(&u->read_chars, known(r->read_chars));
	add(&u->write_chars, known(r->write_chars));
	add(&u->read_calls, known(r->read_calls));
	add(&u->write_calls, known(r->write_calls));
	add(&u->read_bytes, known(r->read_bytes));
	add(&u->write_bytes, known(r->write_bytes));
}

static void read_ends(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_process_end);

	for (const struct rec_process_end *end; (end = record_next(&it));) {
		struct rec_process_end since = since_first_look(b, end), *r = &since;
		struct usage_process *p = process_at(b, r->process);

		add_totals(b->u, r);
		raise_to(&b->u->max_rss_bytes, known(r->max_rss_bytes));
		if (!p)
			continue;
		p->end_s = since_start(b, r->t_ns);
		p->user_s = known(r->own_user_ns) / 1e9;
		p->system_s = known(r->own_system_ns) / 1e9;
		p->final_rss_bytes = known(r->max_rss_bytes);
		p->is_exact = r->source == END_REAPED;
		p->is_running = r->source == END_RUNNING;
		p->status = r->source == END_RUNNING ? -1 : (int)r->status;
		if (r->process == b->root) {
			b->u->status = p->status;
			b->u->is_running = p->is_running;
			b->end_ns = r->t_ns;
		}
	}
	record_iter_done(&it);
}

/* ---- the time line --------------------------------------------------------------------------- */

struct last_look { /* at one process */
	struct rec_process_usage usage;
	double read_bytes, write_bytes;
};

static struct usage_tick *tick_at(struct builder *b, uint64_t t_ns)
{
	if (b->ticks.n == 0 || b->tick_ns.v[b->tick_ns.n - 1] != t_ns) {
		uint64_t before = b->tick_ns.n ? b->tick_ns.v[b->tick_ns.n - 1] : b->start_ns;

		vec_push(&b->tick_ns, t_ns);
		vec_push(&b->ticks,
			(struct usage_tick){ .t_s = since_start(b, t_ns),
				.dt_s = t_ns > before ? (double)(t_ns - before) / 1e9 : 0 });
	}
	return &b->ticks.v[b->ticks.n - 1];
}

/* A process that has no end in the recording: cut off, it is told up to the last look at it. */
static void end_at_last_look(struct builder *b, uint32_t row, const struct rec_process_usage *r)
{
	struct usage_process *p = process_at(b, row);
	struct rec_process_end since = since_first_look(b,
		&(struct rec_process_end){ .process = row,
			.source = END_RUNNING,
			.own_user_ns = r->user_ns,
			.own_system_ns = r->system_ns,
			.minor_faults = r->minor_faults,
			.major_faults = r->major_faults,
			.voluntary_switches = RECORD_UNKNOWN,
			.involuntary_switches = RECORD_UNKNOWN,
			.read_chars = r->read_chars,
			.write_chars = r->write_chars,
			.read_calls = r->read_calls,
			.write_calls = r->write_calls,
			.read_bytes = r->read_bytes,
			.write_bytes = r->write_bytes });

	add_totals(b->u, &since);
	p->end_s = since_start(b, r->t_ns);
	p->user_s = (double)since.own_user_ns / 1e9;
	p->system_s = (double)since.own_system_ns / 1e9;
	p->is_running = true;
	raise_to(&b->u->max_rss_bytes, p->max_rss_bytes);
	if (r->t_ns > b->end_ns)
		b->end_ns = r->t_ns;
}

static void read_process_usage(struct builder *b)
{
	struct last_look *looks = arena_new_n(b->a, struct last_look, b->u->n_processes + 1);
	struct record_iter it = record_iter(b->t, RECORD_process_usage);

	for (const struct rec_process_usage *r; (r = record_next(&it));) {
		struct usage_tick *tick = tick_at(b, r->t_ns);
		struct usage_process *p = process_at(b, r->process);
		struct last_look *last = &looks[r->process];
		double read = known(r->read_bytes), written = known(r->write_bytes);

		tick->rss_bytes += (double)r->rss_bytes;
		tick->n_threads += r->n_threads;
		tick->n_processes++;
		tick->n_running += r->n_running;
		tick->n_disk += r->n_disk;
		raise_to(&b->u->peak_pss_bytes, known(r->pss_bytes));
		if (p)
			raise_to(&p->max_rss_bytes, (double)r->rss_bytes);
		if (p && p->was_running && !last->usage.t_ns && units_is_known(read)) {
			last->read_bytes = read; /* of before the recording */
			last->write_bytes = written;
		}
		if (units_is_known(read) && tick->dt_s > 0) {
			tick->read_bytes_per_s += fmax(0, read - last->read_bytes) / tick->dt_s;
			tick->write_bytes_per_s +=
				fmax(0, written - last->write_bytes) / tick->dt_s;
			last->read_bytes = read;
			last->write_bytes = written;
		}
		last->usage = *r;
	}
	record_iter_done(&it);
	for (uint32_t row = 1; row <= b->u->n_processes; row++)
		if (!units_is_known(b->processes[row - 1].end_s) && looks[row].usage.t_ns)
			end_at_last_look(b, row, &looks[row].usage);
}

static void close_window(struct builder *b, uint32_t process, struct thread_state *s)
{
	uint64_t key = (uint64_t)process << 32 | (s->window & UINT32_MAX), index;
	double length = s->window < b->window_s.n ? b->window_s.v[s->window] : 0;
	double share = length > 0 ? s->cpu_in_window / 1e9 / length : 0;

	if (share >= 0.1) {
		if (!map_find(&b->window_index, key, &index)) {
			index = b->windows.n;
			map_put(&b->window_index, key, index);
			vec_push(&b->windows,
				(struct gil_window){ .process = process, .window = s->window });
		}
		b->windows.v[index].n_active++;
		b->windows.v[index].cpu += share;
		b->windows.v[index].queue += s->queue_in_window / 1e9 / length;
		b->windows.v[index].sleeps += s->sleeps;
		b->windows.v[index].futex_sleeps += s->futex_sleeps;
	}
	s->cpu_in_window = s->queue_in_window = 0;
	s->sleeps = s->futex_sleeps = 0;
}

static void add_thread_usage(struct builder *b, const struct rec_thread_usage *r, size_t tick_index)
{
	struct usage_tick *tick = &b->ticks.v[tick_index];
	const struct rec_thread *thread = tables_row(b->t, RECORD_thread, r->thread);
	struct thread_state *s = thread ? &b->threads[r->thread - 1] : NULL;
	size_t window = b->tick_window.v[tick_index];
	double cpu, queue;

	if (!s || r->cpu_ns < s->cpu_ns || r->queue_ns < s->queue_ns)
		return;
	if (thread->process && b->first[thread->process - 1].t_ns == r->t_ns) {
		s->cpu_ns = r->cpu_ns; /* of before the recording */
		s->queue_ns = r->queue_ns;
	}
	cpu = (double)(r->cpu_ns - s->cpu_ns);
	queue = (double)(r->queue_ns - s->queue_ns);
	s->cpu_ns = r->cpu_ns;
	s->queue_ns = r->queue_ns;
	if (tick->dt_s > 0) {
		tick->cpu += cpu / 1e9 / tick->dt_s;
		tick->queue += queue / 1e9 / tick->dt_s;
	}
	if (window != s->window)
		close_window(b, thread->process, s);
	s->window = window;
	s->cpu_in_window += cpu;
	s->queue_in_window += queue;
	s->sleeps += r->state == 'S' && r->waits_on_futex != TRISTATE_UNKNOWN;
	s->futex_sleeps += r->waits_on_futex == TRISTATE_YES;
}

static void make_windows(struct builder *b)
{
	for (size_t i = 0; i < b->ticks.n; i++) {
		if (b->window_s.n == 0 || b->window_s.v[b->window_s.n - 1] >= WINDOW_S)
			vec_push(&b->window_s, 0);
		b->window_s.v[b->window_s.n - 1] += b->ticks.v[i].dt_s;
		vec_push(&b->tick_window, b->window_s.n - 1);
	}
}

static void read_thread_usage(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_thread_usage);
	size_t n_threads = tables_count(b->t, RECORD_thread), at = 0;

	b->threads = arena_new_n(b->a, struct thread_state, n_threads + 1);
	for (const struct rec_thread_usage *r; (r = record_next(&it));) {
		while (at < b->ticks.n && b->tick_ns.v[at] < r->t_ns)
			at++;
		if (at < b->ticks.n && b->tick_ns.v[at] == r->t_ns)
			add_thread_usage(b, r, at);
	}
	record_iter_done(&it);
	for (uint32_t i = 0; i < n_threads; i++) {
		const struct rec_thread *thread = tables_row(b->t, RECORD_thread, i + 1);

		close_window(b, thread->process, &b->threads[i]);
	}
}

/* At least two threads with 10 % of a core each that together use one core (or would, if other
 * programs did not have it: then they are in the queue) while more are allowed, and sleep in between.
 * Threads that merely share a busy CPU do not sleep: they are all in the queue. */
static bool takes_turns(const struct builder *b, const struct gil_window *w)
{
	double wanted = w->cpu + w->queue;

	return w->n_active >= 2 && b->u->cpus_allowed >= 1.5 && w->cpu <= 1.05 && wanted >= 0.9 &&
		wanted <= w->n_active - 0.4;
}

/* What they sleep on is seen only now and then: a process counts whose sleeps in such windows are
 * mostly on a futex. */
static void find_gil_windows(struct builder *b)
{
	struct {
		unsigned sleeps, futex_sleeps;
	} *seen = arena_alloc(b->a, (b->u->n_processes + 1) * sizeof *seen);

	vec_each (&b->windows, w)
		if (takes_turns(b, w)) {
			seen[w->process].sleeps += w->sleeps;
			seen[w->process].futex_sleeps += w->futex_sleeps;
		}
	vec_each (&b->windows, w) {
		struct usage_process *p = process_at(b, w->process);
		unsigned futex = seen[w->process].futex_sleeps;

		if (p && p->is_python && takes_turns(b, w) && futex > 0 &&
			futex * 2 >= seen[w->process].sleeps)
			p->gil_s += b->window_s.v[w->window];
	}
}

/* ---- the rest -------------------------------------------------------------------------------- */

static double pressure_share(uint64_t first_us, uint64_t last_us, double wall_s)
{
	if (first_us == RECORD_UNKNOWN || last_us == RECORD_UNKNOWN || last_us < first_us ||
		wall_s <= 0)
		return UNITS_UNKNOWN;
	return (double)(last_us - first_us) / 1e6 / wall_s;
}

static void read_pressure(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_pressure);
	struct rec_pressure first = { 0 }, last = { 0 };
	const struct rec_pressure *r;
	double wall;

	for (; (r = record_next(&it)); last = *r)
		if (first.t_ns == 0)
			first = *r;
	record_iter_done(&it);
	wall = (double)(last.t_ns - first.t_ns) / 1e9;
	b->u->pressure_cpu = pressure_share(first.cpu_some_us, last.cpu_some_us, wall);
	b->u->pressure_io = pressure_share(first.io_some_us, last.io_some_us, wall);
	b->u->pressure_memory = pressure_share(first.memory_some_us, last.memory_some_us, wall);
}

/* Least squares over the last minute, or the second half of a shorter run. */
static void find_growth(struct usage *u)
{
	double from = u->wall_s > 120 ? u->wall_s - 60 : u->wall_s / 2;
	double n = 0, st = 0, sr = 0, stt = 0, str = 0;
	size_t last = u->n_ticks;

	/* A process that exits gives its memory back: that is no shrinking. */
	while (last > 1 && u->ticks[last - 1].rss_bytes < 0.8 * u->ticks[last - 2].rss_bytes)
		last--;
	for (size_t i = 0; i < last; i++) {
		double t = u->ticks[i].t_s - from, r = u->ticks[i].rss_bytes;

		if (t < 0)
			continue;
		n++;
		st += t;
		sr += r;
		stt += t * t;
		str += t * r;
	}
	u->rss_growth_span_s = u->wall_s - from;
	if (n >= 10 && u->rss_growth_span_s >= 0.5 && n * stt - st * st > 0)
		u->rss_growth_per_s = (n * str - st * sr) / (n * stt - st * st);
}

static void summarise_ticks(struct builder *b)
{
	struct usage *u = b->u;
	double weighted = 0, seconds = 0;

	for (size_t i = 0; i < b->ticks.n; i++) {
		raise_to(&u->peak_tree_rss_bytes, b->ticks.v[i].rss_bytes);
		if (b->ticks.v[i].n_threads > 0) /* other tools' files do not tell */
			raise_to(&u->peak_threads, b->ticks.v[i].n_threads);
		weighted += b->ticks.v[i].rss_bytes * b->ticks.v[i].dt_s;
		seconds += b->ticks.v[i].dt_s;
	}
	if (seconds > 0)
		u->mean_tree_rss_bytes = weighted / seconds;
	u->ticks = arena_copy(b->a, b->ticks.v, b->ticks.n * sizeof *b->ticks.v);
	u->n_ticks = b->ticks.n;
	find_growth(u);
}

static int parse_rank(const char *text)
{
	return *text && strlen(text) < 9 ? (int)strtol(text, NULL, 10) : -1;
}

static void make_processes(struct builder *b)
{
	size_t n = tables_count(b->t, RECORD_process);

	b->processes = arena_new_n(b->a, struct usage_process, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		const struct rec_process *p = tables_process(b->t, i + 1);

		b->processes[i] = (struct usage_process){ .pid = p->pid,
			.parent = p->parent_pid,
			.command = tables_string(b->t, p->command),
			.rank = parse_rank(tables_string(b->t, p->rank)),
			.user_s = UNITS_UNKNOWN,
			.system_s = UNITS_UNKNOWN,
			.max_rss_bytes = UNITS_UNKNOWN,
			.final_rss_bytes = UNITS_UNKNOWN,
			.end_s = UNITS_UNKNOWN,
			.status = -1 };
	}
	b->u->processes = b->processes;
	b->u->n_processes = n;
}

/* The kernel's maximum covers the children a process waited for: it is the process's own only where
 * there were none. */
static void settle_max_rss(struct builder *b)
{
	struct map parents = MAP_INIT;
	uint64_t unused;

	for (size_t i = 0; i < b->u->n_processes; i++)
		map_put(&parents, b->processes[i].parent, 1);
	for (size_t i = 0; i < b->u->n_processes; i++) {
		struct usage_process *p = &b->processes[i];

		if (!units_is_known(p->max_rss_bytes) || !map_find(&parents, p->pid, &unused))
			raise_to(&p->max_rss_bytes, p->final_rss_bytes);
	}
	map_done(&parents);
}

static void build(struct builder *b)
{
	read_process_usage(b);
	make_windows(b);
	read_thread_usage(b);
	find_gil_windows(b);
	if (!units_is_known(b->u->wall_s))
		b->u->wall_s = since_start(b, b->end_ns);
	if (!units_is_known(b->u->n_looks))
		b->u->n_looks = (double)b->ticks.n;
	read_pressure(b);
	summarise_ticks(b);
	settle_max_rss(b);
}

const struct usage *usage_build(struct arena *a, struct tables *t)
{
	struct usage *u = arena_new(a, struct usage);
	struct builder b = { .a = a, .t = t, .u = u };
	static const char *const no_words[] = { NULL };

	*u = (struct usage){ .command = "",
		.argv = no_words,
		.tool = "",
		.system = "",
		.method = "unknown means",
		.status = -1 };
	u->wall_s = u->user_s = u->system_s = u->max_rss_bytes = u->peak_tree_rss_bytes =
		UNITS_UNKNOWN;
	u->mean_tree_rss_bytes = u->peak_pss_bytes = u->minor_faults = u->major_faults =
		UNITS_UNKNOWN;
	u->voluntary_switches = u->involuntary_switches = u->read_chars = u->write_chars =
		UNITS_UNKNOWN;
	u->read_calls = u->write_calls = u->read_bytes = u->write_bytes = u->peak_threads =
		UNITS_UNKNOWN;
	u->rss_growth_per_s = u->own_cpu_s = u->n_looks = u->cpus_allowed = u->cpus_online =
		UNITS_UNKNOWN;
	make_processes(&b);
	read_meta(&b);
	read_life(&b);
	read_first_looks(&b);
	read_ends(&b);
	if (b.root)
		build(&b);
	else
		u->pressure_cpu = u->pressure_io = u->pressure_memory = UNITS_UNKNOWN;
	vec_done(&b.ticks);
	vec_done(&b.tick_ns);
	vec_done(&b.tick_window);
	vec_done(&b.window_s);
	vec_done(&b.windows);
	map_done(&b.window_index);
	return b.root || u->is_foreign ? u : NULL;
}

double usage_cpus_used(const struct usage *u)
{
	return u->wall_s > 0 ? (u->user_s + u->system_s) / u->wall_s : UNITS_UNKNOWN;
}
