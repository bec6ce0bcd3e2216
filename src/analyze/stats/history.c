/* SPDX-License-Identifier: MIT
 * See history.h. */
#include "analyze/stats/history.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/stats/distribution.h"
#include "base/arena.h"
#include "base/banned.h"

static const double alpha = 0.05;

static int by_time(const void *a, const void *b)
{
	const struct history_run *x = a, *y = b;

	return (x->begun_s > y->begun_s) - (x->begun_s < y->begun_s);
}

static bool is_exact(const char *commit)
{
	size_t n = strlen(commit);

	return n && commit[n - 1] != '+';
}

static struct history_point *point_of(struct history *h, const struct history_run *r)
{
	for (size_t i = 0; is_exact(r->commit) && i < h->n; i++)
		if (strcmp(h->points[i].commit, r->commit) == 0)
			return &h->points[i];
	h->points[h->n] = (struct history_point){ .commit = r->commit, .begun_s = r->begun_s };
	return &h->points[h->n++];
}

/* Sums of logarithms by commit first, then what runs of one commit differ by. */
static void gather(struct history *h, const struct history_run *runs, size_t n)
{
	double square = 0;

	for (size_t i = 0; i < n; i++) {
		struct history_point *p = point_of(h, &runs[i]);

		p->seconds += log(runs[i].seconds);
		p->n++;
	}
	for (size_t i = 0; i < h->n; i++)
		h->points[i].seconds = exp(h->points[i].seconds / (double)h->points[i].n);
	for (size_t i = 0; i < n; i++)
		if (is_exact(runs[i].commit))
			for (size_t k = 0; k < h->n; k++)
				if (strcmp(h->points[k].commit, runs[i].commit) == 0)
					square +=
						pow(log(runs[i].seconds / h->points[k].seconds), 2);
	for (size_t i = 0; i < h->n; i++)
		h->n_repeats += h->points[i].n - 1;
	h->noise = h->n_repeats ? sqrt(square / (double)h->n_repeats) : NAN;
}

struct side {
	double log_s; /* mean */
	double n;     /* runs */
};

static struct side side_of(const struct history *h, size_t from, size_t until)
{
	struct side s = { 0 };

	for (size_t i = from; i < until; i++) {
		s.log_s += (double)h->points[i].n * log(h->points[i].seconds);
		s.n += (double)h->points[i].n;
	}
	s.log_s /= s.n;
	return s;
}

/* Of all splits of a range the one that stands out most; its deviate. */
static double best_split(const struct history *h, size_t from, size_t until, size_t *ret_at)
{
	double best = 0;

	for (size_t at = from + 1; at < until; at++) {
		struct side l = side_of(h, from, at), r = side_of(h, at, until);
		double deviate = fabs(r.log_s - l.log_s) / (h->noise * sqrt(1 / l.n + 1 / r.n));

		if (deviate > best) {
			best = deviate;
			*ret_at = at;
		}
	}
	return best;
}

static int by_place(const void *a, const void *b)
{
	const struct history_step *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Splits what stands out, then both halves, as long as something does. Ranges wait in a list that cannot outgrow the points. */
static void find_steps(struct arena *a, struct history *h)
{
	struct {
		size_t from, until;
	} *ranges = arena_array(a, h->n + 1, sizeof *ranges);
	size_t n_ranges = 0;
	/* Any of the n − 1 places may be taken for a step. */
	double limit = distribution_t(1 - alpha / 2 / (double)(h->n - 1), (double)h->n_repeats);

	ranges[n_ranges].from = 0;
	ranges[n_ranges++].until = h->n;
	while (n_ranges) {
		size_t from = ranges[--n_ranges].from, until = ranges[n_ranges].until, at = from;

		if (!(best_split(h, from, until, &at) > limit))
			continue;
		h->steps[h->n_steps++].at = at;
		ranges[n_ranges].from = from;
		ranges[n_ranges++].until = at;
		ranges[n_ranges].from = at;
		ranges[n_ranges++].until = until;
	}
	qsort(h->steps, h->n_steps, sizeof *h->steps, by_place);
}

/* Each against its neighbours: up to the steps before and behind it. */
static void measure_steps(struct history *h)
{
	for (size_t i = 0; i < h->n_steps; i++) {
		struct history_step *s = &h->steps[i];
		struct side l = side_of(h, i ? h->steps[i - 1].at : 0, s->at);
		struct side r = side_of(h, s->at, i + 1 < h->n_steps ? h->steps[i + 1].at : h->n);
		double half = distribution_t(1 - alpha / 2, (double)h->n_repeats) * h->noise *
			sqrt(1 / l.n + 1 / r.n);

		s->ratio = exp(r.log_s - l.log_s);
		s->interval = (struct interval){ s->ratio * exp(-half), s->ratio * exp(half) };
	}
}

const struct history *history_build(struct arena *a, const struct history_run *runs, size_t n)
{
	struct history *h = arena_new(a, struct history);
	struct history_run *sorted = arena_copy(a, runs, n * sizeof *runs);

	qsort(sorted, n, sizeof *sorted, by_time);
	h->points = arena_new_n(a, struct history_point, n);
	h->steps = arena_new_n(a, struct history_step, n);
	gather(h, sorted, n);
	if (h->n > 1 && h->noise > 0) {
		find_steps(a, h);
		measure_steps(h);
	}
	return h;
}
