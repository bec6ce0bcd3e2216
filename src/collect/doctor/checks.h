/* SPDX-License-Identifier: MIT
 *
 * What leadline can do on this machine, one row of checks[] for each thing it would like to use.
 * `doctor` shows them all. A probe tries the thing itself wherever that can be done without leaving
 * a trace, rather than guessing from settings; it takes less than 5 ms, needs no rights, prints
 * nothing and undoes what it made. The answer comes with exact values, and with the line to type
 * where something is missing.
 *
 * New check: a probe in checks_kernel.c (what the kernel permits) or checks_machine.c (what is
 * there), its prototype below, a row in checks.c. */
#ifndef COLLECT_DOCTOR_CHECKS_H
#define COLLECT_DOCTOR_CHECKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/collector.h"

struct privilege;

struct check {
	const char *id;         /* in --json: never changes */
	const char *title;      /* at most 16 columns */
	const char *needed_for; /* a phrase that goes on after "needed for" */
	bool needs_proc;        /* without /proc there is nothing to try */
	void (*probe)(struct probe *ret);
};

extern const struct check checks[];
extern const size_t n_checks;

/* Calls the probe, unless the check needs /proc and there is none. */
void check_run(const struct check *c, struct probe *ret);

/* NULL when there is no such id. */
const struct check *check_find(const char *id);

/* Sets answer and reason, and an empty remedy. */
void check_say(struct probe *ret, enum probe_answer answer, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
void check_remedy(struct probe *ret, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The probes. */
void check_remote_memory(struct probe *ret);
void check_ebpf(struct probe *ret);
void check_perf_events(struct probe *ret);
void check_process_tree(struct probe *ret);
void check_clock(struct probe *ret);
void check_pressure(struct probe *ret);
void check_cgroup(struct probe *ret);
void check_io_accounting(struct probe *ret);
void check_page_pss(struct probe *ret);
void check_gpu(struct probe *ret);
void check_terminal(struct probe *ret);
void check_session_folder(struct probe *ret);

/* ---- the decisions alone, from facts: an errno, 0 where the try succeeded -------------------- */

void check_judge_remote_memory(const struct privilege *p, int child_errno, struct probe *ret);

struct ebpf_facts {
	int map_errno, program_errno; /* of making a map, of loading a program */
	bool has_btf;
	int unprivileged_disabled; /* kernel.unprivileged_bpf_disabled; -1 unknown */
};
void check_judge_ebpf(const struct privilege *p, const struct ebpf_facts *f, struct probe *ret);

struct perf_facts {
	int paranoid; /* kernel.perf_event_paranoid; PERF_ABSENT without perf events */
	int clock_errno, instructions_errno;
};
enum { PERF_ABSENT = 100 };
void check_judge_perf_events(
	const struct privilege *p, const struct perf_facts *f, struct probe *ret);

/* The memory limit in bytes a cgroup file states; UINT64_MAX for none ("max", v1's huge number). */
uint64_t check_parse_memory_limit(const char *text);

#endif
