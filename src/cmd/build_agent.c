/* SPDX-License-Identifier: MIT
 * See build_agent.h. */
#include "cmd/build_agent.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "bench/child.h"
#include "collect/agents.h"
#include "collect/embedded.h"
#include "sys/private_dir.h"
#include "base/banned.h"

enum { OLDEST = 8, NEWEST = 15, WORDS_MOST = 8 };

struct job {
	const char *python;
	char tag[AGENTS_TAG];
	char version[24];
	char include[4096];
	struct private_dir dir; /* where it is built */
	struct buf so, source;
};

/* ---- asking ---------------------------------------------------------------------------------- */

/* Answers on stderr, which is what is kept of a child. */
static const char question[] =
	"import sys, sysconfig\n"
	"v = sys.version_info\n"
	"sys.stderr.write('%s\\t%d\\t%d\\t%d.%d.%d\\t%s\\t%d\\t%s\\n' % (sys.implementation.name, "
	"v[0], v[1], v[0], v[1], v[2],\n"
	"    sys.abiflags or '-', sys.maxsize > 2**32, sysconfig.get_path('include')))\n";

static int run_quietly(const char *const *argv, struct buf *printed, struct err *e)
{
	struct child_options o = {
		.argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .keep_stderr = true, .cpu = -1
	};
	struct child_result r;

	if (child_run(&o, &r, printed, e) < 0)
		return -(int)e->code;
	return r.status;
}

/* The last line that was printed. */
static const char *last_line(struct buf *printed)
{
	const char *line;

	while (printed->n && printed->data[printed->n - 1] == '\n')
		printed->data[--printed->n] = '\0';
	line = printed->n ? strrchr(buf_str(printed), '\n') : NULL;
	return line ? line + 1 : buf_str(printed);
}

static int ask(struct job *j, struct err *e)
{
	const char *argv[] = { j->python, "-I", "-c", question, NULL };
	struct buf printed = BUF_INIT;
	unsigned major = 0, minor = 0, is_64bit = 0;
	char name[32] = "", flags[8] = "";
	int status = run_quietly(argv, &printed, e);

	if (status < 0) {
		buf_done(&printed);
		return err_note(e, "%s", j->python);
	}
	if (status != 0 ||
		sscanf(last_line(&printed),
			"%31[^\t]\t%3u\t%3u\t%23[^\t]\t%7[^\t]\t%1u\t%4095[^\n]", name, &major,
			&minor, j->version, flags, &is_64bit, j->include) != 7)
		err_set(e, ERR_NOT_PYTHON, "%s does not answer as Python does%s%.100s", j->python,
			*last_line(&printed) ? ": " : "", last_line(&printed));
	else if (strcmp(name, "cpython") != 0 || major != 3 || minor < OLDEST || minor > NEWEST ||
		!is_64bit)
		err_set(e, ERR_UNSUPPORTED, "%s is %s %s", j->python, name, j->version);
	else
		snprintf(j->tag, sizeof j->tag, "cp%u%u%s", major, minor,
			strcmp(flags, "-") == 0 ? "" : flags);
	buf_done(&printed);
	return e->code ? -(int)e->code : 0;
}

static int check_headers(const struct job *j, struct err *e)
{
	struct buf path = BUF_INIT;
	bool is_there;

	buf_printf(&path, "%s/Python.h", j->include);
	is_there = access(buf_str(&path), R_OK) == 0;
	buf_clear(&path);
	buf_printf(&path, "%s/internal/pycore_pystate.h", j->include);
	is_there = is_there && access(buf_str(&path), R_OK) == 0;
	buf_done(&path);
	if (is_there)
		return 0;
	return err_set(e, ERR_SYSTEM,
		"%s has no headers (%s/Python.h): install its development package, such as "
		"python%.*s-dev",
		j->python, j->include, (int)strcspn(strchr(j->version, '.') + 1, ".") + 2,
		j->version);
}

/* ---- building -------------------------------------------------------------------------------- */

/* $CC in words, else the first of the usual names that can be run. */
static int find_compiler(char *room, size_t n_room, const char *ret[WORDS_MOST], struct err *e)
{
	static const char *const names[] = { "cc", "gcc", "clang" };
	const char *cc = getenv("CC");
	char *word, *rest = room;
	size_t n = 0;

	if (cc && *cc) {
		snprintf(room, n_room, "%s", cc);
		while (n < WORDS_MOST - 1 && (word = strsep(&rest, " ")))
			if (*word)
				ret[n++] = word;
		ret[n] = NULL;
		return n ? 0 : err_set(e, ERR_USAGE, "CC names no compiler");
	}
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		const char *argv[] = { names[i], "--version", NULL };
		struct buf printed = BUF_INIT;
		struct err unused = ERR_INIT;
		int status = run_quietly(argv, &printed, &unused);

		buf_done(&printed);
		if (status == 0) {
			ret[0] = names[i];
			ret[1] = NULL;
			return 0;
		}
	}
	return err_set(e, ERR_SYSTEM,
		"there is no C compiler (cc, gcc, clang): install one, such as the package gcc, or "
		"name it in CC");
}

/* Which hooks an agent has is decided by the version: src/agent/meson.build names the folders so. */
static bool is_of(const struct job *j, const char *name)
{
	bool is_new = strtoul(j->tag + 3, NULL, 10) >= 12;

	return strncmp(name, is_new ? "source/before_3_12/" : "source/from_3_12/",
		       is_new ? 19 : 17) != 0;
}

static int compile(struct job *j, struct err *e)
{
	const char *const flags[] = { "-std=gnu17", "-D_GNU_SOURCE", "-O2", "-g0", "-w",
		"-fno-strict-aliasing", "-fPIC", "-shared", "-pthread", "-fvisibility=hidden", "-s",
		"-Wl,-z,nodelete", "-I", j->source.data, "-isystem", j->include, "-o", j->so.data };
	const char *compiler[WORDS_MOST];
	char room[512];
	VEC(const char *) argv = { 0 };
	VEC(char *) paths = { 0 };
	struct buf printed = BUF_INIT;
	int status = find_compiler(room, sizeof room, compiler, e);

	for (size_t i = 0; status == 0 && compiler[i]; i++)
		vec_push(&argv, compiler[i]);
	for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
		vec_push(&argv, flags[i]);
	for (const struct embedded_file *f = embedded_files; f->name; f++) {
		struct buf path = BUF_INIT;

		if (strncmp(f->name, "source/", 7) != 0 || f->name[strlen(f->name) - 1] != 'c' ||
			!is_of(j, f->name))
			continue;
		buf_printf(&path, "%s/%s", j->dir.path, f->name);
		vec_push(&paths, path.data);
		vec_push(&argv, path.data);
	}
	vec_push(&argv, NULL);
	if (status == 0)
		status = run_quietly(argv.v, &printed, e);
	if (status > 0)
		err_set(e, ERR_SYSTEM, "%s cannot build the agent: %.160s", argv.v[0],
			last_line(&printed));
	vec_each (&paths, p)
		free(*p);
	vec_done(&paths);
	vec_done(&argv);
	buf_done(&printed);
	return e->code ? -(int)e->code : 0;
}

/* The interpreter takes it in before anybody relies on it. */
static int try_it(const struct job *j, struct err *e)
{
	static const char load[] =
		"import sys\n"
		"from importlib.machinery import ExtensionFileLoader, ModuleSpec\n"
		"from importlib.util import module_from_spec\n"
		"loader = ExtensionFileLoader('_leadline_agent', sys.argv[1])\n"
		"module_from_spec(ModuleSpec('_leadline_agent', loader, "
		"origin=sys.argv[1])).start\n";
	const char *argv[] = { j->python, "-I", "-c", load, buf_str(&j->so), NULL };
	struct buf printed = BUF_INIT;
	int status = run_quietly(argv, &printed, e);

	if (status > 0)
		err_set(e, ERR_BAD_LAYOUT,
			"%s does not load the agent that was built for it: %.160s", j->python,
			last_line(&printed));
	buf_done(&printed);
	return e->code ? -(int)e->code : 0;
}

static int keep(const struct job *j, struct buf *ret_said, struct err *e)
{
	struct buf folder = BUF_INIT, bytes = BUF_INIT, path = BUF_INIT;

	if (agents_make_folder(&folder, e) == 0 &&
		buf_load(&bytes, buf_str(&j->so), (size_t)16 << 20, e) == 0) {
		buf_printf(&path, "%s/%s.so", buf_str(&folder), j->tag);
		buf_save(&bytes, buf_str(&path), e);
		buf_printf(ret_said,
			"Built the agent for CPython %s (%s): %s\n"
			"leadline run --trace, --count and --lines work with it now.\n",
			j->version, j->tag, buf_str(&path));
	}
	buf_done(&folder);
	buf_done(&bytes);
	buf_done(&path);
	return e->code ? -(int)e->code : 0;
}

int build_agent(const char *python, struct buf *ret_said, struct err *e)
{
	struct job j = { .python = python };

	if (ask(&j, e) < 0)
		return -(int)e->code;
	if (agents_is_embedded(j.tag)) {
		buf_printf(ret_said, "This leadline has an agent for CPython %s (%s) already.\n",
			j.version, j.tag);
		return 0;
	}
	if (check_headers(&j, e) < 0)
		return -(int)e->code;
	if (private_dir_make(&j.dir, PRIVATE_LARGE, sizeof j.dir.path, e) < 0)
		return -(int)e->code;
	buf_printf(&j.source, "%s/source", j.dir.path);
	buf_printf(&j.so, "%s/%s.so", j.dir.path, j.tag);
	if (agents_unpack_sources(j.dir.path, e) == 0 && compile(&j, e) == 0 && try_it(&j, e) == 0)
		keep(&j, ret_said, e);
	private_dir_remove(&j.dir);
	buf_done(&j.source);
	buf_done(&j.so);
	return e->code ? -(int)e->code : 0;
}
