/* SPDX-License-Identifier: MIT
 * See checks.h: what is there, or not, on this machine. */
#include "collect/doctor/checks.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/statvfs.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/err.h"
#include "base/text.h"
#include "base/tty.h"
#include "base/units.h"
#include "collect/agents/session.h"
#include "sys/clocksource.h"
#include "sys/cpus.h"
#include "sys/proc.h"
#include "base/banned.h"

/* ---- clock ----------------------------------------------------------------------------------- */

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/"

void check_clock(struct probe *ret)
{
	char source[64], available[256];
	const char *reason;
	enum clock_mode mode = clock_choose(&reason);

	if (proc_read(source, sizeof source, "%s", CLOCKSOURCE "current_clocksource") <= 0)
		snprintf(source, sizeof source, "unknown");
	source[strcspn(source, "\n")] = '\0';
	if (mode == CLOCK_MODE_TSC) {
		check_say(ret, PROBE_YES, "clock source %s: %s", source, reason);
		return;
	}
	check_say(ret, PROBE_PARTLY,
		"clock source %s: %s; time stamps come from clock_gettime, at about three times the cost",
		source, reason);
	if (proc_read(available, sizeof available, "%s", CLOCKSOURCE "available_clocksource") > 0 &&
		strstr(available, "tsc") && clock_has_steady_ticks())
		check_remedy(ret, "echo tsc | sudo tee " CLOCKSOURCE "current_clocksource");
	else
		check_remedy(ret,
			"nothing to do: times are correct, exact tracing just costs a little more");
}

/* ---- pressure, cgroup ------------------------------------------------------------------------ */

void check_pressure(struct probe *ret)
{
	static const char *const names[] = { "cpu", "memory", "io" };
	char text[512];

	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		if (proc_read(text, sizeof text, "/proc/pressure/%s", names[i]) > 0)
			continue;
		check_say(ret, PROBE_NO, "/proc/pressure/%s: %s", names[i], strerror(errno));
		check_remedy(ret, "boot the kernel (CONFIG_PSI=y, 4.20 or newer) with psi=1");
		return;
	}
	check_say(ret, PROBE_YES, "/proc/pressure covers cpu, memory and io");
}

uint64_t check_parse_memory_limit(const char *text)
{
	static const uint64_t none_from = 1ull << 62; /* v1: the largest multiple of a page */
	char *end;
	uint64_t value;

	if (*text < '0' || *text > '9')
		return UINT64_MAX;
	value = strtoull(text, &end, 10);
	return value >= none_from ? UINT64_MAX : value;
}

/* The tightest limit from the process's group up to the mount. */
static uint64_t limit_above(const char *mount, const char *group, const char *file)
{
	char folder[256], text[64];
	uint64_t least = UINT64_MAX;
	size_t n = strlen(mount);

	if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder)
		return least;
	while (strlen(folder) >= n) {
		if (proc_read(text, sizeof text, "%s/%s", folder, file) > 0) {
			uint64_t limit = check_parse_memory_limit(text);

			least = limit < least ? limit : least;
		}
		*strrchr(folder, '/') = '\0';
	}
	return least;
}

/* Of all groups in the text of /proc/self/cgroup ("4:memory:/a", "0::/a"). */
static uint64_t memory_limit(char *groups)
{
	uint64_t least = UINT64_MAX, limit;
	char *line;

	while ((line = strsep(&groups, "\n"))) {
		const char *id = strsep(&line, ":"), *controllers = strsep(&line, ":");

		if (!id || !controllers || !line)
			continue;
		if (strcmp(controllers, "memory") == 0)
			limit = limit_above("/sys/fs/cgroup/memory", line, "memory.limit_in_bytes");
		else if (*controllers == '\0')
			limit = limit_above("/sys/fs/cgroup", line, "memory.max");
		else
			continue;
		least = limit < least ? limit : least;
	}
	return least;
}

void check_cgroup(struct probe *ret)
{
	struct cpus c = cpus_read();
	char groups[4096], memory[UNITS_TEXT] = "", quota[UNITS_TEXT] = "no quota";
	bool is_v2 = access("/sys/fs/cgroup/cgroup.controllers", F_OK) == 0;
	uint64_t limit;

	if (proc_read(groups, sizeof groups, "/proc/self/cgroup") <= 0) {
		check_say(ret, PROBE_NO, "this kernel has no cgroups; %d of %d CPUs", c.affinity,
			c.online);
		check_remedy(ret, "nothing to do: without cgroups there are no limits to know");
		return;
	}
	if (!is_v2 && access("/sys/fs/cgroup/cpu", F_OK) != 0) {
		check_say(ret, PROBE_PARTLY,
			"/sys/fs/cgroup is not mounted, limits are unknown; %d of %d CPUs by affinity",
			c.affinity, c.online);
		check_remedy(ret, "sudo mount -t cgroup2 none /sys/fs/cgroup");
		return;
	}
	limit = memory_limit(groups);
	if (limit != UINT64_MAX)
		units_format(memory, UNIT_BYTES, (double)limit);
	if (isfinite(c.quota))
		snprintf(quota, sizeof quota, "quota %.3g CPUs", c.quota);
	check_say(ret, PROBE_YES, "version %d; %d of %d CPUs, %s; %s%s", is_v2 ? 2 : 1, c.affinity,
		c.online, quota, *memory ? "memory limit " : "no memory limit", memory);
}

/* ---- files of /proc -------------------------------------------------------------------------- */

void check_io_accounting(struct probe *ret)
{
	char text[1024];
	ssize_t got = proc_read(text, sizeof text, "/proc/self/io");

	if (got > 0 && proc_field(text, "read_bytes") != PROC_UNKNOWN) {
		check_say(ret, PROBE_YES,
			"/proc/PID/io has calls, bytes requested and bytes of storage");
	} else if (got > 0) {
		check_say(ret, PROBE_PARTLY, "/proc/PID/io has calls, but not bytes of storage");
		check_remedy(ret, "use a kernel with CONFIG_TASK_IO_ACCOUNTING");
	} else {
		check_say(ret, PROBE_NO, "/proc/self/io: %s", strerror(errno));
		check_remedy(ret, "use a kernel with CONFIG_TASK_IO_ACCOUNTING");
	}
}

void check_page_pss(struct probe *ret)
{
	char text[4096];
	ssize_t got = proc_read(text, sizeof text, "/proc/self/smaps_rollup");

	if (got > 0 && proc_field(text, "Pss") != PROC_UNKNOWN) {
		check_say(
			ret, PROBE_YES, "/proc/PID/smaps_rollup has the proportional share (PSS)");
		return;
	}
	check_say(
		ret, PROBE_NO, "/proc/self/smaps_rollup: %s", got < 0 ? strerror(errno) : "no Pss");
	check_remedy(
		ret, "use Linux 4.14 or newer with CONFIG_PROC_PAGE_MONITOR; RSS works without");
}

/* ---- GPU ------------------------------------------------------------------------------------- */

static size_t count_gpus(void)
{
	DIR *dev = opendir("/dev");
	struct dirent *d;
	size_t n = 0;

	while (dev && (d = readdir(dev)))
		n += strncmp(d->d_name, "nvidia", 6) == 0 && d->d_name[6] >= '0' &&
			d->d_name[6] <= '9';
	if (dev)
		closedir(dev);
	return n;
}

static bool has_file(const char *folder, size_t n, const char *below, const char *const *names,
	char *ret_path, size_t path_bytes)
{
	for (; *names; names++)
		if ((size_t)snprintf(ret_path, path_bytes, "%.*s%s/%s", (int)n, folder, below,
			    *names) < path_bytes &&
			access(ret_path, R_OK) == 0)
			return true;
	return false;
}

/* Looks where the dynamic linker of the program would, and where CUDA is usually installed. Only
 * files are looked at: this tool is static and loads nothing. */
static bool find_library(const char *const *names, char *ret_path, size_t path_bytes)
{
	static const char *const usual[] = {
#if defined(__aarch64__)
		"/usr/lib/aarch64-linux-gnu",
		"/lib/aarch64-linux-gnu",
#else
		"/usr/lib/x86_64-linux-gnu",
		"/lib/x86_64-linux-gnu",
#endif
		"/usr/lib64",
		"/usr/lib",
		"/usr/local/nvidia/lib64",
		"/usr/lib/wsl/lib",
		"/usr/local/lib",
		"/usr/local/cuda/lib64",
		"/usr/local/cuda/extras/CUPTI/lib64",
	};
	static const char *const in_cuda[] = { "/lib64", "/extras/CUPTI/lib64", "/lib" };
	static const char *const variables[] = { "CUDA_HOME", "CUDA_PATH" };
	const char *paths = getenv("LD_LIBRARY_PATH");

	while (paths && *paths) {
		size_t n = strcspn(paths, ":");

		if (n && has_file(paths, n, "", names, ret_path, path_bytes))
			return true;
		paths += n;
		paths += *paths == ':';
	}
	for (size_t i = 0; i < 2; i++) {
		const char *cuda = getenv(variables[i]);

		for (size_t j = 0; cuda && *cuda && j < sizeof in_cuda / sizeof *in_cuda; j++)
			if (has_file(cuda, strlen(cuda), in_cuda[j], names, ret_path, path_bytes))
				return true;
	}
	for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
		if (has_file(usual[i], strlen(usual[i]), "", names, ret_path, path_bytes))
			return true;
	return false;
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue …": the first number. */
static void driver_version(char *ret, size_t bytes)
{
	char text[512];
	const char *at = text;

	snprintf(ret, bytes, "of unknown version");
	if (proc_read(text, sizeof text, "/proc/driver/nvidia/version") <= 0)
		return;
	text[strcspn(text, "\n")] = '\0';
	for (; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
		size_t n = strspn(at, "0123456789.");

		if (n > 3 && (at[n] == ' ' || !at[n]) && memchr(at, '.', n)) {
			snprintf(ret, bytes, "%.*s", (int)n, at);
			return;
		}
	}
}

void check_gpu(struct probe *ret)
{
	static const char *const cuda_names[] = { "libcuda.so.1", "libcuda.so", NULL };
	static const char *const cupti_names[] = { "libcupti.so", "libcupti.so.13",
		"libcupti.so.12", "libcupti.so.11.0", NULL };
	size_t n = count_gpus();
	char cuda[128], cupti[128], driver[32];
	bool has_cuda = find_library(cuda_names, cuda, sizeof cuda);
	bool has_cupti = find_library(cupti_names, cupti, sizeof cupti);
	bool has_driver = access("/proc/driver/nvidia/version", R_OK) == 0;

	driver_version(driver, sizeof driver);
	if (!n && !has_driver) {
		check_say(ret, PROBE_NO, "no NVIDIA GPU: no /dev/nvidia*, no driver loaded");
		check_remedy(ret, "nothing to do without a GPU; a container needs --gpus all");
	} else if (!n || !has_cuda) {
		check_say(ret, PROBE_NO, "NVIDIA driver %s, but %s", driver,
			n ? "no libcuda.so.1" : "no /dev/nvidia* here");
		check_remedy(ret,
			"start the container with --gpus all, or install the driver's libraries");
	} else if (!has_cupti) {
		check_say(ret, PROBE_PARTLY,
			"%zu NVIDIA GPU%s, driver %s, %s; no libcupti outside Python's packages", n,
			n == 1 ? "" : "s", driver, cuda);
		check_remedy(ret,
			"torch brings its own; else: pip install nvidia-cuda-cupti-cu12, or set CUDA_HOME");
	} else {
		check_say(ret, PROBE_YES, "%zu NVIDIA GPU%s, driver %s, %s, %s", n,
			n == 1 ? "" : "s", driver, cuda, cupti);
	}
}

/* ---- terminal -------------------------------------------------------------------------------- */

void check_terminal(struct probe *ret)
{
	bool is_utf8 = tty_is_utf8();
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	size_t columns = tty_columns(STDOUT_FILENO);
	const char *colours = "colours", *characters = is_utf8 ? "UTF-8" : "ASCII";
	char width[32] = "full width";

	if (no_color && *no_color)
		colours = "no colours (NO_COLOR)";
	else if (!term || !*term || strcmp(term, "dumb") == 0)
		colours = "no colours (TERM)";
	if (columns != TEXT_UNBOUNDED)
		snprintf(width, sizeof width, "%zu columns", columns);
	if (!isatty(STDOUT_FILENO))
		check_say(ret, PROBE_YES, "stdout is not a terminal: no colours, %s, %s", width,
			characters);
	else
		check_say(ret, PROBE_YES, "%s, %s, %s", characters, width, colours);
	if (!is_utf8) {
		ret->answer = PROBE_PARTLY;
		check_remedy(ret, "export LC_ALL=C.UTF-8");
	}
}

/* ---- session folder -------------------------------------------------------------------------- */

/* Opens a real session, which picks the place, and closes it again. */
void check_session_folder(struct probe *ret)
{
	struct session_options defaults = { 0 };
	struct session *session;
	struct err e = ERR_INIT;
	struct statvfs fs = { 0 };
	char folder[sizeof(struct sockaddr_un)], room[UNITS_TEXT];

	if (session_open(&session, &defaults, &e) < 0) {
		check_say(ret, PROBE_NO, "%s", e.text);
		check_remedy(ret,
			"name a folder that is yours alone, with a short path: export TMPDIR=FOLDER");
		return;
	}
	snprintf(folder, sizeof folder, "%s", session_dir(session));
	statvfs(folder, &fs);
	session_close(session);
	*strrchr(folder, '/') = '\0';
	if (fs.f_flag & ST_NOEXEC) {
		check_say(ret, PROBE_PARTLY,
			"%s takes folders and sockets, but is mounted noexec: agents cannot be loaded from it",
			folder);
		check_remedy(ret, "name another folder: export TMPDIR=$HOME");
		return;
	}
	check_say(ret, PROBE_YES, "leadline can create its folder and socket in %s; %s free",
		folder, units_format(room, UNIT_BYTES, (double)fs.f_bavail * (double)fs.f_frsize));
}
