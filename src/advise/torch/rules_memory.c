/* SPDX-License-Identifier: MIT
 * See rule.h: rules about the memory of devices, and about copies out of memory that is not pinned. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "advise/torch/rule.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/banned.h"

#define FROM_PAGEABLE "HtoD (Pageable" /* in the name of a copy to the device */

static bool check_memory(const struct op_facts *f, double threshold, struct finding *to)
{
	char peak[UNITS_TEXT], all[UNITS_TEXT];

	if (!(f->steps->peak_share > threshold))
		return false;
	to->evidence = arena_printf(f->a, "%s of the device's %s were allocated at the peak",
		units_format(peak, UNIT_BYTES, (double)f->steps->peak_bytes),
		units_format(all, UNIT_BYTES, (double)f->x->device_bytes));
	return true;
}

static bool check_pageable(const struct op_facts *f, double threshold, struct finding *to)
{
	double seconds = 0;
	uint64_t n = 0, bytes = 0;
	char size[UNITS_TEXT];

	for (size_t i = 0; i < f->kernels->n; i++)
		if (strstr(f->kernels->v[i].name, FROM_PAGEABLE)) {
			seconds += f->kernels->v[i].seconds;
			n += f->kernels->v[i].n_times;
			bytes += f->kernels->v[i].bytes;
		}
	if (!op_is_over(f, seconds, threshold))
		return false;
	for (size_t i = 0; i < f->x->v.n; i++)
		if (f->x->v.v[i].category == OP_COPY &&
			strstr(op_events_name(f->x, f->x->v.v[i].name), FROM_PAGEABLE))
			op_add_line(f, (uint32_t)i, f->x->v.v[i].duration_ns);
	to->saving.value = seconds;
	to->evidence = arena_printf(f->a,
		"%" PRIu64 " copies, %s in all, came from unpinned memory and took %s", n,
		units_format(size, UNIT_BYTES, (double)bytes), op_of_steps(f, seconds));
	return true;
}

static bool check_fragmentation(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct op_memory *worst = NULL;
	char reserved[UNITS_TEXT], used[UNITS_TEXT], all[UNITS_TEXT];

	if (!f->x->device_bytes)
		return false;
	vec_each (&f->x->memory, m)
		if (ops_device_bytes(m) &&
			(double)m->reserved_bytes > threshold * (double)f->x->device_bytes &&
			10 * m->total_bytes < 7 * m->reserved_bytes &&
			(!worst ||
				m->reserved_bytes - m->total_bytes >
					worst->reserved_bytes - worst->total_bytes))
			worst = m;
	if (!worst)
		return false;
	to->saving = (struct finding_saving){
		.value = (double)(worst->reserved_bytes - worst->total_bytes),
		.estimate = NAN,
		.unit = UNIT_BYTES,
		.of = "the device's memory",
		.whole = (double)f->x->device_bytes,
	};
	to->evidence = arena_printf(f->a,
		"the allocator held %s of the device's %s, of which %s was in use",
		units_format(reserved, UNIT_BYTES, (double)worst->reserved_bytes),
		units_format(all, UNIT_BYTES, (double)f->x->device_bytes),
		units_format(used, UNIT_BYTES, (double)worst->total_bytes));
	return true;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const struct op_rule op_rules_memory[] = {
	{
		.name = "device-memory",
		.threshold = 0.90,
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_memory,
		.change = "use torch.autocast or torch.utils.checkpoint before memory runs out",
		.proof = BY_MEMORY,
	},
	{
		.name = "pageable",
		.threshold = 0.05,
		.saves = SAVES_BUSY,
		.confidence = FINDING_BOUND,
		.check = check_pageable,
		.change =
			"give the DataLoader pin_memory=True and copy with .to(device, non_blocking=True)",
		.proof = BY_KERNELS,
	},
	{
		.name = "fragmentation",
		.threshold = 0.80,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_fragmentation,
		.change =
			"set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, or keep shapes the same from step to step",
		.proof = BY_MEMORY,
	},
	{ 0 },
};
