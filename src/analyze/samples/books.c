/* SPDX-License-Identifier: MIT
 * See books.h. */
#include "analyze/samples/books.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "analyze/samples/weights.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

const char *const books_evidences[] = {
	[BOOKS_EVENTS] = "events", [BOOKS_IDS] = "ids", [BOOKS_CLOCK] = "clock"
};

static const double CPU_SLACK = 0.02, TICK_S = 0.010, LATE_SLACK = 0.01;

struct counter { /* begins anew when a process runs another program */
	uint64_t last, before;
	bool is_known;
};

struct keeping { /* the book of a process while it is kept */
	struct book book;
	bool was_running;
	uint64_t first_cpu_ns, last_cpu_ns;
	struct counter made, seen, forked;
	uint64_t n_beyond;
	uint64_t first_came_ns, n_came; /* threads that came after the first look */
};

struct host_thread {
	uint64_t first_ns, last_ns; /* CPU */
	bool is_known;
};

struct builder {
	struct arena *a;
	struct tables *t;
	struct frames *frames;
	struct weights *weights;
	uint32_t *index; /* by row of the process table: in v, + 1 */
	VEC(struct keeping) v;
	struct map sampled; /* pid << 32 | tid */
	VEC(struct books_native) native;
	struct map native_index; /* by row of its name */
	struct {
		uint64_t before_ns;
		double *wall;  /* which row it counts in */
		double on_cpu; /* of its time */
	} * pending;           /* by thread row: its last sample */
};

static double seconds(uint64_t ns)
{
	return (double)ns / 1e9;
}

/* ---- accounts -------------------------------------------------------------------------------- */

static struct keeping *keeping_of(struct builder *b, uint32_t process_row)
{
	uint32_t at = b->index[process_row];

	return at ? &b->v.v[at - 1] : NULL;
}

static void count_on(struct counter *c, uint64_t value)
{
	if (value == RECORD_UNKNOWN)
		return;
	if (value < c->last)
		c->before += c->last;
	c->last = value;
	c->is_known = true;
}

static uint64_t counted(const struct counter *c)
{
	return c->before + c->last;
}

static void take_account(struct builder *b, const struct rec_account *r)
{
	const struct rec_process *p = tables_process(b->t, r->process);
	struct keeping *k = keeping_of(b, r->process);

	if (!p || r->cpu_ns == RECORD_UNKNOWN)
		return;
	if (!k) {
		vec_push(&b->v, (struct keeping){ .book.pid = p->pid, .first_cpu_ns = r->cpu_ns });
		b->index[r->process] = (uint32_t)b->v.n;
		k = &b->v.v[b->v.n - 1];
	}
	if (r->cpu_ns > k->last_cpu_ns)
		k->last_cpu_ns = r->cpu_ns;
	count_on(&k->made, r->n_made);
	count_on(&k->seen, r->n_seen);
	count_on(&k->forked, r->n_forked);
	if (r->n_beyond != RECORD_UNKNOWN && r->n_beyond > k->n_beyond)
		k->n_beyond = r->n_beyond;
}

static void take_life(struct builder *b, const struct rec_life *r)
{
	struct keeping *k = keeping_of(b, r->process);

	if (k && r->event == LIFE_START)
		k->was_running |= r->value == 1;
}

static void take_thread_mark(struct builder *b, const struct rec_thread_mark *m)
{
	const struct rec_thread *thread = tables_row(b->t, RECORD_thread, m->thread);
	struct keeping *k = thread ? keeping_of(b, thread->process) : NULL;

	if (!k || m->event != MARK_CAME)
		return;
	if (!k->first_came_ns)
		k->first_came_ns = m->t_ns;
	k->n_came += m->t_ns > k->first_came_ns;
}

#define TAKE_ALL(b, kind)                                                    \
	do {                                                                 \
		struct record_iter it_ = record_iter((b)->t, RECORD_##kind); \
		for (const struct rec_##kind *r_; (r_ = record_next(&it_));) \
			take_##kind(b, r_);                                  \
		record_iter_done(&it_);                                      \
	} while (0)

/* ---- samples --------------------------------------------------------------------------------- */

/* The row of the book that a sample's time is in. */
static double *row_for(struct builder *b, struct book *book, const struct rec_sample *s)
{
	const struct {
		const char *name;
		double *row;
	} rows[] = { { "[no Python code]", &book->wall.no_python_s },
		{ "[interpreter starting]", &book->wall.starting_s },
		{ "[interpreter ending]", &book->wall.ending_s },
		{ "[stopped]", &book->wall.stopped_s }, { "[sampler late]", &book->wall.late_s } };
	const struct stack_function *f;

	if (s->leaf_code)
		return &book->wall.sampled_s;
	f = frames_function(b->frames, frames_leaf(b->frames, s->stack, 0, 0));
	for (size_t i = 0; f->is_synthetic && i < sizeof rows / sizeof *rows; i++)
		if (strcmp(f->name, rows[i].name) == 0)
			return rows[i].row;
	return &book->wall.sampled_s;
}

static void add_unseen(struct builder *b, struct book *book, uint32_t row, uint32_t stack,
	uint64_t from_ns, uint64_t to_ns)
{
	struct rec_sample s = weights_unseen(row, stack, from_ns, to_ns);

	if (from_ns >= to_ns)
		return;
	*row_for(b, book, &s) += seconds(to_ns - from_ns);
	book->cpu.late_s += seconds(to_ns - from_ns) * weights_on_cpu(b->weights, &s);
}

static void close_sample(
	struct builder *b, struct book *book, uint32_t row, const struct weight_gap *g)
{
	double value;

	if (!g->has_last)
		return;
	value = seconds(b->pending[row].before_ns + (g->last_end_ns - g->last_ns));
	*b->pending[row].wall += value;
	book->cpu.sampled_s += value * b->pending[row].on_cpu;
	add_unseen(b, book, row, g->unseen_stack, g->last_end_ns, g->gone_ns);
}

static struct keeping *keeping_of_thread(struct builder *b, uint32_t row, uint64_t *ret_key)
{
	const struct rec_thread *thread = tables_row(b->t, RECORD_thread, row);
	struct keeping *k = thread ? keeping_of(b, thread->process) : NULL;

	if (k)
		*ret_key = (uint64_t)k->book.pid << 32 | thread->tid;
	return k;
}

static void take_sample(struct builder *b, const struct rec_sample *s)
{
	uint64_t key;
	struct keeping *k = keeping_of_thread(b, s->thread, &key);
	struct weight_gap g;

	if (!k)
		return;
	map_put(&b->sampled, key, 1);
	g = weights_gap(b->weights, s);
	close_sample(b, &k->book, s->thread, &g);
	add_unseen(b, &k->book, s->thread, g.unseen_stack, g.came_ns, g.begin_ns);
	b->pending[s->thread].before_ns = s->t_ns - g.begin_ns;
	b->pending[s->thread].wall = row_for(b, &k->book, s);
	b->pending[s->thread].on_cpu = weights_on_cpu(b->weights, s);
}

static void add_samples(struct builder *b)
{
	struct weight_gap g;
	uint64_t key;

	TAKE_ALL(b, sample);
	for (uint32_t i = 1; i <= tables_count(b->t, RECORD_thread); i++) {
		struct keeping *k = keeping_of_thread(b, i, &key);

		if (k && weights_end(b->weights, i, true, &g))
			close_sample(b, &k->book, i, &g);
	}
}

/* ---- threads without Python ------------------------------------------------------------------ */

static void add_native(struct builder *b, uint32_t name, double cpu_s)
{
	uint64_t at;

	if (!map_find(&b->native_index, name, &at)) {
		at = b->native.n;
		map_put(&b->native_index, name, at);
		vec_push(&b->native, ((struct books_native){ .name = tables_string(b->t, name) }));
	}
	b->native.v[at].n++;
	b->native.v[at].cpu_s += cpu_s;
}

static int by_cpu(const void *a, const void *b)
{
	const struct books_native *x = a, *y = b;

	return x->cpu_s < y->cpu_s ? 1 : x->cpu_s > y->cpu_s ? -1 : strcmp(x->name, y->name);
}

/* By the host's series: what ran before the recording does not count. */
static void add_natives(struct builder *b)
{
	size_t n = tables_count(b->t, RECORD_thread);
	struct host_thread *all = xcalloc(n + 1, sizeof *all);
	struct record_iter it = record_iter(b->t, RECORD_thread_usage);
	uint64_t key, ignored;

	for (const struct rec_thread_usage *u; (u = record_next(&it));) {
		struct host_thread *x = &all[u->thread];

		if (u->cpu_ns == RECORD_UNKNOWN)
			continue;
		if (!x->is_known)
			x->first_ns = u->cpu_ns;
		x->is_known = true;
		x->last_ns = u->cpu_ns > x->last_ns ? u->cpu_ns : x->last_ns;
	}
	record_iter_done(&it);
	for (uint32_t i = 1; i <= n; i++) {
		struct keeping *k = all[i].is_known ? keeping_of_thread(b, i, &key) : NULL;
		const struct rec_thread *thread = tables_row(b->t, RECORD_thread, i);
		double cpu_s;

		if (!k || map_find(&b->sampled, key, &ignored))
			continue;
		cpu_s = seconds(all[i].last_ns - (k->was_running ? all[i].first_ns : 0));
		k->book.cpu.without_python_s += cpu_s;
		k->n_came++; /* it was seen, if not by the sampler */
		if (cpu_s > 0)
			add_native(b, thread->name, cpu_s);
	}
	if (b->native.n)
		qsort(b->native.v, b->native.n, sizeof *b->native.v, by_cpu);
	free(all);
}

/* ---- closing --------------------------------------------------------------------------------- */

static void balance(struct book *b)
{
	b->cpu.not_seen_s =
		b->cpu.kernel_s - b->cpu.sampled_s - b->cpu.late_s - b->cpu.without_python_s;
	b->wall.threads_s = b->wall.sampled_s + b->wall.no_python_s + b->wall.starting_s +
		b->wall.ending_s + b->wall.stopped_s + b->wall.late_s;
}

static double less(uint64_t a, uint64_t b)
{
	return a > b ? (double)(a - b) : 0;
}

static void close_book(struct keeping *k)
{
	struct book *b = &k->book;

	b->cpu.kernel_s = seconds(k->last_cpu_ns - (k->was_running ? k->first_cpu_ns : 0));
	balance(b);
	b->threads_beyond = (double)k->n_beyond;
	b->evidence = k->forked.is_known ? BOOKS_EVENTS
		: k->made.is_known       ? BOOKS_IDS
					 : BOOKS_CLOCK;
	b->threads_not_seen = UNITS_UNKNOWN;
	if (k->made.is_known)
		b->threads_not_seen = less(counted(&k->made), counted(&k->seen));
	if (k->forked.is_known)
		b->threads_not_seen =
			fmax(b->threads_not_seen, less(counted(&k->forked), k->n_came));
}

static void add_book(struct book *to, const struct book *b)
{
	to->cpu.kernel_s += b->cpu.kernel_s;
	to->cpu.sampled_s += b->cpu.sampled_s;
	to->cpu.late_s += b->cpu.late_s;
	to->cpu.without_python_s += b->cpu.without_python_s;
	to->wall.sampled_s += b->wall.sampled_s;
	to->wall.no_python_s += b->wall.no_python_s;
	to->wall.starting_s += b->wall.starting_s;
	to->wall.ending_s += b->wall.ending_s;
	to->wall.stopped_s += b->wall.stopped_s;
	to->wall.late_s += b->wall.late_s;
	to->threads_not_seen += b->threads_not_seen; /* unknown stays so */
	to->threads_beyond += b->threads_beyond;
	if (b->evidence > to->evidence)
		to->evidence = b->evidence;
}

/* The kernel's figures of processes without a book: programs that are no Python, and Python that was never looked at. */
static double unseen_processes(struct builder *b, const struct book *sum)
{
	struct record_iter it = record_iter(b->t, RECORD_process_end);
	double tree_s = UNITS_UNKNOWN, others_s = 0;
	struct record_iter lives = record_iter(b->t, RECORD_life);
	const struct rec_life *first = record_next(&lives);
	uint32_t root_row = first && first->value == 0 ? first->process : 0;

	record_iter_done(&lives);
	for (const struct rec_process_end *e; (e = record_next(&it));) {
		const struct keeping *k = keeping_of(b, e->process);

		if (e->process == root_row && root_row && e->source == END_REAPED &&
			e->user_ns != RECORD_UNKNOWN && e->system_ns != RECORD_UNKNOWN)
			tree_s = seconds(e->user_ns) + seconds(e->system_ns);
		if (!k && e->own_user_ns != RECORD_UNKNOWN && e->own_system_ns != RECORD_UNKNOWN)
			others_s += seconds(e->own_user_ns) + seconds(e->own_system_ns);
	}
	record_iter_done(&it);
	return tree_s - sum->cpu.kernel_s - others_s;
}

const struct books *books_build(struct arena *a, struct tables *t, struct frames *f)
{
	size_t n_threads = tables_count(t, RECORD_thread);
	struct builder b = { .a = a,
		.t = t,
		.frames = f,
		.weights = weights_load(t),
		.index = xcalloc(tables_count(t, RECORD_process) + 1, sizeof *b.index),
		.pending = xcalloc(n_threads + 1, sizeof *b.pending) };
	struct books *ret = NULL;
	struct book *v;

	TAKE_ALL(&b, account);
	if (b.v.n) {
		TAKE_ALL(&b, life);
		TAKE_ALL(&b, thread_mark);
		add_samples(&b);
		add_natives(&b);
		ret = arena_new(a, struct books);
		v = arena_new_n(a, struct book, b.v.n);
		for (size_t i = 0; i < b.v.n; i++) {
			close_book(&b.v.v[i]);
			v[i] = b.v.v[i].book;
			add_book(&ret->sum, &v[i]);
		}
		balance(&ret->sum);
		ret->v = v;
		ret->n = b.v.n;
		ret->unseen_processes_s = unseen_processes(&b, &ret->sum);
		ret->native = arena_copy(a, b.native.v, b.native.n * sizeof *b.native.v);
		ret->n_native = b.native.n;
	}
	weights_free(b.weights);
	map_done(&b.sampled);
	map_done(&b.native_index);
	vec_done(&b.v);
	vec_done(&b.native);
	free(b.index);
	free(b.pending);
	return ret;
}

/* ---- asking ---------------------------------------------------------------------------------- */

double books_cpu_share(const struct book *b)
{
	return b->cpu.kernel_s > 0 ? 1 - (b->cpu.not_seen_s + b->cpu.late_s) / b->cpu.kernel_s : 1;
}

double books_wall_share(const struct book *b)
{
	return b->wall.threads_s > 0 ? 1 - b->wall.late_s / b->wall.threads_s : 1;
}

bool books_balance(const struct book *b)
{
	return fabs(b->cpu.not_seen_s) + b->cpu.late_s <= CPU_SLACK * b->cpu.kernel_s + TICK_S &&
		b->wall.late_s <= LATE_SLACK * b->wall.threads_s && !(b->threads_not_seen > 0) &&
		!(b->threads_beyond > 0);
}
