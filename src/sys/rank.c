/* SPDX-License-Identifier: MIT
 * See rank.h. */
#include "sys/rank.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

static const char *const names[] = { "RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK",
	"PMIX_RANK" }; /* the first counts */
enum { N_NAMES = sizeof names / sizeof *names, VARIABLES_MOST = 100000 };

static bool is_rank(const char *value)
{
	size_t n = strlen(value);

	return n > 0 && n < RANK_TEXT && strspn(value, "0123456789") == n;
}

const char *rank_own(char to[RANK_TEXT])
{
	to[0] = '\0';
	for (size_t i = 0; i < N_NAMES && !to[0]; i++) {
		const char *value = getenv(names[i]);

		if (value && is_rank(value))
			snprintf(to, RANK_TEXT, "%s", value);
	}
	return to;
}

const char *rank_of(pid_t pid, char to[RANK_TEXT])
{
	size_t best = N_NAMES, capacity = 0;
	char path[64], *variable = NULL;
	FILE *f;

	to[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return to;
	for (int n = 0; n < VARIABLES_MOST && getdelim(&variable, &capacity, '\0', f) > 0; n++)
		for (size_t i = 0; i < best; i++) {
			size_t length = strlen(names[i]);

			if (strncmp(variable, names[i], length) != 0 || variable[length] != '=' ||
				!is_rank(variable + length + 1))
				continue;
			snprintf(to, RANK_TEXT, "%s", variable + length + 1);
			best = i;
		}
	free(variable);
	fclose(f);
	return to;
}
