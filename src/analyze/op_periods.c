/* SPDX-License-Identifier: MIT
 * See op_periods.h. */
#include "analyze/op_periods.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/ops_tree.h"
#include "base/xalloc.h"
#include "base/banned.h"

const char *const op_steps_how_names[] = { "all", "marked", "optimizer", "dataloader", "period" };

enum {
	LONGEST = 1 << 16, /* of a sequence that is looked at */
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

static void span_of(const struct ops_tree *t, int64_t *ret_first, int64_t *ret_last)
{
	*ret_first = INT64_MAX;
	*ret_last = INT64_MIN;
	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		*ret_first = e->start_ns < *ret_first ? e->start_ns : *ret_first;
		*ret_last = end_of(e) > *ret_last ? end_of(e) : *ret_last;
	}
}

static void add(struct op_periods *to, uint32_t name, int64_t start_ns, int64_t end_ns)
{
	struct op_period x = { name, start_ns, end_ns };

	if (end_ns > start_ns)
		vec_push(&to->v, x);
}

/* ---- marks ----------------------------------------------------------------------------------- */

static bool find_marked(const struct ops_tree *t, struct op_periods *to)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		if (e->category == OP_ANNOTATION && t->name_flags[e->name] & OPS_NAME_STEP)
			vec_push(&to->v, (struct op_period){ e->name, e->start_ns, end_of(e) });
	}
	to->how = OP_STEPS_MARKED;
	return to->v.n > 0;
}

/* The next mark (an operator, where a writer without Kineto wrote it) that begins so, from *i on, and has the name of the one before; NULL. */
static const struct op_event *next_mark(
	const struct ops_tree *t, size_t *i, const char *begin, uint32_t *name)
{
	for (; *i < t->n; ++*i) {
		const struct op_event *e = ops_node(t, t->order[*i]);

		if (e->category > OP_ANNOTATION || (*name != OPS_NONE && *name != e->name) ||
			strncmp(op_events_name(t->x, e->name), begin, strlen(begin)) != 0)
			continue;
		*name = e->name;
		++*i;
		return e;
	}
	return NULL;
}

/* The event that the second step begins with, or NULL. */
static const struct op_event *first_after(const struct ops_tree *t, int64_t since)
{
	const struct op_event *found = NULL;

	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		if (e->category <= OP_ANNOTATION && e->start_ns >= since &&
			(!found || e->start_ns < found->start_ns))
			found = e;
	}
	return found;
}

/* Before the first call of the optimizer lies the set-up of the program, too: the first step begins with what the second begins with,
 * as many times before its end as it comes in the second. */
static void leave_out_set_up(const struct ops_tree *t, struct op_periods *to)
{
	const struct op_event *begin = to->v.n > 1 ? first_after(t, to->v.v[1].start_ns) : NULL;
	VEC(int64_t) starts = VEC_INIT;
	size_t times = 0;

	if (!begin)
		return;
	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		if (e->name != begin->name || e->track != begin->track)
			continue;
		times += e->start_ns >= to->v.v[1].start_ns && e->start_ns < to->v.v[1].end_ns;
		if (e->start_ns < to->v.v[0].end_ns)
			vec_push(&starts, e->start_ns);
	}
	if (times && starts.n >= times) /* each track is in the order of time */
		to->v.v[0].start_ns = starts.v[starts.n - times];
	vec_done(&starts);
}

static bool find_optimizer(const struct ops_tree *t, struct op_periods *to, int64_t first_ns)
{
	uint32_t name = OPS_NONE;
	int64_t since = first_ns;
	const struct op_event *e;

	for (size_t i = 0; (e = next_mark(t, &i, "Optimizer.step#", &name));) {
		if (end_of(e) <= since)
			continue; /* in another one */
		add(to, OPS_NONE, since, end_of(e));
		since = end_of(e);
	}
	leave_out_set_up(t, to);
	to->how = OP_STEPS_OPTIMIZER;
	return to->v.n > 1;
}

static size_t operators_between(const struct ops_tree *t, int64_t from, int64_t until)
{
	size_t n = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct op_event *e = ops_node(t, t->order[i]);

		n += e->category == OP_CPU && e->start_ns >= from && e->start_ns < until;
	}
	return n;
}

/* The last call only finds that there is no more: what follows it is no step unless about as much happens in it. */
static bool find_dataloader(const struct ops_tree *t, struct op_periods *to, int64_t last_ns)
{
	uint32_t name = OPS_NONE;
	const struct op_event *e, *before = NULL;

	for (size_t i = 0; (e = next_mark(t, &i, "enumerate(DataLoader)#", &name)); before = e)
		if (before)
			add(to, OPS_NONE, before->start_ns, e->start_ns);
	if (before && to->v.n) {
		const struct op_period *p = &to->v.v[to->v.n - 1];

		if (2 * operators_between(t, before->start_ns, last_ns) >
			operators_between(t, p->start_ns, p->end_ns))
			add(to, OPS_NONE, before->start_ns, last_ns);
	}
	to->how = OP_STEPS_DATALOADER;
	return to->v.n > 1;
}

/* ---- operators that come again --------------------------------------------------------------- */

struct sequence { /* operators that no operator called, of one thread */
	uint32_t *node;
	size_t n;
};

static bool is_top(const struct ops_tree *t, uint32_t node)
{
	uint32_t up = t->parent[node];

	if (node >= t->n_events || t->x->v.v[node].category != OP_CPU)
		return false;
	while (up != OPS_NONE && ops_node(t, up)->category != OP_CPU)
		up = t->parent[up];
	return up == OPS_NONE;
}

/* Of the thread that has most of them. */
static void take_sequence(const struct ops_tree *t, struct sequence *s)
{
	size_t *n = xcalloc(t->x->tracks.items.n + 1, sizeof *n), best = 0;

	for (size_t i = 0; i < t->n; i++)
		if (is_top(t, t->order[i]))
			n[t->x->v.v[t->order[i]].track]++;
	for (size_t i = 0; i < t->x->tracks.items.n; i++)
		best = n[i] > n[best] ? i : best;
	s->node = xcalloc(LONGEST, sizeof *s->node);
	for (size_t i = 0; i < t->n && s->n < LONGEST; i++)
		if (is_top(t, t->order[i]) && t->x->v.v[t->order[i]].track == best)
			s->node[s->n++] = t->order[i];
	free(n);
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

static int by_number(const void *a, const void *b)
{
	size_t x = *(const size_t *)a, y = *(const size_t *)b;

	return x < y ? -1 : x > y;
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

static bool find_again(const struct ops_tree *t, struct op_periods *to)
{
	struct sequence s = { 0 };
	uint32_t names[RAREST], first;
	size_t period, n;
	double share;

	take_sequence(t, &s);
	n = take_rarest(t, &s, names);
	period = find_period(t, &s, names, n, &share);
	first = period && share >= LEAST_SHARE ? find_first(t, &s, names, n, period) : OPS_NONE;
	if (first != OPS_NONE)
		split_at(t, &s, first, period, to);
	free(s.node);
	to->how = OP_STEPS_PERIOD;
	return to->v.n > 1;
}

void op_periods_find(const struct ops_tree *t, struct op_periods *to)
{
	int64_t first, last;

	*to = (struct op_periods){ 0 };
	span_of(t, &first, &last);
	if (find_marked(t, to))
		return;
	vec_clear(&to->v);
	if (find_optimizer(t, to, first))
		return;
	vec_clear(&to->v);
	if (find_dataloader(t, to, last))
		return;
	vec_clear(&to->v);
	if (find_again(t, to))
		return;
	vec_clear(&to->v);
	to->how = OP_STEPS_ALL;
	if (t->n)
		vec_push(&to->v, (struct op_period){ OPS_NONE, first, last });
}
