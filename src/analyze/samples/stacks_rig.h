/* SPDX-License-Identifier: MIT
 *
 * For tests: a recording made sample by sample and read back. Functions are letters; "mab" is a stack in
 * which m called a, and a called b.
 *
 *	struct rig m;
 *	rig_begin(&m);
 *	m.names['w'] = "Condition.wait", m.files['w'] = "/usr/lib/python3.12/threading.py";
 *	rig_sample(&m, 10, 0, "mw", SAMPLE_ON_CPU);             at 10 ms, in the first thread
 *	rig_finish(&m);
 *	p = rig_profile_of(&m, (struct stacks_options){ 0 });   also m.stacks
 *	rig_done(&m);
 */
#ifndef ANALYZE_SAMPLES_STACKS_RIG_H
#define ANALYZE_SAMPLES_STACKS_RIG_H

#include <stdint.h>

#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "wire/records.h"

enum { RIG_THREADS = 4 };

struct rig {
	struct writer *w;
	uint32_t process, threads[RIG_THREADS]; /* pid and first tid 10, then 11 … */
	const char *names[128], *files[128];    /* by letter; NULL: the letter itself, x.py */
	struct {
		const char *name, *file;
		uint32_t row;
	} codes[128]; /* written so far */
	struct arena arena;
	struct reader *reader;
	struct tables *tables;
	const struct stacks *stacks; /* the last ones built */
};

void rig_begin(struct rig *m);
uint64_t rig_ns(uint64_t ms); /* as records have it */
/* The chain's last "!" means that it was cut off there. */
void rig_sample(struct rig *m, uint64_t ms, size_t thread, const char *chain, int bits);
void rig_sample_ns(struct rig *m, uint64_t ns, size_t thread, const char *chain, int bits);
/* One without Python code: "[interpreter ending]". */
void rig_bare_sample(struct rig *m, uint64_t ms, size_t thread, const char *name, int bits);
/* The sampler finds that a thread came (after the bound) or is gone (it was there until then); ms after the start. */
void rig_came(struct rig *m, uint64_t ms, size_t thread, uint64_t bound_ms, bool is_exact);
void rig_gone(struct rig *m, uint64_t ms, size_t thread, uint64_t bound_ms, bool is_exact);
/* The sampler came late. */
void rig_late(struct rig *m, uint64_t since_ms, uint64_t ms, bool was_stopped);
/* The process's CPU time so far by the kernel's clock. */
void rig_account(struct rig *m, uint64_t ms, uint64_t cpu_ms);
/* The kernel's figures of a thread, in a row of the host collector's. */
void rig_usage(struct rig *m, uint64_t ms, size_t thread, uint64_t cpu_ms, uint64_t queue_ms);
void rig_lose(struct rig *m, const char *what, uint64_t count);
/* A calling context of exact tracing, whose thread and function are filled in; a name such as
 * "<built-in method f>" is a C function's. */
void rig_node(struct rig *m, size_t thread, char function, struct rec_node n);
/* The process ended so long after the start, with this status as wait(2) has it. */
void rig_end_process(struct rig *m, uint64_t ms, int status);
void rig_finish(struct rig *m);
const struct profile *rig_profile_of(struct rig *m, struct stacks_options o);
void rig_done(struct rig *m);

#endif
