/* SPDX-License-Identifier: MIT
 *
 * How many CPUs a program started now may use: online, affinity, cgroup quota (v1 and v2). */
#ifndef SYS_CPUS_H
#define SYS_CPUS_H

struct cpus {
	int online;
	int affinity;   /* of this process, inherited by children */
	double quota;   /* CPUs the cgroups allow, the tightest; INFINITY without a limit */
	double allowed; /* the least of all */
};

struct cpus cpus_read(void);

/* A quota in CPUs from cgroup v2's cpu.max ("50000 100000", "max 100000"). INFINITY: none. */
double cpus_parse_max(const char *text);

#endif
