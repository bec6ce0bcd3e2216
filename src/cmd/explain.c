/* SPDX-License-Identifier: MIT
 * See explain.h. The recordings are made by `leadline run` in front of what is compared, so all that it can record can be
 * explained. */
#include "cmd/explain.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/diff/diff.h"
#include "analyze/diff/diff_source.h"
#include "analyze/diff/time_blocks.h"
#include "analyze/host/usage.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "cmd/result.h"
#include "sys/private_dir.h"
#include "base/banned.h"

enum { CAUSES_MOST = 5, WORDS_BEFORE = 10, WORDS_AGAIN = 4, RUNS_MOST = 50, BATCHES = 8 };
enum { PATH_BYTES = PRIVATE_BASE_PATH + 16 };

static const double record_s = 2.0; /* of a statement or a short command */
static const double least = 0.001;  /* of the whole: what is less is nobody's reason */
static const double beside = 0.05;  /* of the largest: what is less is not shown beside it */
static const uint64_t seed = 1;     /* both sides get one memory layout */

/* ---- recording ------------------------------------------------------------------------------- */

/* leadline run … --, in front of what is run. */
static void make_recorder(struct arena *a, const char *file, const char *words[WORDS_BEFORE + 1])
{
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	const char *const all[WORDS_BEFORE] = { n > 0 ? arena_strndup(a, own, (size_t)n)
						      : "leadline",
		"run", "-o", file, "--report", "/dev/null", "--rate", "10k", "--no-source", "--" };

	memcpy(words, all, sizeof all);
	words[WORDS_BEFORE] = NULL;
}

/* A command that is over too soon runs again and again, unless something is to happen before each run. */
static unsigned runs_of(const struct commandline *c, double run_s)
{
	if (c->prepare || c->conclude || c->in_path || !(run_s > 0))
		return 1;
	return (unsigned)fmax(1, fmin(RUNS_MOST, ceil(record_s / run_s)));
}

static const char *const *words_of(struct arena *a, const struct commandline *c, double run_s,
	const char *const words[WORDS_BEFORE + 1])
{
	unsigned runs = runs_of(c, run_s);
	const char *again[WORDS_AGAIN] = { "/bin/sh", "-c",
		arena_printf(a, "i=0; while [ $i -lt %u ]; do \"$@\" || %s; i=$((i+1)); done", runs,
			c->ignore_failure ? ":" : "exit"),
		"sh" };
	size_t n = 0, n_again = runs > 1 ? WORDS_AGAIN : 0;
	const char **argv;

	while (c->argv[n])
		n++;
	argv = arena_new_n(a, const char *, WORDS_BEFORE + WORDS_AGAIN + n + 1);
	memcpy(argv, words, WORDS_BEFORE * sizeof *argv);
	memcpy(argv + WORDS_BEFORE, again, n_again * sizeof *argv);
	memcpy(argv + WORDS_BEFORE + n_again, c->argv, (n + 1) * sizeof *argv);
	return argv;
}

static int record_command(struct arena *a, const struct commandline *c, double run_s,
	const char *const words[WORDS_BEFORE + 1], struct err *e)
{
	struct commandline recorded = *c;
	struct child_result r;
	struct buf said = BUF_INIT;
	int status;

	recorded.argv = words_of(a, c, run_s, words);
	status = commandline_run(&recorded, seed, &r, &said, e);
	if (status == 0 && r.status && !c->ignore_failure)
		status = err_set(e, ERR_MEASURED,
			"'%s' exited with status %d while it was recorded", c->name, r.status);
	if (status < 0 && said.n)
		fwrite(said.data, 1, said.n, stderr);
	buf_done(&said);
	return status;
}

static int record_statement(struct arena *a, const struct statement *s, double loop_s,
	const char *const words[WORDS_BEFORE + 1], struct err *e)
{
	struct statement recorded = *s;
	struct statement_plan plan = {
		.loops = (uint64_t)ceil(fmax(1, record_s / BATCHES / fmax(loop_s, 1e-9))),
		.batches = loop_s < record_s ? BATCHES : 1,
		.budget_s = 1e9, /* all of them */
	};
	struct statement_notes notes = { 0 };
	struct series_process p;

	plan.least_batches = plan.batches;
	recorded.before = words;
	return statement_measure(&recorded, &plan, seed, a, &p, &notes, e);
}

/* ---- sharing out ----------------------------------------------------------------------------- */

static int open_side(struct result *r, const char *path, struct err *e)
{
	const struct result_choice c = { .of.by_time = true };

	if (result_open(r, path, &c, e) < 0)
		return -(int)e->code;
	if (!r->profile || !(r->recording->usage->wall_s > 0))
		return err_set(e, ERR_MEASURED, "the sampler saw no Python in it");
	return 0;
}

/* What stands for the whole: the loop of a statement, else the run. */
static void find_wholes(const struct diff *d, const struct result sides[2], double ret[2])
{
	ret[0] = sides[0].recording->usage->wall_s;
	ret[1] = sides[1].recording->usage->wall_s;
	for (size_t i = 0; i < d->functions.n; i++) {
		const struct diff_row *row = d->functions.v[i];

		if (strcmp(row->name, "inner") == 0 && strcmp(row->file, "<leadline bench>") == 0 &&
			row->total.a > 0 && row->total.b > 0) {
			ret[0] = row->total.a;
			ret[1] = row->total.b;
		}
	}
}

/* The same function in another file, as in old.py and new.py: one is only in A, the other only in B. */
static const struct diff_row *find_other(const struct diff *d, const struct diff_row *row)
{
	const struct diff_row *found = NULL;

	for (size_t i = 0; i < d->functions.n; i++) {
		const struct diff_row *other = d->functions.v[i];

		if (other == row || strcmp(other->name, row->name) != 0 ||
			(row->total.a > 0 ? other->total.a : other->total.b) > 0)
			continue;
		if (found)
			return NULL; /* which one cannot be told */
		found = other;
	}
	return found;
}

/* Of each other alone: else one's time would count for several. */
static const struct diff_row *find_pair(const struct diff *d, const struct diff_row *row)
{
	const struct diff_row *other =
		row->total.a > 0 && row->total.b > 0 ? NULL : find_other(d, row);

	return other && !(other->total.a > 0 && other->total.b > 0) && find_other(d, other) == row
		? other
		: NULL;
}

static struct verdict_cause cause_of(const struct diff *d, const struct diff_row *row,
	const double whole[2], double ratio, struct arena *a)
{
	const struct diff_row *other = find_pair(d, row);
	double before = row->self.a + (other ? other->self.a : 0),
	       after = row->self.b + (other ? other->self.b : 0),
	       spread = hypot(row->self.plus_minus, other ? other->self.plus_minus : 0);

	return (struct verdict_cause){ .name = arena_strdup(a, row->name),
		.file = arena_strdup(a, row->file),
		.line = row->line,
		.change = ratio * after / whole[1] - before / whole[0],
		.plus_minus = spread / whole[0] };
}

static int by_size(const void *x, const void *y)
{
	const struct verdict_cause *a = x, *b = y;

	return (fabs(a->change) < fabs(b->change)) - (fabs(a->change) > fabs(b->change));
}

static void collect_causes(struct arena *a, const struct diff *d, const double whole[2],
	double ratio, struct verdict_cause **ret, size_t *ret_n)
{
	VEC(struct verdict_cause) all = VEC_INIT;

	for (size_t i = 0; i < d->functions.n; i++) {
		const struct diff_row *row = d->functions.v[i];
		struct verdict_cause one;

		if (row->self.a < least * whole[0] && row->self.b < least * whole[1])
			continue;
		one = cause_of(d, row, whole, ratio, a);
		if (fabs(one.change) < fmax(least, one.plus_minus))
			continue;
		if (row->total.b > 0 || !find_pair(d, row)) /* of a pair the row of B speaks */
			vec_push(&all, one);
	}
	if (all.n)
		qsort(all.v, all.n, sizeof *all.v, by_size);
	*ret_n = 0;
	while (*ret_n < all.n && *ret_n < CAUSES_MOST &&
		fabs(all.v[*ret_n].change) >= beside * fabs(all.v[0].change))
		++*ret_n;
	*ret = arena_copy(a, all.v, *ret_n * sizeof *all.v);
	vec_done(&all);
}

static int share_out(struct arena *a, char paths[2][PATH_BYTES], double ratio,
	struct verdict_cause **ret, size_t *ret_n, struct err *e)
{
	struct diff_options options = { .normalize = DIFF_ABSOLUTE, .noise = DIFF_NOISE };
	struct result sides[2] = { 0 };
	struct diff_side both[2];
	int status = 0;

	for (int i = 0; i < 2 && status == 0; i++)
		status = open_side(&sides[i], paths[i], e);
	if (status == 0) {
		struct diff_source sources[] = { diff_source_of(sides[0].selection, sides[0].name),
			diff_source_of(sides[1].selection, sides[1].name) };

		status = diff_sides(a, sources, &options, NULL, both, e);
	}
	if (status == 0) {
		const struct diff *d = diff_build(a, &both[0], &both[1], &options);
		double whole[2];

		find_wholes(d, sides, whole);
		collect_causes(a, d, whole, ratio, ret, ret_n);
	}
	for (int i = 0; i < 2; i++)
		result_done(&sides[i]);
	return status;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Absolute: a command may run in another folder. */
static int make_paths(const struct explain_options *o, struct private_dir *folder,
	char paths[2][PATH_BYTES], struct err *e)
{
	char here[2048] = "";

	if (o->keep && o->keep[0] != '/' && !getcwd(here, sizeof here))
		return err_errno(e, ERR_SYSTEM, "the current folder");
	if (!o->keep && private_dir_make(folder, PRIVATE_LARGE, sizeof folder->path, e) < 0)
		return -(int)e->code;
	for (int i = 0; i < 2; i++)
		if (o->keep)
			snprintf(paths[i], PATH_BYTES, "%s%s%.1500s.%c.lead", here,
				*here ? "/" : "", o->keep, "ab"[i]);
		else
			snprintf(paths[i], PATH_BYTES, "%s/%c.lead", folder->path, "ab"[i]);
	return 0;
}

int explain(struct arena *a, const struct explain_options *o, struct verdict_cause **ret,
	size_t *ret_n, struct err *e)
{
	char paths[2][PATH_BYTES];
	struct private_dir folder = { 0 };
	int status = make_paths(o, &folder, paths, e);

	for (int i = 0; i < 2 && status == 0; i++) {
		const struct subject *s = o->sides[i];
		const char *words[WORDS_BEFORE + 1];

		make_recorder(a, paths[i], words);
		status = s->is_command ? record_command(a, &s->command, o->loop_s, words, e)
				       : record_statement(a, &s->statement, o->loop_s, words, e);
	}
	if (status == 0)
		status = share_out(a, paths, o->ratio, ret, ret_n, e);
	private_dir_remove(&folder);
	return status < 0 ? err_note(e, "--explain") : 0;
}
