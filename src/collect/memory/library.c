/* SPDX-License-Identifier: MIT
 * See library.h. */
#include "collect/memory/library.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/agents/embedded.h"
#include "sys/private_base.h"
#include "base/banned.h"

static const char NAME[] = "memory/memory.so";

static const struct embedded_file *find(void)
{
	for (const struct embedded_file *f = embedded_files; f->name; f++)
		if (strcmp(f->name, NAME) == 0)
			return f;
	return NULL;
}

bool library_is_there(void)
{
	return find() != NULL;
}

static uint64_t mark_of(const struct embedded_file *f)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < f->n_bytes; i++)
		h = (h ^ f->data[i]) * 0x100000001b3u;
	return h;
}

/* One that another leadline has put there: ours, of that size, and nobody else can write it. */
static bool is_saved(int folder, const char *name, size_t n_bytes)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode) &&
		st.st_uid == geteuid() && !(st.st_mode & 022) && (size_t)st.st_size == n_bytes;
}

/* Whole or not at all: others may look for it at the same time. */
static int save(const struct private_base *b, const struct embedded_file *f, const char *name,
	struct err *e)
{
	struct buf bytes = { .data = (char *)(uintptr_t)f->data, .n = f->n_bytes };
	char part[64];
	int fd, status;

	if (is_saved(b->fd, name, f->n_bytes))
		return 0;
	snprintf(part, sizeof part, ".memory-%d", (int)getpid());
	unlinkat(b->fd, part, 0);
	fd = openat(b->fd, part, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s/%s", b->path, part);
	status = buf_write(&bytes, fd, e);
	if (close(fd) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "writing %s/%s", b->path, part);
	if (status == 0 && renameat(b->fd, part, b->fd, name) < 0)
		status = err_errno(e, ERR_SYSTEM, "%s/%s", b->path, name);
	if (status < 0)
		unlinkat(b->fd, part, 0);
	return status;
}

/* The loader takes blanks and colons for ends of a name. */
static bool can_be_preloaded(const char *path)
{
	return !path[strcspn(path, " \t\n:")];
}

static int save_somewhere(struct buf *ret_path, struct err *e)
{
	const struct embedded_file *f = find();
	struct err one = ERR_INIT;
	char name[64];

	snprintf(name, sizeof name, "memory-%016llx.so", (unsigned long long)mark_of(f));
	for (unsigned i = 0; i < PRIVATE_PLACES; i++) {
		struct private_base b;
		int status;

		*e = ERR_INIT;
		status = private_base_open(&b, PRIVATE_SMALL, i, true, e);
		if (status == 0 && (b.is_noexec || !can_be_preloaded(b.path)))
			status = err_set(
				e, ERR_SYSTEM, "%s: nothing can be loaded from there", b.path);
		if (status == 0)
			status = save(&b, f, name, e);
		if (status == 0)
			buf_printf(ret_path, "%s/%s", b.path, name);
		private_base_close(&b);
		if (status == 0)
			return 0;
		if (!one.code || e->code != ERR_NO_FILE)
			one = *e;
	}
	*e = one;
	return err_note(e, "no folder for the library that --memory preloads");
}

int library_preload(struct err *e)
{
	const char *before = getenv("LD_PRELOAD");
	struct buf path = BUF_INIT;
	int status;

	if (!library_is_there())
		return err_set(e, ERR_UNSUPPORTED, "--memory works on x86-64 only");
	status = save_somewhere(&path, e);
	if (status == 0 && before && *before)
		buf_printf(&path, ":%s", before);
	if (status == 0 && setenv("LD_PRELOAD", buf_str(&path), 1) < 0)
		status = err_errno(e, ERR_SYSTEM, "setenv");
	buf_done(&path);
	return status;
}
