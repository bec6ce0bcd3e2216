/* SPDX-License-Identifier: MIT
 * See sample_schedule.h. */
#include "collect/samples/sample_schedule.h"

#include "base/banned.h"

static const uint64_t MAX_RATE_JITTER_NS = 8000;
/* A look at frames on the heap delays the program a little and takes longer while the stack moves: with little
 * jitter it falls into step with loops of some ten microseconds, and without a pause looks would come less often
 * just when it moves. */
static const uint64_t MAX_RATE_HEAP_PAUSE_NS = 20000;
static const uint64_t MAX_RATE_HEAP_JITTER_NS = 48000;
static const uint64_t GRAIN_MOST_NS = 8192;
/* Of a core: what looking may cost, unless it was asked to cost all. */
static const double CAP = 0.5;
static const uint64_t CAP_NS = 250000000; /* between two looks at what we cost */

void sample_schedule_init(struct sample_schedule *p, double rate_hz, uint64_t seed)
{
	*p = (struct sample_schedule){ .interval_ns = rate_hz > 0 ? (uint64_t)(1e9 / rate_hz) : 0,
		.grain_ns = 1,
		.stretch = 1,
		.stretch_most = 1,
		.random = 0x9e3779b97f4a7c15u ^ seed };
	while (p->grain_ns < GRAIN_MOST_NS && 2 * p->grain_ns <= p->interval_ns / 64)
		p->grain_ns *= 2;
}

uint64_t sample_schedule_stamp(const struct sample_schedule *p, uint64_t now_ns)
{
	return now_ns & ~(p->grain_ns - 1);
}

static uint64_t next_random(struct sample_schedule *p)
{
	p->random ^= p->random << 13;
	p->random ^= p->random >> 7;
	return p->random ^= p->random << 17;
}

bool sample_schedule_is_cap_due(const struct sample_schedule *p, uint64_t now_ns)
{
	return p->interval_ns && now_ns >= p->cap_ns + CAP_NS;
}

void sample_schedule_keep_below_cap(struct sample_schedule *p, uint64_t now_ns, uint64_t cpu_ns)
{
	double share = (double)(cpu_ns - p->cap_cpu_ns) / (double)(now_ns - p->cap_ns);

	if (p->cap_ns && share > CAP)
		p->stretch *= share / CAP < 4 ? share / CAP : 4;
	else if (share < CAP * 0.8 && p->stretch > 1)
		p->stretch = p->stretch > 1.1 ? p->stretch / 1.1 : 1;
	if (p->stretch > p->stretch_most)
		p->stretch_most = p->stretch;
	p->cap_ns = now_ns;
	p->cap_cpu_ns = cpu_ns;
}

/* Half an interval to one and a half. */
uint64_t sample_schedule_next(struct sample_schedule *p, uint64_t now_ns)
{
	uint64_t interval;

	if (!p->interval_ns) /* as often as possible, and yet not in step with the program */
		return p->has_heap_frames
			? now_ns + MAX_RATE_HEAP_PAUSE_NS + next_random(p) % MAX_RATE_HEAP_JITTER_NS
			: now_ns + next_random(p) % MAX_RATE_JITTER_NS;
	interval = (uint64_t)((double)p->interval_ns * p->stretch);
	p->next_ns += interval / 2 + next_random(p) % interval;
	if (p->next_ns < now_ns) { /* late: the looks that cannot be made any more are counted */
		uint64_t missed = (now_ns - p->next_ns) / interval;

		p->n_missed += missed;
		p->next_ns += missed * interval;
	}
	return p->next_ns;
}
