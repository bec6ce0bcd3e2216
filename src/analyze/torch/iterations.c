/* SPDX-License-Identifier: MIT
 * See iterations.h. */
#include "analyze/torch/iterations.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/course.h"
#include "analyze/torch/periods.h"
#include "analyze/torch/tree.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum {
	ROUND_MOST = 16, /* calls of optimizers in an iteration */
	SKIP = 16,       /* actions that one of two sequences has more, in one place */
	SKIPS = 64,      /* places */
	HEAD = 4,        /* actions that an iteration is known again by */
};

static const double UNLIKE_MOST =
	0.1;                          /* share of calls that may differ from those a round before */
static const double SAME_WORK = 0.02; /* by how much backward passes of one optimizer may differ */
static const double ALIKE = 0.5;      /* share of a forward pass that is in what looks like one */

/* ---- calls of optimizers --------------------------------------------------------------------- */

struct call {
	size_t action;
	uint32_t name, source, n_batches;
	size_t n_backward;
};

typedef VEC(struct call) calls;

static void take_calls(const struct op_course *c, calls *to)
{
	const struct op_events *x = c->t->x;
	int64_t since = INT64_MIN;
	uint32_t n_batches = 0;

	for (size_t i = 0; i < c->v.n; i++) {
		const struct op_action *a = &c->v.v[i];

		n_batches += (a->signs & OP_SIGN_BATCH) != 0;
		if (!(a->signs & OP_SIGN_OPTIMIZER))
			continue;
		vec_push(to,
			(struct call){ .action = i,
				.name = a->name,
				.source = a->node < x->sources.n ? x->sources.v[a->node] : 0,
				.n_batches = n_batches,
				.n_backward = op_course_backward(c, since, a->start_ns) });
		since = a->end_ns;
		n_batches = 0;
	}
}

static bool is_same(const struct call *a, const struct call *b)
{
	size_t more = a->n_backward > b->n_backward ? a->n_backward : b->n_backward;
	size_t less = a->n_backward + b->n_backward - more;

	return a->name == b->name && a->source == b->source &&
		(double)(more - less) <= SAME_WORK * (double)more;
}

/* Whether no two calls of the first round are the same. */
static bool is_mixed(const calls *v, size_t round)
{
	for (size_t i = 0; i < round; i++)
		for (size_t k = i + 1; k < round; k++)
			if (is_same(&v->v[i], &v->v[k]))
				return false;
	return true;
}

/* How many calls make a round: the fewest after which the same ones come again. One of them may be unlike the others, as the first
 * often is. What came but twice may be chance, unless each call in it is another one. */
static size_t find_round(const calls *v)
{
	for (size_t round = 1; round <= ROUND_MOST && 2 * round <= v->n; round++) {
		bool is_often = round == 1 || 3 * round <= v->n;
		double most = UNLIKE_MOST * (double)(v->n - round);
		size_t n_unlike = 0;

		for (size_t i = 0; i + round < v->n; i++)
			n_unlike += !is_same(&v->v[i], &v->v[i + round]);
		if ((double)n_unlike <= (is_often && most < 1 ? 1 : most) &&
			(is_often || is_mixed(v, round)))
			return round;
	}
	return 1;
}

/* A round begins with the call before which batches are taken; where none are, with the first. */
static size_t find_begin(const calls *v, size_t round)
{
	size_t best = 0, most = 0;

	for (size_t k = 0; k < round; k++) {
		size_t n = 0;

		for (size_t i = k; i < v->n; i += round)
			n += v->v[i].n_batches > 0;
		if (n > most) {
			most = n;
			best = k;
		}
	}
	return best;
}

bool op_iterations_find(const struct op_course *c, struct op_windows *to, unsigned *ret_n_calls)
{
	calls v = VEC_INIT;
	size_t round, first = 0;
	int64_t since = c->v.n ? c->v.v[0].start_ns : 0;

	take_calls(c, &v);
	round = find_round(&v);
	for (size_t i = find_begin(&v, round) + round; i <= v.n; i += round) {
		size_t last = v.v[i - 1].action;

		if (i > round && !to->v.n) { /* it begins in the middle of a round */
			first = v.v[i - round - 1].action + 1;
			since = c->v.v[first - 1].end_ns;
		}
		vec_push(&to->v,
			(struct op_window){
				first, last + 1, since, c->v.v[last].end_ns, OPS_NONE });
		first = last + 1;
		since = c->v.v[last].end_ns;
	}
	vec_done(&v);
	*ret_n_calls = (unsigned)round;
	to->begins_anywhere = true;
	return to->v.n > 1;
}

void op_windows_done(struct op_windows *w)
{
	vec_done(&w->v);
	vec_done(&w->saves);
}

/* ---- the usual one --------------------------------------------------------------------------- */

struct cutting {
	const struct op_course *c;
	const struct op_windows *w;
	struct op_periods *to;
	struct op_window usual;
	uint32_t *forward; /* by name: how often in its forward pass */
	uint32_t *seen;    /* by name, zero but while something is looked at */
	size_t n_forward;
	size_t next_save;
};

static const struct op_action *action(const struct cutting *x, size_t i)
{
	return &x->c->v.v[i];
}

static size_t length(const struct op_window *w)
{
	return w->end - w->first;
}

static int by_length(const void *a, const void *b)
{
	size_t x = length(a), y = length(b);

	return x < y ? -1 : x > y;
}

/* Of a quarter's length: what others have more may be no part of them. The first may hold all that came before it. */
static struct op_window find_usual(const struct op_windows *w)
{
	size_t n = w->v.n - 1;
	struct op_window *v, usual = w->v.v[0];

	if (!n)
		return usual;
	v = xcalloc(n, sizeof *v);
	memcpy(v, w->v.v + 1, n * sizeof *v);
	qsort(v, n, sizeof *v, by_length);
	usual = v[n / 4];
	free(v);
	return usual;
}

/* What runs before anything runs backward. */
static void take_forward(struct cutting *x)
{
	for (size_t i = x->usual.first; i < x->usual.end; i++) {
		const struct op_action *a = action(x, i);

		if (op_course_backward(x->c, x->usual.since_ns, a->start_ns + 1))
			break;
		if (a->signs)
			continue;
		x->forward[a->name]++;
		x->n_forward++;
	}
}

/* Batches whose gradients are added up: a backward pass after each of several forward passes that are alike. */
static unsigned count_micro(struct cutting *x)
{
	size_t n_pass = 0, n_alike = 0;
	int64_t since = x->usual.since_ns;
	unsigned n = 0;
	bool is_regular = true;

	for (size_t i = x->usual.first; i < x->usual.end; i++) {
		const struct op_action *a = action(x, i);

		if (op_course_backward(x->c, since, a->start_ns) && n_pass) {
			/* what hooks run in the middle of a backward pass is none */
			is_regular &=
				10 * n_alike >= 8 * x->n_forward || 5 * n_alike < x->n_forward;
			n += 5 * n_alike >= x->n_forward;
			for (size_t k = x->usual.first; k < i; k++)
				x->seen[action(x, k)->name] = 0;
			n_pass = n_alike = 0;
		}
		since = a->start_ns;
		if (a->signs)
			continue;
		n_pass++;
		n_alike += x->seen[a->name]++ < x->forward[a->name];
	}
	for (size_t k = x->usual.first; k < x->usual.end; k++)
		x->seen[action(x, k)->name] = 0;
	return is_regular ? n : 0;
}

/* ---- laid over each -------------------------------------------------------------------------- */

/* The nearest place before i and j from which on both have the same two names. */
static bool skip(const struct op_action *a, size_t *i, const struct op_action *b, size_t *j)
{
	for (size_t sum = 1; sum <= SKIP; sum++)
		for (size_t di = 0; di <= sum; di++) {
			size_t dj = sum - di;

			if (*i < di + 2 || *j < dj + 2 ||
				a[*i - di - 1].name != b[*j - dj - 1].name ||
				a[*i - di - 2].name != b[*j - dj - 2].name)
				continue;
			*i -= di;
			*j -= dj;
			return true;
		}
	return false;
}

/* From their ends on, as far as they are alike: *i of a and *j of b are left. Returns how many were the same. */
static size_t match_back(const struct op_action *a, size_t *i, const struct op_action *b, size_t *j)
{
	size_t n_same = 0, n_skips = 0;

	while (*i && *j) {
		if (a[*i - 1].name == b[*j - 1].name) {
			--*i;
			--*j;
			n_same++;
		} else if (++n_skips > SKIPS || !skip(a, i, b, j)) {
			break;
		}
	}
	return n_same;
}

/* Where the first one begins that could not be laid over: the last place before i that looks like the usual one's beginning, within
 * what is left of it; else as many actions before the end as the usual one has. */
static size_t find_head(const struct op_action *a, size_t n, size_t i, const struct op_action *b,
	size_t n_usual, size_t j)
{
	for (size_t h = 0; h + HEAD <= n_usual && h <= j && h < 2 * HEAD; h++)
		for (size_t k = i; k-- > 0;) {
			size_t m = 0;

			while (m < HEAD && k + m < n && a[k + m].name == b[h + m].name)
				m++;
			if (m == HEAD)
				return k;
		}
	return n > n_usual ? n - n_usual : 0;
}

/* ---- what was inserted ----------------------------------------------------------------------- */

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

/* How often what is in a forward pass comes, in the median of its names. */
static uint32_t count_passes(const struct cutting *x, size_t from, size_t until)
{
	VEC(uint32_t) v = VEC_INIT;
	uint32_t result = 0;

	for (size_t i = from; i < until; i++) {
		uint32_t name = action(x, i)->name;

		if (!x->forward[name] || !x->seen[name])
			continue;
		vec_push(&v, (x->seen[name] + x->forward[name] / 2) / x->forward[name]);
		x->seen[name] = 0;
	}
	if (v.n) {
		qsort(v.v, v.n, sizeof *v.v, by_number);
		result = v.v[v.n / 2];
	}
	vec_done(&v);
	return result;
}

/* Actions [from, until), without a backward pass in them: are they forward passes, or batches taken for some? */
static bool add_validation(struct cutting *x, size_t from, size_t until)
{
	size_t n_alike = 0, n_batches = 0;
	uint32_t n_passes;
	bool is;

	while (from < until && !x->forward[action(x, from)->name] &&
		!(action(x, from)->signs & OP_SIGN_BATCH))
		from++;
	for (size_t i = from; i < until; i++) {
		uint32_t name = action(x, i)->name;

		n_batches += (action(x, i)->signs & OP_SIGN_BATCH) != 0;
		n_alike += x->seen[name]++ < x->forward[name];
	}
	is = (x->n_forward && (double)n_alike >= ALIKE * (double)x->n_forward) || n_batches > 2;
	n_passes = is ? count_passes(x, from, until) : 0;
	for (size_t i = from; i < until; i++)
		x->seen[action(x, i)->name] = 0;
	if (is)
		vec_push(&x->to->validations,
			(struct op_validation){ action(x, from)->start_ns,
				action(x, until - 1)->end_ns, n_passes });
	return is;
}

/* A save is known by samples, give or take a look: nothing of the program ran in its middle. */
static int64_t middle(const struct op_save *s)
{
	return s->start_ns + (s->end_ns - s->start_ns) / 2;
}

/* Gradients that are left over are of no iteration: what follows the last of them. */
static size_t after_backward(const struct cutting *x, size_t from, size_t until, int64_t until_ns)
{
	for (size_t i = until; i-- > from;)
		if (op_course_backward(x->c, action(x, i)->start_ns,
			    i + 1 < until ? action(x, i + 1)->start_ns : until_ns))
			return i + 1;
	return from;
}

/* Inserted actions [from, until) before that time; false: they are of the iteration that follows. */
static bool set_aside(struct cutting *x, size_t from, size_t until, int64_t until_ns)
{
	int64_t since_ns = from ? action(x, from - 1)->end_ns : INT64_MIN;
	bool is_aside = false;

	from = after_backward(x, from, until, until_ns);
	for (; x->next_save < x->w->saves.n; x->next_save++) {
		int64_t t_ns = middle(&x->w->saves.v[x->next_save]);
		size_t end = from;

		if (t_ns >= until_ns)
			break;
		if (t_ns <= since_ns)
			continue;
		is_aside = true;
		while (end < until && action(x, end)->start_ns < t_ns)
			end++;
		add_validation(x, from, end);
		from = end;
	}
	return add_validation(x, from, until) || is_aside;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void add(struct cutting *x, const struct op_window *w, int64_t start_ns)
{
	if (w->until_ns > start_ns)
		vec_push(&x->to->v, (struct op_period){ w->name, start_ns, w->until_ns });
}

static bool is_usual(const struct cutting *x, const struct op_window *w)
{
	if (length(w) != length(&x->usual))
		return false;
	for (size_t i = 0; i < length(w); i++)
		if (action(x, w->first + i)->name != action(x, x->usual.first + i)->name)
			return false;
	return true;
}

/* How many actions the iteration before still did, as the usual one does after its optimizer. */
static size_t match_tail(const struct cutting *x, const struct op_window *w, size_t most)
{
	size_t n = 0;

	while (n < most && n < length(&x->usual) &&
		action(x, w->first + n)->name == action(x, x->usual.first + n)->name)
		n++;
	return n;
}

/* The first action after the last save before anything runs backward; the window's first where nothing was saved. */
static size_t after_saves(const struct cutting *x, const struct op_window *w)
{
	size_t result = w->first;

	for (size_t i = x->next_save; i < x->w->saves.n; i++) {
		int64_t t_ns = middle(&x->w->saves.v[i]);
		size_t at = op_course_at(x->c, t_ns);

		if (t_ns >= w->until_ns || op_course_backward(x->c, w->since_ns, t_ns))
			break;
		if (t_ns > w->since_ns && at < w->end)
			result = at;
	}
	return result;
}

static bool is_saved_in(const struct cutting *x, const struct op_window *w)
{
	for (size_t i = x->next_save; i < x->w->saves.n; i++)
		if (middle(&x->w->saves.v[i]) > w->since_ns)
			return middle(&x->w->saves.v[i]) < w->until_ns;
	return false;
}

static void cut_one(struct cutting *x, const struct op_window *w)
{
	size_t i = length(w), j = length(&x->usual), own, n_tail;
	int64_t start_ns = w->since_ns;

	if (i && (!is_usual(x, w) || is_saved_in(x, w)) &&
		2 * match_back(&x->c->v.v[w->first], &i, &x->c->v.v[x->usual.first], &j) >=
			length(&x->usual)) {
		own = after_saves(x, w);
		n_tail = match_tail(x, w, !i ? own - w->first : i < j ? i : j);
		own = own > w->first + i ? own : w->first + i;
		if (set_aside(x, w->first + n_tail, own, action(x, own)->start_ns)) {
			start_ns = action(x, own)->start_ns;
			if (n_tail && x->to->v.n && w->name == OPS_NONE)
				x->to->v.v[x->to->v.n - 1].end_ns =
					action(x, w->first + n_tail - 1)->end_ns;
		}
	}
	add(x, w, start_ns);
}

/* Before it is all that came before the loop. */
static void cut_first(struct cutting *x, const struct op_window *w)
{
	const struct op_action *a = &x->c->v.v[w->first], *b = &x->c->v.v[x->usual.first];
	size_t n = length(w), n_usual = length(&x->usual), i = n, j = n_usual;
	size_t n_same = match_back(a, &i, b, &j);

	if (!i && 5 * j > n_usual && n < n_usual)
		return; /* only its end is there */
	if (10 * n_same < 9 * n_usual && j)
		i = find_head(a, n, i, b, n_usual, j);
	add(x, w, i < n ? a[i].start_ns : w->since_ns);
}

void op_iterations_cut(const struct op_course *c, const struct op_windows *w, struct op_periods *to)
{
	size_t n_names = c->t->x->names.items.n;
	struct cutting x = { .c = c, .w = w, .to = to };
	const struct op_window *last;

	if (!w->v.n)
		return;
	last = &w->v.v[w->v.n - 1];
	x.usual = find_usual(w);
	x.forward = xcalloc(n_names + 1, sizeof *x.forward);
	x.seen = xcalloc(n_names + 1, sizeof *x.seen);
	take_forward(&x);
	to->n_micro = to->n_calls > 1 ? 0 : count_micro(&x); /* several take turns */
	for (size_t i = 0; i < w->v.n; i++)
		if (i == 0 && w->begins_anywhere)
			cut_first(&x, &w->v.v[i]);
		else
			cut_one(&x, &w->v.v[i]);
	if (last->end < c->v.n)
		set_aside(&x, last->end, c->v.n, INT64_MAX);
	free(x.forward);
	free(x.seen);
}
