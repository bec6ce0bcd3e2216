/* SPDX-License-Identifier: MIT
 * See cpus.h. */
#include "sys/cpus.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sys/proc.h"
#include "base/banned.h"

double cpus_parse_max(const char *text)
{
	double quota, period;

	if (sscanf(text, "%lf %lf", &quota, &period) != 2 || quota <= 0 || period <= 0)
		return (double)INFINITY;
	return quota / period;
}

/* The quota file of one cgroup folder; v1 writes quota and period apart, -1 for none. */
static double quota_of(const char *folder, int is_v2)
{
	char quota[64], period[64], both[140];

	if (is_v2)
		return proc_read(both, sizeof both, "%s/cpu.max", folder) > 0 ? cpus_parse_max(both)
									      : (double)INFINITY;
	if (proc_read(quota, sizeof quota, "%s/cpu.cfs_quota_us", folder) <= 0 ||
		proc_read(period, sizeof period, "%s/cpu.cfs_period_us", folder) <= 0)
		return (double)INFINITY;
	snprintf(both, sizeof both, "%s %s", quota, period);
	return cpus_parse_max(both);
}

/* Every folder from the process's cgroup up to the mount may limit it. */
static double tightest_quota(const char *mount, const char *group, int is_v2)
{
	char folder[512];
	double least = (double)INFINITY;
	size_t mount_n = strlen(mount);

	if ((size_t)snprintf(folder, sizeof folder, "%s%s", mount, group) >= sizeof folder)
		return least;
	for (;;) {
		char *slash;

		least = fmin(least, quota_of(folder, is_v2));
		slash = strrchr(folder, '/');
		if (!slash || (size_t)(slash - folder) < mount_n)
			return least;
		*slash = '\0';
	}
}

static double quota_read(void)
{
	static const char *const mounts[][2] = { { "/sys/fs/cgroup", "/sys/fs/cgroup/unified" },
		{ "/sys/fs/cgroup/cpu", "/sys/fs/cgroup/cpu,cpuacct" } };
	char text[4096], *save = NULL;
	double least = (double)INFINITY;

	if (proc_read(text, sizeof text, "/proc/self/cgroup") <= 0)
		return least;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		char *controllers = strchr(line, ':'),
		     *group = controllers ? strchr(controllers + 1, ':') : NULL;
		int is_v2;

		if (!group)
			continue;
		*group++ = '\0';
		is_v2 = controllers[1] == '\0';
		if (!is_v2 && !strstr(controllers, "cpu"))
			continue;
		for (int i = 0; i < 2; i++)
			least = fmin(least,
				tightest_quota(
					mounts[!is_v2][i], strcmp(group, "/") ? group : "", is_v2));
	}
	return least;
}

struct cpus cpus_read(void)
{
	struct cpus c = { .online = (int)sysconf(_SC_NPROCESSORS_ONLN), .quota = quota_read() };
	cpu_set_t set;

	c.affinity = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : c.online;
	c.allowed = fmin(fmin(c.online, c.affinity), c.quota);
	return c;
}
