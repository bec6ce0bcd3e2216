/* SPDX-License-Identifier: MIT
 * See pattern.h. */
#include "analyze/code/pattern.h"

#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/profile.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/banned.h"

struct pattern {
	regex_t regex;
};

enum { LENGTH_MOST = 1000, REPEATS_MOST = 1000 };

/* libc's regcomp writes repetitions out: "(a{255}){255}" takes gigabytes. */
static bool is_modest(const char *text)
{
	double repeats = 1;

	if (strlen(text) > LENGTH_MOST)
		return false;
	for (const char *c = strchr(text, '{'); c; c = strchr(c + 1, '{')) {
		const char *comma = c + 1 + strspn(c + 1, "0123456789");
		double low = strtod(c + 1, NULL),
		       high = *comma == ',' ? strtod(comma + 1, NULL) : 0;

		repeats *= low > high ? (low > 1 ? low : 1) : (high > 1 ? high : 1);
	}
	return repeats <= REPEATS_MOST;
}

int pattern_new(struct pattern **ret, const char *text, struct err *e)
{
	struct pattern *p;
	char why[120];
	int status;

	if (!is_modest(text))
		return err_set(e, ERR_USAGE,
			"'%.100s' is too large a regular expression: up to %d characters, repeated up to %d times",
			text, LENGTH_MOST, REPEATS_MOST);
	p = xcalloc(1, sizeof *p);
	status = regcomp(&p->regex, text, REG_EXTENDED | REG_NOSUB);
	if (status == 0) {
		*ret = p;
		return 0;
	}
	regerror(status, &p->regex, why, sizeof why);
	free(p);
	return err_set(e, ERR_USAGE, "'%s' is not a regular expression: %s", text, why);
}

void pattern_free(struct pattern *p)
{
	if (!p)
		return;
	regfree(&p->regex);
	free(p);
}

bool pattern_matches(const struct pattern *p, const char *name, const char *file, int64_t line)
{
	char text[4096];

	if (*file)
		snprintf(text, sizeof text, "%s (%s:%" PRId64 ")", name, file, line);
	else
		snprintf(text, sizeof text, "%s", name);
	return regexec(&p->regex, text, 0, NULL, 0) == 0;
}

const struct profile *pattern_rows(
	struct arena *a, const struct profile *p, const struct pattern *pattern)
{
	struct profile *r = arena_copy(a, p, sizeof *p);
	struct profile_function *functions =
		arena_new_n(a, struct profile_function, p->n_functions);
	struct profile_line *lines = arena_new_n(a, struct profile_line, p->n_lines);

	r->n_functions = r->n_lines = 0;
	for (size_t i = 0; i < p->n_functions; i++)
		if (pattern_matches(pattern, p->functions[i].name, p->functions[i].file,
			    p->functions[i].first_line))
			functions[r->n_functions++] = p->functions[i];
	for (size_t i = 0; i < p->n_lines; i++)
		if (pattern_matches(
			    pattern, p->lines[i].function, p->lines[i].file, p->lines[i].line))
			lines[r->n_lines++] = p->lines[i];
	r->functions = functions;
	r->lines = lines;
	return r;
}

/* ---- functions that somebody names ----------------------------------------------------------- */

enum how { BY_QUALNAME, BY_LAST_WORD, BY_PATTERN };

static bool is_named(const struct profile_function *f, enum how how, const char *text,
	const struct pattern *pattern)
{
	const char *dot = strrchr(f->name, '.');

	switch (how) {
	case BY_QUALNAME:
		return strcmp(f->name, text) == 0;
	case BY_LAST_WORD:
		return dot && strcmp(dot + 1, text) == 0;
	case BY_PATTERN:
		return pattern_matches(pattern, f->name, f->file, f->first_line);
	}
	return false;
}

static int by_total(const void *a, const void *b, void *profile)
{
	const struct profile *p = profile;
	double x = p->functions[*(const size_t *)a].cost.total_value,
	       y = p->functions[*(const size_t *)b].cost.total_value;

	return x < y ? 1 : x > y ? -1 : 0;
}

int pattern_functions(struct arena *a, const struct profile *p, const char *text, size_t **ret,
	size_t *ret_n, struct err *e)
{
	struct pattern *pattern = NULL;
	VEC(size_t) found = VEC_INIT;

	for (enum how how = BY_QUALNAME; how <= BY_PATTERN && !found.n; how++) {
		if (how == BY_PATTERN && pattern_new(&pattern, text, e) < 0)
			return -(int)e->code;
		for (size_t i = 0; i < p->n_functions; i++)
			if (is_named(&p->functions[i], how, text, pattern))
				vec_push(&found, i);
	}
	pattern_free(pattern);
	if (!found.n)
		return err_set(e, ERR_USAGE,
			"no function matches '%s'; leadline report --functions FILE lists them all",
			text);
	qsort_r(found.v, found.n, sizeof *found.v, by_total, (void *)p);
	*ret = arena_copy(a, found.v, found.n * sizeof *found.v);
	*ret_n = found.n;
	vec_done(&found);
	return 0;
}
