/* SPDX-License-Identifier: MIT
 * See asyncio.h. */
#include "collect/samples/asyncio.h"

#include <string.h>

#include "base/err.h"
#include "collect/samples/target.h"
#include "cpython/asyncio.h"
#include "sys/core.h"
#include "sys/elf.h"
#include "sys/maps.h"
#include "base/banned.h"

enum { FIRST_MINOR = 14 };

/* Files that may hold it: the extension module, or the interpreter's own with all modules in it. */
static bool is_likely(const struct py_target *t, const struct map *m)
{
	const char *name = strrchr(m->path, '/');

	return map_is_file(m) &&
		((name && strncmp(name, "/_asyncio.", 10) == 0) ||
			strcmp(m->path, t->module) == 0 || strcmp(m->path, t->executable) == 0);
}

static bool look_into(struct py_target *t, const struct map *m, struct asyncio_offsets *ret)
{
	struct err e = ERR_INIT;
	struct elf_range section;
	struct elf_file f;
	uint64_t bias;
	bool found;

	if ((t->core ? elf_file_open_named(&f, &t->core->reach, m->path, &e)
		     : elf_file_open_mapped(&f, t->pid, m, &e)) < 0)
		return false;
	found = elf_find_section(&f, ".AsyncioDebug", &section) &&
		section.size_bytes >= sizeof *ret && elf_load_bias(&f, m, &bias) &&
		mem_read(&t->mem, section.address + bias, ret, sizeof *ret) == 0 &&
		asyncio_offsets_check(ret, &t->layout);
	elf_file_close(&f);
	return found;
}

bool py_asyncio_find(struct py_target *t, struct asyncio_offsets *ret)
{
	struct maps live = { 0 };
	struct maps *maps = t->core ? t->core->maps : &live;
	struct err e = ERR_INIT;
	bool found = false;

	if (t->layout.minor < FIRST_MINOR || (!t->core && maps_read(&live, t->pid, &e) < 0))
		return false;
	vec_each (&maps->items, m)
		if (!found && is_likely(t, m))
			found = look_into(t, m, ret);
	maps_done(&live);
	return found;
}
