/* SPDX-License-Identifier: MIT
 * See search.h. */
#include "collect/samples/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/samples/target.h"
#include "sys/tree.h"

#define LOG_TOPIC "sample"
#include "base/log.h"
#include "base/banned.h"

static const uint64_t MS = 1000000;

enum {
	FIRST_PAUSE_MS = 2, /* while it is young */
	YOUNG_MS = 500,     /* it starts, loads and execs; … */
	GROWN_MS = 5000,    /* … from a slow disk it takes longer */
	YOUNG_PAUSE_MS = 64,
	LAST_PAUSE_MS = 2000,
	LOOK_MS = 500, /* how often a program that changed is noticed, where nobody tells */
	SHARE = 50,    /* asking again takes 1/50 of a CPU at most */
};

struct asked { /* a process */
	uint64_t serial;
	uint64_t first_ns, next_ns, program_ns;
	uint64_t pause_ns;
	uint64_t program; /* device and number of its executable's file */
	bool is_found;
};

struct py_search {
	VEC(struct asked) all;
	struct map by_serial;   /* → index */
	uint64_t affordable_ns; /* no process is asked again before */
	char reason[400];
};

struct py_search *py_search_new(void)
{
	return xcalloc(1, sizeof(struct py_search));
}

void py_search_free(struct py_search *s)
{
	if (!s)
		return;
	vec_done(&s->all);
	map_done(&s->by_serial);
	free(s);
}

static struct asked *find(struct py_search *s, uint64_t serial)
{
	uint64_t index;

	return map_find(&s->by_serial, serial, &index) ? &s->all.v[index] : NULL;
}

static uint64_t program_of(pid_t pid)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	return stat(path, &st) == 0 ? (uint64_t)st.st_dev << 40 ^ (uint64_t)st.st_ino : 0;
}

bool py_search_is_due(struct py_search *s, const struct tree_process *t, uint64_t now_ns)
{
	struct asked *a = find(s, t->serial);

	if (!a)
		return true;
	if (a->is_found)
		return false;
	if (now_ns >= a->program_ns) {
		uint64_t program = program_of(t->pid);

		a->program_ns = now_ns + LOOK_MS * MS;
		if (program != a->program) {
			py_search_forget(s, t->serial);
			return true;
		}
	}
	return now_ns >= a->next_ns &&
		(now_ns >= s->affordable_ns || now_ns - a->first_ns < YOUNG_MS * MS);
}

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static struct asked *remember(struct py_search *s, const struct tree_process *t, uint64_t now_ns)
{
	struct asked *a = find(s, t->serial);

	if (a)
		return a;
	map_put(&s->by_serial, t->serial, s->all.n);
	vec_push(&s->all,
		(struct asked){ .serial = t->serial,
			.first_ns = now_ns,
			.program_ns = now_ns + LOOK_MS * MS,
			.program = program_of(t->pid),
			.pause_ns = FIRST_PAUSE_MS * MS });
	return &s->all.v[s->all.n - 1];
}

int py_search_try(struct py_search *s, const struct tree_process *t, struct py_target *target,
	uint64_t now_ns, struct err *e)
{
	struct asked *a = remember(s, t, now_ns);
	/* What was waited for a disk costs nobody anything. */
	uint64_t before = clock_ns(CLOCK_THREAD_CPUTIME_ID), after, most, spent;
	int status = py_target_try(target, t->pid, e);

	spent = clock_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	after = clock_ns(CLOCK_MONOTONIC);
	a->is_found = status == 0;
	if (status == 0)
		return 0;
	log_debug(2, "%d: %s", (int)t->pid, e->text);
	if (t->serial == 0 && e->code != ERR_NO_PROCESS)
		snprintf(s->reason, sizeof s->reason, "%s", e->text);
	a->next_ns = after + a->pause_ns;
	most = (now_ns - a->first_ns < GROWN_MS * MS ? YOUNG_PAUSE_MS : LAST_PAUSE_MS) * MS;
	if ((status < 0 || now_ns - a->first_ns >= YOUNG_MS * MS) && a->pause_ns < most)
		a->pause_ns *= 2;
	s->affordable_ns = after + SHARE * spent;
	return status;
}

void py_search_found(struct py_search *s, const struct tree_process *t, uint64_t now_ns)
{
	remember(s, t, now_ns)->is_found = true;
}

void py_search_forget(struct py_search *s, uint64_t serial)
{
	uint64_t index;

	if (!map_find(&s->by_serial, serial, &index))
		return;
	map_remove(&s->by_serial, serial);
	vec_remove_swap(&s->all, index);
	if (index < s->all.n)
		map_put(&s->by_serial, s->all.v[index].serial, index);
}

void py_search_refuse(struct py_search *s, const struct tree_process *t, const char *why)
{
	if (t->serial == 0)
		snprintf(s->reason, sizeof s->reason, "%s", why);
}

const char *py_search_reason(const struct py_search *s)
{
	return s->reason;
}
