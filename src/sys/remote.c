/* SPDX-License-Identifier: MIT
 * See remote.h. */
#include "sys/remote.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/privilege.h"
#include "sys/proc.h"
#include "base/banned.h"

/* The kernel asks for permission before it looks at the address, so that EFAULT means yes. */
static int try_call(pid_t pid)
{
	char byte;
	struct iovec to = { &byte, 1 }, from = { NULL, 1 };

	return process_vm_readv(pid, &to, 1, &from, 1, 0) >= 0 || errno == EFAULT ? 0 : errno;
}

static int open_mem(pid_t pid)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	return open(path, O_RDONLY | O_CLOEXEC);
}

static int no_process(pid_t pid, struct err *e)
{
	struct proc_stat stat;
	char text[1024];

	if (proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) > 0 &&
		proc_stat_parse(text, &stat)) {
		if (stat.state == 'Z' || stat.state == 'X')
			return err_set(e, ERR_NO_PROCESS,
				"process %d has ended and waits for its parent to notice",
				(int)pid);
		return err_set(e, ERR_NO_PROCESS,
			"process %d has no memory of its own: it is a kernel thread, or ending",
			(int)pid);
	}
	return err_set(e, ERR_NO_PROCESS, "there is no process %d", (int)pid);
}

int remote_open(struct remote *r, pid_t pid, struct err *e)
{
	int failed;

	*r = (struct remote){ .pid = pid, .mem_fd = -1 };
	failed = pid > 0 ? try_call(pid) : ESRCH;
	if (failed == ESRCH)
		return no_process(pid, e);
	r->mem_fd = open_mem(pid);
	r->is_file_only = failed != 0;
	if (r->mem_fd >= 0 || failed == 0)
		return 0;
	if (errno == ENOENT || errno == ESRCH)
		return no_process(pid, e);
	if (errno == EACCES || errno == EPERM)
		return remote_explain(pid, e);
	return err_errno(e, ERR_SYSTEM, "cannot read the memory of process %d", (int)pid);
}

void remote_close(struct remote *r)
{
	if (r->mem_fd >= 0)
		close(r->mem_fd);
	r->mem_fd = -1;
}

/* /proc/PID/mem answers EIO where there is no memory, and 0 once the process has gone. */
static ssize_t read_file(const struct remote *r, uint64_t address, void *to, size_t n)
{
	ssize_t got =
		address > INT64_MAX ? (errno = EIO, -1) : pread(r->mem_fd, to, n, (off_t)address);

	if (got < 0)
		return errno == EIO ? -EFAULT : -errno;
	return got == 0 && n ? -ESRCH : got;
}

int remote_read(void *remote, uint64_t address, void *to, size_t n)
{
	const struct remote *r = remote;
	struct iovec local = { to, n }, there = { (void *)(uintptr_t)address, n };
	ssize_t got;

	if (r->mem_fd >= 0) {
		got = read_file(r, address, to, n);
	} else {
		got = process_vm_readv(r->pid, &local, 1, &there, 1, 0);
		if (got < 0)
			got = -errno;
	}
	if (got < 0)
		return (int)got;
	return (size_t)got == n ? 0 : -EFAULT;
}

ssize_t remote_readv(void *remote, const struct iovec *to, const struct iovec *from, size_t n)
{
	const struct remote *r = remote;
	ssize_t copied = 0;

	if (!r->is_file_only) {
		copied = process_vm_readv(r->pid, to, n, from, n, 0);
		return copied < 0 ? -errno : copied;
	}
	for (size_t i = 0; i < n; i++) {
		ssize_t got = read_file(
			r, (uint64_t)(uintptr_t)from[i].iov_base, to[i].iov_base, to[i].iov_len);

		if (got < 0)
			return copied ? copied : got;
		copied += got;
		if ((size_t)got < to[i].iov_len)
			break;
	}
	return copied;
}

/* ---- why not --------------------------------------------------------------------------------- */

static bool is_dumpable(pid_t pid, unsigned uid)
{
	char path[64];
	struct stat st;

	/* The kernel gives /proc/PID to root when the process may not be dumped. */
	snprintf(path, sizeof path, "/proc/%d/mem", (int)pid);
	return stat(path, &st) < 0 || st.st_uid == uid;
}

static bool is_same_namespace(pid_t pid, const char *name)
{
	char path[64], ours[64], theirs[64];
	ssize_t n, m;

	snprintf(path, sizeof path, "/proc/self/ns/%s", name);
	n = readlink(path, ours, sizeof ours);
	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int)pid, name);
	m = readlink(path, theirs, sizeof theirs);
	return n < 0 || m < 0 || (n == m && memcmp(ours, theirs, (size_t)n) == 0);
}

int remote_explain(pid_t pid, struct err *e)
{
	struct privilege own, target = { .uid = (unsigned)-1 };
	char text[4096];

	privilege_read(&own);
	if (proc_read(text, sizeof text, "/proc/%d/status", (int)pid) <= 0)
		return no_process(pid, e);
	privilege_parse_status(text, &target);
	if (own.yama_scope == 3)
		return err_set(e, ERR_NO_PERMISSION,
			"may not read the memory of process %d: kernel.yama.ptrace_scope is 3 (%s)",
			(int)pid, privilege_yama_meaning(3));
	if (privilege_has(&own, CAP_SYS_PTRACE)) {
		if (!is_same_namespace(pid, "user"))
			return err_set(e, ERR_NO_PERMISSION,
				"may not read the memory of process %d: it is in another user namespace, where leadline's CAP_SYS_PTRACE does not count",
				(int)pid);
		return err_set(e, ERR_NO_PERMISSION,
			"may not read the memory of process %d although leadline has CAP_SYS_PTRACE: %s",
			(int)pid,
			own.seccomp == SECCOMP_FILTERED
				? "a seccomp filter of this container may forbid it"
				: "a security module (AppArmor, SELinux) may forbid it");
	}
	if (target.uid != own.uid)
		return err_set(e, ERR_NO_PERMISSION,
			"may not read the memory of process %d: it belongs to uid %u, leadline runs as uid %u, and CAP_SYS_PTRACE is missing",
			(int)pid, target.uid, own.uid);
	if (!is_dumpable(pid, own.uid))
		return err_set(e, ERR_NO_PERMISSION,
			"may not read the memory of process %d: its program may not be dumped (set-uid, or only executable), and CAP_SYS_PTRACE is missing",
			(int)pid);
	if (own.yama_scope > 0)
		return err_set(e, ERR_NO_PERMISSION,
			"may not read the memory of process %d: kernel.yama.ptrace_scope is %d (%s); start it with \"leadline run\", or get CAP_SYS_PTRACE",
			(int)pid, own.yama_scope, privilege_yama_meaning(own.yama_scope));
	if (target.capabilities & ~own.capabilities)
		return err_set(e, ERR_NO_PERMISSION,
			"may not read the memory of process %d: it has capabilities that leadline lacks, and CAP_SYS_PTRACE is missing",
			(int)pid);
	return err_set(e, ERR_NO_PERMISSION,
		"may not read the memory of process %d, which has the same user: %s", (int)pid,
		own.seccomp == SECCOMP_FILTERED ? "a seccomp filter may forbid it"
						: "a security module may forbid it");
}
