/* SPDX-License-Identifier: MIT
 * See series.h. */
#include "analyze/stats/series.h"

#include <math.h>

#include "base/arena.h"
#include "base/banned.h"

/* Below 5 % a change at the start is not worth losing values for. */
static const double least_warmup = 0.05;

void series_cut_warmup(struct series *s)
{
	for (size_t i = 0; i < s->n; i++) {
		struct series_process *p = &s->processes[i];
		double row[256];
		size_t n = p->n < 256 ? p->n : 256, cut;

		for (size_t k = 0; k < n; k++)
			row[k] = p->v[k].seconds;
		cut = distribution_warmup(row, n, least_warmup);
		p->is_unsteady = cut == n && n > 0;
		p->n_warmup = p->is_unsteady ? 0 : cut;
	}
}

double series_process_time(const struct series_process *p)
{
	double least = INFINITY;

	for (size_t i = p->n_warmup; i < p->n; i++)
		least = fmin(least, p->v[i].seconds);
	return least;
}

double series_time(struct arena *a, const struct series *s)
{
	double *times = arena_new_n(a, double, s->n);

	for (size_t i = 0; i < s->n; i++)
		times[i] = series_process_time(&s->processes[i]);
	distribution_sort(times, s->n);
	return distribution_quantile(times, s->n, 0.5);
}

struct interval series_median_interval(struct arena *a, const struct series *s)
{
	double *medians = arena_new_n(a, double, s->n), *values = NULL;
	size_t n_medians = 0, n = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct series_process *p = &s->processes[i];

		n = p->n - p->n_warmup;
		values = arena_new_n(a, double, n);
		for (size_t k = 0; k < n; k++)
			values[k] = p->v[p->n_warmup + k].seconds;
		distribution_sort(values, n);
		if (n)
			medians[n_medians++] = distribution_quantile(values, n, 0.5);
	}
	if (s->n == 1)
		return distribution_median_interval(values, n, 0.95);
	distribution_sort(medians, n_medians);
	return distribution_median_interval(medians, n_medians, 0.95);
}

static size_t count_values(const struct series *s)
{
	size_t n = 0;

	for (size_t i = 0; i < s->n; i++)
		n += s->processes[i].n - s->processes[i].n_warmup;
	return n;
}

static void explain_outliers(const struct series *s, struct series_summary *sum)
{
	double reach = sum->d.q3 + 1.5 * (sum->d.q3 - sum->d.q1);

	for (size_t i = 0; i < s->n; i++) {
		const struct series_process *p = &s->processes[i];

		for (size_t k = p->n_warmup; k < p->n; k++) {
			const struct series_value *v = &p->v[k];

			if (v->seconds <= reach)
				continue;
			sum->outliers.n++;
			sum->outliers.n_preempted += v->n_preempted > 0;
			sum->outliers.n_faults += v->n_major_faults > 0;
		}
	}
}

/* Means of processes, first calls: what there is one of per process. */
static void over_processes(struct arena *a, const struct series *s, struct series_summary *sum)
{
	double *means = arena_new_n(a, double, s->n), *firsts = arena_new_n(a, double, s->n);
	size_t n_firsts = 0, at = 0;

	for (size_t i = 0; i < s->n; i++) {
		const struct series_process *p = &s->processes[i];
		size_t n = p->n - p->n_warmup;
		double total = 0;

		for (size_t k = 0; k < n; k++)
			total += sum->values[at++];
		if (n)
			means[sum->n_processes++] = total / (double)n;
		if (!isnan(p->first_s))
			firsts[n_firsts++] = p->first_s;
		sum->n_warmup += p->n_warmup;
		sum->n_unsteady += p->is_unsteady;
		if (p->max_rss_bytes > sum->max_rss_bytes)
			sum->max_rss_bytes = p->max_rss_bytes;
	}
	sum->mean_is_of_processes = sum->n_processes > 1;
	sum->mean = sum->mean_is_of_processes
		? distribution_mean_interval(means, sum->n_processes, 0.95)
		: distribution_mean_interval(sum->values, sum->d.n, 0.95);
	distribution_sort(firsts, n_firsts);
	sum->first_s = n_firsts ? distribution_quantile(firsts, n_firsts, 0.5) : NAN;
}

struct series_summary series_summarise(struct arena *a, const struct series *s)
{
	struct series_summary sum = { .user_s = NAN, .system_s = NAN };
	size_t n = count_values(s), at = 0;
	double user = 0, system = 0;

	sum.values = arena_new_n(a, double, n);
	for (size_t i = 0; i < s->n; i++) {
		const struct series_process *p = &s->processes[i];

		for (size_t k = p->n_warmup; k < p->n; k++) {
			user += p->v[k].user_s;
			system += p->v[k].system_s;
			sum.values[at++] = p->v[k].seconds;
		}
	}
	sum.d = distribution_of(sum.values, n);
	sum.loops = s->processes[0].loops;
	over_processes(a, s, &sum);
	explain_outliers(s, &sum);
	if (s->is_command) {
		sum.user_s = user / (double)n;
		sum.system_s = system / (double)n;
	}
	return sum;
}
