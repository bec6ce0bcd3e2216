/* SPDX-License-Identifier: MIT
 *
 * Reading the memory of another process, which is neither stopped nor changed by it: several places at
 * once through process_vm_readv, one through /proc/PID/mem, which asks for permission when it is opened
 * and not each time (1.1 µs instead of 1.6); through one of them alone where the other is not to be had
 * (seccomp, old kernels, too many open files). Both ask for the same permission, PTRACE_MODE_ATTACH.
 *
 *	struct remote r;
 *
 *	if (remote_open(&r, pid, &e) < 0)
 *		return err_note(&e, …);       (names the permission that is missing)
 *	remote_read(&r, address, &value, sizeof value);
 *	remote_close(&r);
 *
 * The signatures of remote_read and remote_readv fit `struct mem` of cpython/mem.h. */
#ifndef SYS_REMOTE_H
#define SYS_REMOTE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct err;

struct remote {
	pid_t pid;
	int mem_fd;        /* /proc/PID/mem, or -1 where it cannot be had */
	bool is_file_only; /* process_vm_readv cannot be had */
};

/* Finds out which way works. The pid stands for one program: after an exec open it again. */
int remote_open(struct remote *r, pid_t pid, struct err *e);
void remote_close(struct remote *r);

/* All n bytes: 0 or -errno (EFAULT where there is no such memory, ESRCH when the process has gone). */
int remote_read(void *remote, uint64_t address, void *to, size_t n);

/* From from[i] to to[i], of equal lengths, up to IOV_MAX (1024) of them, in one call: the bytes
 * copied before the first that cannot be read, or -errno when that is none. */
ssize_t remote_readv(void *remote, const struct iovec *to, const struct iovec *from, size_t n);

/* Says why the process may not be read, after EPERM or EACCES: whose it is, Yama, a program that
 * cannot be dumped, a namespace, seccomp. Returns -ERR_NO_PERMISSION. */
int remote_explain(pid_t pid, struct err *e);

#endif
