/* SPDX-License-Identifier: MIT
 *
 * What a recording says beside its operators, for rules that need it (advice_facts.h): the memory of each process and how many threads
 * ran or were ready to, look by look; and, from the samples, where loading a batch spends its time. A trace of torch's own profiler has
 * none of it. Times are those of the operators. */
#ifndef ANALYZE_TORCH_HOST_H
#define ANALYZE_TORCH_HOST_H

#include <stddef.h>
#include <stdint.h>

struct arena;
struct tables;

struct op_resident { /* of a process, at a look */
	int64_t t_ns;
	uint32_t pid;
	double bytes;
};

struct op_look { /* at all of them; means since the look before */
	int64_t t_ns;
	double seconds;    /* since then */
	double cpu, queue; /* threads on a CPU; ready, and without one */
};

struct op_start { /* of a process, by another one */
	int64_t t_ns;
	uint32_t pid, parent;
};

struct op_host {
	struct tables *tables;
	double cpus; /* the program may use; NAN: not known */
	const struct op_resident *resident;
	size_t n_resident;
	const struct op_look *looks;
	size_t n_looks;
	const struct op_start *starts; /* in the order of time */
	size_t n_starts;
};

/* NULL: it says nothing of the host. */
const struct op_host *op_host_build(struct arena *a, struct tables *t);

struct op_load { /* threads that wanted a CPU in a stretch of time: means; NAN: not known */
	double cpu, queue;
};

struct op_load op_host_load(const struct op_host *h, int64_t from_ns, int64_t to_ns);

struct op_loading {     /* of batches, in samples below a DataLoader's fetch */
	double seconds; /* 0: none was seen */
	double in_main; /* of them: in the process that trains */
	/* The line of the program's own that has most of them; NULL: it has none there. */
	const char *file, *function;
	uint32_t line;
	double line_s;
};

struct op_loading op_host_loading(struct arena *a, const struct op_host *h);

#endif
