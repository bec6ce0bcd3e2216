/* SPDX-License-Identifier: MIT
 * Answer "torch": the spans of a trace over time, in slices as wide as the picture, and one span with what it leads to. */
#include <math.h>
#include <stdint.h>

#include "analyze/torch/flows.h"
#include "analyze/torch/timeline.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/map.h"
#include "serve/answers/torch.h"
#include "serve/http/params.h"
#include "analyze/torch/results.h"
#include "base/banned.h"

enum { WIDTH = 1200, WIDTH_MOST = 10000, FLOWS = 4000, LINKS = 300 };

struct slicing {
	struct torch *torch;
	const struct op_timeline *t;
	struct json_writer *w;
	int64_t from_ns, to_ns, least_ns;
	struct map name_of; /* name → number in the answer + 1 */
	VEC(uint32_t) names;
	op_spans spans;
	VEC(uint32_t) rows; /* of each span, within its lane */
};

static uint64_t name_number(struct slicing *s, uint32_t name)
{
	uint64_t number;

	if (map_find(&s->name_of, name, &number))
		return number;
	number = s->names.n;
	map_put(&s->name_of, name, number);
	vec_push(&s->names, name);
	return number;
}

#define COLUMN(s, key, type, expression)                            \
	do {                                                        \
		json_key((s)->w, key);                              \
		json_array_begin((s)->w);                           \
		for (size_t i = 0; i < (s)->spans.n; i++) {         \
			const struct op_span *x = &(s)->spans.v[i]; \
			(void)x;                                    \
			json_##type((s)->w, expression);            \
		}                                                   \
		json_array_end((s)->w);                             \
	} while (0)

static void write_lane(struct slicing *s, const struct op_lane *lane)
{
	const struct op_events *x_ = &s->torch->x;

	vec_clear(&s->spans);
	vec_clear(&s->rows);
	for (size_t k = 0; k < lane->n_rows; k++) {
		op_timeline_slice(s->t, x_, lane->first_row + k, s->from_ns, s->to_ns, s->least_ns,
			&s->spans);
		while (s->rows.n < s->spans.n)
			vec_push(&s->rows, (uint32_t)k);
	}
	json_object_begin(s->w);
	json_kv_string(s->w, "process", lane->process);
	json_kv_string(s->w, "thread", lane->thread);
	json_kv_bool(s->w, "is_device", lane->is_device);
	json_kv_u64(s->w, "events", lane->n_events);
	json_kv_u64(s->w, "rows", lane->n_rows);
	COLUMN(s, "row", u64, s->rows.v[i]);
	COLUMN(s, "t", i64, x->start_ns - s->t->begin_ns);
	COLUMN(s, "d", i64, x->end_ns - x->start_ns);
	COLUMN(s, "name", u64, name_number(s, x_->v.v[x->event].name));
	COLUMN(s, "kind", u64, x_->v.v[x->event].category);
	COLUMN(s, "event", u64, x->event);
	COLUMN(s, "n", u64, x->n);
	json_object_end(s->w);
}

static void write_flows(struct slicing *s)
{
	const struct op_flows *f = torch_flows(s->torch);

	json_key(s->w, "flows");
	json_array_begin(s->w);
	for (size_t i = 0; i < f->n && i < FLOWS; i++) {
		json_array_begin(s->w);
		json_u64(s->w, f->v[i].from);
		json_u64(s->w, f->v[i].to);
		json_u64(s->w, f->v[i].is_backward);
		json_array_end(s->w);
	}
	json_array_end(s->w);
}

static int parse_window(struct slicing *s, const struct params *p, struct err *e)
{
	double length = (double)(s->t->end_ns - s->t->begin_ns) / 1e9, from = 0, to = length;
	uint32_t px = WIDTH;

	if (params_number(p, "from", 0, 1e9, &from, e) < 0 ||
		params_number(p, "to", 0, 1e9, &to, e) < 0 ||
		params_u32(p, "px", WIDTH_MOST, &px, e) < 0)
		return -(int)e->code;
	if (!(to > from))
		to = from + 1e-6;
	s->from_ns = s->t->begin_ns + (int64_t)(from * 1e9);
	s->to_ns = s->t->begin_ns + (int64_t)(to * 1e9) + 1;
	/* What is narrower than a pixel, and as near to its neighbour, is drawn as one with it. */
	s->least_ns = (int64_t)((double)(s->to_ns - s->from_ns) / (px ? px : WIDTH)) + 1;
	return 0;
}

int torch_timeline_pane(
	struct torch *torch, const struct params *p, struct json_writer *w, struct err *e)
{
	struct slicing s = {
		.torch = torch, .t = torch_timeline(torch, params_is_set(p, "python")), .w = w
	};

	if (parse_window(&s, p, e) < 0)
		return -(int)e->code;
	json_kv_double(w, "length_s", (double)(s.t->end_ns - s.t->begin_ns) / 1e9);
	json_kv_bool(w, "has_python", torch->x.has_python);
	json_kv_u64(w, "too_deep", s.t->n_too_deep);
	json_key(w, "lanes");
	json_array_begin(w);
	for (size_t i = 0; i < s.t->n_lanes; i++)
		write_lane(&s, &s.t->lanes[i]);
	json_array_end(w);
	if (params_is_set(p, "flows"))
		write_flows(&s);
	json_key(w, "names");
	json_array_begin(w);
	vec_each (&s.names, name)
		json_string(w, op_events_name(&torch->x, *name));
	json_array_end(w);
	map_done(&s.name_of);
	vec_done(&s.names);
	vec_done(&s.spans);
	vec_done(&s.rows);
	return 0;
}

/* ---- one span -------------------------------------------------------------------------------- */

/* Where it lies: keys in the object that is open. */
static void write_where(
	struct torch *torch, const struct op_timeline *t, uint32_t event, struct json_writer *w)
{
	const struct op_event *e = &torch->x.v.v[event];
	size_t lane = 0;

	while (lane + 1 < t->n_lanes && t->lanes[lane + 1].first_row <= t->row_of[event])
		lane++;
	json_kv_u64(w, "event", event);
	json_kv_string(w, "name", op_events_name(&torch->x, e->name));
	json_kv_u64(w, "kind", e->category);
	json_kv_i64(w, "t", e->start_ns - t->begin_ns);
	json_kv_i64(w, "d", e->duration_ns);
	if (t->row_of[event] == UINT32_MAX)
		return;
	json_kv_u64(w, "lane", lane);
	json_kv_u64(w, "row", t->row_of[event] - t->lanes[lane].first_row);
}

static void write_details(
	const struct op_events *x, const struct op_event *e, struct json_writer *w)
{
	const struct op_launch *launch = op_events_launch(x, e);

	if (e->category <= OP_PYTHON && e->detail && e->detail <= x->shapes.items.n)
		json_kv_string(w, "shapes", intern_get(&x->shapes, e->detail - 1)->p);
	if (op_is_device(e) && e->detail && e->detail <= x->device.n) {
		const struct op_device *d = &x->device.v[e->detail - 1];

		json_kv_double(w, "bytes", d->bytes ? (double)d->bytes : NAN);
		json_kv_double(w, "occupancy_share", (double)d->occupancy / 100);
		json_kv_double(w, "blocks_per_sm", (double)d->blocks_per_sm);
	}
	if (!launch)
		return;
	for (unsigned k = 0; k < 2; k++) {
		json_key(w, k ? "block" : "grid");
		json_array_begin(w);
		for (unsigned i = 0; i < 3; i++)
			json_u64(w, k ? launch->block[i] : launch->grid[i]);
		json_array_end(w);
	}
}

int torch_span_pane(
	struct torch *torch, const struct params *p, struct json_writer *w, struct err *e)
{
	const struct op_timeline *t = torch_timeline(torch, params_is_set(p, "python"));
	const struct op_flows *f = torch_flows(torch);
	uint32_t event = UINT32_MAX, found[LINKS];
	size_t n;

	if (params_u32(p, "event", UINT32_MAX, &event, e) < 0)
		return -(int)e->code;
	if (event >= torch->x.v.n)
		return err_set(e, ERR_NO_FILE, "the trace has no such span");
	n = op_flows_of(f, &torch->x, event, LINKS, found);
	write_where(torch, t, event, w);
	write_details(&torch->x, &torch->x.v.v[event], w);
	json_kv_u64(w, "n_links", n);
	json_key(w, "links");
	json_array_begin(w);
	for (size_t i = 0; i < n && i < LINKS; i++) {
		json_object_begin(w);
		json_kv_bool(w, "is_backward", f->v[found[i]].is_backward);
		json_key(w, "from");
		json_object_begin(w);
		write_where(torch, t, f->v[found[i]].from, w);
		json_object_end(w);
		json_key(w, "to");
		json_object_begin(w);
		write_where(torch, t, f->v[found[i]].to, w);
		json_object_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	return 0;
}
