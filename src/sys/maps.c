/* SPDX-License-Identifier: MIT
 * See maps.h. */
#include "sys/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/banned.h"

enum { MOST_BYTES = 64 << 20 }; /* some 600 000 mappings; the kernel allows 65 530 by default */

/* Reads a number in place and steps behind it; false when there is none or another byte follows. */
static bool take(char **at, int base, char follows, uint64_t *ret)
{
	char *end;
	bool is_digit =
		base == 16 ? strchr("0123456789abcdef", **at) != NULL : **at >= '0' && **at <= '9';

	if (!**at || !is_digit)
		return false;
	*ret = strtoull(*at, &end, base);
	if (*end != follows)
		return false;
	*at = end + 1;
	return true;
}

/* The kernel writes a newline in a name as \012 and leaves every other byte as it is. */
static void unescape(char *path)
{
	char *to = path;

	for (const char *from = path; *from; to++) {
		if (strncmp(from, "\\012", 4) == 0) {
			*to = '\n';
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

static void cut_deleted(struct map *m, char *path)
{
	static const char mark[] = " (deleted)";
	size_t n = strlen(path), mark_n = sizeof mark - 1;

	if (n > mark_n && path[0] == '/' && strcmp(path + n - mark_n, mark) == 0) {
		path[n - mark_n] = '\0';
		m->flags |= MAPS_DELETED;
	}
}

/* 7f3a4c000000-7f3a4c021000 rw-p 00000000 08:01 1234      /path */
static bool parse_line(char *at, struct map *ret)
{
	uint64_t major, minor;

	*ret = (struct map){ 0 };
	if (!take(&at, 16, '-', &ret->start) || !take(&at, 16, ' ', &ret->end) ||
		ret->start >= ret->end || strlen(at) < 5 || at[4] != ' ')
		return false;
	ret->flags = (at[0] == 'r' ? MAPS_READ : 0u) | (at[1] == 'w' ? MAPS_WRITE : 0u) |
		(at[2] == 'x' ? MAPS_EXEC : 0u);
	at += 5;
	if (!take(&at, 16, ' ', &ret->offset) || !take(&at, 16, ':', &major) ||
		!take(&at, 16, ' ', &minor))
		return false;
	ret->device = (uint32_t)(major << 20 | minor);
	if (!take(&at, 10, ' ', &ret->inode)) {
		char *end;

		ret->inode = strtoull(at, &end, 10); /* nothing mapped, no blank behind */
		if (end == at || *end)
			return false;
		at = end;
	}
	at += strspn(at, " ");
	unescape(at);
	cut_deleted(ret, at);
	ret->path = at;
	return true;
}

void maps_parse(struct maps *ret, struct buf *text)
{
	*ret = (struct maps){ .text = *text };
	*text = BUF_INIT;
	for (char *line = ret->text.data; line && *line;) {
		char *end = line + strcspn(line, "\n"), *next = end + (*end == '\n');
		struct map m;

		*end = '\0';
		if (parse_line(line, &m))
			vec_push(&ret->items, m);
		else
			ret->n_bad++;
		line = next;
	}
}

int maps_read(struct maps *ret, pid_t pid, struct err *e)
{
	struct buf text = BUF_INIT;
	char path[64];
	int failed;

	snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
	failed = buf_load(&text, path, MOST_BYTES, e);
	if (failed < 0) {
		buf_done(&text);
		if (e->code == ERR_NO_FILE || e->code == ERR_NO_PROCESS)
			return err_set(e, ERR_NO_PROCESS, "there is no process %d", (int)pid);
		return failed;
	}
	maps_parse(ret, &text);
	return 0;
}

void maps_done(struct maps *m)
{
	vec_done(&m->items);
	buf_done(&m->text);
}

const struct map *maps_find(const struct maps *m, uint64_t address)
{
	size_t low = 0, high = m->items.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct map *at = &m->items.v[middle];

		if (address < at->start)
			high = middle;
		else if (address >= at->end)
			low = middle + 1;
		else
			return at;
	}
	return NULL;
}

bool map_is_file(const struct map *m)
{
	return m->inode != 0 && m->path[0] == '/';
}

bool map_is_program(const struct map *m)
{
	return map_is_file(m) && m->flags & MAPS_EXEC;
}

bool map_is_same_file(const struct map *a, const struct map *b)
{
	return a->inode == b->inode && a->device == b->device && strcmp(a->path, b->path) == 0;
}
