/* SPDX-License-Identifier: MIT
 *
 * When to look next: around the rate asked for, at random, so that looks never fall into step with the program; less
 * often while looking would cost more than half a core, which is told. */
#ifndef COLLECT_SAMPLES_SAMPLE_SCHEDULE_H
#define COLLECT_SAMPLES_SAMPLE_SCHEDULE_H

#include <stdbool.h>
#include <stdint.h>

struct sample_schedule {
	uint64_t interval_ns; /* as asked; 0: as often as possible */
	uint64_t next_ns;
	uint64_t grain_ns; /* a power of two: stamps need not be finer */
	double stretch;    /* of the interval, so that we stay below the cap */
	double stretch_most;
	uint64_t cap_ns, cap_cpu_ns; /* when our cost was last looked at, and what it was */
	uint64_t random;
	uint64_t n_missed;    /* looks that came too late to be made */
	bool has_heap_frames; /* in any process so far */
};

/* rate_hz: 0 as often as possible. seed: any number. */
void sample_schedule_init(struct sample_schedule *p, double rate_hz, uint64_t seed);

/* Compares what the recorder has cost with the cap, now and then. cpu_ns: its CPU time so far. */
bool sample_schedule_is_cap_due(const struct sample_schedule *p, uint64_t now_ns);
void sample_schedule_keep_below_cap(struct sample_schedule *p, uint64_t now_ns, uint64_t cpu_ns);

/* The time that records of a look tell: to a 64th of the interval or better, rounded down. The digits below would be most
 * of what a recording takes. */
uint64_t sample_schedule_stamp(const struct sample_schedule *p, uint64_t now_ns);

/* When the look after this one is due. */
uint64_t sample_schedule_next(struct sample_schedule *p, uint64_t now_ns);

#endif
