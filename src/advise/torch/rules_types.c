/* SPDX-License-Identifier: MIT
 * See rule.h: rules about the types and sizes that products of matrices work with. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/torch/rule.h"
#include "analyze/torch/flops.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "base/banned.h"

#define HALVED \
	0.55 /* of the operators' time: half the bytes, twice the numbers in a register, and caches that hold twice as many (docs/decisions/0056) */

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

/* Of the time in products whose type is known, the share of those that work on float64. */
static double double_share(const struct op_facts *f, const struct products *p)
{
	int64_t all = 0;

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct intern_item *shapes = shapes_of(f, &f->x->v.v[i]);

		if (shapes && ops_type(shapes->p, shapes->n) != OPS_NO_TYPE)
			all += f->x->v.v[i].duration_ns;
	}
	return all > 0 ? (double)p->host_ns / (double)all : 0;
}

static bool check_float64(const struct op_facts *f, double threshold, struct finding *to)
{
	struct products p = find(f, OPS_DOUBLE, false, f->device_ns);
	double seconds = (double)(f->n_device ? p.device_ns : p.host_ns) / 1e9;

	if (!p.n || !op_is_over(f, seconds, threshold))
		return false;
	/* Half would do for bytes and lanes, but caches and devices with few units for float64 bring more. */
	to->saving.value = seconds;
	if (!f->n_device) { /* what is between the products has the same type, and is carried through the same memory */
		to->saving.value =
			fmax(seconds, double_share(f, &p) * f->steps->parts_s[OP_PART_CPU]);
		to->saving.estimate = HALVED * to->saving.value;
	}
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " matrix products ran in float64 for %s, the longest %s of %s%s", p.n,
		op_of_steps(f, seconds), op_events_name(f->x, p.name), p.shapes, op_mostly_from(f));
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
static bool check_float32(const struct op_facts *f, double threshold, struct finding *to)
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
		" matrix products ran in float32, without tensor cores for %s, the longest %s of %s%s",
		p.n, op_of_steps(f, to->saving.value), op_events_name(f->x, p.name), p.shapes,
		op_mostly_from(f));
	return true;
}

static bool check_odd_sizes(const struct op_facts *f, double threshold, struct finding *to)
{
	struct products p = find(f, OPS_HALF, true, f->device_ns);

	if (!p.n || !op_is_over(f, (double)p.device_ns / 1e9, threshold))
		return false;
	to->saving.value = (double)p.device_ns / 1e9;
	to->evidence = arena_printf(f->a,
		"%" PRIu64
		" products of float16 or bfloat16 matrices with a size that is not a multiple of 8 ran for %s, the longest %s of %s%s",
		p.n, op_of_steps(f, to->saving.value), op_events_name(f->x, p.name), p.shapes,
		op_mostly_from(f));
	return true;
}

static bool is_product(const char *name)
{
	static const char *const names[] = { "aten::mm", "aten::addmm", "aten::bmm",
		"aten::baddbmm", "aten::cudnn_convolution", "aten::convolution_backward",
		"aten::_convolution" };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

static bool check_tensor_cores(const struct op_facts *f, double threshold, struct finding *to)
{
	double eligible = 0;
	char time[UNITS_TEXT];

	(void)threshold;
	if (f->x->device_capability < 7 || f->steps->tensor_core_s > 0 || !f->kernels->n)
		return false;
	for (size_t i = 0; i < f->ops->n; i++)
		if (is_product(f->ops->v[i].name))
			eligible += f->ops->v[i].self_device_us / 1e6;
	if (!(eligible > 0))
		return false;
	for (size_t i = 0; i < f->x->v.n; i++)
		if (f->device_ns[i] && is_product(op_events_name(f->x, f->x->v.v[i].name)))
			op_add_line(f, (uint32_t)i, f->device_ns[i]);
	to->saving.value = eligible;
	to->evidence = arena_printf(f->a,
		"matrix products and convolutions ran for %s on the device, and none on tensor cores",
		units_format(time, UNIT_SECONDS, eligible));
	return true;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const struct op_rule op_rules_types[] = {
	{
		.name = "tensor-cores",
		.saves = SAVES_BUSY,
		.confidence = FINDING_HEURISTIC,
		.check = check_tensor_cores,
		.change = "use torch.autocast, or torch.set_float32_matmul_precision(\"high\")",
		.proof = BY_KERNELS,
	},
	{
		.name = "float64",
		.threshold = 0.05,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_float64,
		.change =
			"use float32 tensors (dtype=torch.float32, .float()); NumPy makes float64 arrays by default",
		.proof = BY_SHAPES,
	},
	{
		.name = "float32",
		.threshold = 0.05,
		.saves = SAVES_BUSY,
		.confidence = FINDING_HEURISTIC,
		.check = check_float32,
		.change =
			"put these under torch.autocast, too, or use torch.set_float32_matmul_precision(\"high\")",
		.proof = BY_SHAPES,
	},
	{
		.name = "odd-sizes",
		.threshold = 0.05,
		.saves = SAVES_BUSY,
		.confidence = FINDING_BOUND,
		.check = check_odd_sizes,
		.change = "make batch, layers and vocabulary multiples of 8 (of 64 where you can)",
		.proof = BY_SHAPES,
	},
	{ 0 },
};
