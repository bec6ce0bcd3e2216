/* SPDX-License-Identifier: MIT
 * See results_compare.h. */
#include "cmd/results_compare.h"

#include <string.h>
#include <unistd.h>

#include "analyze/recording.h"
#include "analyze/samples/regions.h"
#include "analyze/stats/distribution.h"
#include "analyze/torch/results.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/format.h"
#include "formats/results.h"
#include "store/tables.h"
#include "base/banned.h"

bool results_is_file(const char *word)
{
	return (text_ends_with(word, ".json") || text_ends_with(word, ".lead")) &&
		access(word, F_OK) == 0;
}

typedef VEC(struct results_difference) differences;

/* What one side does not tell is no difference. */
static void note(differences *to, const char *what, const char *a, const char *b)
{
	if (*a && *b && strcmp(a, b) != 0)
		vec_push(to, (struct results_difference){ what, a, b });
}

static void keep_differences(struct arena *a, differences *all, struct results_comparison_view *to)
{
	to->r.differences = arena_copy(a, all->v, all->n * sizeof *all->v);
	to->r.n_differences = all->n;
	vec_done(all);
}

static void compare_machines(struct arena *a, const struct results *x, const struct results *y,
	struct results_comparison_view *to)
{
	differences all = VEC_INIT;

	note(&all, "machine", x->host, y->host);
	note(&all, "CPU", x->cpu, y->cpu);
	note(&all, "governor", x->governor, y->governor);
	note(&all, "kernel", x->kernel, y->kernel);
	note(&all, "Python", x->python, y->python);
	keep_differences(a, &all, to);
}

static int not_the_same(const struct results *x, const struct results *y, struct err *e)
{
	return err_set(e, ERR_USAGE,
		"the files share no benchmark: %s holds '%.60s'%s, %s holds '%.60s'%s; --force compares them if each holds just one",
		x->name, x->v[0].series.name, x->n > 1 ? " and others" : "", y->name,
		y->v[0].series.name, y->n > 1 ? " and others" : "");
}

static int compare_results(struct arena *a, const struct verdict_options *o, bool is_forced,
	struct results_comparison_view *to, struct err *e)
{
	VEC(struct results_comparison_row) rows = VEC_INIT;
	struct results x, y;

	if (results_load(a, to->r.a, &x, e) < 0 || results_load(a, to->r.b, &y, e) < 0)
		return -(int)e->code;
	to->r.damage_a = x.damage;
	to->r.damage_b = y.damage;
	compare_machines(a, &x, &y, to);
	for (size_t i = 0; i < x.n; i++) {
		const struct benchmark *other = results_find(&y, x.v[i].series.name);

		if (!other && is_forced && x.n == 1 && y.n == 1)
			other = &y.v[0];
		if (!other || other->unit != x.v[i].unit) {
			to->r.n_only_a++;
			continue;
		}
		vec_push(&rows,
			(struct results_comparison_row){ x.v[i].series.name,
				unpaired_series(a, &x.v[i].series, &other->series, o,
					to->r.n_differences > 0 && !is_forced) });
	}
	to->r.n_only_b = y.n - rows.n;
	to->r.n = rows.n;
	to->r.rows = arena_copy(a, rows.v, rows.n * sizeof *rows.v);
	vec_done(&rows);
	return to->r.n ? 0 : not_the_same(&x, &y, e);
}

struct steps {
	VEC(double) v;
	const char *host, *other; /* other: a region of another name; NULL none */
	const char *damage;       /* of the file; "" none */
};

struct naming {
	struct tables *t;
	struct arena *a;
	const char *unit;
	struct steps *to;
};

/* leadline.torch.step() calls them training steps. */
static bool is_unit(const char *name, const char *unit)
{
	return strcmp(name, unit) == 0 ||
		(strcmp(unit, "step") == 0 && strcmp(name, "training step") == 0);
}

static void take_region(void *ctx, const struct region_span *r)
{
	struct naming *n = ctx;
	const char *name = tables_string(n->t, r->name);

	if (!is_unit(name, n->unit))
		n->to->other = arena_strdup(n->a, name);
	else if (r->duration_ns && r->duration_ns != RECORD_UNKNOWN)
		vec_push(&n->to->v, 1e-9 * (double)r->duration_ns);
}

static void take_regions(struct arena *a, struct tables *t, const char *unit, struct steps *to)
{
	struct record_iter it = record_iter(t, RECORD_meta);
	struct naming n = { t, a, unit, to };

	for (const struct rec_meta *m; (m = record_next(&it));)
		if (strcmp(tables_string(t, m->key), "host") == 0)
			to->host = arena_strndup(a, m->value.p, m->value.n);
	record_iter_done(&it);
	regions_each(t, take_region, &n);
}

/* Steps that the program has not named itself are those that its operators tell. */
static void take_steps(struct torch *torch, struct steps *to)
{
	const struct op_steps *s = torch_steps(torch);

	if (s->how == OP_STEPS_ALL)
		return;
	vec_clear(&to->v);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].end_ns > s->v[i].start_ns)
			vec_push(&to->v, 1e-9 * (double)(s->v[i].end_ns - s->v[i].start_ns));
}

static int refuse_few(const struct steps *s, const char *path, const char *unit, struct err *e)
{
	if (s->v.n >= UNPAIRED_STEPS)
		return 0;
	if (*s->damage)
		return err_set(e, ERR_BAD_FILE,
			"%s: %zu regions '%s' could be read, at least %d are needed: %s", path,
			s->v.n, unit, UNPAIRED_STEPS, s->damage);
	return err_set(e, ERR_USAGE, "%s holds %zu %s '%s', at least %d are needed%s%s%s", path,
		s->v.n, strcmp(unit, "step") == 0 ? "steps or regions" : "regions", unit,
		UNPAIRED_STEPS, s->other ? "; there are others, such as '" : "",
		s->other ? s->other : "", s->other ? "'" : "");
}

static int load_steps(
	struct arena *a, const char *path, const char *unit, struct steps *to, struct err *e)
{
	struct recording *r = NULL;
	bool is_step = strcmp(unit, "step") == 0;
	int status = format_load(&r, path, e);

	to->host = to->damage = "";
	if (status == 0 && !r->tables && !(is_step && recording_torch(r)) &&
		(status = recording_run(r, e)) < 0)
		err_note(e, "%s", path);
	if (status == 0) {
		if (r->tables)
			take_regions(a, r->tables, unit, to);
		if (is_step && to->v.n < UNPAIRED_STEPS && recording_torch(r))
			take_steps(recording_torch(r), to);
		to->damage = arena_strdup(a, recording_damage(r));
	}
	recording_free(r);
	return status == 0 ? refuse_few(to, path, unit, e) : status;
}

/* The first steps compile and fill caches: as long as they differ from the rest they do not count. */
static size_t warmup_of(const struct steps *s)
{
	size_t looked_at = s->v.n < 256 ? s->v.n : 256;
	size_t cut = distribution_warmup(s->v.v, looked_at, 0.05);

	return cut < looked_at && s->v.n - cut >= UNPAIRED_STEPS ? cut : 0;
}

static int compare_steps(struct arena *a, const char *unit, const struct verdict_options *o,
	bool is_forced, struct results_comparison_view *to, struct err *e)
{
	struct steps x = { .v = VEC_INIT }, y = { .v = VEC_INIT };
	struct results_comparison_row *row = arena_new(a, struct results_comparison_row);
	differences all = VEC_INIT;
	int status = load_steps(a, to->r.a, unit, &x, e);

	if (status == 0)
		status = load_steps(a, to->r.b, unit, &y, e);
	if (status == 0) {
		size_t from_x = warmup_of(&x), from_y = warmup_of(&y);

		note(&all, "machine", x.host, y.host);
		keep_differences(a, &all, to);
		to->r.damage_a = x.damage;
		to->r.damage_b = y.damage;
		row->name = unit;
		row->u = unpaired_steps(x.v.v + from_x, x.v.n - from_x, y.v.v + from_y,
			y.v.n - from_y, o, to->r.n_differences > 0 && !is_forced);
		to->r.rows = row;
		to->r.n = 1;
	}
	vec_done(&x.v);
	vec_done(&y.v);
	return status;
}

int results_compare(struct arena *a, const char *file_a, const char *file_b, const char *unit,
	const struct verdict_options *o, bool is_forced, struct results_comparison_view *ret,
	struct err *e)
{
	*ret = (struct results_comparison_view){
		.r = { .a = file_a, .b = file_b, .damage_a = "", .damage_b = "" },
		.equivalence = o->equivalence
	};
	return unit ? compare_steps(a, unit, o, is_forced, ret, e)
		    : compare_results(a, o, is_forced, ret, e);
}

enum verdict_gate results_comparison_gate(const struct results_comparison_view *v)
{
	enum verdict_gate worst = VERDICT_NO_GATE;

	for (size_t i = 0; i < v->r.n; i++) {
		enum verdict_gate g = v->r.rows[i].u.gate;

		if (g == VERDICT_FAILED || worst == VERDICT_NO_GATE ||
			(g == VERDICT_GATE_UNDECIDED && worst == VERDICT_PASSED))
			worst = worst == VERDICT_FAILED ? worst : g;
	}
	return worst;
}
