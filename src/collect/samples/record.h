/* SPDX-License-Identifier: MIT
 *
 * What looks become in the recording: samples with their stacks, tasks and operands; samples of a named row where no
 * Python frame is; the marks that a thread came and is gone; a process's books. When to look, and at whom, is
 * sampler.c's. */
#ifndef COLLECT_SAMPLES_RECORD_H
#define COLLECT_SAMPLES_RECORD_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython/walk.h"

struct py_process;
struct sampled;
struct writer;

/* Time without Python frames, by its name. */
enum py_bare { PY_BARE_NONE, PY_BARE_STARTING, PY_BARE_ENDING, PY_BARE_STOPPED, PY_BARES };

enum { PY_RECORD_STACKS_LOG2 = 13 };

struct py_known_stack { /* a row of the stack table, kept because making sure costs more */
	uint32_t segment, parent, code, offset;
	uint32_t row; /* 0: none here */
};

struct py_record {
	struct writer *writer; /* borrowed */
	struct walk walk;      /* the stack of the look */
	uint64_t n_samples, n_shortened;
	uint64_t on_cpu_ns; /* that samples stand for */
	uint64_t probe_ns;  /* when operands may be looked at next */
	uint64_t n_probes, n_probes_dropped;
	uint32_t bare_rows[PY_BARES], bare_segment;
	struct py_known_stack known[1 << PY_RECORD_STACKS_LOG2]; /* by hash, the newest */
};

/* Of to->walk. */
void py_record_sample(
	struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns);
/* A sample without Python frames. state: bits of enum sample_state. */
void py_record_bare(struct py_record *to, struct py_process *p, struct sampled *t,
	enum py_bare what, uint16_t state, uint64_t t_ns);
/* The last sample again: the thread has not run since. */
void py_record_again(struct py_record *to, struct sampled *t, uint64_t t_ns);
/* The thread is there no longer: since its last sample or sleep, or exactly from now_ns on. */
void py_record_gone(struct py_record *to, struct py_process *p, struct sampled *t, uint64_t now_ns,
	bool is_exact);
/* hears: the kernel tells of threads. */
void py_record_account(struct py_record *to, struct py_process *p, bool hears, uint64_t now_ns);

/* As it was last looked at. */
uint16_t py_record_state(const struct py_process *p, const struct sampled *t);

#endif
