/* SPDX-License-Identifier: MIT
 *
 * What this process is allowed to do: user, capabilities, and the four things that take rights away
 * again (Yama, seccomp, namespaces, a process that may not be dumped). Facts only; what follows
 * from them for a collector is said in collect/doctor/checks.c.
 *
 * Reading never fails: what /proc does not tell is set to its "unknown" value. */
#ifndef SYS_PRIVILEGE_H
#define SYS_PRIVILEGE_H

#include <stdbool.h>
#include <stdint.h>
#include <linux/capability.h>

#ifndef CAP_PERFMON /* headers before Linux 5.8 */
#define CAP_PERFMON 38
#define CAP_BPF     39
#endif

enum privilege_seccomp { SECCOMP_UNKNOWN = -1, SECCOMP_NONE, SECCOMP_STRICT, SECCOMP_FILTERED };

enum { YAMA_ABSENT = -1 }; /* the kernel has no Yama: as scope 0 */

struct privilege {
	unsigned uid;          /* effective */
	uint64_t capabilities; /* effective, bit n is capability n of linux/capability.h */
	enum privilege_seccomp seccomp;
	int yama_scope;          /* 0 … 3 or YAMA_ABSENT */
	bool is_initial_user_ns; /* else capabilities count only inside of ours */
	bool is_initial_pid_ns;  /* else most likely a container */
	bool is_dumpable;        /* else other processes of our user may not look into us */
};

void privilege_read(struct privilege *ret);

/* Whether it has the capability (CAP_SYS_PTRACE …). */
bool privilege_has(const struct privilege *p, int capability);
/* As the kernel asks: CAP_SYS_ADMIN stands for either, as before Linux 5.8. */
bool privilege_has_bpf(const struct privilege *p);
bool privilege_has_perfmon(const struct privilege *p);

/* Takes uid, capabilities and seccomp from the text of /proc/PID/status; fields that are missing or
 * damaged stay as they are. */
void privilege_parse_status(const char *text, struct privilege *ret);

/* The text of kernel.yama.ptrace_scope; YAMA_ABSENT when it is no scope. */
int privilege_parse_yama(const char *text);

/* One phrase: who may look into whom. */
const char *privilege_yama_meaning(int scope);

#endif
