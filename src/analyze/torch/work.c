/* SPDX-License-Identifier: MIT
 * See work.h. */
#include "analyze/torch/work.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/flops_own.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/tree.h"
#include "base/arena.h"
#include "base/bisect.h"
#include "base/banned.h"

/* Dense matrix products with 16-bit inputs and 32-bit sums, as the makers state them (2026-08). The first that fits counts. */
static const struct peak {
	const char *name; /* a part of the device's */
	double per_s;
	const char *words;
} peaks[] = {
	{ "GB200", 2.5e15, "dense bf16 peak of GB200" },
	{ "B200", 2.25e15, "dense bf16 peak of B200" },
	{ "H200", 989e12, "dense bf16 peak of H200" },
	{ "H100 PCIe", 756e12, "dense bf16 peak of H100 PCIe" },
	{ "H100", 989e12, "dense bf16 peak of H100 SXM" },
	{ "A100", 312e12, "dense bf16 peak of A100" },
	{ "L40S", 362e12, "dense bf16 peak of L40S" },
	{ "L4", 121e12, "dense bf16 peak of L4" },
	{ "A40", 150e12, "dense bf16 peak of A40" },
	{ "A10", 125e12, "dense bf16 peak of A10" },
	{ "V100", 125e12, "dense fp16 peak of V100" },
	{ "T4", 65e12, "dense fp16 peak of T4" },
	{ "MI300X", 1307e12, "dense bf16 peak of MI300X" },
};

/* As a word of its own: A10 is no A100, and A10G is another device. */
static bool names(const char *device, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = device; (at = strstr(at, name)); at++)
		if ((at == device || !isalnum((unsigned char)at[-1])) &&
			!isalnum((unsigned char)at[n]))
			return true;
	return false;
}

static const struct peak *find_peak(const char *device)
{
	for (size_t i = 0; i < sizeof peaks / sizeof *peaks; i++)
		if (names(device, peaks[i].name))
			return &peaks[i];
	return NULL;
}

static bool is_in_step(const struct op_steps *s, int64_t t_ns)
{
	size_t low = bisect(i, s->n, s->v[i].host_start_ns <= t_ns);

	return low && t_ns < s->v[low - 1].host_end_ns;
}

static double sum_in_steps(struct op_events *x, const struct op_steps *steps)
{
	struct ops_tree tree;
	uint64_t *flops;
	double sum = 0;

	ops_tree_init(&tree, x, false);
	flops = ops_work_of_all(&tree);
	for (size_t i = 0; i < tree.n_events; i++)
		if (flops[i] && is_in_step(steps, x->v.v[i].start_ns))
			sum += (double)flops[i];
	free(flops);
	ops_tree_done(&tree);
	return sum;
}

const struct op_work *op_work_build(
	struct arena *a, struct op_events *x, const struct op_steps *steps)
{
	const struct peak *peak = find_peak(x->device_name);
	double flops = sum_in_steps(x, steps);
	struct op_work *ret;

	if (!(flops > 0) || !(steps->seconds > 0))
		return NULL;
	ret = arena_new(a, struct op_work);
	*ret = (struct op_work){ .flops = flops,
		.per_s = flops / steps->seconds,
		.peak_per_s = peak ? peak->per_s : (double)NAN,
		.peak = peak ? peak->words : "" };
	ret->share = ret->per_s / ret->peak_per_s;
	return ret;
}

double op_work_collecting(const struct op_events *x, const struct op_steps *steps)
{
	uint64_t n = 0;
	double share;

	if (!x->collected.cost_ns || !(steps->seconds > 0))
		return NAN;
	for (size_t i = 0; i < x->v.n; i++)
		n += x->v.v[i].category <= OP_ANNOTATION && is_in_step(steps, x->v.v[i].start_ns);
	share = (double)n * (double)x->collected.cost_ns / 1e9 / steps->seconds;
	return share < 1 ? share : NAN;
}
