/* SPDX-License-Identifier: MIT
 * See environment.h. */
#include "bench/environment.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "analyze/stats/series.h"
#include "base/buf.h"
#include "base/err.h"
#include "sys/proc.h"
#include "base/banned.h"

/* The first line of a small file, without its newline. */
static void read_line(char *to, size_t size, const char *path)
{
	if (proc_read(to, size, "%s", path) < 0)
		to[0] = '\0';
	to[strcspn(to, "\n")] = '\0';
}

static void read_cpu_model(char *to, size_t size)
{
	char text[4096];
	const char *at;

	to[0] = '\0';
	if (proc_read(text, sizeof text, "/proc/cpuinfo") < 0)
		return;
	at = strstr(text, "model name");
	at = at ? strchr(at, ':') : NULL;
	if (at)
		snprintf(to, size, "%.*s", (int)strcspn(at + 2, "\n"), at + 2);
}

static double read_stolen(void)
{
	unsigned long long ticks[8] = { 0 };
	char text[512];

	if (proc_read(text, sizeof text, "/proc/stat") < 0 ||
		sscanf(text, "cpu %llu %llu %llu %llu %llu %llu %llu %llu", &ticks[0], &ticks[1],
			&ticks[2], &ticks[3], &ticks[4], &ticks[5], &ticks[6], &ticks[7]) != 8)
		return NAN;
	return (double)ticks[7] / (double)sysconf(_SC_CLK_TCK);
}

static double read_pressure(void)
{
	char text[256];
	double pct;

	if (proc_read(text, sizeof text, "/proc/pressure/cpu") < 0 ||
		sscanf(text, "some avg10=%lf", &pct) != 1)
		return NAN;
	return pct;
}

static void read_turbo(char *to, size_t size)
{
	char text[16];

	read_line(text, sizeof text, "/sys/devices/system/cpu/intel_pstate/no_turbo");
	if (text[0])
		snprintf(to, size, "%s", text[0] == '0' ? "on" : "off");
	else {
		read_line(text, sizeof text, "/sys/devices/system/cpu/cpufreq/boost");
		snprintf(to, size, "%s", text[0] == '1' ? "on" : text[0] == '0' ? "off" : "");
	}
}

/* A folder without it, or without git, has no commit. */
void environment_read_commit(struct environment *ret)
{
	FILE *f = popen(
		"git describe --always --dirty=+ --abbrev=12 --exclude='*' 2>/dev/null", "re");

	ret->commit[0] = '\0';
	if (!f)
		return;
	if (!fgets(ret->commit, sizeof ret->commit, f))
		ret->commit[0] = '\0';
	pclose(f);
	ret->commit[strcspn(ret->commit, "\n")] = '\0';
}

static double read_load(void)
{
	char text[64];

	read_line(text, sizeof text, "/proc/loadavg");
	return text[0] ? strtod(text, NULL) : NAN;
}

void environment_state(struct series_state *ret)
{
	char text[64];

	read_line(text, sizeof text, "/sys/devices/system/cpu/cpu0/cpufreq/scaling_cur_freq");
	*ret = (struct series_state){ .load = read_load(),
		.pressure_pct = read_pressure(),
		.stolen_s = read_stolen(),
		.frequency_hz = text[0] ? 1000 * strtod(text, NULL) : NAN };
}

void environment_read(struct environment *ret)
{
	struct utsname u;
	char text[64];
	time_t now = time(NULL);
	struct tm utc;

	*ret = (struct environment){ .cpus = cpus_read() };
	if (uname(&u) == 0) {
		snprintf(ret->host, sizeof ret->host, "%s", u.nodename);
		snprintf(ret->kernel, sizeof ret->kernel, "%s %s %s", u.sysname, u.release,
			u.machine);
	}
	read_cpu_model(ret->cpu, sizeof ret->cpu);
	read_line(ret->governor, sizeof ret->governor,
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
	read_line(ret->clock, sizeof ret->clock,
		"/sys/devices/system/clocksource/clocksource0/current_clocksource");
	read_turbo(ret->turbo, sizeof ret->turbo);
	gmtime_r(&now, &utc);
	strftime(ret->date, sizeof ret->date, "%Y-%m-%dT%H:%M:%SZ", &utc);
	ret->load = read_load();
	read_line(text, sizeof text, "/proc/sys/kernel/randomize_va_space");
	ret->has_aslr = text[0] && text[0] != '0';
	ret->pressure_pct = read_pressure();
	ret->stolen_s = read_stolen();
}

void environment_warn(const struct environment *before, const struct environment *after,
	double elapsed_s, struct buf *out)
{
	double stolen = after ? after->stolen_s - before->stolen_s : NAN;

	if (before->load > 0.5 * before->cpus.online)
		buf_printf(out,
			"the machine was already busy (load %.1f on %d CPUs): stop other programs, or use 'leadline compare', which copes with noise\n",
			before->load, before->cpus.online);
	if (stolen > 0.02 * elapsed_s * before->cpus.online)
		buf_printf(out,
			"other virtual machines took %.0f %% of the CPU time: run it again, or use 'leadline compare'\n",
			100 * stolen / (elapsed_s * before->cpus.online));
	if (strcmp(before->governor, "powersave") == 0 || strcmp(before->governor, "ondemand") == 0)
		buf_printf(out,
			"the CPU changes its speed with the load (governor %s): as root, set the governor to performance\n",
			before->governor);
	if (!before->has_aslr)
		buf_printf(out,
			"addresses are not randomized here, so a single memory layout decides: as root, sysctl kernel.randomize_va_space=2\n");
}
