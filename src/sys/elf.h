/* SPDX-License-Identifier: MIT
 *
 * Questions about ELF files, through libelf. Files are foreign input: libelf checks what it reads,
 * and nothing here follows an offset it did not check. */
#ifndef SYS_ELF_H
#define SYS_ELF_H

#include <stdbool.h>
#include <sys/types.h>

/* Whether the file's dynamic symbols define `symbol`. false for what is no ELF file. */
bool elf_exports(const char *path, const char *symbol);

/* Whether a process maps an ELF file that defines _PyRuntime: any CPython, embedded ones too. Files
 * are reached through /proc/PID/root, so other mount namespaces work. */
bool elf_process_is_python(pid_t pid);

#endif
