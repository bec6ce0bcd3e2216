/* SPDX-License-Identifier: MIT
 *
 * Usage: what the host records of a recording say of one program run: totals for the whole process
 * tree, each process, and a time line. Pure: reads records, touches neither system nor clock.
 *
 * Totals of CPU time, faults and switches are the kernel's own (wait4; /proc of processes that run on), with
 * every child that was waited for; what only a last look told is a lower bound and marked so. Of a process nobody
 * waited for the kernel tells CPU time in hundredths of a second only; where the sum over its threads, which is in
 * nanoseconds, says more, that counts. Unknown numbers are UNITS_UNKNOWN. Times are seconds from the start of the
 * program. */
#ifndef ANALYZE_HOST_USAGE_H
#define ANALYZE_HOST_USAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct tables;

struct usage_process {
	uint32_t pid, parent;
	const char *command;
	int rank; /* in a distributed job; -1: none */
	double start_s, end_s;
	double user_s, system_s; /* its own */
	double max_rss_bytes; /* its own: at the looks, or the kernel's where it waited for nobody */
	double final_rss_bytes; /* the kernel's maximum, waited-for children included */
	bool is_exact;          /* the kernel's final figures; else seen last, a lower bound */
	bool is_running;        /* outlived the program, or the recording */
	bool was_running;       /* before the recording: figures are since it began */
	bool has_gil; /* maps a CPython runtime with a GIL (asked only of busy multi-threaded ones) */
	int status;   /* as wait(2); -1 unknown */
	double gil_cpu_s; /* CPU time in which others of its threads wanted the GIL, see bound.h … */
	bool is_gil_seen; /* … as the sampler saw it; else a guess from what its threads used */
};

struct usage_tick { /* one look; rates are over the time since the look before */
	double t_s, dt_s;
	double cpu, queue; /* threads on a CPU, threads waiting for one: means */
	double rss_bytes;  /* sum over the tree, now */
	double read_bytes_per_s, write_bytes_per_s; /* storage */
	double n_threads, n_processes;
	unsigned n_running, n_disk; /* threads in state R, D now */
};

struct usage {
	const char *command;     /* quoted for a shell */
	const char *const *argv; /* the same in words, ended by NULL */
	const char *tool, *system;
	double wall_s, user_s, system_s;
	double unwaited_cpu_s; /* of that: children nobody waited for, as they were seen last */
	double tick_s; /* user is told from system by what runs when the kernel's clock ticks */
	double unsure_s; /* CPU time that may be missing from user and system, for want of a finer clock */
	double cpus_allowed, cpus_online;
	double max_rss_bytes;                            /* of the largest process */
	double peak_tree_rss_bytes, mean_tree_rss_bytes; /* seen at the looks */
	double peak_pss_bytes;                           /* largest PSS read of one process */
	double minor_faults, major_faults;
	double voluntary_switches, involuntary_switches;
	double read_chars, write_chars, read_calls, write_calls, read_bytes, write_bytes;
	double peak_threads;
	/* share of wall the host stalled ("some") */
	double pressure_cpu, pressure_io, pressure_memory;
	double rss_growth_per_s; /* over the last minute at most; UNITS_UNKNOWN when too short */
	double rss_growth_span_s;
	int status;         /* as wait(2) of the program; -1: it had not ended, or nobody told us */
	bool is_running;    /* it had not ended when the recording stops */
	bool is_attached;   /* it ran before the recording */
	bool is_complete;   /* no process can have been missed */
	bool is_foreign;    /* another tool's file: nothing is known of the run */
	const char *method; /* how processes were found */
	double own_cpu_s;
	double n_looks;
	const struct usage_process *processes;
	size_t n_processes;
	const struct usage_tick *ticks;
	size_t n_ticks;
};

/* NULL when the recording holds no run and is not of another tool. One that was cut off (recorder killed) is told up to its
 * last look. Everything lives in the arena. */
const struct usage *usage_build(struct arena *a, struct tables *t);

/* On average, of those that were allowed. */
double usage_cpus_used(const struct usage *u);

#endif
