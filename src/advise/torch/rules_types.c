/* SPDX-License-Identifier: MIT
 * See op_facts.h: rules about the types and sizes that products of matrices work with. */
#include <inttypes.h>
#include <stdlib.h>

#include "analyze/op_facts.h"
#include "analyze/op_steps.h"
#include "analyze/ops_flops.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "base/banned.h"

struct products {
	uint64_t n;
	int64_t host_ns, device_ns; /* of the calls; of what they launched */
	uint32_t name;              /* of the one that took longest */
	int64_t longest_ns;
	const char *shapes; /* its */
};

static const struct intern_item *shapes_of(const struct op_facts *f, const struct op_event *e)
{
	bool is_known = e->category == OP_CPU && op_kinds(f, e) & OP_NAME_PRODUCT && e->detail &&
		e->detail <= f->x->shapes.items.n && op_in_steps(f, e->start_ns);

	return is_known ? intern_get(&f->x->shapes, e->detail - 1) : NULL;
}

/* Products of that type; device_ns: by event, what counts of the device. */
static struct products find(
	const struct op_facts *f, enum ops_type type, bool is_odd, const int64_t *device_ns)
{
	struct products to = { 0 };

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];
		const struct intern_item *shapes = shapes_of(f, e);
		int64_t took = device_ns[i] ? device_ns[i] : e->duration_ns;

		if (!shapes || ops_type(shapes->p, shapes->n) != type ||
			(is_odd && !ops_shapes_are_odd(shapes->p, shapes->n)))
			continue;
		to.n++;
		op_add_line(f, (uint32_t)i, f->n_device ? device_ns[i] : e->duration_ns);
		to.host_ns += e->duration_ns;
		to.device_ns += device_ns[i];
		if (took >= to.longest_ns) {
			to.longest_ns = took;
			to.name = e->name;
			to.shapes = shapes->p;
		}
	}
	return to;
}

bool op_rule_float64(const struct op_facts *f, double threshold, struct finding *to)
{
	struct products p = find(f, OPS_DOUBLE, false, f->device_ns);
	double seconds = (double)(f->n_device ? p.device_ns : p.host_ns) / 1e9;

	if (!p.n || !op_is_over(f, seconds, threshold))
		return false;
	/* Half would do for bytes and lanes, but caches and devices with few units for float64 bring more. */
	to->saving.value = seconds;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " products of matrices worked on float64 for %s, longest %s of %s%s",
		p.n, op_of_steps(f, seconds), op_events_name(f->x, p.name), p.shapes,
		op_mostly_from(f));
	return true;
}

/* What ran without tensor cores, by the operator that launched it; the caller frees it. */
static int64_t *without_tensor_cores(const struct op_facts *f)
{
	int64_t *v = xcalloc(f->x->v.n + 1, sizeof *v);

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];
		uint32_t owner = e->category == OP_KERNEL ? ops_owner(&f->tree, e) : OPS_NONE;

		if (owner != OPS_NONE && owner < f->x->v.n &&
			!op_uses_tensor_cores(op_events_name(f->x, e->name)))
			v[owner] += e->duration_ns;
	}
	return v;
}

/* Where nothing uses tensor cores, the rule of that name speaks. */
bool op_rule_float32(const struct op_facts *f, double threshold, struct finding *to)
{
	struct products p;
	int64_t *plain;

	if (f->x->device_capability < 7 || !(f->steps->tensor_core_s > 0))
		return false;
	plain = without_tensor_cores(f);
	p = find(f, OPS_FLOAT, false, plain);
	free(plain);
	if (!p.n || !op_is_over(f, (double)p.device_ns / 1e9, threshold))
		return false;
	to->saving.value = (double)p.device_ns / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64
		" products of matrices worked on float32, without tensor cores for %s, longest %s "
		"of %s%s",
		p.n, op_of_steps(f, to->saving.value), op_events_name(f->x, p.name), p.shapes,
		op_mostly_from(f));
	return true;
}

bool op_rule_odd_sizes(const struct op_facts *f, double threshold, struct finding *to)
{
	struct products p = find(f, OPS_HALF, true, f->device_ns);

	if (!p.n || !op_is_over(f, (double)p.device_ns / 1e9, threshold))
		return false;
	to->saving.value = (double)p.device_ns / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " products of float16 or bfloat16 matrices with a size that is no "
		"multiple of 8 ran "
		"for %s, longest %s of %s%s",
		p.n, op_of_steps(f, to->saving.value), op_events_name(f->x, p.name), p.shapes,
		op_mostly_from(f));
	return true;
}
