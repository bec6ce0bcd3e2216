/* SPDX-License-Identifier: MIT
 * See comparison.h. */
#include "json/comparison.h"

#include <math.h>

#include "analyze/bench/counts.h"
#include "analyze/stats/unpaired.h"
#include "analyze/stats/verdict.h"
#include "base/json_write.h"
#include "base/banned.h"

static void counting_side(const char *key, const struct bench_counts *c, struct json_writer *w)
{
	json_key(w, key);
	json_object_begin(w);
	json_kv_string(w, "name", c->name);
	json_kv_string(w, "unit", c->is_command ? "run" : "loop");
	json_kv_double(w, "instructions", c->instructions);
	json_kv_string(w, "instructions_by", c->instructions_by);
	json_kv_double(w, "bytecodes", c->all.bytecodes);
	json_kv_double(w, "lines", c->all.lines);
	json_kv_double(w, "calls", c->all.calls);
	json_kv_double(w, "allocations", NAN);
	json_kv_double(w, "system_calls", NAN);
	json_key(w, "functions");
	json_array_begin(w);
	for (size_t i = 0; i < c->n; i++) {
		const struct bench_counts_function *f = &c->functions[i];

		json_object_begin(w);
		json_kv_string(w, "name", f->name);
		json_kv_string(w, "file", f->file);
		json_kv_u64(w, "line", f->first_line);
		json_kv_double(w, "bytecodes", f->n.bytecodes);
		json_kv_double(w, "lines", f->n.lines);
		json_kv_double(w, "calls", f->n.calls);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

void bench_counts_json(const struct bench_counts *a, const struct bench_counts *b,
	const struct bench_counts_gate *gate, struct json_writer *w)
{
	counting_side("a", a, w);
	if (b)
		counting_side("b", b, w);
	if (!gate)
		return;
	json_key(w, "gate");
	json_object_begin(w);
	json_kv_string(w, "count", gate->what);
	json_kv_double(w, "change_share", gate->change);
	json_kv_double(w, "limit_share", gate->limit);
	json_kv_string(w, "outcome", bench_counts_gate_words[gate->outcome]);
	json_object_end(w);
}

static void results_comparison_row(const struct results_comparison_row *r, struct json_writer *w)
{
	const struct unpaired *u = &r->u;

	json_object_begin(w);
	json_kv_string(w, "name", r->name);
	json_kv_double(w, "ratio", u->ratio);
	json_kv_double(w, "low", u->interval.low);
	json_kv_double(w, "high", u->interval.high);
	json_kv_string(w, "verdict", verdict_words[u->word]);
	json_kv_string(w, "reason", u->word == VERDICT_UNDECIDED ? unpaired_why_undecided(u) : "");
	json_kv_double(w, "median_a_s", u->a_s);
	json_kv_double(w, "median_b_s", u->b_s);
	json_kv_u64(w, "n_a", u->n_a);
	json_kv_u64(w, "n_b", u->n_b);
	json_kv_u64(w, "block", u->block);
	json_object_end(w);
}

void results_comparison_json(const struct results_comparison *v, struct json_writer *w)
{
	json_kv_string(w, "a", v->a);
	json_kv_string(w, "b", v->b);
	if (*v->damage_a)
		json_kv_string(w, "damage_a", v->damage_a);
	if (*v->damage_b)
		json_kv_string(w, "damage_b", v->damage_b);
	json_key(w, "results");
	json_array_begin(w);
	for (size_t i = 0; i < v->n; i++)
		results_comparison_row(&v->rows[i], w);
	json_array_end(w);
	json_key(w, "differences");
	json_array_begin(w);
	for (size_t i = 0; i < v->n_differences; i++) {
		json_object_begin(w);
		json_kv_string(w, "what", v->differences[i].what);
		json_kv_string(w, "a", v->differences[i].a);
		json_kv_string(w, "b", v->differences[i].b);
		json_object_end(w);
	}
	json_array_end(w);
}

static void causes_json(const struct verdict_result *v, struct json_writer *w)
{
	json_key(w, "explained");
	if (!v->is_explained) {
		json_null(w);
		return;
	}
	json_array_begin(w);
	for (size_t i = 0; i < v->n_causes; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", v->causes[i].name);
		json_kv_string(w, "file", v->causes[i].file);
		json_kv_u64(w, "line", v->causes[i].line);
		json_kv_double(w, "change_share", v->causes[i].change);
		json_kv_double(w, "plus_minus_share", v->causes[i].plus_minus);
		json_object_end(w);
	}
	json_array_end(w);
}

void verdict_json(const struct verdict_result *v, struct json_writer *w)
{
	const struct verdict *d = v->verdict;
	double rest;

	json_kv_string(w, "a", v->a);
	json_kv_string(w, "b", v->b);
	json_kv_double(w, "ratio", d->ratio);
	json_kv_double(w, "low", d->interval.low);
	json_kv_double(w, "high", d->interval.high); /* null: no upper limit */
	json_kv_string(w, "verdict", verdict_words[d->word]);
	json_kv_string(w, "reason", d->reason ? verdict_reason_text(d->reason) : NULL);
	json_kv_u64(w, "blocks", d->n_blocks);
	json_key(w, "rounds");
	if (v->rounds)
		json_u64(w, v->rounds);
	else
		json_null(w);
	json_kv_u64(w, "b_wins", d->n_b_won);
	json_key(w, "control");
	if (d->has_control) {
		json_object_begin(w);
		json_kv_double(w, "ratio", d->control_ratio);
		json_kv_double(w, "low", d->control.low);
		json_kv_double(w, "high", d->control.high);
		json_object_end(w);
	} else {
		json_null(w);
	}
	json_kv_double(w, "detectable_share", d->detectable);
	json_key(w, "more_blocks");
	if (d->word == VERDICT_UNDECIDED && d->n_more != SIZE_MAX)
		json_u64(w, d->n_more);
	else
		json_null(w);
	json_kv_double(w, "median_a_s", verdict_median(v, false));
	json_kv_double(w, "median_b_s", verdict_median(v, true));
	json_kv_double(w, "elapsed_s", v->elapsed_s);
	json_key(w, "times");
	json_array_begin(w);
	for (size_t i = 0; i < d->n_blocks; i++) {
		json_array_begin(w);
		json_double(w, v->blocks[i].a);
		json_double(w, v->blocks[i].b);
		json_double(w, v->blocks[i].again);
		json_array_end(w);
	}
	json_array_end(w);
	json_key(w, "b_first");
	json_array_begin(w);
	for (size_t i = 0; i < d->n_blocks; i++)
		json_bool(w, v->blocks[i].b_first);
	json_array_end(w);
	causes_json(v, w);
	rest = d->ratio - 1;
	for (size_t i = 0; i < v->n_causes; i++)
		rest -= v->causes[i].change;
	json_kv_double(w, "explained_rest_share", v->n_causes ? rest : NAN);
	json_kv_bool(w, "final", d->is_final);
	json_kv_u64(w, "next_look", verdict_next_look(d->n_blocks));
}
