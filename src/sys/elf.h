/* SPDX-License-Identifier: MIT
 *
 * Questions about ELF files, through libelf. Files are foreign input: libelf checks what it reads,
 * and nothing here follows an offset it did not check. */
#ifndef SYS_ELF_H
#define SYS_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct Elf; /* libelf's */
struct err;
struct map;
struct reach;

/* An open file. Addresses are the file's own; elf_load_bias tells what to add in a process. */
struct elf_file {
	int fd;
	struct Elf *elf;
	bool is_64bit;
	unsigned machine; /* EM_X86_64 … of <elf.h> */
};

struct elf_range {
	uint64_t address, size_bytes;
};

/* ERR_BAD_FILE for what is no ELF file. */
int elf_file_open(struct elf_file *f, const char *path, struct err *e);
/* By a name that came out of a program, where that program could read it. */
int elf_file_open_named(struct elf_file *f, struct reach *r, const char *path, struct err *e);
/* The file behind a mapping of a process, whatever its name leads to now: through
 * /proc/PID/map_files, which works for deleted files too but needs CAP_CHECKPOINT_RESTORE, else by
 * its path in the root of the process, else by its path, as the process could (sys/reach.h). These may find another file:
 * see elf_head. */
int elf_file_open_mapped(struct elf_file *f, pid_t pid, const struct map *m, struct err *e);
void elf_file_close(struct elf_file *f);

/* A symbol that the file defines for others (.dynsym), or at all (then .symtab, which may be large). */
bool elf_find_export(const struct elf_file *f, const char *name, struct elf_range *ret);
bool elf_find_symbol(const struct elf_file *f, const char *name, struct elf_range *ret);
bool elf_find_section(const struct elf_file *f, const char *name, struct elf_range *ret);

/* What the loader added to the file's addresses, by any one of its mappings that comes from a
 * PT_LOAD (so from part of the file as the loader maps it). */
bool elf_load_bias(const struct elf_file *f, const struct map *m, uint64_t *ret_bias);

/* The file's first bytes, at most n, and the address where the loader puts them: to be compared with
 * the memory of a process. 0 when they are not loaded. */
size_t elf_head(const struct elf_file *f, void *to, size_t n, uint64_t *ret_address);

/* Whether it asks the loader for a library whose name starts so ("libpython"). */
bool elf_needs(const struct elf_file *f, const char *prefix);

/* Whether a process maps an ELF file that defines _PyRuntime: any CPython, embedded ones too; and how that was built (a
 * free-threaded build may still be told to use a GIL). Files are reached through /proc/PID/root, so other mount namespaces
 * work. */
enum elf_python { ELF_NO_PYTHON, ELF_PYTHON_WITH_GIL, ELF_PYTHON_FREE_THREADED };
enum elf_python elf_process_python(pid_t pid);

#endif
