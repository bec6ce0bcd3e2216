/* SPDX-License-Identifier: MIT
 *
 * What was measured of one statement, function or command: processes, each with a row of values in the order they were
 * taken. All values are kept; what warm-up is, is decided here and shown, not thrown away while measuring. */
#ifndef ANALYZE_STATS_SERIES_H
#define ANALYZE_STATS_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/stats/distribution.h"

struct arena;

struct series_value {
	double seconds;          /* of one loop */
	double user_s, system_s; /* of all loops of the batch */
	uint32_t n_preempted;    /* times another program took the CPU */
	uint32_t n_minor_faults, n_major_faults;
};

/* The machine when a process began; NAN: not known. */
struct series_state {
	double load;         /* of the last minute */
	double pressure_pct; /* of the last 10 s that some task waited for a CPU */
	double stolen_s;     /* by other machines so far, of all CPUs */
	double frequency_hz; /* of the first CPU */
};

struct series_process {
	struct series_value *v;
	size_t n;
	size_t n_warmup;        /* of them, at the start, which do not count */
	bool is_unsteady;       /* they never settle, so all count */
	uint64_t loops;         /* of each value */
	uint64_t max_rss_bytes; /* 0: unknown */
	double first_s;         /* the very first call, apart from all values; NAN: not taken */
	int exit_status;        /* of a command; 128 + n: signal n */
	uint64_t t_ns;          /* when it began (CLOCK_MONOTONIC); 0: not known */
	struct series_state state;
};

/* What a thing was measured with, of several that differ in it: "n" is "1000". */
struct series_parameter {
	const char *name, *value;
};

struct series {
	const char *name;
	const char *unit_of_run; /* what a process holds: "batch" or "run" */
	struct series_process *processes;
	size_t n;
	bool is_command; /* one value per process */
	const struct series_parameter *parameters;
	size_t n_parameters;
	const char *notes;      /* lines about it; NULL: none */
	const char *conditions; /* a line about what was done before its runs; NULL: nothing */
};

/* Why values lie far above the others, as far as the system told. */
struct series_outliers {
	size_t n, n_preempted, n_faults; /* one may have several reasons */
};

struct series_summary {
	struct distribution d; /* of all values that count */
	/* 95 %, over processes where there are several (values of one process are alike) */
	struct interval mean;
	bool mean_is_of_processes;
	size_t n_processes, n_warmup, n_unsteady;
	struct series_outliers outliers; /* above the third quartile by 1.5 interquartile ranges */
	double user_s, system_s;         /* mean per run of a command; NAN for statements */
	double first_s;                  /* median over processes; NAN unknown */
	uint64_t loops;                  /* of the first process */
	uint64_t max_rss_bytes;          /* the largest; 0 unknown */
	double *values;                  /* in the order taken, without warm-up; in the arena */
};

/* Marks warm-up in each process: see distribution_warmup. */
void series_cut_warmup(struct series *s);

/* n is at least one process with a value. */
struct series_summary series_summarise(struct arena *a, const struct series *s);

/* Of the median, 95 %: over the medians of processes where there are several (values of one process are alike), else over the values;
 * infinite where they are too few. */
struct interval series_median_interval(struct arena *a, const struct series *s);

/* The one number of a process for a comparison: its least value (delays only add). */
double series_process_time(const struct series_process *p);
/* The one number of all: the median of those. */
double series_time(struct arena *a, const struct series *s);

#endif
