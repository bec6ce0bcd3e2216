/* SPDX-License-Identifier: MIT
 * See allocations.h. */
#include "analyze/torch/allocations.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/level_curve.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/xalloc.h"
#include "base/banned.h"

const char *const op_held_names[OP_N_HELD] = { "before", "activation", "gradient", "optimizer",
	"temporary", "other" };

enum { DEVICES = 64 };

enum phase { FORWARD, BACKWARD, OPTIMIZER };

enum name_kind { NAME_PLAIN, NAME_BACKWARD, NAME_OPTIMIZER, NAME_ALLOCATOR };

struct block {                     /* an allocation */
	int64_t t_ns, released_ns; /* INT64_MAX: not at all */
	int64_t outer_end_ns;      /* of the outermost operator around it */
	uint64_t bytes;
	uint32_t name, device;      /* OPS_NONE: of no operator */
	uint32_t stretch, released; /* in stretches */
};

struct stretch {
	int64_t start_ns;
	enum phase phase;
};

struct following {
	struct ops_tree tree;
	struct op_allocations *to;
	struct op_allocator *devices;
	uint32_t *keys; /* by device: type and number */
	int64_t *levels;
	struct op_pen (*pens)[2]; /* by device: allocated, reserved */
	uint32_t *peak_name;      /* by device */
	uint8_t *kinds;           /* by name: enum name_kind */
	uint32_t *top;            /* by track: span under way; OPS_NONE */
	uint32_t main_track, step;
	size_t at; /* in the order of nodes */
	VEC(struct block) blocks;
	VEC(struct stretch) stretches;
	struct map live;   /* device and address → block */
	struct map row_of; /* name → in rows */
	VEC(struct op_allocating) rows;
	int64_t first_ns, last_ns;
	bool has_backward;
};

/* ---- where the program is -------------------------------------------------------------------- */

static void look_at_names(struct following *f)
{
	const struct op_events *x = f->tree.x;

	f->kinds = xcalloc(x->names.items.n + 1, 1);
	for (size_t i = 0; i < x->names.items.n; i++) {
		const char *name = op_events_name(x, (uint32_t)i);

		if (strncmp(name, "autograd::engine::evaluate_function", 35) == 0)
			f->kinds[i] = NAME_BACKWARD;
		else if (strncmp(name, "Optimizer.", 10) == 0)
			f->kinds[i] = NAME_OPTIMIZER;
		else if (strncmp(name, "aten::empty", 11) == 0 ||
			strcmp(name, "aten::resize_") == 0)
			f->kinds[i] = NAME_ALLOCATOR;
	}
}

/* Where the model runs: the thread with most operators that autograd will go back to, else with most operators. */
static uint32_t find_main_track(struct op_events *x)
{
	uint64_t *n = xcalloc(x->tracks.items.n + 1, sizeof *n);
	uint32_t best = 0;

	vec_each (&x->v, e)
		n[e->track] += e->category == OP_CPU;
	vec_each (&x->sequences, s)
		if (!x->v.v[s->event].is_backward)
			n[x->v.v[s->event].track] += x->v.n;
	for (uint32_t i = 0; i < x->tracks.items.n; i++)
		best = n[i] > n[best] ? i : best;
	free(n);
	return best;
}

static void enter(struct following *f, enum phase phase, int64_t t_ns)
{
	struct stretch s = { t_ns, phase };

	if (!f->stretches.n || f->stretches.v[f->stretches.n - 1].phase != phase)
		vec_push(&f->stretches, s);
	f->has_backward |= phase == BACKWARD;
}

static int64_t end_of(const struct following *f, uint32_t node)
{
	const struct op_event *e = ops_node(&f->tree, node);

	return e->start_ns + e->duration_ns;
}

static uint32_t open_at(const struct following *f, uint32_t node, int64_t t_ns)
{
	while (node != OPS_NONE && end_of(f, node) < t_ns)
		node = f->tree.parent[node];
	return node;
}

static void begin_span(struct following *f, uint32_t node)
{
	const struct op_event *e = ops_node(&f->tree, node);
	uint32_t up = f->tree.parent[node];

	if (op_is_device(e) || node >= f->tree.n_events || e->category > OP_ANNOTATION)
		return;
	f->top[e->track] = node;
	if (e->category == OP_ANNOTATION && f->tree.name_flags[e->name] & OPS_NAME_STEP)
		f->step = node;
	if (f->kinds[e->name] == NAME_BACKWARD) {
		enter(f, BACKWARD, e->start_ns);
	} else if (f->kinds[e->name] == NAME_OPTIMIZER) {
		enter(f, OPTIMIZER, e->start_ns);
	} else if (e->category == OP_CPU && e->track == f->main_track) {
		while (up != OPS_NONE &&
			(ops_node(&f->tree, up)->category == OP_ANNOTATION &&
				f->kinds[ops_node(&f->tree, up)->name] == NAME_PLAIN))
			up = f->tree.parent[up];
		if (up == OPS_NONE) /* neither in an operator nor in an optimizer */
			enter(f, FORWARD, e->start_ns);
	}
}

static void go_on_until(struct following *f, int64_t t_ns)
{
	for (; f->at < f->tree.n; f->at++) {
		uint32_t node = f->tree.order[f->at];

		if (ops_node(&f->tree, node)->start_ns > t_ns)
			return;
		begin_span(f, node);
	}
}

/* The innermost operator at a time, of those that only allocate the one that called them; the outermost's end. */
static uint32_t operator_at(
	const struct following *f, uint16_t track, int64_t t_ns, int64_t *ret_outer_end_ns)
{
	uint32_t found = OPS_NONE, node = open_at(f, f->top[track], t_ns);

	*ret_outer_end_ns = INT64_MIN;
	for (; node != OPS_NONE; node = f->tree.parent[node]) {
		const struct op_event *e = ops_node(&f->tree, node);

		if (node >= f->tree.n_events || e->category != OP_CPU)
			continue;
		if (found == OPS_NONE || f->kinds[found] == NAME_ALLOCATOR)
			found = e->name;
		*ret_outer_end_ns = end_of(f, node);
	}
	return found;
}

/* ---- what happens to memory ------------------------------------------------------------------ */

static const char *device_name(struct arena *a, const struct op_memory *m)
{
	const char *kind = m->device_type == 1 ? "CUDA"
		: m->device_type == 6          ? "HIP"
		: m->device_type == 12         ? "XPU"
					       : NULL;

	if (ops_cpu_bytes(&(struct op_memory){ .device_type = m->device_type, .bytes = 1 }))
		return "CPU";
	return kind ? arena_printf(a, "%s %d", kind, m->device)
		    : arena_printf(a, "device %u:%d", m->device_type, m->device);
}

static size_t device_of(struct following *f, struct arena *a, const struct op_memory *m)
{
	uint32_t key = (uint32_t)m->device_type << 16 | (uint16_t)m->device;
	size_t n = f->to->n_devices;

	for (size_t i = 0; i < n; i++)
		if (f->keys[i] == key)
			return i;
	if (n == DEVICES)
		return DEVICES - 1;
	f->keys[n] = key;
	f->devices[n] = (struct op_allocator){
		.name = device_name(a, m), .peak_operator = "", .peak_step = ""
	};
	f->levels[n] = m->total_bytes ? (int64_t)m->total_bytes - m->bytes
		: m->bytes < 0        ? -m->bytes
				      : 0;
	if (f->levels[n] < 0)
		f->levels[n] = 0;
	f->devices[n].first_bytes = (uint64_t)f->levels[n];
	f->devices[n].peak_bytes = (uint64_t)f->levels[n];
	f->pens[n][0] = (struct op_pen){ f->devices[n].curve, f->first_ns, f->last_ns, 0, 0 };
	f->pens[n][1] = (struct op_pen){ f->devices[n].reserved, f->first_ns, f->last_ns, 0, 0 };
	op_pen_set(&f->pens[n][0], (double)f->levels[n]);
	op_pen_set(&f->pens[n][1], (double)m->reserved_bytes);
	return f->to->n_devices++;
}

static struct op_allocating *row_of(struct following *f, struct arena *a, uint32_t name)
{
	uint64_t at;

	if (!map_find(&f->row_of, name, &at)) {
		at = f->rows.n;
		map_put(&f->row_of, name, at);
		vec_push(&f->rows,
			(struct op_allocating){ .name = name == OPS_NONE
					? "(no operator)"
					: arena_strdup(a, op_events_name(f->tree.x, name)) });
	}
	return &f->rows.v[at];
}

static void set_level(struct following *f, size_t device, const struct op_memory *m, uint32_t name)
{
	struct op_allocator *d = &f->devices[device];
	int64_t level = m->total_bytes ? (int64_t)m->total_bytes : f->levels[device] + m->bytes;

	f->levels[device] = level = level > 0 ? level : 0;
	d->last_bytes = (uint64_t)level;
	op_pen_draw(&f->pens[device][0], m->t_ns, (double)level);
	op_pen_draw(&f->pens[device][1], m->t_ns, (double)m->reserved_bytes);
	if (m->reserved_bytes > d->peak_reserved_bytes)
		d->peak_reserved_bytes = m->reserved_bytes;
	if ((uint64_t)level <= d->peak_bytes)
		return;
	d->peak_bytes = (uint64_t)level;
	d->peak_s = (double)(m->t_ns - f->tree.x->zero_ns) / 1e9;
	f->peak_name[2 * device] = name;
	f->peak_name[2 * device + 1] = f->step != OPS_NONE && end_of(f, f->step) >= m->t_ns
		? ops_node(&f->tree, f->step)->name
		: OPS_NONE;
}

static void allocate(struct following *f, struct arena *a, const struct op_memory *m, size_t device)
{
	struct block b = { .t_ns = m->t_ns,
		.released_ns = INT64_MAX,
		.bytes = (uint64_t)m->bytes,
		.device = (uint32_t)device };
	struct op_allocating *row;

	b.name = operator_at(f, m->track, m->t_ns, &b.outer_end_ns);
	b.stretch = (uint32_t)f->stretches.n;
	row = row_of(f, a, b.name);
	row->n_allocations++;
	row->allocated_bytes += b.bytes;
	f->devices[device].n_allocations++;
	f->devices[device].allocated_bytes += b.bytes;
	if (m->address)
		map_put(&f->live, m->address ^ (uint64_t)device << 56, f->blocks.n);
	vec_push(&f->blocks, b);
}

static void release(struct following *f, struct arena *a, const struct op_memory *m, size_t device)
{
	int64_t ignored;
	struct op_allocating *row = row_of(f, a, operator_at(f, m->track, m->t_ns, &ignored));
	uint64_t key = m->address ^ (uint64_t)device << 56, at;

	row->n_releases++;
	row->released_bytes += (uint64_t)-m->bytes;
	f->devices[device].n_releases++;
	f->devices[device].released_bytes += (uint64_t)-m->bytes;
	if (!m->address || !map_find(&f->live, key, &at))
		return; /* allocated before the trace began */
	f->blocks.v[at].released_ns = m->t_ns;
	f->blocks.v[at].released = (uint32_t)f->stretches.n;
	map_remove(&f->live, key);
}

static void follow(struct following *f, struct arena *a)
{
	const struct op_events *x = f->tree.x;

	for (size_t i = 0; i < x->memory.n; i++) {
		const struct op_memory *m = &x->memory.v[f->tree.memory[i].index];
		size_t device = device_of(f, a, m);
		int64_t ignored;

		go_on_until(f, m->t_ns);
		if (m->is_failure) {
			f->devices[device].n_failures++;
			continue;
		}
		if (m->bytes > 0)
			allocate(f, a, m, device);
		else if (m->bytes < 0)
			release(f, a, m, device);
		set_level(f, device, m, operator_at(f, m->track, m->t_ns, &ignored));
	}
}

/* ---- results --------------------------------------------------------------------------------- */

/* Stretches are counted from 1; 0 is before the first. */
static enum phase phase_of(const struct following *f, uint32_t stretch)
{
	return stretch ? f->stretches.v[stretch - 1].phase : FORWARD;
}

static enum op_held held_of(const struct following *f, const struct block *b)
{
	bool is_released = b->released_ns != INT64_MAX;

	if (is_released && (b->released_ns <= b->outer_end_ns || b->released == b->stretch))
		return OP_HELD_TEMPORARY;
	switch (phase_of(f, b->stretch)) {
	case OPTIMIZER:
		return OP_HELD_OPTIMIZER;
	case BACKWARD:
		return OP_HELD_GRADIENT;
	case FORWARD:
		break;
	}
	return is_released && phase_of(f, b->released) == BACKWARD ? OP_HELD_ACTIVATION
								   : OP_HELD_OTHER;
}

static void sum_peaks(struct following *f)
{
	vec_each (&f->blocks, b) {
		struct op_allocator *d = &f->devices[b->device];
		int64_t peak_ns = f->tree.x->zero_ns + (int64_t)llround(d->peak_s * 1e9);

		if (b->t_ns <= peak_ns && b->released_ns > peak_ns)
			d->at_peak_bytes[held_of(f, b)] += b->bytes;
	}
	for (size_t i = 0; i < f->to->n_devices; i++) {
		struct op_allocator *d = &f->devices[i];
		uint64_t known = 0;

		for (unsigned k = OP_HELD_ACTIVATION; k < OP_N_HELD; k++)
			known += d->at_peak_bytes[k];
		d->at_peak_bytes[OP_HELD_BEFORE] =
			d->peak_bytes > known ? d->peak_bytes - known : 0;
	}
}

static int by_bytes(const void *a, const void *b)
{
	const struct op_allocation *x = a, *y = b;

	return x->bytes != y->bytes ? (x->bytes > y->bytes ? -1 : 1)
				    : (x->at_s > y->at_s) - (x->at_s < y->at_s);
}

static int by_allocated(const void *a, const void *b)
{
	const struct op_allocating *x = a, *y = b;

	if (x->allocated_bytes != y->allocated_bytes)
		return x->allocated_bytes > y->allocated_bytes ? -1 : 1;
	return x->released_bytes > y->released_bytes ? -1 : x->released_bytes < y->released_bytes;
}

static void list_blocks(struct following *f, struct arena *a)
{
	struct op_allocation *v = arena_new_n(a, struct op_allocation, f->blocks.n + 1);
	const char **names = xcalloc(f->tree.x->names.items.n + 1, sizeof *names);

	for (size_t i = 0; i < f->blocks.n; i++) {
		const struct block *b = &f->blocks.v[i];

		if (b->name != OPS_NONE && !names[b->name])
			names[b->name] = arena_strdup(a, op_events_name(f->tree.x, b->name));
		v[i] = (struct op_allocation){ .device = f->devices[b->device].name,
			.operator_name = b->name == OPS_NONE ? "" : names[b->name],
			.bytes = b->bytes,
			.at_s = (double)(b->t_ns - f->tree.x->zero_ns) / 1e9,
			.lived_s = b->released_ns == INT64_MAX
				? NAN
				: (double)(b->released_ns - b->t_ns) / 1e9,
			.held = held_of(f, b) };
	}
	qsort(v, f->blocks.n, sizeof *v, by_bytes);
	f->to->largest = v;
	f->to->n_largest = f->blocks.n;
	free(names);
}

static void finish(struct following *f, struct arena *a)
{
	for (size_t i = 0; i < f->to->n_devices; i++) {
		struct op_allocator *d = &f->devices[i];

		op_pen_draw(&f->pens[i][0], f->last_ns, (double)d->last_bytes);
		op_pen_draw(&f->pens[i][1], f->last_ns, f->pens[i][1].level);
		for (int k = 0; k < 2; k++)
			if (f->peak_name[2 * i + (size_t)k] != OPS_NONE)
				*(k ? &d->peak_step : &d->peak_operator) = arena_strdup(a,
					op_events_name(f->tree.x, f->peak_name[2 * i + (size_t)k]));
	}
	if (f->rows.n)
		qsort(f->rows.v, f->rows.n, sizeof *f->rows.v, by_allocated);
	f->to->operators = arena_copy(a, f->rows.v, f->rows.n * sizeof *f->rows.v);
	f->to->n_operators = f->rows.n;
	f->to->devices = f->devices;
	f->to->has_held = f->has_backward;
	f->to->begin_ns = f->first_ns;
	f->to->seconds = f->last_ns > f->first_ns ? (double)(f->last_ns - f->first_ns) / 1e9 : 0;
}

static void find_span(struct following *f)
{
	f->first_ns = INT64_MAX;
	f->last_ns = INT64_MIN;
	for (size_t i = 0; i < f->tree.n; i++) {
		const struct op_event *e = ops_node(&f->tree, f->tree.order[i]);
		int64_t end = e->start_ns + e->duration_ns;

		f->first_ns = e->start_ns < f->first_ns ? e->start_ns : f->first_ns;
		f->last_ns = end > f->last_ns ? end : f->last_ns;
	}
}

const struct op_allocations *op_allocations_build(struct arena *a, struct op_events *x)
{
	struct following f = { .to = arena_new(a, struct op_allocations), .step = OPS_NONE };

	if (!x->memory.n)
		return f.to;
	ops_tree_init(&f.tree, x, false);
	f.devices = arena_new_n(a, struct op_allocator, DEVICES);
	f.keys = xcalloc(DEVICES, sizeof *f.keys);
	f.levels = xcalloc(DEVICES, sizeof *f.levels);
	f.pens = xcalloc(DEVICES, sizeof *f.pens);
	f.peak_name = xcalloc(2 * DEVICES, sizeof *f.peak_name);
	memset(f.peak_name, 0xff, 2 * DEVICES * sizeof *f.peak_name);
	f.top = xcalloc(x->tracks.items.n + 1, sizeof *f.top);
	memset(f.top, 0xff, (x->tracks.items.n + 1) * sizeof *f.top);
	f.main_track = find_main_track(x);
	look_at_names(&f);
	find_span(&f);
	follow(&f, a);
	sum_peaks(&f);
	list_blocks(&f, a);
	finish(&f, a);
	free(f.keys);
	free(f.levels);
	free(f.pens);
	free(f.peak_name);
	free(f.kinds);
	free(f.top);
	vec_done(&f.blocks);
	vec_done(&f.stretches);
	vec_done(&f.rows);
	map_done(&f.live);
	map_done(&f.row_of);
	ops_tree_done(&f.tree);
	return f.to;
}
