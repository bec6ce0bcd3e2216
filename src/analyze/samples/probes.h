/* SPDX-License-Identifier: MIT
 *
 * Probes: what the sampled instructions worked with, by instruction. How often something was seen there says nothing
 * about time (lasting operations are seen more easily); the time is that of the samples that ended there. */
#ifndef ANALYZE_SAMPLES_PROBES_H
#define ANALYZE_SAMPLES_PROBES_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct profile;
struct stacks;

struct probe_operand {
	uint8_t operand;             /* 0 callee or container, 1 … the others */
	const char *type, *name;     /* name "": none */
	uint64_t n;                  /* times it was seen so */
	uint64_t size_min, size_max; /* RECORD_UNKNOWN: it has none */
};

struct probe_site {
	const char *file, *function;
	int line;
	uint32_t code, offset;   /* row, bytes */
	const char *instruction; /* "CALL"; "" when the recording does not hold it */
	/* "sum()", "in list", "int + int"; what was seen in most of the probes */
	const char *operation;
	double share;                         /* of the probes that say so */
	uint64_t n;                           /* probes */
	double self_s;                        /* sampled time that ended at this instruction */
	const struct probe_operand *operands; /* by operand, then by how often, falling */
	size_t n_operands;
};

struct probes {
	const struct probe_site *v; /* by time, falling */
	size_t n;
	uint64_t n_taken;
};

/* lost_share: of the profile, as its seconds are. Never NULL. */
const struct probes *probes_build(struct arena *a, const struct stacks *s, double lost_share);

/* The site with the most time of a line, NULL: nothing was seen there. */
const struct probe_site *probes_line(const struct probes *p, const char *file, int line);

#endif
