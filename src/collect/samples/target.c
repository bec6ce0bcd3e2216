/* SPDX-License-Identifier: MIT
 * See target.h. Finding the runtime: every mapped program file may hold one, the executable, a
 * libpython, or a host that embeds Python under any name. */
#include "collect/samples/target.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/xalloc.h"
#include "sys/core.h"
#include "sys/elf.h"
#include "sys/maps.h"
#include "base/banned.h"

enum {
	MODULES_MAX = 512,  /* files looked into; torch maps some 200 */
	HEAD_BYTES = 512,   /* compared with memory: ELF and program headers, mostly the build id */
	BSS_MAX = 64 << 20, /* searched for the version's text */
	BSS_BLOCK = 64 << 10, /* at once */
	VERSION_BYTES = 256,  /* that the interpreter has for it */
	PAUSE_NS = 20000000,  /* between two looks at what does not fit */
};

/* A mapped file with a runtime in it; addresses in the process. */
struct module {
	const char *path; /* of the maps */
	uint64_t runtime;
	uint64_t version; /* of Py_Version, 3.11 and later; else 0 */
	uint64_t code_type, none;
	struct elf_range bss;
};

/* What the files of a process say, for the answer when no runtime is found. */
struct search {
	pid_t pid;
	struct core *core; /* instead of a process; else NULL */
	struct maps *maps;
	const struct mem *mem;
	const char *executable;
	struct module found[8];
	size_t n_found;
	int n_unreadable;         /* files that could not be opened or were replaced */
	char unreadable[160];     /* the first of them, and why */
	const char *old_python;   /* a file with Python of before 3.7 in it */
	bool needs_libpython;     /* the executable does */
	uint64_t code_type, none; /* the executable's, without a runtime; else 0 */
};

/* ---- modules --------------------------------------------------------------------------------- */

static uint64_t address_of(const struct elf_file *f, const char *symbol, uint64_t bias)
{
	struct elf_range range;

	return elf_find_symbol(f, symbol, &range) ? range.address + bias : 0;
}

/* Whether the file's beginning is what the process has there: not one that took its name. */
static bool is_loaded(const struct elf_file *f, const struct mem *m, uint64_t bias)
{
	unsigned char file[HEAD_BYTES], memory[HEAD_BYTES];
	uint64_t address;
	size_t n = elf_head(f, file, sizeof file, &address);

	return n && mem_read(m, address + bias, memory, n) == 0 && memcmp(file, memory, n) == 0;
}

/* A file without a runtime that has objects of Python all the same: an old one, or an executable
 * that its linker gave copies of libpython's objects, which libpython then uses too. */
static void look_into_user(
	struct search *s, const struct elf_file *f, const struct map *m, uint64_t bias)
{
	struct elf_range range;

	if (!s->old_python && elf_find_export(f, "PyFrame_Type", &range))
		s->old_python = m->path;
	if (strcmp(m->path, s->executable) != 0)
		return;
	if (elf_find_export(f, "PyCode_Type", &range))
		s->code_type = range.address + bias;
	if (elf_find_export(f, "_Py_NoneStruct", &range))
		s->none = range.address + bias;
}

static void look_into(
	struct search *s, const struct elf_file *f, const struct map *m, bool is_likely)
{
	struct elf_range runtime;
	struct module module = { .path = m->path };
	uint64_t bias;

	if (!elf_load_bias(f, m, &bias) || !is_loaded(f, s->mem, bias)) {
		if (!s->n_unreadable++)
			snprintf(s->unreadable, sizeof s->unreadable,
				"%.100s was replaced after it was loaded", m->path);
		return;
	}
	if (!elf_find_export(f, "_PyRuntime", &runtime) &&
		!elf_find_section(f, ".PyRuntime", &runtime) &&
		!(is_likely && elf_find_symbol(f, "_PyRuntime", &runtime))) {
		look_into_user(s, f, m, bias);
		return;
	}
	module.runtime = runtime.address + bias;
	module.version = address_of(f, "Py_Version", bias);
	module.code_type = s->code_type ? s->code_type : address_of(f, "PyCode_Type", bias);
	module.none = s->none ? s->none : address_of(f, "_Py_NoneStruct", bias);
	if (elf_find_section(f, ".bss", &module.bss))
		module.bss.address += bias;
	if (s->n_found < sizeof s->found / sizeof *s->found)
		s->found[s->n_found++] = module;
}

/* The likely ones first: the executable, names that say so, all others. */
enum rank { EXECUTABLE, LIBPYTHON, OTHERS };

static enum rank rank_of(const struct search *s, const struct map *m)
{
	const char *name = strrchr(m->path, '/');

	if (strcmp(m->path, s->executable) == 0)
		return EXECUTABLE;
	return name && strstr(name, "libpython") ? LIBPYTHON : OTHERS;
}

static int open_executable(const struct search *s, struct elf_file *f, struct err *e)
{
	char exe[64];

	snprintf(exe, sizeof exe, "/proc/%d/exe", (int)s->pid);
	return s->core ? elf_file_open_named(f, &s->core->reach, s->executable, e)
		       : elf_file_open(f, exe, e);
}

static void try_file(struct search *s, const struct map *m)
{
	bool is_executable = rank_of(s, m) == EXECUTABLE;
	struct err e = ERR_INIT;
	struct elf_file f;

	if (!(is_executable && open_executable(s, &f, &e) == 0) &&
		(s->core ? elf_file_open_named(&f, &s->core->reach, m->path, &e)
			 : elf_file_open_mapped(&f, s->pid, m, &e)) < 0) {
		if (e.code != ERR_BAD_FILE && !s->n_unreadable++)
			snprintf(s->unreadable, sizeof s->unreadable, "%.159s", e.text);
		return;
	}
	look_into(s, &f, m, rank_of(s, m) < OTHERS);
	elf_file_close(&f);
}

static void find_modules(struct search *s)
{
	int n = 0;

	for (enum rank rank = EXECUTABLE; rank <= OTHERS; rank++) {
		const struct map *last = NULL;

		vec_each (&s->maps->items, m) {
			if (!map_is_program(m) || rank_of(s, m) != rank ||
				(last && map_is_same_file(last, m)))
				continue;
			if (n++ == MODULES_MAX)
				return;
			last = m;
			try_file(s, m);
		}
		if (s->n_found && rank == LIBPYTHON)
			return;
	}
}

/* ---- version --------------------------------------------------------------------------------- */

/* "3.8.18 (default, May  9 2026, 10:00:00) \n[GCC 12.2.0]", as Py_GetVersion makes it once. */
static bool parse_version(const char *text, uint32_t *ret_hex)
{
	unsigned major, minor, micro, serial = 0;
	uint32_t level = 0xf;
	int n = 0;

	if (sscanf(text, "%1u.%2u.%3u%n", &major, &minor, &micro, &n) != 3 || micro > 255)
		return false;
	text += n;
	if (*text == 'a' || *text == 'b' || strncmp(text, "rc", 2) == 0) {
		level = *text == 'a' ? 0xa : *text == 'b' ? 0xb : 0xc;
		text += *text == 'r' ? 2 : 1;
		if (sscanf(text, "%2u%n", &serial, &n) != 1 || serial > 15)
			return false;
		text += n;
	}
	text += *text == '+';
	if (strncmp(text, " (", 2) != 0 || !strstr(text, ") ") || !strchr(text, '['))
		return false;
	*ret_hex = major << 24 | minor << 16 | micro << 8 | level << 4 | serial;
	return true;
}

static bool search_block(char *block, size_t n, uint32_t *ret_hex)
{
	block[n] = '\0';
	for (size_t i = 0; i + 8 < n; i++) {
		char text[VERSION_BYTES];

		if ((block[i] != '3' && block[i] != '2') || block[i + 1] != '.' ||
			(i && block[i - 1] != '\0'))
			continue;
		snprintf(text, sizeof text, "%s", block + i);
		if (parse_version(text, ret_hex))
			return true;
	}
	return false;
}

/* Looks for that text among the module's variables. */
static bool find_version(const struct module *module, const struct mem *m, uint32_t *ret_hex)
{
	char *block = xmalloc(BSS_BLOCK + VERSION_BYTES + 1);
	uint64_t size = module->bss.size_bytes < BSS_MAX ? module->bss.size_bytes : BSS_MAX;
	bool found = false;

	for (uint64_t at = 0; at < size && !found; at += BSS_BLOCK) {
		size_t n = size - at < BSS_BLOCK + VERSION_BYTES ? (size_t)(size - at)
								 : BSS_BLOCK + VERSION_BYTES;

		found = mem_read(m, module->bss.address + at, block, n) == 0 &&
			search_block(block, n, ret_hex);
	}
	free(block);
	return found;
}

static int find_layout(struct py_target *t, const struct module *module, struct err *e)
{
	uint64_t hex = 0;
	uint32_t found;
	int is_published = layout_is_published(&t->mem, module->runtime);

	if (is_published < 0) {
		errno = -is_published;
		return err_errno(e, ERR_BAD_LAYOUT, "cannot read _PyRuntime at 0x%llx",
			(unsigned long long)module->runtime);
	}
	if (is_published)
		return layout_from_debug_offsets(&t->layout, &t->mem, module->runtime, e);
	if (module->version && mem_read_u64(&t->mem, module->version, &hex) == 0 && hex &&
		hex <= UINT32_MAX)
		return layout_from_version(&t->layout, (uint32_t)hex, e);
	if (find_version(module, &t->mem, &found))
		return layout_from_version(&t->layout, found, e);
	err_set(e, ERR_BAD_LAYOUT, "its version is not in its memory (yet)");
	return PY_TARGET_STARTING;
}

static int use_module(struct py_target *t, const struct module *module, struct err *e)
{
	struct buf version = BUF_INIT;
	int result = find_layout(t, module, e);

	if (result == 0)
		result = layout_verify(
			&t->layout, &t->mem, module->runtime, module->code_type, &t->proof, e);
	if (result < 0)
		return result;
	if (result > 0)
		return PY_TARGET_STARTING;
	t->runtime = module->runtime;
	t->none = module->none;
	t->is_free_threaded = t->layout.flags & PY_FREE_THREADED;
	t->module = xstrdup(module->path);
	layout_format_version(&t->layout, &version);
	snprintf(t->version, sizeof t->version, "%s", buf_str(&version));
	buf_done(&version);
	return 0;
}

/* ---- what else it is ------------------------------------------------------------------------- */

/* A mapped file whose name starts so, or NULL. */
static const char *find_mapped(const struct search *s, const char *prefix)
{
	vec_each (&s->maps->items, m) {
		const char *name = strrchr(m->path, '/');

		if (name && strncmp(name + 1, prefix, strlen(prefix)) == 0)
			return m->path;
	}
	return NULL;
}

static const char *find_pypy(const struct search *s)
{
	const char *name = strrchr(s->executable, '/');

	return name && strncmp(name, "/pypy", 5) == 0 ? s->executable : find_mapped(s, "libpypy");
}

static int say_what_it_is(struct search *s, struct err *e)
{
	const char *pypy = find_pypy(s);

	if (pypy)
		return err_set(e, ERR_UNSUPPORTED, "it is PyPy (%.200s), not CPython", pypy);
	if (s->needs_libpython && !find_mapped(s, "libpython")) {
		err_set(e, ERR_NOT_PYTHON, "its libpython is not loaded yet");
		return PY_TARGET_STARTING;
	}
	if (s->old_python)
		return err_set(e, ERR_UNSUPPORTED,
			"its CPython (%.200s) is older than 3.7: it has no _PyRuntime",
			s->old_python);
	if (s->n_unreadable)
		return err_set(e, ERR_NOT_PYTHON,
			"no Python was found in %.100s, but not all of its files could be read: %s",
			s->executable, s->unreadable);
	return err_set(e, ERR_NOT_PYTHON, "it is not Python: it runs %.300s", s->executable);
}

/* ---- open ------------------------------------------------------------------------------------ */

/* The path as the process sees it; it need not be there any more. */
static char *read_executable(pid_t pid)
{
	static const char mark[] = " (deleted)";
	char name[64], path[4097];
	ssize_t n;

	snprintf(name, sizeof name, "/proc/%d/exe", (int)pid);
	n = readlink(name, path, sizeof path - 1);
	path[n > 0 ? n : 0] = '\0';
	if (n >= (ssize_t)sizeof mark && strcmp(path + n - (sizeof mark - 1), mark) == 0)
		path[n - (ssize_t)(sizeof mark - 1)] = '\0';
	return xstrdup(path);
}

static int check_executable(struct search *s, struct err *e)
{
	struct elf_file f;
	bool is_64bit;

	if (open_executable(s, &f, e) < 0) {
		if (e->code == ERR_NO_FILE && s->pid)
			return err_set(
				e, ERR_NO_PROCESS, "its program file can no longer be opened");
		return -(int)e->code;
	}
	is_64bit = f.is_64bit;
	s->needs_libpython = elf_needs(&f, "libpython");
	elf_file_close(&f);
	return is_64bit ? 0 : err_set(e, ERR_UNSUPPORTED, "it is a 32-bit program");
}

static int search_and_verify(struct py_target *t, struct search *s, struct err *e)
{
	int result = 0, best = 0;

	if (check_executable(s, e) < 0)
		return -(int)e->code;
	find_modules(s);
	if (!s->n_found)
		return say_what_it_is(s, e);
	/* Several: an executable with Python in it and a libpython that something else pulled in. The
	 * one in use verifies; of the others the one that may still come says most. */
	for (size_t i = 0; i < s->n_found; i++) {
		struct err why = ERR_INIT;

		result = use_module(t, &s->found[i], &why);
		if (result == 0)
			return 0;
		if (i == 0 || result > best) {
			best = result;
			*e = why;
		}
	}
	return best;
}

/* One look. *ret_image tells one state of the address space from another. */
static int look(struct py_target *t, struct err *e, uint64_t *ret_image)
{
	struct maps maps = { 0 };
	struct search s = { .pid = t->pid, .maps = &maps, .mem = &t->mem };
	int result = maps_read(&maps, t->pid, e);

	if (result == 0) {
		*ret_image = 0;
		vec_each (&maps.items, m)
			*ret_image = hash_u64(*ret_image ^ m->start ^ m->end << 1 ^ m->inode);
		free(t->executable);
		t->executable = read_executable(t->pid);
		s.executable = t->executable;
		result = search_and_verify(t, &s, e);
	}
	maps_done(&maps);
	return result;
}

/* Between exec and main the loader maps and relocates, and what is read is one thing or the other.
 * So an answer that would be final is asked for again, until nothing moves any more. */
static int look_twice(struct py_target *t, struct err *e)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	uint64_t image = 0, before;
	int result = look(t, e, &image);

	if (result >= 0 || e->code == ERR_NO_PROCESS || e->code == ERR_NO_PERMISSION)
		return result;
	before = image;
	nanosleep(&pause, NULL);
	result = look(t, e, &image);
	if (result < 0 && image != before && e->code != ERR_NO_PROCESS &&
		e->code != ERR_NO_PERMISSION)
		return PY_TARGET_STARTING;
	return result;
}

/* What does not fit may be what is left of a process. */
static bool has_ended(pid_t pid)
{
	struct err e = ERR_INIT;
	struct remote r;
	bool ended = remote_open(&r, pid, &e) < 0 && e.code == ERR_NO_PROCESS;

	remote_close(&r);
	return ended;
}

static int open_by(struct py_target *t, pid_t pid, bool may_wait, struct err *e)
{
	uint64_t image;
	int result;

	*t = (struct py_target){ .pid = pid, .remote.mem_fd = -1 };
	t->mem = (struct mem){ remote_read, remote_readv, &t->remote };
	result = remote_open(&t->remote, pid, e);
	if (result < 0)
		return result;
	result = may_wait ? look_twice(t, e) : look(t, e, &image);
	if (result == 0)
		return 0;
	py_target_close(t);
	if (e->code == ERR_NO_PROCESS || has_ended(pid))
		return err_set(
			e, ERR_NO_PROCESS, "process %d ended while it was looked at", (int)pid);
	err_note(e, "process %d", (int)pid);
	return result;
}

int py_target_open_core(struct py_target *t, struct core *core, struct err *e)
{
	struct search s = { .core = core, .maps = core->maps, .executable = core->executable };
	int result;

	*t = (struct py_target){ .core = core, .remote.mem_fd = -1 };
	t->mem = (struct mem){ core_read, core_readv, core };
	s.mem = &t->mem;
	t->executable = xstrdup(core->executable);
	if (!*core->executable)
		return err_set(e, ERR_BAD_CORE, "it does not say which program it belongs to");
	result = search_and_verify(t, &s, e);
	if (result < 0 && e->code == ERR_NO_FILE)
		return err_set(e, ERR_NO_FILE,
			"its program %.160s is not here; --root names the folder where its files are",
			core->executable);
	return result > 0 ? err_set(e, ERR_BAD_LAYOUT, "it died before it ran Python code")
			  : result;
}

int py_target_open(struct py_target *t, pid_t pid, struct err *e)
{
	return open_by(t, pid, true, e);
}

int py_target_try(struct py_target *t, pid_t pid, struct err *e)
{
	return open_by(t, pid, false, e);
}

bool py_target_fork(struct py_target *t, const struct py_target *parent, pid_t pid, uint64_t interp)
{
	struct err e = ERR_INIT;
	uint64_t at = 0, next = 0;

	*t = *parent;
	t->pid = pid;
	t->mem = (struct mem){ remote_read, remote_readv, &t->remote };
	t->executable = t->module = NULL;
	if (remote_open(&t->remote, pid, &e) < 0)
		return false;
	/* After an exec nothing is there, or something else. */
	if (mem_read_u64(&t->mem, t->runtime + t->layout.runtime_interpreters_head, &at) < 0 ||
		at != interp || mem_read_u64(&t->mem, at + t->layout.interp_next, &next) < 0) {
		remote_close(&t->remote);
		return false;
	}
	t->executable = xstrdup(parent->executable);
	t->module = xstrdup(parent->module);
	return true;
}

static int read_layout(
	struct py_target *t, const struct module *module, const char *version, struct err *e)
{
	uint32_t hex;

	if (layout_is_published(&t->mem, module->runtime) == 1)
		return layout_from_debug_offsets(&t->layout, &t->mem, module->runtime, e);
	if (!parse_version(version, &hex))
		return err_set(e, ERR_BAD_LAYOUT, "its version is '%.40s'", version);
	return layout_from_version(&t->layout, hex, e);
}

int py_target_layout(pid_t pid, const char *version, struct py_layout *ret, struct err *e)
{
	struct py_target t = { .pid = pid, .remote.mem_fd = -1 };
	struct maps maps = { 0 };
	struct search s = { .pid = pid, .maps = &maps, .mem = &t.mem };
	int result = remote_open(&t.remote, pid, e);

	t.mem = (struct mem){ remote_read, remote_readv, &t.remote };
	if (result == 0)
		result = maps_read(&maps, pid, e);
	if (result == 0) {
		s.executable = t.executable = read_executable(pid);
		find_modules(&s);
		result = s.n_found ? read_layout(&t, &s.found[0], version, e)
				   : err_set(e, ERR_NOT_PYTHON, "it has no Python");
	}
	if (result == 0)
		*ret = t.layout;
	maps_done(&maps);
	py_target_close(&t);
	return result;
}

void py_target_close(struct py_target *t)
{
	remote_close(&t->remote);
	free(t->executable);
	free(t->module);
	t->executable = t->module = NULL;
}
