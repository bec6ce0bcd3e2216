/* SPDX-License-Identifier: MIT
 * Rows that several collectors write: the same process gets the same row from each of them. */
#ifndef COLLECT_ROWS_H
#define COLLECT_ROWS_H

#include <stdint.h>
#include <sys/types.h>

struct writer;

/* The row of a process, named by its command line and rank as they are now. Reads /proc: keep
 * the row as long as writer_segment() stays the same. */
uint32_t rows_process(struct writer *w, pid_t pid, uint64_t start_ns, pid_t parent);

/* A span the program has named. leadline.torch.step() calls it "NAME␟SAMPLES␟TOKENS" (␟: 0x1f): then it is a step of a training. */
void rows_region(
	struct writer *w, uint32_t thread, uint64_t t_ns, uint64_t duration_ns, const char *name);

#endif
