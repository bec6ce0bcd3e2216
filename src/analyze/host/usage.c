/* SPDX-License-Identifier: MIT
 * See usage.h. One pass per kind of record; each pass is one function. */
#include "analyze/host/usage.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/host/gil.h"
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

/* The kernel's clock, where nobody told; and what /proc/PID/stat counts in. */
static const double COARSEST_TICK_S = 0.01, STAT_S = 0.01;

struct thread_state { /* of one thread while thread_usage is read */
	uint64_t cpu_ns, queue_ns;
	uint64_t before_ns, queue_before_ns; /* of before the recording */
	size_t window;                       /* number of the window its cpu_in_window belongs to */
	double cpu_in_window, queue_in_window; /* ns */
	unsigned sleeps, futex_sleeps;         /* in the window */
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
	struct rec_process_end *ends;    /* since then; by row - 1, t_ns 0 without one */
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

static double read_tick(const char *value)
{
	double s = strtod(value, NULL) / 1e9;

	return s > 0 && s <= COARSEST_TICK_S ? s : COARSEST_TICK_S;
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
		else if (strcmp(key, "tick_ns") == 0)
			b->u->tick_s = read_tick(value);
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
			p->has_gil = l->value != 0;
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
	subtract(&r.user_ns, first->user_ns); /* of its children only those since are in it */
	subtract(&r.system_ns, first->system_ns);
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

/* ---- ends ------------------------------------------------------------------------------------ */

static void read_ends(struct builder *b)
{
	struct record_iter it = record_iter(b->t, RECORD_process_end);

	for (const struct rec_process_end *end; (end = record_next(&it));) {
		struct rec_process_end since = since_first_look(b, end), *r = &since;
		struct usage_process *p = process_at(b, r->process);

		raise_to(&b->u->max_rss_bytes, known(r->max_rss_bytes));
		if (!p)
			continue;
		b->ends[r->process - 1] = *r;
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
			.t_ns = r->t_ns,
			.user_ns = r->user_ns,
			.system_ns = r->system_ns,
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

	b->ends[row - 1] = since;
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
	struct gil_window *w;

	if (length > 0 && s->cpu_in_window > 0) {
		if (!map_find(&b->window_index, key, &index)) {
			index = b->windows.n;
			map_put(&b->window_index, key, index);
			vec_push(&b->windows,
				(struct gil_window){ .process = process, .length_s = length });
		}
		w = &b->windows.v[index];
		w->cpu += s->cpu_in_window / 1e9 / length;
		w->squares += pow(s->cpu_in_window / 1e9 / length, 2);
		w->queue += s->queue_in_window / 1e9 / length;
		w->sleeps += s->sleeps;
		w->futex_sleeps += s->futex_sleeps;
	}
	s->cpu_in_window = s->queue_in_window = 0;
	s->sleeps = s->futex_sleeps = 0;
}

/* The kernel tells how long a thread waited for a CPU when it gets one: what does not fit between two looks was before. */
static void add_queue(struct builder *b, size_t tick, double cpu_s, double queue_s)
{
	for (size_t i = tick + 1; i-- > 0 && queue_s > 0; cpu_s = 0) {
		struct usage_tick *t = &b->ticks.v[i];
		double here = fmin(queue_s, fmax(0, t->dt_s - cpu_s));

		if (t->dt_s > 0)
			t->queue += here / t->dt_s;
		queue_s -= here;
	}
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
		s->cpu_ns = s->before_ns = r->cpu_ns;
		s->queue_ns = s->queue_before_ns = r->queue_ns;
	}
	cpu = (double)(r->cpu_ns - s->cpu_ns);
	queue = (double)(r->queue_ns - s->queue_ns);
	s->cpu_ns = r->cpu_ns;
	s->queue_ns = r->queue_ns;
	if (tick->dt_s > 0)
		tick->cpu += cpu / 1e9 / tick->dt_s;
	add_queue(b, tick_index, cpu / 1e9, queue / 1e9);
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

/* ---- what the sums over threads tell --------------------------------------------------------- */

/* Of the threads of each process that were seen; by row − 1. */
static struct gil_cpu *sum_threads(struct builder *b)
{
	struct gil_cpu *sums = arena_new_n(b->a, struct gil_cpu, b->u->n_processes + 1);

	for (uint32_t i = 0; i < tables_count(b->t, RECORD_thread); i++) {
		const struct rec_thread *thread = tables_row(b->t, RECORD_thread, i + 1);
		double cpu_s = (double)(b->threads[i].cpu_ns - b->threads[i].before_ns) / 1e9;
		struct gil_cpu *sum = thread->process ? &sums[thread->process - 1] : NULL;

		if (!sum)
			continue;
		sum->all_s += cpu_s;
		sum->queue_s +=
			(double)(b->threads[i].queue_ns - b->threads[i].queue_before_ns) / 1e9;
		sum->second_s = fmax(sum->second_s, fmin(sum->first_s, cpu_s));
		sum->first_s = fmax(sum->first_s, cpu_s);
	}
	return sums;
}

/* Whether what the process used is part of the totals by itself, and not of its parent's. */
static bool counts_for_itself(const struct builder *b, const struct usage_process *p)
{
	return !p->is_exact && (b->u->is_attached || p->is_running);
}

static void settle_cpu_time(struct builder *b, const struct gil_cpu *threads)
{
	for (size_t i = 0; i < b->u->n_processes; i++) {
		struct usage_process *p = &b->processes[i];
		double told = p->user_s + p->system_s, system = told > 0 ? p->system_s / told : 0,
		       more = threads[i].all_s - told;

		if (!units_is_known(told) || !counts_for_itself(b, p))
			continue;
		if (threads[i].all_s <= 0) /* no schedstat: both ends of the time are rounded */
			b->u->unsure_s += 2 * STAT_S;
		if (more <= 0)
			continue;
		p->user_s += more * (1 - system);
		p->system_s += more * system;
		b->u->user_s += more * (1 - system);
		b->u->system_s += more * system;
	}
}

static void find_gil(struct builder *b, const struct gil_cpu *threads)
{
	struct gil_process *found = gil_build(b->a, b->t,
		&(struct gil_options){ .windows = b->windows.v,
			.n_windows = b->windows.n,
			.cpu = threads,
			.n_processes = b->u->n_processes,
			.cpus_allowed = b->u->cpus_allowed });

	for (size_t i = 0; i < b->u->n_processes; i++) {
		struct usage_process *p = &b->processes[i];

		p->is_gil_seen = found[i].is_seen;
		p->gil_cpu_s = found[i].is_seen || p->has_gil ? found[i].cpu_s : 0;
	}
}

/* ---- the totals ------------------------------------------------------------------------------ */

struct sum { /* of a process with the children that ended */
	double user_s, system_s, minor_faults, major_faults;
	double unwaited_s; /* of user and system: seen, and not in the kernel's sums of it */
};

static double at_least(double kernel, double seen)
{
	return !units_is_known(kernel) || seen > kernel ? seen : kernel;
}

/* The kernel's sums of a process hold the children it waited for; of those, what was seen last is a lower
 * bound. It is all there is of children nobody waits for (SIGCHLD ignored, or a parent that has not come to
 * it yet), which `u->unwaited_cpu_s` tells. */
static struct sum sum_of(const struct rec_process_end *r, const struct sum *children)
{
	double own_user = known(r->own_user_ns) / 1e9, own_system = known(r->own_system_ns) / 1e9;
	double user = known(r->user_ns) / 1e9, system = known(r->system_ns) / 1e9;
	struct sum s = { 0 };

	s.user_s = (units_is_known(own_user) ? own_user : 0) + children->user_s;
	s.system_s = (units_is_known(own_system) ? own_system : 0) + children->system_s;
	if (units_is_known(user) && units_is_known(system))
		s.unwaited_s = fmax(0, s.user_s - user) + fmax(0, s.system_s - system);
	s.user_s = at_least(user, s.user_s);
	s.system_s = at_least(system, s.system_s);
	s.minor_faults = at_least(known(r->minor_faults), children->minor_faults);
	s.major_faults = at_least(known(r->major_faults), children->major_faults);
	return s;
}

static void add_sum(struct sum *to, const struct sum *s)
{
	to->user_s += s->user_s;
	to->system_s += s->system_s;
	to->minor_faults += s->minor_faults;
	to->major_faults += s->major_faults;
}

/* Rows of the processes that started each; 0: not one of the tree. Pids may be reused: the latest counts. */
static const uint32_t *find_parents(struct builder *b)
{
	uint32_t *parents = arena_new_n(b->a, uint32_t, b->u->n_processes + 1);
	struct map newest = MAP_INIT;

	for (uint32_t row = 1; row <= b->u->n_processes; row++) {
		uint64_t parent = 0;

		map_find(&newest, process_at(b, row)->parent, &parent);
		parents[row] = (uint32_t)parent;
		map_put(&newest, process_at(b, row)->pid, row);
	}
	map_done(&newest);
	return parents;
}

/* IO counts of a process hold the children it waited for; switches are known of processes we waited for. */
static void add_kernels(struct usage *u, const struct rec_process_end *r)
{
	add(&u->voluntary_switches, known(r->voluntary_switches));
	add(&u->involuntary_switches, known(r->involuntary_switches));
	add(&u->read_chars, known(r->read_chars));
	add(&u->write_chars, known(r->write_chars));
	add(&u->read_calls, known(r->read_calls));
	add(&u->write_calls, known(r->write_calls));
	add(&u->read_bytes, known(r->read_bytes));
	add(&u->write_bytes, known(r->write_bytes));
}

/* Each process that ended while others should wait for it is part of its parent's sums; all others, those we
 * waited for and those that run on, are added up. Children stand after their parents. */
static void add_up(struct builder *b)
{
	struct sum *children = arena_new_n(b->a, struct sum, b->u->n_processes + 1);
	const uint32_t *parents = find_parents(b);
	struct usage *u = b->u;

	for (uint32_t row = (uint32_t)u->n_processes; row > 0; row--) {
		const struct rec_process_end *r = &b->ends[row - 1];
		struct sum s;

		if (!r->t_ns)
			continue;
		s = sum_of(r, &children[row]);
		if (r->source == END_LAST_SEEN && parents[row]) {
			add_sum(&children[parents[row]], &s);
			continue;
		}
		if (r->own_user_ns == RECORD_UNKNOWN && r->user_ns == RECORD_UNKNOWN)
			continue; /* another tool's: nothing is known of it */
		add(&u->user_s, s.user_s);
		add(&u->system_s, s.system_s);
		u->unwaited_cpu_s += s.unwaited_s;
		add(&u->minor_faults, s.minor_faults);
		add(&u->major_faults, s.major_faults);
		add_kernels(u, r);
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

/* The ticks from `from` up to where memory falls for the last time, if the program has ended: one that exits
 * gives its memory back, by and by where there is much of it, and that is no shrinking. */
static size_t end_of_growth(const struct usage *u, const double *rss, size_t from, size_t n)
{
	size_t top = n ? n - 1 : 0, last = top;

	if (u->is_running || n <= from)
		return n;
	while (top > from && rss[top - 1] >= rss[top])
		top--;
	while (last > top && rss[last] < 0.98 * rss[top])
		last--;
	return last + 1;
}

/* RSS by tick of the processes that were there from `from_ns` to the last tick of the program itself: those
 * that come and go are no growth. Returns the number of ticks. */
static size_t steady_rss(struct builder *b, uint64_t from_ns, double *rss)
{
	struct seen {
		uint64_t first_ns, last_ns;
	} *seen = arena_new_n(b->a, struct seen, b->u->n_processes + 1);
	size_t at = 0, n = 0;

	for (int pass = 0; pass < 2; pass++) {
		struct record_iter it = record_iter(b->t, RECORD_process_usage);
		uint64_t end_ns = seen[b->root].last_ns;

		at = 0;
		for (const struct rec_process_usage *r; (r = record_next(&it));) {
			struct seen *s = &seen[r->process];

			if (pass == 0) {
				s->first_ns = s->first_ns ? s->first_ns : r->t_ns;
				s->last_ns = r->t_ns;
				continue;
			}
			while (at < b->tick_ns.n && b->tick_ns.v[at] < r->t_ns)
				at++;
			if (at >= b->tick_ns.n || r->t_ns > end_ns || s->last_ns < end_ns ||
				s->first_ns > from_ns)
				continue;
			rss[at] += (double)r->rss_bytes;
			n = at + 1;
		}
		record_iter_done(&it);
	}
	return n;
}

/* Least squares over the last minute, or the second half of a shorter run. */
static void find_growth(struct builder *b)
{
	struct usage *u = b->u;
	double from = u->wall_s > 120 ? u->wall_s - 60 : u->wall_s / 2;
	double *rss = arena_new_n(b->a, double, u->n_ticks + 1);
	double n = 0, st = 0, sr = 0, stt = 0, str = 0;
	size_t first = 0, end;

	while (first < u->n_ticks && u->ticks[first].t_s < from)
		first++;
	if (first == u->n_ticks)
		return;
	end = end_of_growth(u, rss, first, steady_rss(b, b->tick_ns.v[first], rss));
	for (size_t i = first; i < end; i++) {
		double t = u->ticks[i].t_s - from, r = rss[i];

		n++;
		st += t;
		sr += r;
		stt += t * t;
		str += t * r;
	}
	u->rss_growth_span_s = end > first ? u->ticks[end - 1].t_s - from : 0;
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
	find_growth(b);
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
	const struct gil_cpu *threads;

	read_process_usage(b);
	add_up(b);
	make_windows(b);
	read_thread_usage(b);
	threads = sum_threads(b);
	settle_cpu_time(b, threads);
	find_gil(b, threads);
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
		.tick_s = COARSEST_TICK_S,
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
	b.ends = arena_new_n(a, struct rec_process_end, u->n_processes + 1);
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
	if (!units_is_known(u->user_s))
		u->unwaited_cpu_s = UNITS_UNKNOWN;
	return b.root || u->is_foreign ? u : NULL;
}

double usage_cpus_used(const struct usage *u)
{
	return u->wall_s > 0 ? (u->user_s + u->system_s) / u->wall_s : UNITS_UNKNOWN;
}
