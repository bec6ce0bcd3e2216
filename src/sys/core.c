/* SPDX-License-Identifier: MIT
 * See core.h. */
#include "sys/core.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/procfs.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "sys/maps.h"
#include "sys/regular.h"
#include "sys/rights.h"
#include "base/banned.h"

enum {
	PARTS_MOST =
		1 << 18, /* the kernel's own limit on mappings is 65530, but it can be raised */
	NOTES_MOST = 64 << 20,
	THREADS_MOST = 1 << 16,
	FILES_MOST = 4096, /* opened */
	HEAD_BYTES = 4096, /* compared */
	HEAD_LEAST = 64,   /* an ELF header; less proves nothing */
};

static bool read_at(int fd, uint64_t offset, void *to, size_t n)
{
	char *at = to;

	while (n) {
		ssize_t got = offset <= INT64_MAX ? pread(fd, at, n, (off_t)offset) : 0;

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		at += got;
		offset += (uint64_t)got;
		n -= (size_t)got;
	}
	return true;
}

/* How many parts begin at or before the address. */
static size_t count_parts(const struct core *c, uint64_t address)
{
	return bisect(i, c->parts.n, c->parts.v[i].start <= address);
}

static const struct core_part *find_part(const struct core *c, uint64_t address)
{
	size_t n = count_parts(c, address);

	return n && address < c->parts.v[n - 1].end ? &c->parts.v[n - 1] : NULL;
}

/* ---- notes ----------------------------------------------------------------------------------- */

static void take_status(struct core *c, const unsigned char *p, size_t n)
{
	struct elf_prstatus s;

	if (n < sizeof s || c->threads.n >= THREADS_MOST)
		return;
	memcpy(&s, p, sizeof s);
	if (!c->threads.n)
		c->signal = s.pr_cursig;
	vec_push(&c->threads, (pid_t)s.pr_pid);
}

static void take_info(struct core *c, const unsigned char *p, size_t n)
{
	struct elf_prpsinfo s;
	size_t length;

	if (n < sizeof s)
		return;
	memcpy(&s, p, sizeof s);
	c->pid = (pid_t)s.pr_pid;
	c->uid = s.pr_uid;
	c->gid = s.pr_gid;
	length = strnlen(s.pr_psargs, sizeof s.pr_psargs);
	memcpy(c->command, s.pr_psargs, length);
	while (length && c->command[length - 1] == ' ')
		length--;
	c->command[length] = '\0';
}

/* The program: what the entry point is in. */
static uint64_t find_entry(const unsigned char *p, size_t n)
{
	Elf64_auxv_t a;

	for (; n >= sizeof a; p += sizeof a, n -= sizeof a) {
		memcpy(&a, p, sizeof a);
		if (a.a_type == AT_ENTRY)
			return a.a_un.a_val;
	}
	return 0;
}

/* gdb's gcore has no part at all for code that is as in its file. */
static void take_file(struct core *c, const uint64_t row[3], uint64_t page, const char *name)
{
	static const char deleted[] = " (deleted)";
	const struct map *last = c->maps->items.n ? &c->maps->items.v[c->maps->items.n - 1] : NULL;
	struct map m = { .start = row[0], .end = row[1], .path = name };
	const struct core_part *part;

	if (*name != '/' || m.end <= m.start || (last && m.start < last->end) ||
		__builtin_mul_overflow(row[2], page, &m.offset))
		return; /* in no order the kernel would write */
	part = find_part(c, m.start);
	m.flags = (part ? part->flags : MAPS_READ | MAPS_EXEC) |
		(text_ends_with(name, deleted) ? MAPS_DELETED : 0u);
	if (!last || strcmp(last->path, name) != 0)
		vec_push(&c->files, (struct core_file){ .fd = -1 });
	m.inode = c->files.n;
	vec_push(&c->maps->items, m);
}

/* count, page size, count × (start, end, offset in pages), then count names that end with NUL. The names are
 * kept where the maps keep theirs. */
static void take_files(struct core *c, const unsigned char *p, size_t n)
{
	uint64_t head[2], row[3];
	const char *name, *end;

	if (n < sizeof head || c->maps->items.n)
		return;
	memcpy(head, p, sizeof head);
	if (head[0] > (n - sizeof head) / sizeof row)
		return;
	p += sizeof head;
	name = (const char *)p + head[0] * sizeof row;
	end = (const char *)p + (n - sizeof head);
	for (uint64_t i = 0; i < head[0] && name < end; i++) {
		size_t length = strnlen(name, (size_t)(end - name));

		buf_add(&c->maps->text, name, length);
		buf_addc(&c->maps->text, '\0');
		name += length + 1;
	}
	name = buf_str(&c->maps->text);
	end = name + c->maps->text.n;
	for (uint64_t i = 0; i < head[0] && name < end; i++) {
		memcpy(row, p + i * sizeof row, sizeof row);
		take_file(c, row, head[1], name);
		name += strlen(name) + 1;
	}
}

static uint64_t padded(uint64_t n)
{
	return (n + 3) & ~(uint64_t)3;
}

static void take_notes(struct core *c, const unsigned char *p, size_t n, uint64_t *entry)
{
	Elf64_Nhdr head;

	while (n >= sizeof head) {
		uint64_t name, size;
		const unsigned char *at;

		memcpy(&head, p, sizeof head);
		name = padded(head.n_namesz);
		size = padded(head.n_descsz);
		if (sizeof head + name > n || head.n_descsz > n - sizeof head - name)
			return;
		at = p + sizeof head + name;
		if (head.n_type == NT_PRSTATUS)
			take_status(c, at, head.n_descsz);
		else if (head.n_type == NT_PRPSINFO)
			take_info(c, at, head.n_descsz);
		else if (head.n_type == NT_FILE)
			take_files(c, at, head.n_descsz);
		else if (head.n_type == NT_AUXV)
			*entry = find_entry(at, head.n_descsz);
		if (size > n - sizeof head - name)
			return;
		p = at + size;
		n -= sizeof head + name + size;
	}
}

/* ---- open ------------------------------------------------------------------------------------ */

static int compare_parts(const void *a, const void *b)
{
	const struct core_part *x = a, *y = b;

	return (x->start > y->start) - (x->start < y->start);
}

/* Parts that overlap would make two answers to one question: the later ones are cut back. */
static void order_parts(struct core *c)
{
	if (c->parts.n)
		qsort(c->parts.v, c->parts.n, sizeof *c->parts.v, compare_parts);
	for (size_t i = 1; i < c->parts.n; i++)
		if (c->parts.v[i - 1].end > c->parts.v[i].start)
			c->parts.v[i - 1].end = c->parts.v[i].start;
	vec_each (&c->parts, p)
		if (p->size_bytes > p->end - p->start)
			p->size_bytes = p->end - p->start;
}

static void take_part(struct core *c, const Elf64_Phdr *h)
{
	struct core_part p = {
		.start = h->p_vaddr, .offset = h->p_offset, .size_bytes = h->p_filesz
	};

	if (h->p_memsz == 0 || __builtin_add_overflow(h->p_vaddr, h->p_memsz, &p.end))
		return;
	p.flags = (h->p_flags & PF_R ? MAPS_READ : 0u) | (h->p_flags & PF_W ? MAPS_WRITE : 0u) |
		(h->p_flags & PF_X ? MAPS_EXEC : 0u);
	vec_push(&c->parts, p);
}

/* More than 65534 program headers: the first section header says how many. */
static uint64_t count_headers(const struct core *c, const Elf64_Ehdr *head)
{
	Elf64_Shdr first;

	if (head->e_phnum != PN_XNUM)
		return head->e_phnum;
	return read_at(c->fd, head->e_shoff, &first, sizeof first) ? first.sh_info : 0;
}

/* All parts, and all notes behind one another. */
static int read_parts(
	struct core *c, const Elf64_Ehdr *head, const char *path, struct buf *notes, struct err *e)
{
	uint64_t n = count_headers(c, head);
	Elf64_Phdr h;

	if (n > PARTS_MOST)
		return err_set(
			e, ERR_BAD_CORE, "%s claims %llu parts", path, (unsigned long long)n);
	for (uint64_t i = 0; i < n; i++) {
		if (!read_at(c->fd, head->e_phoff + i * sizeof h, &h, sizeof h))
			return err_set(e, ERR_BAD_CORE, "%s is cut off in its headers", path);
		if (h.p_type == PT_LOAD)
			take_part(c, &h);
		else if (h.p_type == PT_NOTE && h.p_filesz <= NOTES_MOST - notes->n &&
			read_at(c->fd, h.p_offset, buf_reserve(notes, h.p_filesz), h.p_filesz))
			buf_advance(notes, h.p_filesz);
	}
	return c->parts.n ? 0 : err_set(e, ERR_BAD_CORE, "%s holds no memory", path);
}

static int read_headers(struct core *c, const char *path, struct err *e)
{
	struct buf notes = BUF_INIT;
	const struct map *program;
	uint64_t entry = 0;
	Elf64_Ehdr head;
	int status;

	if (!read_at(c->fd, 0, &head, sizeof head) || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0)
		return err_set(e, ERR_BAD_CORE, "%s is not a core file", path);
	if (head.e_ident[EI_CLASS] != ELFCLASS64)
		return err_set(e, ERR_BAD_CORE, "%s is from a 32-bit program", path);
	if (head.e_type != ET_CORE || head.e_phentsize != sizeof(Elf64_Phdr))
		return err_set(
			e, ERR_BAD_CORE, "%s is not a core file but a program or library", path);
	status = read_parts(c, &head, path, &notes, e);
	if (status == 0) {
		order_parts(c);
		take_notes(c, (const unsigned char *)buf_str(&notes), notes.n, &entry);
		program = maps_find(c->maps, entry);
		c->executable = program ? program->path : "";
	}
	buf_done(&notes);
	return status;
}

/* Who made the file says what is in it. */
static void find_reach(struct core *c, const struct stat *st, const char *root)
{
	struct rights rights = RIGHTS_NONE;

	if (geteuid() == 0 && st->st_uid != 0)
		rights_user(&rights, st->st_uid, st->st_gid);
	else if (geteuid() == 0 && c->uid != 0)
		rights_user(&rights, c->uid, c->gid);
	else
		rights_own(&rights);
	reach_init_user(&c->reach, &rights, root);
}

int core_open(struct core *c, const char *path, const char *root, struct err *e)
{
	struct stat st = { 0 };
	int status;

	*c = (struct core){
		.fd = regular_open(AT_FDCWD, path), .executable = "", .reach = REACH_NONE
	};
	if (c->fd < 0)
		return errno == EINVAL ? err_set(e, ERR_BAD_CORE, "%s is not a core file", path)
				       : err_errno(e, ERR_NO_FILE, "cannot open %s", path);
	c->maps = xcalloc(1, sizeof *c->maps);
	status = fstat(c->fd, &st) == 0 ? read_headers(c, path, e)
					: err_errno(e, ERR_NO_FILE, "%s", path);
	find_reach(c, &st, root ? root : "");
	if (status < 0)
		core_close(c);
	return status;
}

void core_close(struct core *c)
{
	vec_each (&c->files, f)
		if (f->fd >= 0)
			close(f->fd);
	if (c->fd >= 0)
		close(c->fd);
	reach_done(&c->reach);
	vec_done(&c->files);
	vec_done(&c->parts);
	vec_done(&c->threads);
	if (c->maps)
		maps_done(c->maps);
	free(c->maps);
	*c = (struct core){ .fd = -1, .executable = "", .reach = REACH_NONE };
}

/* ---- read ------------------------------------------------------------------------------------ */

/* Whether the file begins as what was mapped did, as far as the core file has that. */
static bool is_same(struct core *c, const struct map *m, int fd)
{
	unsigned char then[HEAD_BYTES], now[HEAD_BYTES];

	vec_each (&c->maps->items, first) {
		const struct core_part *p;
		size_t n;

		if (first->inode != m->inode || first->offset != 0)
			continue;
		p = find_part(c, first->start);
		if (!p || p->start != first->start || p->size_bytes < HEAD_LEAST)
			return false;
		n = p->size_bytes < HEAD_BYTES ? (size_t)p->size_bytes : HEAD_BYTES;
		return read_at(c->fd, p->offset, then, n) && read_at(fd, 0, now, n) &&
			memcmp(then, now, n) == 0;
	}
	return false;
}

static int file_get(struct core *c, const struct map *m)
{
	struct core_file *f = &c->files.v[m->inode - 1];

	if (f->is_tried || m->inode > FILES_MOST)
		return f->fd;
	f->is_tried = true;
	f->fd = reach_open(&c->reach, m->path);
	if (f->fd >= 0 && !is_same(c, m, f->fd)) {
		close(f->fd);
		f->fd = -1;
	}
	return f->fd;
}

/* As much of n bytes as one part has; 0 when that is nothing. */
static size_t read_some(struct core *c, uint64_t address, void *to, size_t n)
{
	const struct core_part *p = find_part(c, address);
	size_t next = count_parts(c, address);
	uint64_t at = p ? address - p->start : 0, left, end;
	const struct map *m;

	if (p && at < p->size_bytes) {
		left = p->size_bytes - at;
		n = n < left ? n : (size_t)left;
		return read_at(c->fd, p->offset + at, to, n) ? n : 0;
	}
	m = maps_find(c->maps, address);
	if (!m || file_get(c, m) < 0)
		return 0;
	end = next < c->parts.n && c->parts.v[next].start < m->end ? c->parts.v[next].start
								   : m->end;
	left = end - address;
	n = n < left ? n : (size_t)left;
	return read_at(file_get(c, m), m->offset + (address - m->start), to, n) ? n : 0;
}

int core_read(void *core, uint64_t address, void *to, size_t n)
{
	char *at = to;

	while (n) {
		size_t got = read_some(core, address, at, n);

		if (!got)
			return -EFAULT;
		at += got;
		address += got;
		n -= got;
	}
	return 0;
}

ssize_t core_readv(void *core, const struct iovec *to, const struct iovec *from, size_t n)
{
	ssize_t all = 0;

	for (size_t i = 0; i < n; i++) {
		if (core_read(core, (uintptr_t)from[i].iov_base, to[i].iov_base, to[i].iov_len) < 0)
			return all ? all : -EFAULT;
		all += (ssize_t)to[i].iov_len;
	}
	return all;
}
