/* SPDX-License-Identifier: MIT
 * See op_work.h. */
#include "analyze/op_work.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

#include "analyze/op_events.h"
#include "analyze/op_steps.h"
#include "analyze/ops_flops.h"
#include "base/arena.h"
#include "base/map.h"
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

static uint64_t flops_of(struct map *known, const struct op_events *x, const struct op_event *e)
{
	uint64_t key = (uint64_t)e->name << 32 | e->detail, flops;
	const struct intern_item *raw;

	if (e->category != OP_CPU || !e->detail || e->detail > x->shapes.items.n)
		return 0;
	if (map_find(known, key, &flops))
		return flops;
	raw = intern_get(&x->shapes, e->detail - 1);
	flops = ops_flops(op_events_name(x, e->name), raw->p, raw->n);
	map_put(known, key, flops);
	return flops;
}

static bool is_in_step(const struct op_steps *s, int64_t t_ns)
{
	size_t low = 0, high = s->n;

	while (low < high) { /* the last that begins before */
		size_t middle = low + (high - low) / 2;

		if (s->v[middle].host_start_ns <= t_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low && t_ns < s->v[low - 1].host_end_ns;
}

const struct op_work *op_work_build(
	struct arena *a, const struct op_events *x, const struct op_steps *steps)
{
	const struct peak *peak = find_peak(x->device_name);
	struct map known = MAP_INIT;
	struct op_work *ret;
	double flops = 0;

	for (size_t i = 0; i < x->v.n; i++) {
		uint64_t n = flops_of(&known, x, &x->v.v[i]);

		if (n && is_in_step(steps, x->v.v[i].start_ns))
			flops += (double)n;
	}
	map_done(&known);
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
