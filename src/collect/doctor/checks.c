/* SPDX-License-Identifier: MIT
 * See checks.h: the table, in the order it is shown. */
#include "collect/doctor/checks.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/banned.h"

const struct check checks[] = {
	{
		.id = "remote-memory",
		.title = "Remote memory",
		.needed_for = "sampling: run, attach, top, dump",
		.needs_proc = true,
		.probe = check_remote_memory,
	},
	{
		.id = "session-folder",
		.title = "Session folder",
		.needed_for = "exact tracing, memory and torch recordings",
		.needs_proc = true,
		.probe = check_session_folder,
	},
	{
		.id = "process-tree",
		.title = "Process tree",
		.needed_for = "seeing every child, however short-lived",
		.needs_proc = true,
		.probe = check_process_tree,
	},
	{
		.id = "clock",
		.title = "Clock",
		.needed_for = "cheap time stamps in exact tracing",
		.probe = check_clock,
	},
	{
		.id = "ebpf",
		.title = "eBPF",
		.needed_for = "native and kernel frames, off-CPU time",
		.needs_proc = true,
		.probe = check_ebpf,
	},
	{
		.id = "perf-events",
		.title = "Perf events",
		.needed_for = "counting instructions and cache misses",
		.needs_proc = true,
		.probe = check_perf_events,
	},
	{
		.id = "pressure",
		.title = "Pressure",
		.needed_for = "knowing whether the machine ran short of CPU, memory or I/O",
		.needs_proc = true,
		.probe = check_pressure,
	},
	{
		.id = "cgroup",
		.title = "Cgroup",
		.needed_for = "knowing how many CPUs and how much memory a container may use",
		.needs_proc = true,
		.probe = check_cgroup,
	},
	{
		.id = "io-accounting",
		.title = "I/O accounting",
		.needed_for = "bytes read and written per process",
		.needs_proc = true,
		.probe = check_io_accounting,
	},
	{
		.id = "page-pss",
		.title = "Shared memory",
		.needed_for = "counting shared pages only once (PSS)",
		.needs_proc = true,
		.probe = check_page_pss,
	},
	{
		.id = "gpu",
		.title = "GPU",
		.needed_for = "GPU activity (NVIDIA, through CUPTI)",
		.probe = check_gpu,
	},
	{
		.id = "terminal",
		.title = "Terminal",
		.needed_for = "marks, bars and colours",
		.probe = check_terminal,
	},
};
const size_t n_checks = sizeof checks / sizeof *checks;

void check_run(const struct check *c, struct probe *ret)
{
	if (!c->needs_proc || access("/proc/self/status", R_OK) == 0) {
		c->probe(ret);
		return;
	}
	check_say(ret, PROBE_NO, "/proc is not mounted");
	check_remedy(ret, "mount -t proc proc /proc");
}

const struct check *check_find(const char *id)
{
	for (size_t i = 0; i < n_checks; i++)
		if (strcmp(checks[i].id, id) == 0)
			return &checks[i];
	return NULL;
}

void check_say(struct probe *ret, enum probe_answer answer, const char *fmt, ...)
{
	va_list ap;

	ret->answer = answer;
	ret->remedy[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(ret->reason, sizeof ret->reason, fmt, ap);
	va_end(ap);
}

void check_remedy(struct probe *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(ret->remedy, sizeof ret->remedy, fmt, ap);
	va_end(ap);
}
