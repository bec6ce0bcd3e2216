/* SPDX-License-Identifier: MIT
 * See checks.h: what the kernel permits. Each probe tries the real system call, then names the one
 * piece that is missing. */
#include "collect/doctor/checks.h"

#include <errno.h>
#include <limits.h>
#include <linux/bpf.h>
#include <linux/perf_event.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <signal.h>
#include <unistd.h>

#include "sys/connector.h"
#include "sys/privilege.h"
#include "sys/proc.h"
#include "base/banned.h"

#define UNCONFINED "--security-opt seccomp=unconfined"

/* A number that is all a file of /proc or /sys holds. */
static int read_number(const char *path, int if_absent)
{
	char text[64], *end;
	long value;

	if (proc_read(text, sizeof text, "%s", path) <= 0)
		return if_absent;
	value = strtol(text, &end, 10);
	return end == text || value < INT_MIN || value > INT_MAX ? if_absent : (int)value;
}

/* Container runtimes filter system calls and drop capabilities, root's too; that is changed from
 * outside. */
static bool is_confined(const struct privilege *p)
{
	return p->seccomp == SECCOMP_FILTERED || !p->is_initial_pid_ns || p->uid == 0;
}

/* ---- remote memory --------------------------------------------------------------------------- */

/* Reads a word of a child that was not there when it was forked. 0 or an errno. */
static int read_from_child(void)
{
	static const uint64_t written = 0x6c656164u;
	volatile uint64_t *word = calloc(1, sizeof *word);
	uint64_t seen = 0;
	struct iovec local = { &seen, sizeof seen }, remote = { (void *)word, sizeof *word };
	int ends[2], failed = ECHILD;
	char ready;
	pid_t child;

	if (!word || pipe(ends) < 0) {
		failed = errno;
		free((void *)word);
		return failed;
	}
	child = fork();
	if (child < 0)
		failed = errno;
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_DUMPABLE, 1); /* as a program is after its exec, whatever we are */
		*word = written;
		if (write(ends[1], "r", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	close(ends[1]);
	if (child > 0 && read(ends[0], &ready, 1) == 1) {
		failed = process_vm_readv(child, &local, 1, &remote, 1, 0) < 0 ? errno : 0;
		if (!failed && seen != written)
			failed = EIO;
	}
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		while (waitpid(child, NULL, 0) < 0 && errno == EINTR)
			;
	}
	free((void *)word);
	return failed;
}

/* "Yama scope 1 (descendants only …), no seccomp filter" */
static const char *limits_in_words(const struct privilege *p, char *room, size_t room_bytes)
{
	char yama[80] = "no Yama";

	if (p->yama_scope != YAMA_ABSENT)
		snprintf(yama, sizeof yama, "Yama scope %d (%s)", p->yama_scope,
			privilege_yama_meaning(p->yama_scope));
	snprintf(room, room_bytes, "%s, %s%s%s", yama,
		p->seccomp == SECCOMP_FILTERED ? "a seccomp filter" : "no seccomp filter",
		p->is_initial_user_ns ? "" : ", a user namespace",
		p->is_dumpable ? "" : ", not dumpable");
	return room;
}

static void judge_refused_child(const struct privilege *p, int child_errno, struct probe *ret)
{
	bool has_ptrace = privilege_has(p, CAP_SYS_PTRACE);

	if (child_errno == ENOSYS) {
		check_say(ret, PROBE_NO, "this kernel has no process_vm_readv");
		check_remedy(ret, "exact tracing works without it: leadline run --trace script.py");
	} else if (p->yama_scope == 3) {
		check_say(ret, PROBE_NO, "leadline cannot read its own child: Yama scope 3 (%s)",
			privilege_yama_meaning(3));
		check_remedy(ret, "set kernel.yama.ptrace_scope=1 in /etc/sysctl.d and reboot");
	} else if (p->yama_scope == 2 && !has_ptrace) {
		check_say(ret, PROBE_NO,
			"leadline cannot read its own child: Yama scope 2 (%s), which uid %u does not have",
			privilege_yama_meaning(2), p->uid);
		check_remedy(ret, "sudo sysctl kernel.yama.ptrace_scope=1");
	} else if (p->seccomp == SECCOMP_FILTERED) {
		check_say(ret, PROBE_NO,
			"leadline cannot read its own child (%s): most likely the seccomp filter, since %s",
			strerror(child_errno),
			has_ptrace ? "CAP_SYS_PTRACE is present" : "a child needs no capability");
		check_remedy(ret, "start the container with %s",
			has_ptrace ? UNCONFINED : "--cap-add SYS_PTRACE");
	} else {
		check_say(ret, PROBE_NO, "leadline cannot read its own child: process_vm_readv: %s",
			strerror(child_errno));
		check_remedy(ret, "look for a security module that denies it: sudo dmesg | tail");
	}
}

void check_judge_remote_memory(const struct privilege *p, int child_errno, struct probe *ret)
{
	char limits[160];

	limits_in_words(p, limits, sizeof limits);
	if (child_errno) {
		judge_refused_child(p, child_errno, ret);
	} else if (privilege_has(p, CAP_SYS_PTRACE)) {
		check_say(ret, PROBE_YES,
			"programs leadline starts and every process%s (CAP_SYS_PTRACE); %s",
			p->is_initial_user_ns ? "" : " of this user namespace", limits);
	} else if (p->yama_scope >= 1) {
		check_say(ret, PROBE_PARTLY,
			"programs leadline starts, but none that already run: CAP_SYS_PTRACE is missing; %s",
			limits);
		check_remedy(ret,
			is_confined(p)
				? "start it with \"leadline run\", or the container with --cap-add SYS_PTRACE"
				: "start it with \"leadline run\", or use sudo to attach, or: sudo sysctl kernel.yama.ptrace_scope=0");
	} else {
		check_say(ret, PROBE_PARTLY,
			"programs leadline starts and those of uid %u, but not other users': CAP_SYS_PTRACE is missing; %s",
			p->uid, limits);
		check_remedy(ret,
			is_confined(p)
				? "for other users' processes, start the container with --cap-add SYS_PTRACE"
				: "for another user's process: sudo leadline attach PID");
	}
}

void check_remote_memory(struct probe *ret)
{
	struct privilege p;

	privilege_read(&p);
	check_judge_remote_memory(&p, read_from_child(), ret);
}

/* ---- eBPF ------------------------------------------------------------------------------------ */

static int try_bpf(int command, union bpf_attr *attr)
{
	int fd = (int)syscall(SYS_bpf, command, attr, sizeof *attr);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static int try_map(void)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 8;
	attr.max_entries = 1;
	return try_bpf(BPF_MAP_CREATE, &attr);
}

/* "return 0", of the kind the sampler is; it is loaded, attached to nothing, and closed. */
static int try_program(void)
{
	static const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr;

	memset(&attr, 0, sizeof attr);
	attr.prog_type = BPF_PROG_TYPE_PERF_EVENT;
	attr.insns = (uintptr_t)code;
	attr.insn_cnt = sizeof code / sizeof *code;
	attr.license = (uintptr_t) "GPL";
	return try_bpf(BPF_PROG_LOAD, &attr);
}

static const char *missing_bpf(const struct privilege *p)
{
	if (!privilege_has_bpf(p))
		return privilege_has_perfmon(p) ? "CAP_BPF is" : "CAP_BPF and CAP_PERFMON are";
	return privilege_has_perfmon(p) ? NULL : "CAP_PERFMON is";
}

static void judge_refused_bpf(
	const struct privilege *p, const struct ebpf_facts *f, int failed, struct probe *ret)
{
	static const char *const meanings[] = { "anyone may load simple programs",
		"root only, locked", "root only" };
	int value = f->unprivileged_disabled;
	const char *meaning = value >= 0 && value <= 2 ? meanings[value] : "unknown";

	if (failed == ENOSYS) {
		check_say(ret, PROBE_NO, "this kernel has no bpf()");
		check_remedy(ret, "use a kernel with CONFIG_BPF_SYSCALL and CONFIG_BPF_EVENTS");
	} else if (missing_bpf(p)) {
		check_say(ret, PROBE_NO,
			"%s missing (uid %u); kernel.unprivileged_bpf_disabled = %d (%s)%s",
			missing_bpf(p), p->uid, value, meaning,
			f->has_btf ? "" : "; no /sys/kernel/btf/vmlinux");
		check_remedy(ret,
			is_confined(p)
				? "start the container with --cap-add BPF --cap-add PERFMON"
				: "use sudo, or: sudo setcap cap_bpf,cap_perfmon,cap_sys_ptrace+ep \"$(command -v leadline)\"");
	} else if (!p->is_initial_user_ns) {
		check_say(ret, PROBE_NO,
			"the capabilities count only in this user namespace; bpf() needs them in the initial one (%s)",
			strerror(failed));
		check_remedy(ret, "run leadline on the host as root: sudo leadline attach PID");
	} else {
		check_say(ret, PROBE_NO, "bpf() fails despite CAP_BPF and CAP_PERFMON: %s%s",
			strerror(failed),
			p->seccomp == SECCOMP_FILTERED ? "; a seccomp filter is active" : "");
		check_remedy(ret,
			p->seccomp == SECCOMP_FILTERED
				? "start the container with " UNCONFINED
				: "look for kernel lockdown: cat /sys/kernel/security/lockdown");
	}
}

void check_judge_ebpf(const struct privilege *p, const struct ebpf_facts *f, struct probe *ret)
{
	int failed = f->map_errno ? f->map_errno : f->program_errno;

	if (failed) {
		judge_refused_bpf(p, f, failed, ret);
	} else if (!f->has_btf) {
		check_say(ret, PROBE_PARTLY,
			"a map and a program were loaded, but there is no /sys/kernel/btf/vmlinux");
		check_remedy(ret, "use a kernel built with CONFIG_DEBUG_INFO_BTF=y");
	} else {
		check_say(ret, PROBE_YES,
			"a map and a program were loaded; /sys/kernel/btf/vmlinux is there");
	}
}

void check_ebpf(struct probe *ret)
{
	struct privilege p;
	struct ebpf_facts f = {
		.map_errno = try_map(),
		.program_errno = try_program(),
		.has_btf = access("/sys/kernel/btf/vmlinux", R_OK) == 0,
		.unprivileged_disabled =
			read_number("/proc/sys/kernel/unprivileged_bpf_disabled", -1),
	};

	privilege_read(&p);
	check_judge_ebpf(&p, &f, ret);
}

/* ---- perf events ----------------------------------------------------------------------------- */

static int try_event(uint32_t type, uint64_t config)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof attr,
		.config = config,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static const char *paranoid_meaning(int value)
{
	if (value <= -1)
		return "no limits";
	if (value == 0)
		return "all but raw tracepoints";
	if (value == 1)
		return "own processes with the kernel's part";
	return value == 2 ? "own processes, user space only" : "nothing without CAP_PERFMON";
}

/* What perf_event_open says where the CPU has no such counter. */
static bool is_absent(int error)
{
	return error == ENOENT || error == ENODEV || error == EOPNOTSUPP || error == ENXIO;
}

static void judge_refused_event(
	const struct privilege *p, const struct perf_facts *f, struct probe *ret)
{
	if (f->paranoid == PERF_ABSENT) {
		check_say(ret, PROBE_NO, "this kernel has no perf events, or hides them (%s)",
			strerror(f->clock_errno));
		check_remedy(ret, "use a kernel with CONFIG_PERF_EVENTS");
		return;
	}
	check_say(ret, PROBE_NO,
		"a clock event on leadline itself fails: %s; kernel.perf_event_paranoid = %d (%s)%s",
		strerror(f->clock_errno), f->paranoid, paranoid_meaning(f->paranoid),
		p->seccomp == SECCOMP_FILTERED ? "; a seccomp filter is active" : "");
	if (p->seccomp == SECCOMP_FILTERED)
		check_remedy(ret, "start the container with %s",
			privilege_has_perfmon(p) ? UNCONFINED : "--cap-add PERFMON");
	else
		check_remedy(ret, "sudo sysctl kernel.perf_event_paranoid=1");
}

void check_judge_perf_events(
	const struct privilege *p, const struct perf_facts *f, struct probe *ret)
{
	bool is_free = privilege_has_perfmon(p) && p->is_initial_user_ns;
	bool sees_kernel = is_free || f->paranoid <= 1;
	char scope[120];

	if (f->clock_errno) {
		judge_refused_event(p, f, ret);
		return;
	}
	if (f->paranoid == PERF_ABSENT)
		snprintf(scope, sizeof scope, "kernel.perf_event_paranoid is unknown");
	else if (is_free)
		snprintf(scope, sizeof scope, "CAP_PERFMON lifts kernel.perf_event_paranoid = %d",
			f->paranoid);
	else
		snprintf(scope, sizeof scope, "kernel.perf_event_paranoid = %d (%s)", f->paranoid,
			paranoid_meaning(f->paranoid));
	if (f->instructions_errno) {
		check_say(ret, PROBE_PARTLY, "software events, no hardware counters (%s); %s",
			is_absent(f->instructions_errno)
				? "the CPU offers none, as in most virtual machines"
				: strerror(f->instructions_errno),
			scope);
		check_remedy(ret,
			"give the virtual machine a virtual PMU (libvirt: <pmu state='on'/>); times can be measured without");
	} else {
		check_say(ret, sees_kernel ? PROBE_YES : PROBE_PARTLY,
			"software events and hardware counters; %s", scope);
	}
	if (!f->instructions_errno && !sees_kernel)
		check_remedy(
			ret, "for the kernel's part: sudo sysctl kernel.perf_event_paranoid=1");
}

void check_perf_events(struct probe *ret)
{
	struct privilege p;
	struct perf_facts f = {
		.paranoid = read_number("/proc/sys/kernel/perf_event_paranoid", PERF_ABSENT),
		.clock_errno = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK),
		.instructions_errno = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS),
	};

	privilege_read(&p);
	check_judge_perf_events(&p, &f, ret);
}

/* ---- process tree ---------------------------------------------------------------------------- */

/* Subscribes, waits for the kernel's acknowledgement and leaves again. 0 or an errno. */
static int try_connector(void)
{
	struct pollfd news = { .fd = connector_open(), .events = POLLIN };
	int failed = news.fd < 0 ? errno : 0;

	if (!failed && poll(&news, 1, 2) != 1)
		failed = ENOMSG;
	connector_close(news.fd);
	return failed;
}

/* What keeps the kernel from telling us; NULL when nothing does. In a pid namespace it may tell,
 * but of pids that are not ours; root was needed before Linux 6.6. */
static const char *no_connector(const struct privilege *p, int failed)
{
	if (!p->is_initial_user_ns)
		return "this is not the initial user namespace";
	if (!p->is_initial_pid_ns)
		return "this is not the initial pid namespace";
	if (failed == ECONNREFUSED)
		return "this is not the initial network namespace";
	if (failed && !privilege_has(p, CAP_NET_ADMIN))
		return "CAP_NET_ADMIN is missing";
	return failed ? strerror(failed) : NULL;
}

void check_process_tree(struct probe *ret)
{
	bool has_children = access("/proc/thread-self/children", R_OK) == 0;
	int is_subreaper;
	bool has_subreaper = prctl(PR_GET_CHILD_SUBREAPER, &is_subreaper) == 0;
	struct privilege p;
	const char *why;

	privilege_read(&p);
	why = no_connector(&p, try_connector());
	if (!has_children || !has_subreaper) {
		check_say(ret, PROBE_NO, "%s",
			has_subreaper
				? "no /proc/PID/task/TID/children: only the program itself is seen"
				: "this kernel has no child subreaper (Linux 3.4)");
		check_remedy(ret, "use a kernel with CONFIG_PROC_CHILDREN, and mount /proc");
	} else if (why) {
		check_say(ret, PROBE_PARTLY,
			"/proc is checked now and then, so processes that live only a few ms can be missed; no proc connector: %s",
			why);
		check_remedy(ret, "as root on the host, none is missed: sudo leadline");
	} else {
		check_say(ret, PROBE_YES,
			"the kernel reports every fork and exit (proc connector); orphans are kept");
	}
}
