/* SPDX-License-Identifier: MIT
 * See folder.h. */
#include "cmd/folder.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/text.h"
#include "base/banned.h"

bool folder_is(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static int is_named(const struct dirent *entry)
{
	const char *name = entry->d_name;

	return text_ends_with(name, ".lead") || text_ends_with(name, ".pt.trace.json") ||
		text_ends_with(name, ".pt.trace.json.gz");
}

static int is_json(const struct dirent *entry)
{
	return text_ends_with(entry->d_name, ".json") || text_ends_with(entry->d_name, ".json.gz");
}

/* Length of the worker's part of a trace's name, and the time behind it; false: it has none. */
static bool split_name(const char *name, size_t *ret_worker, size_t *ret_time)
{
	const char *end = strstr(name, ".pt.trace.json"), *dot = end;

	while (dot && dot > name && dot[-1] >= '0' && dot[-1] <= '9')
		dot--;
	if (!dot || dot == end || dot - 1 <= name || dot[-1] != '.')
		return false;
	*ret_worker = (size_t)(dot - 1 - name);
	*ret_time = (size_t)(end - dot);
	return true;
}

/* Both of the same worker, and b is of a later time. */
static bool is_older(const char *a, const char *b)
{
	size_t n, n_time, other, other_time;

	if (!split_name(a, &n, &n_time) || !split_name(b, &other, &other_time) || n != other ||
		strncmp(a, b, n) != 0)
		return false;
	if (n_time != other_time)
		return n_time < other_time;
	return strncmp(a + n + 1, b + n + 1, n_time) < 0;
}

int folder_list(struct arena *a, const char *path, bool newest, struct folder *ret, struct err *e)
{
	struct dirent **entries = NULL;
	int n = scandir(path, &entries, is_named, alphasort);

	*ret = (struct folder){ 0 };
	if (n == 0) {
		free(entries);
		n = scandir(path, &entries, is_json, alphasort);
	}
	if (n < 0)
		return err_errno(e, ERR_NO_FILE, "%s", path);
	ret->v = arena_new_n(a, const char *, (size_t)n);
	for (int i = 0; i < n; i++) {
		bool is_last = true;

		for (int k = 0; newest && k < n && is_last; k++)
			is_last = !is_older(entries[i]->d_name, entries[k]->d_name);
		if (is_last)
			ret->v[ret->n++] = arena_printf(a, "%s/%s", path, entries[i]->d_name);
		ret->n_older += !is_last;
	}
	for (int i = 0; i < n; i++)
		free(entries[i]);
	free(entries);
	if (!ret->n)
		return err_set(e, ERR_NO_FILE,
			"%s: this folder holds no recording (*.lead) and no trace (*.pt.trace.json)",
			path);
	return 0;
}
