/* SPDX-License-Identifier: MIT
 *
 * A core file: what the memory of a process was when it died, or when gcore looked at it. Read only, and
 * foreign input: every offset and length in it is checked, memory and file descriptors are bounded.
 *
 *	struct core c;
 *
 *	if (core_open(&c, "core.4711", NULL, &e) < 0) …      (ERR_BAD_CORE: what is wrong with it)
 *	core_read(&c, address, &value, sizeof value);
 *	core_close(&c);
 *
 * The kernel and gdb's gcore leave out what mapped files hold and the program did not change (gdb without a word of it but the
 * list of mapped files). That is read from the file of that name, if it begins as the one that was mapped did (the kernel writes each program's first page, with
 * its build id); else that memory is not there.
 *
 * The signatures of core_read and core_readv fit `struct mem` of cpython/mem.h. */
#ifndef SYS_CORE_H
#define SYS_CORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/vec.h"
#include "sys/reach.h"

struct err;
struct maps;

struct core_part {                   /* a PT_LOAD */
	uint64_t start, end;         /* addresses */
	uint64_t offset, size_bytes; /* of what the core file has of it */
	unsigned flags;              /* enum map_flags of sys/maps.h */
};

struct core_file { /* a mapped file; its maps have its index + 1 as inode */
	int fd;    /* -1: not opened, or not to be used */
	bool is_tried;
};

struct core {
	int fd;
	struct reach reach; /* of the names in it, see core_open */
	uid_t uid;          /* of the process, as the next; of root where not told */
	gid_t gid;
	pid_t pid;                   /* 0: not told */
	int signal;                  /* that killed it; 0: none */
	char command[81];            /* as the kernel kept it: cut off; "" not told */
	const char *executable;      /* in maps; "" not told */
	struct maps *maps;           /* owned; of files only */
	VEC(struct core_part) parts; /* by address */
	VEC(struct core_file) files;
	VEC(pid_t) threads; /* the one that died first */
};

/* root: folder in which the files that were mapped are found under their names, for a core file of another
 * machine or container; NULL: ours. Names in a core file are read as whoever it belongs to could read them: when we are
 * root, with the rights of its owner, and if that is root, of the user that its process had. */
int core_open(struct core *c, const char *path, const char *root, struct err *e);
void core_close(struct core *c);

/* As remote_read and remote_readv; EFAULT also for memory that is neither in the core file nor in files. */
int core_read(void *core, uint64_t address, void *to, size_t n);
ssize_t core_readv(void *core, const struct iovec *to, const struct iovec *from, size_t n);

#endif
