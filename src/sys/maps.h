/* SPDX-License-Identifier: MIT
 *
 * What a process has mapped: /proc/PID/maps, parsed. The names in it are the target's: any bytes but
 * a newline and a NUL. Lines that are no mapping are left out and counted.
 *
 *	struct maps maps;
 *
 *	if (maps_read(&maps, pid, &e) < 0) …
 *	vec_each(&maps.items, m) …
 *	maps_done(&maps);
 */
#ifndef SYS_MAPS_H
#define SYS_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/vec.h"

struct err;

enum map_flags {
	MAPS_READ = 1 << 0,
	MAPS_WRITE = 1 << 1,
	MAPS_EXEC = 1 << 2,
	MAPS_DELETED = 1 << 3, /* its file has no name any more, or a name that says so */
};

struct map {
	uint64_t start, end; /* addresses in the target; end is the first behind it */
	uint64_t offset;     /* in the file, bytes */
	uint64_t inode;      /* 0: no file */
	uint32_t device;     /* major << 20 | minor, as the kernel numbers them; for comparing */
	unsigned flags;      /* enum map_flags */
	const char *path;    /* in `text` of the maps: of a file it starts with "/", as the target
				sees it and without " (deleted)"; "[heap]" …; "" for nothing */
};

struct maps {
	VEC(struct map) items; /* by address */
	size_t n_bad;          /* lines left out */
	struct buf text;       /* owns the paths */
};

int maps_read(struct maps *ret, pid_t pid, struct err *e);
/* Takes the text over (it must end in a newline or at its end). */
void maps_parse(struct maps *ret, struct buf *text);
void maps_done(struct maps *m);

/* The mapping that holds the address, or NULL. */
const struct map *maps_find(const struct maps *m, uint64_t address);

/* Whether it is a mapped file (and not heap, stack, vdso, nothing). */
bool map_is_file(const struct map *m);

/* Whether it is a file's, with code in it. */
bool map_is_program(const struct map *m);

/* Whether two mappings are of one file. */
bool map_is_same_file(const struct map *a, const struct map *b);

#endif
