/* SPDX-License-Identifier: MIT
 * See untraced.h. What is told was found in the process itself: its command, or the environment it was started with. */
#include "collect/agents/untraced.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "sys/environ.h"
#include "sys/proc.h"
#include "sys/tree.h"
#include "base/banned.h"

static const uint64_t WAIT_NS = 1000000000; /* until an agent should have said hello */

/* An interpreter's options end at the first word that is none; -c and -m end them, too, -W and -X take a word. */
bool untraced_is_isolated(const char *words, size_t n_bytes)
{
	const char *end = words + n_bytes, *word = words;

	for (word += strnlen(word, n_bytes) + 1; word < end;
		word += strnlen(word, (size_t)(end - word)) + 1) {
		size_t n = strnlen(word, (size_t)(end - word));

		if (n < 2 || word[0] != '-' || word[1] == '-')
			return false;
		for (size_t i = 1; i < n; i++) {
			if (strchr("IES", word[i]))
				return true;
			if (strchr("cm", word[i]))
				return false;
			if (!strchr("WX", word[i]))
				continue;
			if (i + 1 == n)
				word += n + 1;
			break;
		}
		if (word >= end)
			return false;
	}
	return false;
}

static bool is_python(pid_t pid, char *ret_name, size_t size)
{
	char link[64], path[4096];
	const char *name;
	ssize_t n;

	snprintf(link, sizeof link, "/proc/%d/exe", (int)pid);
	n = readlink(link, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	name = strrchr(path, '/');
	snprintf(ret_name, size, "%s", name ? name + 1 : "");
	return strncmp(ret_name, "python", 6) == 0;
}

static bool keeps_out(pid_t pid, const char *session_dir)
{
	char words[4096], path[8192];
	ssize_t n = proc_read(words, sizeof words, "/proc/%d/cmdline", (int)pid);
	int found = environ_find(pid, "PYTHONPATH", path, sizeof path);

	if (n <= 0 || found < 0) /* gone, or not ours to read */
		return false;
	return !found || !strstr(path, session_dir) || untraced_is_isolated(words, (size_t)n);
}

void untraced_look(struct untraced *u, const struct tree *t, const char *session_dir,
	bool (*has_agent)(const void *ctx, pid_t pid), const void *ctx, uint64_t now_ns)
{
	char name[UNTRACED_NAME_BYTES];
	size_t n, i;
	const struct tree_process *all = tree_processes(t, &n);

	for (i = n; i > 0 && all[i - 1].serial >= u->next;)
		i--;
	for (; i < n && now_ns >= all[i].seen_ns + WAIT_NS; i++) {
		u->next = all[i].serial + 1;
		if (!all[i].is_alive || all[i].was_running || has_agent(ctx, all[i].pid) ||
			!is_python(all[i].pid, name, sizeof name) ||
			!keeps_out(all[i].pid, session_dir))
			continue;
		if (u->n < UNTRACED_NAMED) {
			u->first[u->n].pid = all[i].pid;
			memcpy(u->first[u->n].name, name, sizeof name);
		}
		u->n++;
	}
}

void untraced_tell(const struct untraced *u, struct buf *out)
{
	if (!u->n)
		return;
	for (unsigned i = 0; i < u->n && i < UNTRACED_NAMED; i++) {
		buf_printf(out, "%s%d (",
			i                  ? ", "
				: u->n > 1 ? "processes "
					   : "process ",
			(int)u->first[i].pid);
		text_add_printable(out, u->first[i].name, strlen(u->first[i].name));
		buf_addc(out, ')');
	}
	if (u->n > UNTRACED_NAMED)
		buf_printf(out, " and %u more", u->n - UNTRACED_NAMED);
	buf_printf(out,
		" kept the agent out (PYTHONPATH reset, or python -I, -E, -S): nothing of %s is counted; 'leadline run' without --trace samples %s\n",
		u->n > 1 ? "them" : "it", u->n > 1 ? "them" : "it");
}
