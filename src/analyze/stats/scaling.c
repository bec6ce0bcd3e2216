/* SPDX-License-Identifier: MIT
 * See scaling.h. Divided by n − 1 the law is a straight line in n: (n / speed-up − 1) / (n − 1) = serial + contention·n. The intervals
 * come from drawing the rates again and again, each as far from its mean as Student's t says for so few processes. */
#include "analyze/stats/scaling.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>

#include "analyze/stats/distribution.h"
#include "base/xalloc.h"
#include "base/banned.h"

enum { DRAWS = 4000, POINTS_MOST = 64 };

struct rate {
	double threads, log_s, error; /* mean of the logarithms and its standard error */
	size_t n;                     /* values */
};

struct fit {
	double serial, contention;
};

static struct rate rate_of(const struct scaling_point *p)
{
	double logs[256] = { 0 };
	size_t n = p->n < 256 ? p->n : 256;
	struct distribution d;

	for (size_t i = 0; i < n; i++)
		logs[i] = log(p->seconds[i]);
	d = distribution_of(logs, n);
	return (struct rate){ p->threads, d.median, n > 1 ? d.sd / sqrt((double)n) : 0, n };
}

static double uniform(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

/* Bailey's way to Student's t with df degrees of freedom. */
static double draw_t(uint64_t *state, double df)
{
	double u = uniform(state), v = uniform(state);

	return sqrt(df * (pow(u, -2 / df) - 1)) * cos(2 * M_PI * v);
}

/* From logarithms of the times of a loop; logs[0] is of one thread. */
static struct fit fit_of(const struct rate *r, const double *logs, size_t n)
{
	double mean_x = 0, mean_y = 0, xx = 0, xy = 0, slope;
	double y[POINTS_MOST];

	for (size_t i = 1; i < n; i++) {
		double speedup = exp(logs[0] - logs[i]);

		y[i] = (r[i].threads / speedup - 1) / (r[i].threads - 1);
		mean_x += r[i].threads / (double)(n - 1);
		mean_y += y[i] / (double)(n - 1);
	}
	for (size_t i = 1; i < n; i++) {
		xx += pow(r[i].threads - mean_x, 2);
		xy += (r[i].threads - mean_x) * (y[i] - mean_y);
	}
	slope = n > 2 && xx > 0 ? fmax(0, xy / xx) : 0;
	if (mean_y - slope * mean_x < 0 && n > 2) { /* all of it is contention */
		double top = 0, bottom = 0;

		for (size_t i = 1; i < n; i++) {
			top += r[i].threads * y[i];
			bottom += r[i].threads * r[i].threads;
		}
		return (struct fit){ 0, fmax(0, top / bottom) };
	}
	return (struct fit){ fmin(1, fmax(0, mean_y - slope * mean_x)), slope };
}

static void find_intervals(const struct rate *r, size_t n, struct scaling *s)
{
	double *serial = xmalloc(2 * DRAWS * sizeof *serial), *contention = serial + DRAWS;
	double logs[POINTS_MOST];
	uint64_t random = 1;

	for (size_t k = 0; k < DRAWS; k++) {
		struct fit f;

		for (size_t i = 0; i < n; i++)
			logs[i] = r[i].log_s +
				(r[i].n > 1 ? r[i].error * draw_t(&random, (double)(r[i].n - 1))
					    : 0);
		f = fit_of(r, logs, n);
		serial[k] = f.serial;
		contention[k] = f.contention;
	}
	distribution_sort(serial, DRAWS);
	distribution_sort(contention, DRAWS);
	s->serial_interval = (struct interval){ distribution_quantile(serial, DRAWS, 0.025),
		distribution_quantile(serial, DRAWS, 0.975) };
	s->contention_interval = (struct interval){ distribution_quantile(contention, DRAWS, 0.025),
		distribution_quantile(contention, DRAWS, 0.975) };
	free(serial);
}

struct scaling scaling_of(const struct scaling_point *p, size_t n, unsigned n_cpus)
{
	struct scaling s = { .most_threads = INFINITY, .most_speedup = INFINITY };
	struct rate r[POINTS_MOST];
	double logs[POINTS_MOST];
	size_t used = 0;
	struct fit f;

	for (size_t i = 0; i < n && used < POINTS_MOST; i++)
		if (p[i].threads <= n_cpus && p[i].n) {
			r[used] = rate_of(&p[i]);
			logs[used] = r[used].log_s;
			used++;
		}
	if (used < 2 || r[0].threads != 1)
		return s;
	s.is_known = true;
	f = fit_of(r, logs, used);
	s.serial = f.serial;
	s.has_contention = used > 2;
	s.contention = f.contention;
	find_intervals(r, used, &s);
	if (f.contention > 0) {
		double peak = fmax(1, sqrt((1 - f.serial) / f.contention));

		s.most_threads = peak;
		s.most_speedup =
			peak / (1 + f.serial * (peak - 1) + f.contention * peak * (peak - 1));
	} else if (f.serial > 0) {
		s.most_speedup = 1 / f.serial;
	}
	return s;
}

double scaling_speedup(const struct scaling_point *p, size_t i)
{
	return exp(rate_of(&p[0]).log_s - rate_of(&p[i]).log_s);
}
