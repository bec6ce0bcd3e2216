/* SPDX-License-Identifier: MIT
 * See elf.h. */
#include "sys/elf.h"

#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/banned.h"

static bool section_defines(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, const char *symbol)
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

		if (name && strcmp(name, symbol) == 0)
			return true;
	}
	return false;
}

bool elf_exports(const char *path, const char *symbol)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf_Scn *section = NULL;
	bool found = false;
	Elf *elf;

	if (fd < 0)
		return false;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL); /* read, not mapped: the file may change under us */
	while (elf && !found && (section = elf_nextscn(elf, section))) {
		GElf_Shdr head;

		if (gelf_getshdr(section, &head) && head.sh_type == SHT_DYNSYM)
			found = section_defines(elf, section, &head, symbol);
	}
	elf_end(elf);
	close(fd);
	return found;
}

/* Paths of the files a process maps executable, each once. Deleted ones are left out. */
static void mapped_files(pid_t pid, struct intern *paths)
{
	struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	char name[64];

	snprintf(name, sizeof name, "/proc/%d/maps", (int)pid);
	if (buf_load(&text, name, 16 << 20, &ignored) == 0)
		for (const char *line = buf_str(&text); *line;) {
			size_t n = strcspn(line, "\n");
			const char *path = memchr(line, '/', n), *mode = memchr(line, ' ', n);

			if (path && mode && mode[3] == 'x')
				intern_add(paths, path, (size_t)(line + n - path), NULL);
			line += n + (line[n] == '\n');
		}
	buf_done(&text);
}

bool elf_process_is_python(pid_t pid)
{
	enum { MOST = 256 };
	struct intern paths = INTERN_INIT;
	char path[4200];
	bool found;

	snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
	found = elf_exports(path, "_PyRuntime");
	if (!found)
		mapped_files(pid, &paths);
	/* Names that say "python" first: the rest is looked at only for embedded interpreters. */
	for (int likely = 1; likely >= 0 && !found; likely--)
		for (size_t i = 0; i < paths.items.n && i < MOST && !found; i++) {
			const char *file = paths.items.v[i].p;

			if ((strstr(file, "python") != NULL) != likely)
				continue;
			snprintf(path, sizeof path, "/proc/%d/root%.4096s", (int)pid, file);
			found = elf_exports(path, "_PyRuntime");
		}
	intern_done(&paths);
	return found;
}
