/* SPDX-License-Identifier: MIT
 * See environ.h. */
#include "sys/environ.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/banned.h"

enum { VARIABLES_MOST = 10000 };

int environ_find(pid_t pid, const char *name, char *to, size_t size)
{
	size_t capacity = 0, length = strlen(name);
	char path[64], *variable = NULL;
	int found = 0;
	FILE *f;

	to[0] = '\0';
	snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return -1;
	for (int n = 0; n < VARIABLES_MOST && !found && getdelim(&variable, &capacity, '\0', f) > 0;
		n++)
		found = strncmp(variable, name, length) == 0 && variable[length] == '=';
	if (found)
		snprintf(to, size, "%s", variable + length + 1);
	else if (ferror(f))
		found = -1;
	free(variable);
	fclose(f);
	return found;
}
