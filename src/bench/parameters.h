/* SPDX-License-Identifier: MIT
 *
 * Parameters of what is timed: `{name}` in a command, or in what runs before and after it, stands for one value after the other,
 * as in hyperfine. Several parameters make all combinations, the first changing fastest. Texts live in the arena. */
#ifndef BENCH_PARAMETERS_H
#define BENCH_PARAMETERS_H

#include <stddef.h>

#include "analyze/stats/series.h"

struct arena;
struct err;

enum { PARAMETERS_MOST = 16, PARAMETER_VALUES_MOST = 10000 };

struct parameters {
	struct {
		const char *name;
		const char *const *values;
		size_t n;
	} v[PARAMETERS_MOST];
	size_t n;
};

/* "a,b,c"; a comma of a value itself is written "\,". */
int parameters_add_list(
	struct parameters *p, struct arena *a, const char *name, const char *list, struct err *e);
/* From low to high by step (NULL: 1), all of them whole or decimal numbers; written with as many decimals as the user did. */
int parameters_add_range(struct parameters *p, struct arena *a, const char *name, const char *low,
	const char *high, const char *step, struct err *e);

/* 1 without parameters. */
size_t parameters_combinations(const struct parameters *p);
/* The values of one of them, below parameters_combinations: p->n items. */
const struct series_parameter *parameters_pick(
	const struct parameters *p, struct arena *a, size_t combination);

/* The text with every {name} replaced; NULL stays NULL. */
const char *parameters_fill(
	struct arena *a, const char *text, const struct series_parameter *v, size_t n);
/* "name (n = 1000)": with those that do not stand in `text`, the template it was made of. */
const char *parameters_title(struct arena *a, const char *name, const char *text,
	const struct series_parameter *v, size_t n);

#endif
