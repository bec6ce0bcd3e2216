/* SPDX-License-Identifier: MIT
 * Answer "spread": how one function's time is spread over threads and over the run. */
#include <stdlib.h>
#include <string.h>

#include "analyze/diff/time_blocks.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/err.h"
#include "base/map.h"
#include "json/values.h"
#include "serve/answers/parts.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "store/reader.h"
#include "base/banned.h"

enum { STEPS = 64, MOST_THREADS = 200 };

struct share {
	double self, total;
};

struct spread {
	const struct stacks *s;
	double scale;          /* lost samples are nobody's */
	unsigned char *has;    /* by place: 1 the function is in it, 2 at its leaf */
	struct share *threads; /* by thread */
	struct share steps[STEPS];
};

static void add(struct share *to, unsigned has, double seconds)
{
	to->total += has ? seconds : 0;
	to->self += has == 2 ? seconds : 0;
}

static void look(struct spread *x, uint32_t function)
{
	const struct paths *p = x->s->paths;
	bool *is_in = xcalloc(p->n, sizeof *is_in); /* the function, or below it */

	for (size_t i = 1; i < p->n; i++)
		is_in[i] = is_in[p->v[i].parent] || p->v[i].function == function;
	for (size_t i = 0; i < x->s->n; i++) {
		const struct stack_place *place = &x->s->v[i];
		uint32_t leaf = p->of_place[i];

		x->has[i] = !is_in[leaf] ? 0 : p->v[leaf].function == function ? 2 : 1;
		add(&x->threads[place->thread], x->has[i], place->value * x->scale);
	}
	free(is_in);
}

/* Returns how many blocks one step is. */
static uint32_t lay_out(struct spread *x, const struct time_blocks *blocks)
{
	uint32_t each = blocks->last / STEPS + 1;
	struct map place_of = MAP_INIT;

	for (size_t i = 0; i < x->s->n; i++)
		map_put(&place_of, x->s->v[i].number, i);
	for (size_t i = 0; i < blocks->v.n; i++) {
		const struct block_piece *piece = &blocks->v.v[i];
		uint64_t place;

		if (map_find(&place_of, piece->place, &place))
			add(&x->steps[piece->block / each], x->has[place], piece->value * x->scale);
	}
	map_done(&place_of);
	return each;
}

static void write_threads(const struct spread *x, struct json_writer *w)
{
	size_t n = 0;

	json_key(w, "threads");
	json_array_begin(w);
	for (size_t i = 0; i < x->s->n_threads && n < MOST_THREADS; i++) {
		if (!(x->threads[i].total > 0))
			continue;
		n++;
		json_object_begin(w);
		json_kv_u64(w, "number", i + 1);
		json_kv_string(w, "name", x->s->threads[i].name);
		json_key(w, "self");
		short_json(x->threads[i].self, w);
		json_key(w, "total");
		short_json(x->threads[i].total, w);
		json_object_end(w);
	}
	json_array_end(w);
}

static void write_steps(struct spread *x, const struct selection *s, struct json_writer *w)
{
	const struct time_blocks *b = s->blocks;
	bool has_time = b && b->v.n && !s->recording->origin.is_foreign;
	uint32_t each = has_time ? lay_out(x, b) : 1;
	size_t n = has_time ? b->last / each + 1 : 0;
	double begin = has_time
		? ((double)b->zero_ns - (double)s->recording->reader->begun_monotonic_ns) / 1e9
		: 0;

	json_kv_double(w, "begin", begin);
	json_kv_double(w, "step", has_time ? (double)b->length_ns * each / 1e9 : 0);
	for (int total = 0; total < 2; total++) {
		json_key(w, total ? "totals" : "selves");
		json_array_begin(w);
		for (size_t i = 0; i < n; i++)
			short_json(total ? x->steps[i].total : x->steps[i].self, w);
		json_array_end(w);
	}
}

int answer_spread(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	struct spread x = { 0 };
	struct selection *s;
	uint32_t function;

	if (library_select(l, p, LIBRARY_BLOCKS, &s, e) < 0 ||
		answer_function(s, p, &function, e) < 0)
		return -(int)e->code;
	if (!s->profile || !s->stacks->n)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(s->recording, "there are no stacks in it"));
	x.s = s->stacks;
	x.scale = 1 - selection_lost_share(s);
	x.has = xcalloc(x.s->n + 1, sizeof *x.has);
	x.threads = xcalloc(x.s->n_threads + 1, sizeof *x.threads);
	look(&x, function);
	json_kv_string(w, "unit", unit_json_name(s->profile->unit));
	json_kv_u64(w, "function_id", function);
	write_threads(&x, w);
	write_steps(&x, s, w);
	free(x.has);
	free(x.threads);
	return 0;
}
