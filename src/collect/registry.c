/* SPDX-License-Identifier: MIT
 * All collectors, in the order they are tried. */
#include "collect/agents/trace.h"
#include "collect/collector.h"
#include "collect/host/host.h"
#include "collect/memory/memory.h"
#include "collect/samples/regions.h"
#include "collect/samples/sampler.h"

const struct collector *const collectors[] = {
	&collector_host,
	&collector_sample,
	&collector_trace,
	&collector_regions,
	&collector_memory,
};
const size_t n_collectors = sizeof collectors / sizeof *collectors;

size_t collectors_pick(unsigned what, const struct collector *ret[COLLECTORS_MOST])
{
	size_t n = 0;

	_Static_assert(sizeof collectors / sizeof *collectors <= COLLECTORS_MOST, "room for all");
	for (size_t i = 0; i < n_collectors; i++)
		if (!collectors[i]->what || collectors[i]->what & what)
			ret[n++] = collectors[i];
	return n;
}
