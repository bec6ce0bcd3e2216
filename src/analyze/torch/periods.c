/* SPDX-License-Identifier: MIT
 * See periods.h. */
#include "analyze/torch/periods.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/course.h"
#include "analyze/torch/iterations.h"
#include "analyze/torch/processes.h"
#include "analyze/torch/tree.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

const char *const op_steps_how_names[] = { "all", "marked", "optimizer", "dataloader", "period",
	"told" };

enum {
	LONGEST = 1 << 16, /* of a sequence that a period is looked for in */
	RAREST = 16,       /* names whose distances are tried */
	LAGS = 4,          /* to the next time it comes, to the one after it … */
	TIMES = 3,         /* a period comes at least */
	SHORTEST = 4,      /* operators in a period */
};

static const double LEAST_SHARE = 0.7; /* of operators that come again after a period */

static int64_t end_of(const struct op_event *e)
{
	return e->start_ns + e->duration_ns;
}

static int by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
}

static void add(struct op_periods *to, uint32_t name, int64_t start_ns, int64_t end_ns)
{
	struct op_period x = { name, start_ns, end_ns };

	if (end_ns > start_ns)
		vec_push(&to->v, x);
}

/* ---- whose steps ----------------------------------------------------------------------------- */

/* What each process has that steps are found by. */
struct signs {
	size_t n_marks, n_told, n_calls, n_batches, n_operators;
};

static void count_told(const struct op_events *x, const struct op_processes *p, struct signs *to)
{
	struct map of_pid = MAP_INIT;
	uint64_t process;

	for (uint32_t i = 0; i < p->names.items.n; i++)
		map_put(&of_pid, op_processes_pid(p, i), i);
	for (size_t i = 0; i < x->told.n; i++)
		if (map_find(&of_pid, x->told.v[i].pid, &process))
			to[process].n_told++;
	map_done(&of_pid);
}

static struct signs *count_signs(const struct ops_tree *t, const struct op_processes *p)
{
	struct signs *signs = xcalloc(p->names.items.n + 1, sizeof *signs);

	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);
		struct signs *s = &signs[p->of_track[e->track]];
		uint8_t sign;

		if (e->category > OP_ANNOTATION || t->order[i] >= t->n_events)
			continue;
		s->n_operators += e->category == OP_CPU;
		s->n_marks +=
			e->category == OP_ANNOTATION && t->name_flags[e->name] & OPS_NAME_STEP;
		sign = op_sign_of(op_events_name(t->x, e->name));
		s->n_calls += (sign & OP_SIGN_OPTIMIZER) != 0;
		s->n_batches += (sign & OP_SIGN_BATCH) != 0;
	}
	count_told(t->x, p, signs);
	return signs;
}

static size_t sign_of(const struct signs *s, enum op_steps_how how)
{
	switch (how) {
	case OP_STEPS_MARKED:
		return s->n_marks;
	case OP_STEPS_TOLD:
		return s->n_told;
	case OP_STEPS_OPTIMIZER:
		return s->n_calls > 1 ? s->n_calls : 0;
	case OP_STEPS_DATALOADER:
		return s->n_batches > 1 ? s->n_batches : 0;
	case OP_STEPS_PERIOD:
		return s->n_operators;
	case OP_STEPS_ALL:
		break;
	}
	return 0;
}

/* The process that has most of them; of equals the one with the lowest pid. False: none has any. */
static bool find_leader(const struct op_processes *p, const struct signs *signs,
	enum op_steps_how how, struct op_periods *to)
{
	size_t best = 0;

	to->n_processes = 0;
	for (uint32_t i = 0; i < p->names.items.n; i++) {
		size_t n = sign_of(&signs[i], how);

		to->n_processes += n > 0;
		if (n > best ||
			(n && n == best &&
				op_processes_pid(p, i) < op_processes_pid(p, to->process))) {
			best = n;
			to->process = i;
		}
	}
	return best > 0;
}

/* ---- marks ----------------------------------------------------------------------------------- */

/* Of the process, from the sampler: when it saved something. */
static void take_saves(const struct op_events *x, uint32_t pid, struct op_windows *to)
{
	for (size_t i = 0; i < x->asides.n; i++) {
		const struct op_aside *s = &x->asides.v[i];

		if (s->is_saving && s->pid == pid)
			vec_push(&to->saves, (struct op_save){ s->start_ns, s->end_ns });
	}
}

static void add_window(const struct op_course *c, uint32_t name, int64_t start_ns, int64_t end_ns,
	struct op_windows *to)
{
	if (to->v.n && start_ns < to->v.v[to->v.n - 1].until_ns)
		start_ns = to->v.v[to->v.n - 1].until_ns; /* clocks are not that exact */
	if (end_ns > start_ns)
		vec_push(&to->v,
			(struct op_window){ op_course_at(c, start_ns), op_course_at(c, end_ns),
				start_ns, end_ns, name });
}

static void take_marks(const struct op_course *c, struct op_windows *to)
{
	for (size_t i = 0; i < c->nodes.n; i++) {
		const struct op_event *e = ops_node(c->t, c->nodes.v[i]);

		if (e->category == OP_ANNOTATION && c->t->name_flags[e->name] & OPS_NAME_STEP)
			add_window(c, e->name, e->start_ns, end_of(e), to);
	}
}

static void take_told(const struct op_course *c, uint32_t pid, struct op_windows *to)
{
	vec_each (&c->t->x->told, told)
		if (told->pid == pid)
			add_window(c, OPS_NONE, told->start_ns, told->end_ns, to);
}

static size_t calls_in(const struct op_course *c, const struct op_window *w)
{
	size_t n = 0;

	for (size_t i = w->first; i < w->end; i++)
		n += (c->v.v[i].signs & OP_SIGN_OPTIMIZER) != 0;
	return n;
}

/* The last one ends with the profiler: it is a step where it has what the others have. */
static void drop_partial(const struct op_course *c, struct op_windows *w, unsigned *ret_n_calls)
{
	const struct op_window *last = &w->v.v[w->v.n - 1];
	size_t n_with = 0, n_calls = 0, n_actions = 0;
	bool is_partial;

	for (size_t i = 0; i + 1 < w->v.n; i++) {
		n_with += calls_in(c, &w->v.v[i]) > 0;
		n_calls += calls_in(c, &w->v.v[i]);
		n_actions += w->v.v[i].end - w->v.v[i].first;
	}
	if (n_with && (double)n_calls / (double)n_with < 100)
		*ret_n_calls = (unsigned)((2 * n_calls / n_with + 1) / 2);
	if (w->v.n < 2)
		return;
	if (2 * n_with >= w->v.n - 1)
		is_partial = !calls_in(c, last);
	else /* of few actions nobody can tell */
		is_partial = n_actions >= SHORTEST * (w->v.n - 1) &&
			2 * (last->end - last->first) * (w->v.n - 1) < n_actions;
	w->v.n -= is_partial;
}

static bool find_marked(const struct op_course *c, struct op_windows *w, struct op_periods *to)
{
	if (!w->v.n)
		return false;
	drop_partial(c, w, &to->n_calls);
	op_iterations_cut(c, w, to);
	return to->v.n > 0;
}

static size_t operators_between(const struct op_course *c, int64_t from, int64_t until)
{
	return op_course_at(c, until) - op_course_at(c, from);
}

/* The last call of an epoch only finds that there is no more: what follows it is no step unless about as much happens in it. */
static bool find_dataloader(const struct op_course *c, struct op_periods *to)
{
	const struct op_action *before = NULL;
	VEC(size_t) n = VEC_INIT;
	size_t k = 0, usual;

	for (size_t i = 0; i < c->v.n; i++) {
		const struct op_action *a = &c->v.v[i];

		if (!(a->signs & OP_SIGN_BATCH))
			continue;
		if (before)
			add(to, OPS_NONE, before->start_ns, a->start_ns);
		before = a;
	}
	if (before)
		add(to, OPS_NONE, before->start_ns, c->v.v[c->v.n - 1].end_ns);
	vec_each (&to->v, p)
		vec_push(&n, operators_between(c, p->start_ns, p->end_ns));
	if (n.n) {
		size_t last = n.v[n.n - 1];

		qsort(n.v, n.n, sizeof *n.v, by_number);
		usual = n.v[n.n / 2];
		to->v.n -= last > 2 * usual; /* the rest of the program */
		vec_each (&to->v, p)
			if (2 * operators_between(c, p->start_ns, p->end_ns) > usual)
				to->v.v[k++] = *p;
		to->v.n = k;
	}
	vec_done(&n);
	return to->v.n > 1;
}

/* ---- operators that come again --------------------------------------------------------------- */

struct sequence { /* operators that no operator called, of one thread */
	uint32_t *node;
	size_t n;
};

static void take_sequence(const struct op_course *c, struct sequence *s)
{
	s->node = xcalloc(c->v.n + 1, sizeof *s->node);
	for (size_t i = 0; i < c->v.n; i++)
		if (ops_node(c->t, c->v.v[i].node)->category == OP_CPU)
			s->node[s->n++] = c->v.v[i].node;
}

static uint32_t name_at(const struct ops_tree *t, const struct sequence *s, size_t i)
{
	return t->x->v.v[s->node[i]].name;
}

/* The share of operators that come again after so many. */
static double match(const struct ops_tree *t, const struct sequence *s, size_t period)
{
	size_t n = 0;

	for (size_t i = 0; i + period < s->n; i++)
		n += name_at(t, s, i) == name_at(t, s, i + period);
	return (double)n / (double)(s->n - period);
}

/* The median distance from a name to the lag-th time that it comes again; 0: it does not. */
static size_t distance(
	const struct ops_tree *t, const struct sequence *s, uint32_t name, size_t lag)
{
	VEC(size_t) at = VEC_INIT;
	size_t result = 0;

	for (size_t i = 0; i < s->n; i++)
		if (name_at(t, s, i) == name)
			vec_push(&at, i);
	if (at.n > lag) {
		size_t n = at.n - lag;

		for (size_t i = 0; i < n; i++)
			at.v[i] = at.v[i + lag] - at.v[i];
		qsort(at.v, n, sizeof *at.v, by_number);
		result = at.v[n / 2];
	}
	vec_done(&at);
	return result;
}

/* The rarest names that come often enough; how many there are. */
static size_t take_rarest(const struct ops_tree *t, const struct sequence *s, uint32_t to[RAREST])
{
	size_t *times = xcalloc(t->x->names.items.n + 1, sizeof *times), n = 0;

	for (size_t i = 0; i < s->n; i++)
		times[name_at(t, s, i)]++;
	while (n < RAREST) {
		uint32_t best = OPS_NONE;

		for (size_t i = 0; i < s->n; i++) {
			uint32_t name = name_at(t, s, i);

			if (times[name] >= TIMES && (best == OPS_NONE || times[name] < times[best]))
				best = name;
		}
		if (best == OPS_NONE)
			break;
		to[n++] = best;
		times[best] = 0;
	}
	free(times);
	return n;
}

/* The shortest of the periods that explain most, and the share that it does; 0: there is none. */
static size_t find_period(const struct ops_tree *t, const struct sequence *s,
	const uint32_t names[RAREST], size_t n, double *ret_share)
{
	size_t result = 0;
	double best = 0;

	for (size_t i = 0; i < n * LAGS; i++) {
		size_t period = distance(t, s, names[i / LAGS], i % LAGS + 1);
		double share;

		if (period < SHORTEST || period * TIMES > s->n)
			continue;
		share = match(t, s, period);
		if (share > best + 0.01 || (share > best - 0.01 && period < result)) {
			result = period;
			best = share > best ? share : best;
		}
	}
	*ret_share = best;
	return result;
}

static double pause_before(const struct ops_tree *t, const struct sequence *s, size_t i)
{
	return i ? (double)(t->x->v.v[s->node[i]].start_ns - end_of(&t->x->v.v[s->node[i - 1]]))
		 : 0;
}

/* The operator that comes once in a period after the longest pauses: steps begin with it, also where some have operators more. */
static uint32_t find_first(const struct ops_tree *t, const struct sequence *s,
	const uint32_t names[RAREST], size_t n, size_t period)
{
	uint32_t result = OPS_NONE;
	double longest = -1;

	for (size_t k = 0; k < n; k++) {
		double sum = 0;
		size_t times = 0;

		if (distance(t, s, names[k], 1) != period)
			continue;
		for (size_t i = 0; i < s->n; i++)
			if (name_at(t, s, i) == names[k]) {
				sum += pause_before(t, s, i);
				times++;
			}
		if (sum / (double)times > longest) {
			longest = sum / (double)times;
			result = names[k];
		}
	}
	return result;
}

/* Steps from one operator of that name to the next; the last one is whole where about a period is left. */
static void split_at(const struct ops_tree *t, const struct sequence *s, uint32_t name,
	size_t period, struct op_periods *to)
{
	size_t last = SIZE_MAX;

	for (size_t i = 0; i < s->n; i++) {
		if (name_at(t, s, i) != name)
			continue;
		if (last != SIZE_MAX)
			add(to, OPS_NONE, t->x->v.v[s->node[last]].start_ns,
				t->x->v.v[s->node[i]].start_ns);
		last = i;
	}
	if (last != SIZE_MAX && 10 * (s->n - last) >= 9 * period)
		add(to, OPS_NONE, t->x->v.v[s->node[last]].start_ns,
			end_of(&t->x->v.v[s->node[s->n - 1]]));
}

static bool find_again(const struct op_course *c, struct op_periods *to)
{
	const struct ops_tree *t = c->t;
	struct sequence s = { 0 }, head;
	uint32_t names[RAREST], first;
	size_t period, n;
	double share;

	take_sequence(c, &s);
	head = (struct sequence){ s.node, s.n < LONGEST ? s.n : LONGEST };
	n = take_rarest(t, &head, names);
	period = find_period(t, &head, names, n, &share);
	first = period && share >= LEAST_SHARE ? find_first(t, &head, names, n, period) : OPS_NONE;
	if (first != OPS_NONE)
		split_at(t, &s, first, period, to);
	free(s.node);
	return to->v.n > 1;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void clear(struct op_periods *to)
{
	vec_clear(&to->v);
	vec_clear(&to->validations);
	to->n_calls = to->n_micro = 0;
}

static bool find_so(const struct ops_tree *t, const struct op_processes *p, enum op_steps_how how,
	struct op_periods *to)
{
	uint32_t pid = op_processes_pid(p, to->process);
	struct op_windows w = { 0 };
	struct op_course c;
	bool is_found = false;

	op_course_init(&c, t, p, to->process);
	take_saves(t->x, pid, &w);
	if (how == OP_STEPS_DATALOADER) {
		is_found = find_dataloader(&c, to);
	} else if (how == OP_STEPS_PERIOD) {
		is_found = find_again(&c, to);
	} else if (how == OP_STEPS_OPTIMIZER) {
		if (op_iterations_find(&c, &w, &to->n_calls))
			op_iterations_cut(&c, &w, to);
		is_found = to->v.n > 1;
	} else {
		if (how == OP_STEPS_MARKED)
			take_marks(&c, &w);
		else
			take_told(&c, pid, &w);
		is_found = find_marked(&c, &w, to);
	}
	to->how = how;
	to->is_training = is_found &&
		(to->n_calls ||
			op_course_backward(&c, to->v.v[0].start_ns, to->v.v[to->v.n - 1].end_ns));
	op_windows_done(&w);
	op_course_done(&c);
	return is_found;
}

static void take_all(const struct ops_tree *t, struct op_periods *to)
{
	struct op_period all = { OPS_NONE, INT64_MAX, INT64_MIN };

	clear(to);
	to->how = OP_STEPS_ALL;
	to->n_processes = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		all.start_ns = e->start_ns < all.start_ns ? e->start_ns : all.start_ns;
		all.end_ns = end_of(e) > all.end_ns ? end_of(e) : all.end_ns;
	}
	if (t->n)
		vec_push(&to->v, all);
}

void op_periods_find(const struct ops_tree *t, struct op_periods *to)
{
	static const enum op_steps_how order[] = { OP_STEPS_MARKED, OP_STEPS_TOLD,
		OP_STEPS_OPTIMIZER, OP_STEPS_DATALOADER, OP_STEPS_PERIOD };
	struct op_processes p;
	struct signs *signs;
	bool is_found = false;

	*to = (struct op_periods){ 0 };
	op_processes_init(&p, t->x);
	signs = count_signs(t, &p);
	for (size_t i = 0; i < sizeof order / sizeof *order && !is_found; i++) {
		clear(to);
		is_found = find_leader(&p, signs, order[i], to) && find_so(t, &p, order[i], to);
	}
	if (!is_found)
		take_all(t, to);
	if (to->how == OP_STEPS_PERIOD)
		to->n_processes = 1; /* others were not looked at */
	free(signs);
	op_processes_done(&p);
}

void op_periods_done(struct op_periods *p)
{
	vec_done(&p->v);
	vec_done(&p->validations);
}
