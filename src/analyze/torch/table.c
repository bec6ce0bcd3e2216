/* SPDX-License-Identifier: MIT
 *
 * See ops.h: counts as torch does. Sums are made in torch's order and precision, span by span: the last digit of a time
 * that lies between two roundings depends on it. */
#include "analyze/torch/table.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/table_rows.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* ---- releases -------------------------------------------------------------------------------- */

static void set_release(struct ops_torch *v, unsigned minor)
{
	v->minor = minor;
	v->python_in_tree = minor >= 13;
	v->python_rows = minor == 13;
	v->short_units = minor < 7;
}

bool ops_torch_version(const struct op_events *x, const char *version, struct ops_torch *ret)
{
	unsigned long major, minor;
	char *end;

	*ret = (struct ops_torch){ .is_guess = !version, .adds_exactly = x->py_minor >= 12 };
	if (!version) {
		set_release(ret, x->has_call_from ? 14 : x->has_host ? 13 : x->has_base ? 11 : 3);
		return true;
	}
	major = strtoul(version, &end, 10);
	if (end == version || *end != '.' || major < 1 || major > 2)
		return false;
	version = end + 1;
	minor = strtoul(version, &end, 10);
	if (end == version || (*end && *end != '.' && *end != '+') || minor > 999)
		return false;
	set_release(ret, major == 1 ? 0 : (unsigned)minor);
	return true;
}

/* ---- sums as Python makes them --------------------------------------------------------------- */

struct sums {               /* one per node */
	double *high, *low; /* low: what rounding lost; NULL: forgotten, as before Python 3.12 */
};

static struct sums sums_new(size_t n, bool adds_exactly)
{
	return (struct sums){ .high = xcalloc(n + 1, sizeof(double)),
		.low = adds_exactly ? xcalloc(n + 1, sizeof(double)) : NULL };
}

static void sums_add(struct sums *s, size_t i, double x)
{
	double before = s->high[i], after = before + x;

	if (s->low)
		s->low[i] += (before < 0 ? -before : before) >= (x < 0 ? -x : x)
			? before - after + x
			: x - after + before;
	s->high[i] = after;
}

static double sums_get(const struct sums *s, size_t i)
{
	return s->low ? s->high[i] + s->low[i] : s->high[i];
}

static void sums_copy(struct sums *s, size_t to, size_t from)
{
	s->high[to] = s->high[from];
	if (s->low)
		s->low[to] = s->low[from];
}

static void sums_done(struct sums *s)
{
	free(s->high);
	free(s->low);
}

/* ---- counting -------------------------------------------------------------------------------- */

struct counting {
	struct ops_tree tree;
	struct sums cpu;                   /* of a node's direct calls */
	struct sums kernels, devices;      /* own kernels; device time of direct calls */
	int64_t *cpu_bytes, *device_bytes; /* of direct calls; NULL without memory */
	uint8_t *is_folded;                /* by node */
	bool has_kernels;
};

static double us(const struct counting *c, int64_t t_ns)
{
	return (double)(t_ns - c->tree.x->zero_ns) / 1000;
}

static double elapsed_us(const struct counting *c, const struct op_event *e)
{
	return us(c, e->start_ns + e->duration_ns) - us(c, e->start_ns);
}

static void add_kernels(struct counting *c)
{
	const struct ops_tree *t = &c->tree;

	vec_each (&t->x->v, e) {
		uint32_t owner = op_is_device(e) && e->category != OP_DEVICE_ANNOTATION &&
				!(t->name_flags[e->name] & OPS_NAME_HIDDEN)
			? ops_owner(t, e)
			: OPS_NONE;

		if (owner != OPS_NONE)
			sums_add(&c->kernels, owner, elapsed_us(c, e));
	}
}

/* What the profiler itself did lies in an operator, or a call of the runtime, and is counted by torch as if it had that
 * operator's number: so it gets the kernels a second time. */
static void add_kernels_of_overhead(struct counting *c)
{
	const struct ops_tree *t = &c->tree;

	for (uint32_t node = 0; node < t->n_events; node++) {
		uint32_t up = t->x->v.v[node].category == OP_OVERHEAD ? t->parent[node] : OPS_NONE;

		while (up != OPS_NONE && ops_node(t, up)->category > OP_ANNOTATION)
			up = t->parent[up];
		if (up != OPS_NONE)
			sums_copy(&c->kernels, node, up);
	}
}

/* A call that is the only one within a call of the same name is taken for the same call. */
static void fold(struct counting *c)
{
	struct ops_tree *t = &c->tree;

	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], up = t->parent[node];

		if (up == OPS_NONE)
			continue;
		if (c->is_folded[up])
			t->parent[node] = up = t->parent[up];
		if (t->n_children[up] != 1 ||
			ops_name(t, ops_node(t, up)->name) != ops_name(t, ops_node(t, node)->name))
			continue;
		c->is_folded[node] = 1;
		t->n_children[up] = t->n_children[node];
		if (c->has_kernels)
			sums_copy(&c->kernels, up, node);
	}
}

static double device_us(const struct counting *c, uint32_t node)
{
	return sums_get(&c->kernels, node) + sums_get(&c->devices, node);
}

/* Device time goes up from calls to callers when they end; spans of one thread are in order, so the last one that is
 * open on its track is known by its track alone. */
static void pass_up(struct counting *c)
{
	struct ops_tree *t = &c->tree;
	size_t n_tracks = t->x->tracks.items.n;
	uint32_t *top = xcalloc(n_tracks + 1, sizeof *top);

	memset(top, 0xff, (n_tracks + 1) * sizeof *top);
	for (size_t i = 0; i < t->n + n_tracks; i++) {
		uint32_t node = i < t->n ? t->order[i] : OPS_NONE, up = OPS_NONE;
		const struct op_event *e = i < t->n ? ops_node(t, node) : NULL;
		size_t track = e ? e->track : i - t->n;

		if (e && (op_is_device(e) || c->is_folded[node]))
			continue;
		if (e)
			up = t->parent[node];
		while (top[track] != up) {
			uint32_t ended = top[track];

			top[track] = t->parent[ended];
			if (top[track] != OPS_NONE)
				sums_add(&c->devices, top[track], device_us(c, ended));
		}
		top[track] = node;
	}
	free(top);
}

static void add_to_parents(struct counting *c)
{
	struct ops_tree *t = &c->tree;

	for (size_t i = 0; i < t->n; i++) {
		uint32_t node = t->order[i], up = t->parent[node];
		const struct op_event *e = ops_node(t, node);
		int64_t cpu, device;

		if (up == OPS_NONE || c->is_folded[node])
			continue;
		sums_add(&c->cpu, up, elapsed_us(c, e));
		if (!c->cpu_bytes)
			continue;
		if (node >= t->n_events) {
			cpu = ops_cpu_bytes(&t->x->memory.v[e->detail]);
			device = ops_device_bytes(&t->x->memory.v[e->detail]);
		} else {
			ops_tree_memory(t, e, &cpu, &device);
		}
		c->cpu_bytes[up] += cpu;
		c->device_bytes[up] += device;
	}
}

static void add_to_row(struct counting *c, uint32_t node, struct ops_row *r)
{
	struct ops_tree *t = &c->tree;
	const struct op_event *e = ops_node(t, node);
	double elapsed = elapsed_us(c, e);
	int64_t cpu = 0, device = 0;

	if (!r->n_calls++)
		r->is_nested = t->parent[node] != OPS_NONE;
	if (op_is_device(e)) {
		r->device_us += elapsed;
		r->self_device_us += elapsed;
		return;
	}
	r->cpu_us += elapsed;
	r->self_cpu_us += elapsed - sums_get(&c->cpu, node);
	if (c->has_kernels) {
		double all = device_us(c, node);

		r->device_us += all;
		r->self_device_us += all - sums_get(&c->devices, node);
	}
	if (node >= t->n_events) {
		cpu = ops_cpu_bytes(&t->x->memory.v[e->detail]);
		device = ops_device_bytes(&t->x->memory.v[e->detail]);
	} else {
		ops_tree_memory(t, e, &cpu, &device);
	}
	r->cpu_bytes += cpu;
	r->device_bytes += device;
	r->self_cpu_bytes += cpu - (c->cpu_bytes ? c->cpu_bytes[node] : 0);
	r->self_device_bytes += device - (c->device_bytes ? c->device_bytes[node] : 0);
}

static void count(struct counting *c, bool adds_exactly)
{
	struct ops_tree *t = &c->tree;
	size_t n = t->n_events + t->extra.n;

	c->is_folded = xcalloc(n + 1, 1);
	c->has_kernels = t->owners != NULL;
	if (c->has_kernels) {
		c->kernels = sums_new(n, adds_exactly);
		c->devices = sums_new(n, adds_exactly);
		add_kernels(c);
		add_kernels_of_overhead(c);
	}
	fold(c);
	if (c->has_kernels)
		pass_up(c);
	c->cpu = sums_new(n, adds_exactly);
	if (t->memory) {
		c->cpu_bytes = xcalloc(n + 1, sizeof *c->cpu_bytes);
		c->device_bytes = xcalloc(n + 1, sizeof *c->device_bytes);
	}
	add_to_parents(c);
}

/* The thread whose number is that of its process; the number of tracks where none is. */
static size_t find_main_track(const struct op_events *x)
{
	size_t i = 0;

	for (; i < x->tracks.items.n; i++) {
		const struct intern_item *k = &x->tracks.items.v[i];
		size_t n_pid = strlen(k->p);

		if (n_pid && k->n == 2 * n_pid + 1 &&
			memcmp(k->p, (const char *)k->p + n_pid + 1, n_pid) == 0)
			break;
	}
	return i;
}

/* Kineto writes what the profiler itself did without a thread; torch counts it in the program's first one. */
static void place_overhead(struct op_events *x)
{
	size_t track = find_main_track(x);

	if (track == x->tracks.items.n)
		return;
	vec_each (&x->v, e)
		if (e->category == OP_OVERHEAD &&
			strcmp(intern_get(&x->tracks, e->track)->p, "-1") == 0)
			e->track = (uint16_t)track;
}

struct ops *ops_as_torch(struct arena *a, struct op_events *x, const struct ops_options *o,
	const struct ops_torch *torch)
{
	struct counting c = { 0 };
	struct ops_rows rows;
	struct ops *ops;

	place_overhead(x);
	ops_tree_init(&c.tree, x, torch->python_in_tree);
	count(&c, torch->adds_exactly);
	ops_rows_init(&rows, a, &c.tree, o);
	for (size_t i = 0; i < c.tree.n; i++) {
		uint32_t node = c.tree.order[i];
		const struct op_event *e = ops_node(&c.tree, node);
		struct ops_row *r;

		if (c.is_folded[node] || (!torch->python_rows && e->category == OP_PYTHON))
			continue;
		r = ops_rows_of(&rows, e, 0);
		r->flops += ops_rows_torch_flops(&rows, e);
		add_to_row(&c, node, r);
	}
	ops = ops_rows_take(&rows);
	ops_tree_done(&c.tree);
	sums_done(&c.cpu);
	sums_done(&c.kernels);
	sums_done(&c.devices);
	free(c.cpu_bytes);
	free(c.device_bytes);
	free(c.is_folded);
	return ops;
}
