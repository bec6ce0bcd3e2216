/* SPDX-License-Identifier: MIT
 * See elf.h. */
#include "sys/elf.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/maps.h"
#include "sys/reach.h"
#include "sys/regular.h"
#include "base/banned.h"

static bool section_finds(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, const char *symbol,
	struct elf_range *ret)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t n = head->sh_entsize ? head->sh_size / head->sh_entsize : 0;
	GElf_Sym sym;

	if (!data)
		return false;
	for (size_t i = 0; i < n && gelf_getsym(data, (int)i, &sym); i++) {
		const char *name = sym.st_shndx == SHN_UNDEF
			? NULL
			: elf_strptr(elf, head->sh_link, sym.st_name);

		if (name && strcmp(name, symbol) == 0) {
			*ret = (struct elf_range){ sym.st_value, sym.st_size };
			return true;
		}
	}
	return false;
}

static bool find_symbol_in(
	const struct elf_file *f, unsigned section_type, const char *name, struct elf_range *ret)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(f->elf, section))) {
		GElf_Shdr head;

		if (gelf_getshdr(section, &head) && head.sh_type == section_type &&
			section_finds(f->elf, section, &head, name, ret))
			return true;
	}
	return false;
}

/* ---- open ------------------------------------------------------------------------------------ */

/* Of a regular file, which is read, not mapped: it may change under us. fd -1: errno says why. */
static int open_fd(struct elf_file *f, int fd, const char *path, struct err *e)
{
	GElf_Ehdr head;

	*f = (struct elf_file){ .fd = fd };
	if (fd < 0)
		return errno == EINVAL ? err_set(e, ERR_BAD_FILE, "%s is not an ELF file", path)
				       : err_errno(e, ERR_NO_FILE, "cannot open %s", path);
	elf_version(EV_CURRENT);
	f->elf = elf_begin(f->fd, ELF_C_READ, NULL);
	if (!f->elf || elf_kind(f->elf) != ELF_K_ELF || !gelf_getehdr(f->elf, &head)) {
		elf_file_close(f);
		return err_set(e, ERR_BAD_FILE, "%s is not an ELF file", path);
	}
	f->is_64bit = head.e_ident[EI_CLASS] == ELFCLASS64;
	f->machine = head.e_machine;
	return 0;
}

int elf_file_open(struct elf_file *f, const char *path, struct err *e)
{
	return open_fd(f, regular_open(AT_FDCWD, path), path, e);
}

int elf_file_open_named(struct elf_file *f, struct reach *r, const char *path, struct err *e)
{
	return open_fd(f, reach_open(r, path), path, e);
}

void elf_file_close(struct elf_file *f)
{
	elf_end(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	*f = (struct elf_file){ .fd = -1 };
}

/* In the root of the process; or in ours, where a process in a chroot has its names from, as /proc tells them. */
static int open_by_name(struct elf_file *f, pid_t pid, const struct map *m, struct err *e)
{
	struct rights rights = RIGHTS_NONE;
	struct reach r;
	int status;

	reach_init(&r, pid);
	status = elf_file_open_named(f, &r, m->path, e);
	reach_done(&r);
	if (status == 0 || e->code != ERR_NO_FILE)
		return status;
	rights_read(&rights, pid);
	reach_init_user(&r, &rights, "");
	status = elf_file_open_named(f, &r, m->path, e);
	reach_done(&r);
	return status;
}

int elf_file_open_mapped(struct elf_file *f, pid_t pid, const struct map *m, struct err *e)
{
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/map_files/%llx-%llx", (int)pid,
		(unsigned long long)m->start, (unsigned long long)m->end);
	if (elf_file_open(f, path, e) == 0)
		return 0;
	if (e->code == ERR_BAD_FILE)
		return err_note(e, "%s", m->path);
	if (open_by_name(f, pid, m, e) < 0 && e->code == ERR_NO_FILE && m->flags & MAPS_DELETED)
		return err_set(
			e, ERR_NO_FILE, "%s was deleted, and only root can still open it", m->path);
	return f->elf ? 0 : -(int)e->code;
}

/* ---- ask ------------------------------------------------------------------------------------- */

bool elf_find_export(const struct elf_file *f, const char *name, struct elf_range *ret)
{
	return find_symbol_in(f, SHT_DYNSYM, name, ret);
}

bool elf_find_symbol(const struct elf_file *f, const char *name, struct elf_range *ret)
{
	return elf_find_export(f, name, ret) || find_symbol_in(f, SHT_SYMTAB, name, ret);
}

bool elf_find_section(const struct elf_file *f, const char *name, struct elf_range *ret)
{
	Elf_Scn *section = NULL;
	size_t names;

	if (elf_getshdrstrndx(f->elf, &names) < 0)
		return false;
	while ((section = elf_nextscn(f->elf, section))) {
		GElf_Shdr head;
		const char *its_name = gelf_getshdr(section, &head)
			? elf_strptr(f->elf, names, head.sh_name)
			: NULL;

		if (its_name && strcmp(its_name, name) == 0 && head.sh_flags & SHF_ALLOC) {
			*ret = (struct elf_range){ head.sh_addr, head.sh_size };
			return true;
		}
	}
	return false;
}

/* The PT_LOAD that puts this offset of the file into memory; the loader maps whole pages. */
static bool find_load(const struct elf_file *f, uint64_t offset, GElf_Phdr *ret)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	size_t n;

	if (elf_getphdrnum(f->elf, &n) < 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(f->elf, (int)i, ret) && ret->p_type == PT_LOAD &&
			offset >= (ret->p_offset & ~(page_bytes - 1)) &&
			offset - (ret->p_offset & ~(page_bytes - 1)) <
				(ret->p_offset & (page_bytes - 1)) + ret->p_filesz)
			return true;
	return false;
}

bool elf_load_bias(const struct elf_file *f, const struct map *m, uint64_t *ret_bias)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), bias;
	GElf_Phdr load;

	if (!find_load(f, m->offset, &load))
		return false;
	bias = m->start - (load.p_vaddr - load.p_offset + m->offset);
	if (bias & (page_bytes - 1))
		return false;
	*ret_bias = bias;
	return true;
}

size_t elf_head(const struct elf_file *f, void *to, size_t n, uint64_t *ret_address)
{
	GElf_Phdr load;
	ssize_t got;

	if (!find_load(f, 0, &load) || load.p_offset != 0)
		return 0;
	got = pread(f->fd, to, n < load.p_filesz ? n : load.p_filesz, 0);
	*ret_address = load.p_vaddr;
	return got > 0 ? (size_t)got : 0;
}

bool elf_needs(const struct elf_file *f, const char *prefix)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(f->elf, section))) {
		Elf_Data *data;
		GElf_Shdr head;
		GElf_Dyn entry;

		if (!gelf_getshdr(section, &head) || head.sh_type != SHT_DYNAMIC)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 0; data && gelf_getdyn(data, i, &entry); i++) {
			const char *name = entry.d_tag == DT_NEEDED
				? elf_strptr(f->elf, head.sh_link, entry.d_un.d_val)
				: NULL;

			if (name && strncmp(name, prefix, strlen(prefix)) == 0)
				return true;
		}
	}
	return false;
}

/* ---- which Python a process is --------------------------------------------------------------- */

/* Py_DECREF of a free-threaded build calls it inline, so that build exports it, and no other does. */
#define FREE_THREADED_EXPORT "_Py_MergeZeroLocalRefcount"

static enum elf_python find_python(const struct elf_file *f)
{
	struct elf_range range;

	if (!elf_find_export(f, "_PyRuntime", &range))
		return ELF_NO_PYTHON;
	return elf_find_export(f, FREE_THREADED_EXPORT, &range) ? ELF_PYTHON_FREE_THREADED
								: ELF_PYTHON_WITH_GIL;
}

static enum elf_python find_python_in_maps(pid_t pid)
{
	enum { MOST = 256 };
	enum elf_python found = ELF_NO_PYTHON;
	struct err ignored = ERR_INIT;
	struct elf_file f;
	struct maps maps;

	if (maps_read(&maps, pid, &ignored) < 0)
		return ELF_NO_PYTHON;
	/* Names that say "python" first: the rest is looked at only for embedded interpreters. */
	for (int likely = 1; likely >= 0 && !found; likely--) {
		const struct map *last = NULL;
		int n = 0;

		vec_each (&maps.items, m) {
			if (!map_is_program(m) || (last && map_is_same_file(last, m)) ||
				(strstr(m->path, "python") != NULL) != likely)
				continue;
			if (found || ++n > MOST)
				break;
			last = m;
			if (elf_file_open_mapped(&f, pid, m, &ignored) < 0)
				continue;
			found = find_python(&f);
			elf_file_close(&f);
		}
	}
	maps_done(&maps);
	return found;
}

enum elf_python elf_process_python(pid_t pid)
{
	enum elf_python found = ELF_NO_PYTHON;
	struct err ignored = ERR_INIT;
	struct elf_file f;
	char path[64];

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	if (elf_file_open(&f, path, &ignored) == 0) {
		found = find_python(&f);
		elf_file_close(&f);
	}
	return found ? found : find_python_in_maps(pid);
}
