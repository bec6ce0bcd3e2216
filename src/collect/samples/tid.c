/* SPDX-License-Identifier: MIT
 * See tid.h. */
#include "collect/samples/tid.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cpython/mem.h"
#include "sys/proc.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	SEARCH_BYTES = 1024, /* of libc's struct; glibc has it at 720, musl before 64 */
	SEARCH_STEP =
		8, /* the id begins a word: so upper halves of pointers are not taken for one */
	TASKS_MOST = 1 << 16,
	TID_MOST = 1 << 22, /* as Linux has it */
};

static void list_tasks(struct py_tids *t)
{
	const struct dirent *entry;
	char path[64];
	DIR *dir;

	if (!t->pid)
		return;
	map_clear(&t->ours);
	snprintf(path, sizeof path, "/proc/%d/task", (int)t->pid);
	dir = opendir(path);
	while (dir && t->ours.n < TASKS_MOST && (entry = readdir(dir))) {
		uint64_t tid = strtoull(entry->d_name, NULL, 10),
			 inner = tid ? proc_inner_id(t->pid, tid) : 0;

		if (inner)
			map_put(&t->ours, inner, tid);
	}
	if (dir)
		closedir(dir);
}

/* Whether the process names its threads as we do. */
static bool is_our_namespace(pid_t pid)
{
	struct stat ours, its;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int)pid);
	return stat("/proc/self/ns/pid", &ours) == 0 && stat(path, &its) == 0 &&
		ours.st_ino == its.st_ino && ours.st_dev == its.st_dev;
}

static uint32_t translate(struct py_tids *t, uint64_t inner)
{
	uint64_t tid;

	if (!inner || t->is_ours)
		return inner <= TID_MOST ? (uint32_t)inner : 0;
	if (!map_find(&t->ours, inner, &tid)) {
		list_tasks(t);
		if (!map_find(&t->ours, inner, &tid))
			return 0;
	}
	return (uint32_t)tid;
}

/* The id of ours for what stands there, when that is the id of any thread. */
static uint32_t id_at(struct py_tids *t, const unsigned char *bytes, uint32_t at)
{
	uint64_t tid;
	uint32_t id;

	memcpy(&id, bytes + at, 4);
	if (!id || !map_find(&t->ours, id, &tid))
		return 0;
	t->offset = at;
	return (uint32_t)tid;
}

/* Looks through libc's struct for the id of any thread: first where glibc has it (x86-64, aarch64), because ids in a
 * namespace are small, and a flag of 1 looks like one. */
static uint32_t search(struct py_tids *t, const struct mem *m, uint64_t self)
{
	static const uint32_t usual[] = { 720, 208 };
	unsigned char bytes[SEARCH_BYTES];
	uint32_t tid = 0;

	if (mem_read(m, self, bytes, sizeof bytes) < 0)
		return 0;
	list_tasks(t);
	for (size_t i = 0; i < sizeof usual / sizeof *usual && !tid; i++)
		tid = id_at(t, bytes, usual[i]);
	for (uint32_t at = 0; at + SEARCH_STEP <= sizeof bytes && !tid; at += SEARCH_STEP)
		tid = id_at(t, bytes, at);
	return tid;
}

void py_tids_init(struct py_tids *t, pid_t pid)
{
	*t = (struct py_tids){
		.pid = pid, .is_ours = pid && is_our_namespace(pid), .ours = MAP_INIT
	};
}

void py_tids_add(struct py_tids *t, pid_t tid)
{
	map_put(&t->ours, (uint64_t)tid, (uint64_t)tid);
}

void py_tids_done(struct py_tids *t)
{
	map_done(&t->ours);
}

uint32_t py_tids_find(struct py_tids *t, const struct py_layout *l, const struct mem *m,
	const unsigned char *state)
{
	uint64_t id = 0, self;
	uint32_t tid = 0;

	if (l->thread_native_thread_id != PY_NONE) {
		memcpy(&id, state + l->thread_native_thread_id, 8);
		return translate(t, id);
	}
	memcpy(&self, state + l->thread_thread_id, 8);
	if (!self)
		return 0;
	if (t->offset && mem_read(m, self + t->offset, &id, 4) == 0)
		tid = translate(t, id);
	return tid ? tid : search(t, m, self);
}
