/* SPDX-License-Identifier: MIT
 * See weights.h. Whatever a file says: marks and late looks that contradict the samples give way to them. */
#include "analyze/samples/weights.h"

#include <stdlib.h>

#include "analyze/code/frames.h"
#include "analyze/samples/on_cpu.h"
#include "base/bisect.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

/* What a stopped process may have run meanwhile, of the time: reading clocks takes some. */
static const double STOPPED_CPU = 0.05;
enum { STOPS_MOST = 64 }; /* looked at in one gap */

struct mark {
	uint64_t t_ns, bound_ns;
	uint32_t next; /* of the same thread, + 1 */
	uint8_t event;
	bool is_exact;
};

struct row { /* of the thread table */
	struct rec_sample last;
	bool has_last;
	uint32_t first_mark, last_mark; /* not looked at yet; + 1 */
};

struct late {
	uint64_t since_ns, t_ns;
	uint64_t before_ns; /* sum of those before it */
	bool was_stopped;
};

struct account {
	uint64_t t_ns, cpu_ns;
};

typedef VEC(struct account) accounts;

typedef VEC(struct row) rows;

struct evidence { /* what does not change while samples are weighed */
	VEC(struct mark) marks;
	VEC(struct late) lates; /* in order, none overlaps another */
	VEC(accounts) accounts; /* by row of the process table */
	struct on_cpu *on_cpu;
	rows rows; /* to begin with; of whole recordings */
};

struct weights {
	struct tables *t;
	rows rows;
	struct evidence *e;
	bool is_shared; /* that is the tables' */
};

static void evidence_free(void *made)
{
	struct evidence *e = made;

	vec_each (&e->accounts, x)
		vec_done(x);
	vec_done(&e->accounts);
	vec_done(&e->marks);
	vec_done(&e->lates);
	vec_done(&e->rows);
	on_cpu_free(e->on_cpu);
	free(e);
}

struct weights *weights_new(struct tables *t)
{
	struct weights *w = xcalloc(1, sizeof *w);

	w->t = t;
	w->e = xcalloc(1, sizeof *w->e);
	w->e->on_cpu = on_cpu_new(t);
	return w;
}

void weights_free(struct weights *w)
{
	if (!w)
		return;
	if (!w->is_shared)
		evidence_free(w->e);
	vec_done(&w->rows);
	free(w);
}

/* ---- taking in ------------------------------------------------------------------------------- */

static struct row *row_of(struct weights *w, uint32_t thread_row)
{
	while (w->rows.n <= thread_row)
		vec_push(&w->rows, (struct row){ 0 });
	return &w->rows.v[thread_row];
}

static void take_mark(struct weights *w, const struct rec_thread_mark *m)
{
	struct row *row = row_of(w, m->thread);

	vec_push(&w->e->marks,
		(struct mark){ .t_ns = m->t_ns,
			.bound_ns = m->bound_ns < m->t_ns ? m->bound_ns : m->t_ns,
			.event = m->event,
			.is_exact = m->is_exact });
	if (row->first_mark)
		w->e->marks.v[row->last_mark - 1].next = (uint32_t)w->e->marks.n;
	else
		row->first_mark = (uint32_t)w->e->marks.n;
	row->last_mark = (uint32_t)w->e->marks.n;
}

static void take_late(struct weights *w, const struct rec_late *l)
{
	const struct late *last = w->e->lates.n ? &w->e->lates.v[w->e->lates.n - 1] : NULL;
	struct late x = { .since_ns = last && last->t_ns > l->since_ns ? last->t_ns : l->since_ns,
		.t_ns = l->t_ns,
		.before_ns = last ? last->before_ns + (last->t_ns - last->since_ns) : 0,
		.was_stopped = l->was_stopped };

	if (x.since_ns < x.t_ns)
		vec_push(&w->e->lates, x);
}

static void take_account(struct weights *w, const struct rec_account *r)
{
	accounts *of;

	while (w->e->accounts.n <= r->process)
		vec_push(&w->e->accounts, (accounts)VEC_INIT);
	of = &w->e->accounts.v[r->process];
	if (r->cpu_ns != RECORD_UNKNOWN && (!of->n || of->v[of->n - 1].t_ns < r->t_ns))
		vec_push(of, ((struct account){ r->t_ns, r->cpu_ns }));
}

#define TAKE_ALL(w, kind, first_chunk)                                                         \
	do {                                                                                   \
		struct record_iter it_ = record_iter_from((w)->t, RECORD_##kind, first_chunk); \
		for (const struct rec_##kind *r_; (r_ = record_next(&it_));)                   \
			take_##kind(w, r_);                                                    \
		record_iter_done(&it_);                                                        \
	} while (0)

static void take_thread_mark(struct weights *w, const struct rec_thread_mark *m)
{
	if (m->event == MARK_CAME || m->event == MARK_GONE)
		take_mark(w, m);
}

void weights_take(struct weights *w, size_t first_chunk)
{
	TAKE_ALL(w, thread_mark, first_chunk);
	TAKE_ALL(w, late, first_chunk);
	TAKE_ALL(w, account, first_chunk);
	on_cpu_take(w->e->on_cpu, first_chunk);
}

/* ---- late looks ------------------------------------------------------------------------------ */

/* The last that was before, or at, a time; SIZE_MAX: none. */
static size_t account_at(const accounts *of, uint64_t t_ns)
{
	size_t low = bisect(i, of->n, of->v[i].t_ns <= t_ns);

	return low ? low - 1 : SIZE_MAX;
}

/* Whether a process stood still while the recorder was stopped. Its clock was read some time before and some time behind, in
 * which it may have run as it did before that. */
static bool stood_still(const struct weights *w, uint32_t thread_row, const struct late *l)
{
	const struct rec_thread *thread = tables_row(w->t, RECORD_thread, thread_row);
	const accounts *of = thread && thread->process < w->e->accounts.n
		? &w->e->accounts.v[thread->process]
		: NULL;
	size_t first = of ? account_at(of, l->since_ns) : SIZE_MAX, last;
	double pace = 1, outside, ran;

	if (!l->was_stopped || first == SIZE_MAX)
		return false;
	last = account_at(of, l->t_ns);
	last += of->v[last].t_ns < l->t_ns && last + 1 < of->n;
	if (last <= first)
		return false;
	if (first && of->v[first].cpu_ns > of->v[first - 1].cpu_ns)
		pace = (double)(of->v[first].cpu_ns - of->v[first - 1].cpu_ns) /
			(double)(of->v[first].t_ns - of->v[first - 1].t_ns);
	outside = (double)(of->v[last].t_ns - of->v[first].t_ns) - (double)(l->t_ns - l->since_ns);
	ran = (double)of->v[last].cpu_ns - (double)of->v[first].cpu_ns;
	return ran <= STOPPED_CPU * (double)(l->t_ns - l->since_ns) +
		(outside > 0 ? outside : 0) * (pace > 1 ? pace : 1);
}

struct unseen { /* part of some time */
	uint64_t ns;
	uint64_t stopped_ns;       /* of it */
	uint64_t first_ns, end_ns; /* begin of the first and end of the last */
};

/* The first that ends behind a time; or, of those that begin before one, the number. */
static size_t first_late(const struct weights *w, uint64_t t_ns, bool by_begin)
{
	return bisect(i, w->e->lates.n,
		by_begin ? w->e->lates.v[i].since_ns < t_ns : w->e->lates.v[i].t_ns <= t_ns);
}

/* In a time that a file may make as long as it likes: sums are kept, and a few stops tell what to call it. */
static struct unseen unseen_in(
	const struct weights *w, uint32_t thread_row, uint64_t from_ns, uint64_t to_ns)
{
	size_t first = first_late(w, from_ns, false), end = first_late(w, to_ns, true);
	const struct late *a, *b;
	struct unseen u = { 0 };

	if (first >= end)
		return u;
	a = &w->e->lates.v[first];
	b = &w->e->lates.v[end - 1];
	u.first_ns = a->since_ns > from_ns ? a->since_ns : from_ns;
	u.end_ns = b->t_ns < to_ns ? b->t_ns : to_ns;
	u.ns = b->before_ns - a->before_ns + (b->t_ns - b->since_ns) - (u.first_ns - a->since_ns) -
		(b->t_ns - u.end_ns);
	for (size_t i = first; i < end && i < first + STOPS_MOST; i++)
		if (stood_still(w, thread_row, &w->e->lates.v[i]))
			u.stopped_ns += w->e->lates.v[i].t_ns - w->e->lates.v[i].since_ns;
	return u;
}

static uint32_t stack_of(const struct unseen *u)
{
	return u->stopped_ns > u->ns / 2 ? FRAMES_STOPPED : FRAMES_LATE;
}

/* ---- gaps ------------------------------------------------------------------------------------ */

static uint64_t half_way(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns + (to_ns - from_ns) / 2;
}

static bool slept(const struct rec_sample *a, const struct rec_sample *b)
{
	return !(a->state & SAMPLE_ON_CPU) && !(b->state & SAMPLE_ON_CPU) && a->stack == b->stack &&
		a->leaf_code == b->leaf_code && a->leaf_offset == b->leaf_offset;
}

/* The thread was there from one sample to the next. */
static void part_between(const struct weights *w, const struct rec_sample *last,
	const struct rec_sample *s, struct weight_gap *g)
{
	struct unseen u = unseen_in(w, s->thread, last->t_ns, s->t_ns);
	uint64_t before_ns;

	/* Who slept in one place slept, unless nobody could have waked it. */
	if (!u.ns || (slept(last, s) && stack_of(&u) != FRAMES_STOPPED)) {
		g->last_end_ns = g->gone_ns = g->came_ns = g->begin_ns =
			half_way(last->t_ns, s->t_ns);
		return;
	}
	/* What was seen on this side of the middle of what was not is of the sample before. */
	before_ns = half_way(u.first_ns, u.end_ns) - last->t_ns;
	before_ns -= unseen_in(w, s->thread, last->t_ns, last->t_ns + before_ns).ns;
	g->last_end_ns = last->t_ns + before_ns;
	g->gone_ns = g->came_ns = g->begin_ns = g->last_end_ns + u.ns;
	g->unseen_stack = stack_of(&u);
}

static void part_behind(const struct weights *w, const struct row *row, const struct mark *gone,
	struct weight_gap *g)
{
	uint64_t bound_ns = gone->bound_ns > row->last.t_ns ? gone->bound_ns : row->last.t_ns;
	uint64_t sure_ns = row->last.state & SAMPLE_ON_CPU ? row->last.t_ns : bound_ns;
	struct unseen u;

	g->gone_ns =
		gone->is_exact || gone->t_ns < bound_ns ? bound_ns : half_way(bound_ns, gone->t_ns);
	u = unseen_in(w, row->last.thread, sure_ns, g->gone_ns);
	g->last_end_ns = g->gone_ns - u.ns;
	g->unseen_stack = u.ns ? stack_of(&u) : g->unseen_stack;
}

static void part_before(const struct weights *w, const struct rec_sample *s,
	const struct mark *came, struct weight_gap *g)
{
	struct unseen u;

	g->came_ns = came->bound_ns > s->t_ns ? s->t_ns : came->bound_ns;
	if (!came->is_exact)
		g->came_ns = half_way(g->came_ns, s->t_ns);
	if (g->came_ns < g->gone_ns) /* it cannot have been there twice */
		g->came_ns = g->gone_ns;
	u = unseen_in(w, s->thread, g->came_ns, s->t_ns);
	g->begin_ns = g->came_ns + u.ns;
	g->unseen_stack = u.ns ? stack_of(&u) : g->unseen_stack;
}

/* The thread's marks up to a time: the first end is that of the sample before, the last begin that of the one at hand. */
static void read_marks(
	struct weights *w, struct row *row, uint64_t t_ns, struct mark *gone, struct mark *came)
{
	while (row->first_mark && w->e->marks.v[row->first_mark - 1].t_ns <= t_ns) {
		const struct mark *m = &w->e->marks.v[row->first_mark - 1];

		if (m->event == MARK_CAME)
			*came = *m;
		else if (!gone->event)
			*gone = *m;
		row->first_mark = m->next;
	}
}

struct weight_gap weights_gap(struct weights *w, const struct rec_sample *s)
{
	struct row *row = row_of(w, s->thread);
	struct weight_gap g = { .has_last = row->has_last,
		.last_ns = row->last.t_ns,
		.last_end_ns = row->last.t_ns,
		.gone_ns = row->last.t_ns,
		.came_ns = s->t_ns,
		.begin_ns = s->t_ns,
		.unseen_stack = FRAMES_LATE };
	struct mark gone = { 0 }, came = { 0 };
	bool is_in_order = !row->has_last || s->t_ns >= row->last.t_ns;

	read_marks(w, row, s->t_ns, &gone, &came);
	if (row->has_last && gone.event)
		part_behind(w, row, &gone, &g);
	else if (row->has_last && is_in_order && !came.event)
		part_between(w, &row->last, s, &g);
	if (!row->has_last)
		g.gone_ns = 0;
	if (came.event && is_in_order)
		part_before(w, s, &came, &g);
	if (!row->has_last)
		g.last_ns = g.last_end_ns = g.gone_ns = g.came_ns;
	row->last = *s;
	row->has_last = true;
	return g;
}

bool weights_end(struct weights *w, uint32_t thread_row, bool is_over, struct weight_gap *ret)
{
	struct row *row = row_of(w, thread_row);
	const struct mark *next = row->first_mark ? &w->e->marks.v[row->first_mark - 1] : NULL;
	bool is_gone = next && next->event == MARK_GONE;

	if (!row->has_last || (!is_gone && !is_over))
		return false;
	*ret = (struct weight_gap){ .has_last = true,
		.last_ns = row->last.t_ns,
		.last_end_ns = row->last.t_ns,
		.gone_ns = row->last.t_ns,
		.unseen_stack = FRAMES_LATE };
	if (is_gone) {
		part_behind(w, row, next, ret);
		row->first_mark = next->next;
	}
	ret->came_ns = ret->begin_ns = ret->gone_ns;
	row->has_last = false;
	return true;
}

static enum on_cpu_kind kind_of(const struct rec_sample *s)
{
	return s->state & SAMPLE_HOLDS_GIL ? ON_CPU_RAN_WITH_GIL : ON_CPU_RAN;
}

static void tell_part(struct weights *w, const struct rec_sample *s, uint64_t ns)
{
	if (s->state & SAMPLE_ON_CPU && !(s->state & SAMPLE_CLOCKED))
		on_cpu_tell(w->e->on_cpu, s->thread, s->t_ns, ns, kind_of(s));
}

static void tell_unseen(
	struct weights *w, uint32_t thread_row, uint32_t stack, uint64_t from_ns, uint64_t to_ns)
{
	if (stack == FRAMES_LATE && from_ns < to_ns)
		on_cpu_tell(w->e->on_cpu, thread_row, half_way(from_ns, to_ns), to_ns - from_ns,
			ON_CPU_UNSEEN);
}

static void tell_gap(struct weights *w, const struct rec_sample *last, const struct weight_gap *g)
{
	if (!g->has_last)
		return;
	tell_part(w, last, g->last_end_ns - g->last_ns);
	tell_unseen(w, last->thread, g->unseen_stack, g->last_end_ns, g->gone_ns);
}

static void begin_anew(struct weights *w)
{
	w->rows.n = 0;
	vec_each (&w->e->rows, row)
		vec_push(&w->rows, *row);
}

/* All time that threads ran or nobody looked at them, to be held against the clocks. */
static void tell_all(struct weights *w)
{
	struct record_iter it = record_iter(w->t, RECORD_sample);
	struct rec_sample *last = xcalloc(tables_count(w->t, RECORD_thread) + 1, sizeof *last);
	struct weight_gap g;

	for (const struct rec_sample *s; (s = record_next(&it));) {
		g = weights_gap(w, s);
		tell_gap(w, &last[s->thread], &g);
		tell_unseen(w, s->thread, g.unseen_stack, g.came_ns, g.begin_ns);
		tell_part(w, s, s->t_ns - g.begin_ns);
		last[s->thread] = *s;
	}
	record_iter_done(&it);
	for (uint32_t i = 0; i <= tables_count(w->t, RECORD_thread); i++)
		if (weights_end(w, i, true, &g))
			tell_gap(w, &last[i], &g);
	free(last);
}

/* The evidence is gathered once, whoever asks: it takes a pass over the samples of its own. */
struct weights *weights_load(struct tables *t)
{
	struct tables_memo *memo = tables_memo(t);
	struct weights *w;

	if (!memo->made) {
		w = weights_new(t);
		weights_take(w, 0);
		vec_each (&w->rows, row)
			vec_push(&w->e->rows, *row);
		tell_all(w);
		*memo = (struct tables_memo){ w->e, evidence_free };
	} else {
		w = xcalloc(1, sizeof *w);
		w->t = t;
		w->e = memo->made;
	}
	w->is_shared = true;
	begin_anew(w);
	return w;
}

double weights_on_cpu(const struct weights *w, const struct rec_sample *s)
{
	if (s->state & SAMPLE_CLOCKED)
		return 1;
	if (s->stack == FRAMES_LATE)
		return on_cpu_share(w->e->on_cpu, s->thread, s->t_ns, ON_CPU_UNSEEN);
	return s->state & SAMPLE_ON_CPU ? on_cpu_share(w->e->on_cpu, s->thread, s->t_ns, kind_of(s))
					: 0;
}

struct rec_sample weights_unseen(
	uint32_t thread_row, uint32_t stack, uint64_t from_ns, uint64_t to_ns)
{
	return (struct rec_sample){
		.t_ns = half_way(from_ns, to_ns), .thread = thread_row, .stack = stack
	};
}
