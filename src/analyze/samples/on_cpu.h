/* SPDX-License-Identifier: MIT
 *
 * On a CPU: a sample says that a thread was running or ready to run; the kernel's figures of the thread (the host series) say how
 * much of such time it had a CPU for. Threads that come and go between two looks of the host collector have no figures of their own:
 * what the process's clock says beyond the threads that have some is theirs, by windows of a second, of those that held the GIL first,
 * for who is ready without it mostly waits for a CPU to ask for it. Else the figures of the process's other threads count, at that time or
 * as a whole; without any a thread is taken to have had a CPU.
 *
 * No thread is given more than its clock says. What the clock says beyond the samples is of the time in which nobody looked, as far as
 * that goes; the rest is nobody's, and a residual in the books. */
#ifndef ANALYZE_SAMPLES_ON_CPU_H
#define ANALYZE_SAMPLES_ON_CPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct on_cpu;
struct tables;

struct on_cpu *on_cpu_new(struct tables *t); /* borrows them */
void on_cpu_free(struct on_cpu *x);          /* NULL is fine */
/* Takes in the reader's chunks from this one on. */
void on_cpu_take(struct on_cpu *x, size_t first_chunk);
/* What a part of a thread's time is, as far as the sampler knows. */
enum on_cpu_kind { ON_CPU_RAN, ON_CPU_RAN_WITH_GIL, ON_CPU_UNSEEN };
/* All such time of a whole recording, before a share is asked for; without that nothing is held against the clocks. */
void on_cpu_tell(
	struct on_cpu *x, uint32_t thread_row, uint64_t t_ns, uint64_t ns, enum on_cpu_kind kind);
/* 0 … 1: the part of such time that the thread was on a CPU. */
double on_cpu_share(
	const struct on_cpu *x, uint32_t thread_row, uint64_t t_ns, enum on_cpu_kind kind);

#endif
