/* SPDX-License-Identifier: MIT
 *
 * Fidelity: how a recording was made and what it may have missed. Unknown numbers are UNITS_UNKNOWN. */
#ifndef ANALYZE_FIDELITY_H
#define ANALYZE_FIDELITY_H

#include <stdbool.h>
#include <stdint.h>

struct arena;
struct tables;

struct fidelity {
	const char *engine;      /* "" when nothing was sampled */
	const char *interpreter; /* "cpython 3.13.0 x86_64"; "" when none was found */
	/* why nothing was sampled, as found in the program itself; "" unknown */
	const char *no_python;
	const char *trace_notes; /* what could not be traced, lines; "" none */
	const char *trace;       /* "calls", or "counts" of them, were to be traced; "" otherwise */
	const char *no_trace;    /* why nothing was, though it was asked for; "" otherwise */
	const char *lines;       /* whose lines were to be counted, as asked for; NULL: nobody's */
	const char *excluded;    /* patterns of what was not traced, as asked for; "" nothing */
	double rate_asked_hz;    /* 0: as often as possible */
	double rate_reached_hz;
	double lowered_by; /* the rate, at most, to keep what looking costs below a cap; unknown: never */
	double samples, lost, shortened, missed_ticks;
	double timeline_events, timeline_bytes,
		timeline_lost;   /* of calls kept in the order of time */
	double traced_processes; /* that an agent was in */
	double own_cpu_s;
	double ops_slowdown; /* by how much collecting operators slowed the thread that ran most, estimated */
	double slowdown; /* share of the program's speed that looking took, estimated */
	uint64_t file_bytes;
};

struct fidelity fidelity_build(struct arena *a, struct tables *t);

/* No interpreter had an agent that it could load: the notes say why. */
bool fidelity_lacks_agent(const struct fidelity *f);

#endif
