/* SPDX-License-Identifier: MIT
 * See build_agent.h. */
#include "cmd/build_agent.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "bench/child.h"
#include "cmd/command.h"
#include "collect/agents/agents.h"
#include "collect/agents/embedded.h"
#include "sys/private_dir.h"
#include "wire/clock.h"
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
	"sys.stderr.write('%s\\t%d\\t%d\\t%d.%d.%d\\t%s\\t%d\\t%s\\n' % (sys.implementation.name, v[0], v[1], v[0], v[1], v[2],\n"
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
		"%s has no headers (%s/Python.h): install its development package, such as python%.*s-dev",
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
		"there is no C compiler (cc, gcc, clang): install one, such as the package gcc, or name it in CC");
}

/* Which hooks an agent has is decided by the version: src/agent/meson.build names the folders so. */
static bool is_of(const struct job *j, const char *name)
{
	bool is_new = strtoul(j->tag + 3, NULL, 10) >= 12;

	return strncmp(name, is_new ? "source/before_3_12/" : "source/from_3_12/",
		       is_new ? 19 : 17) != 0;
}

static int check_compiler(struct err *e)
{
	const char *compiler[WORDS_MOST];
	char room[512];

	return find_compiler(room, sizeof room, compiler, e);
}

static int compile(struct job *j, struct err *e)
{
	const char *const flags[] = { "-std=gnu17", "-D_GNU_SOURCE", "-D_FILE_OFFSET_BITS=64",
		"-O2", "-g0", "-w", "-U_FORTIFY_SOURCE", "-fno-strict-aliasing", "-fPIC", "-shared",
		"-fvisibility=hidden", "-s", "-Wl,-z,nodelete", "-Wl,-z,now", "-nodefaultlibs",
		"-I", j->source.data, "-isystem", j->include, "-o", j->so.data };
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
	vec_push(&argv, "-lgcc");
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

/* ---- trying ---------------------------------------------------------------------------------- */

int build_agent_try(const char *python, const char *agent, struct err *e)
{
	static const char load[] =
		"import sys\n"
		"from importlib.machinery import ExtensionFileLoader, ModuleSpec\n"
		"from importlib.util import module_from_spec\n"
		"loader = ExtensionFileLoader('_leadline_agent', sys.argv[1])\n"
		"try:\n"
		"    module_from_spec(ModuleSpec('_leadline_agent', loader, origin=sys.argv[1])).start\n"
		"except ImportError as error:\n"
		"    sys.exit(str(error))\n";
	const char *argv[] = { python, "-I", "-S", "-B", "-c", load, agent, NULL };
	struct buf printed = BUF_INIT;
	int status = run_quietly(argv, &printed, e);

	if (status > 128)
		err_set(e, ERR_BAD_LAYOUT, "signal %d ended it", status - 128);
	else if (status > 0)
		err_set(e, ERR_BAD_LAYOUT, "%.200s", last_line(&printed));
	buf_done(&printed);
	return -(int)e->code;
}

/* ---- all of it ------------------------------------------------------------------------------- */

/* Where others could put agents none is used: that is told before the compiler works for it. */
static int check_folder(struct err *e)
{
	struct buf folder = BUF_INIT;
	int status = agents_make_folder(&folder, e);

	buf_done(&folder);
	return status;
}

static int keep(const struct job *j, struct buf *ret_path, struct err *e)
{
	struct buf bytes = BUF_INIT;

	if (buf_load(&bytes, buf_str(&j->so), (size_t)16 << 20, e) == 0)
		agents_keep(j->tag, &bytes, ret_path, e);
	buf_done(&bytes);
	return -(int)e->code;
}

/* The interpreter takes it in before anybody relies on it. */
static int build(struct job *j, struct buf *ret_path, struct err *e)
{
	if (check_headers(j, e) < 0 || check_folder(e) < 0 ||
		private_dir_make(&j->dir, PRIVATE_LARGE, sizeof j->dir.path, e) < 0)
		return -(int)e->code;
	buf_printf(&j->source, "%s/source", j->dir.path);
	buf_printf(&j->so, "%s/%s.so", j->dir.path, j->tag);
	if (agents_unpack_sources(j->dir.path, e) == 0 && compile(j, e) == 0) {
		if (build_agent_try(j->python, buf_str(&j->so), e) < 0)
			err_note(e, "%s does not load the agent that was built for it", j->python);
		else
			keep(j, ret_path, e);
	}
	private_dir_remove(&j->dir);
	buf_done(&j->source);
	buf_done(&j->so);
	return -(int)e->code;
}

/* One is there, and the interpreter loads it. */
static bool has_good_agent(const char *python, const char *tag)
{
	struct private_dir dir;
	struct err why = ERR_INIT;
	struct buf so = BUF_INIT;
	bool is_good;

	if (!agents_has(tag) || private_dir_make(&dir, PRIVATE_SMALL, sizeof dir.path, &why) < 0)
		return false;
	buf_printf(&so, "%s/agents/%s.so", dir.path, tag);
	is_good = agents_save(tag, dir.path, &why) == 0 &&
		build_agent_try(python, buf_str(&so), &why) == 0;
	private_dir_remove(&dir);
	buf_done(&so);
	return is_good;
}

int build_agent(const char *python, struct buf *ret_said, struct err *e)
{
	struct job j = { .python = python };
	struct buf path = BUF_INIT;

	if (ask(&j, e) < 0)
		return -(int)e->code;
	if (has_good_agent(python, j.tag))
		buf_printf(ret_said, "leadline already has an agent for CPython %s (%s).\n",
			j.version, j.tag);
	else if (build(&j, &path, e) == 0)
		buf_printf(ret_said,
			"Built the agent for CPython %s (%s): %s\n"
			"leadline run --trace, --count and --lines now work with it.\n",
			j.version, j.tag, buf_str(&path));
	buf_done(&path);
	return -(int)e->code;
}

/* ---- for a program that is about to start ----------------------------------------------------- */

/* "python3.13t" is of cp313t. False: the name does not tell. */
static bool tag_of_name(const char *path, char ret[AGENTS_TAG])
{
	char real[PATH_MAX], t[2] = "";
	const char *name = realpath(path, real) ? strrchr(real, '/') + 1 : "";
	unsigned minor;
	int n = 0;

	if (sscanf(name, "python3.%2u%n%1[t]%n", &minor, &n, t, &n) < 1 || name[n])
		return false;
	snprintf(ret, AGENTS_TAG, "cp3%u%s", minor, t);
	return true;
}

/* As execvp finds it. */
static bool find_on_path(const char *name, char *ret, size_t size)
{
	const char *path = getenv("PATH");
	struct stat st;

	if (strchr(name, '/'))
		return (size_t)snprintf(ret, size, "%s", name) < size;
	for (; path && *path; path += strcspn(path, ":"), path += *path == ':') {
		int n = (int)strcspn(path, ":");

		if ((size_t)snprintf(ret, size, "%.*s/%s", n ? n : 1, n ? path : ".", name) <
				size &&
			access(ret, X_OK) == 0 && stat(ret, &st) == 0 && S_ISREG(st.st_mode))
			return true;
	}
	return false;
}

/* python, python3, python3.12, python3.13t: nothing else is asked, for it would be run. */
static bool is_python_name(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	if (strncmp(name, "python", 6) != 0)
		return false;
	name += 6;
	name += *name == '3';
	if (*name == '.' && name[-1] == '3') {
		name += 1 + strspn(name + 1, "0123456789");
		name += *name == 't';
	}
	return !*name;
}

/* The first two words behind #!, "" where there are none. */
static void read_first_line(const char *path, char first[256], char second[256])
{
	char line[512] = "";
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n = fd >= 0 ? read(fd, line, sizeof line - 1) : 0;

	if (fd >= 0)
		close(fd);
	first[0] = second[0] = '\0';
	line[n > 0 ? n : 0] = '\0';
	line[strcspn(line, "\r\n")] = '\0';
	if (line[0] == '#' && line[1] == '!')
		sscanf(line + 2, " %255s %255s", first, second);
}

/* The interpreter that the command is, or that the first line of its script names. */
static bool find_interpreter(const char *word, char *ret, size_t size)
{
	char first[256], second[256];

	if (!find_on_path(word, ret, size))
		return false;
	if (is_python_name(ret))
		return true;
	read_first_line(ret, first, second);
	if (is_python_name(first))
		return find_on_path(first, ret, size);
	return strcmp(first, "/usr/bin/env") == 0 && is_python_name(second) &&
		find_on_path(second, ret, size);
}

static void say(const char *fmt, const char *what)
{
	struct buf text = BUF_INIT;

	buf_printf(&text, fmt, what);
	output_write(STDERR_FILENO, &text);
	buf_done(&text);
}

static int build_and_say(struct job *j, struct err *e)
{
	struct buf path = BUF_INIT;
	char took[UNITS_TEXT];
	uint64_t begin_ns = clock_monotonic_ns();

	say("leadline: building the agent for CPython %s, once: ", j->version);
	if (build(j, &path, e) == 0)
		say("%s\n",
			units_format(took, UNIT_SECONDS,
				(double)(clock_monotonic_ns() - begin_ns) / 1e9));
	else
		say("%s\n", "failed");
	buf_done(&path);
	return -(int)e->code;
}

bool build_agent_version(const char *program, char ret[static 24])
{
	char python[PATH_MAX];
	struct job j = { .python = python };
	struct err unknown = ERR_INIT;

	if (!find_interpreter(program, python, sizeof python) || ask(&j, &unknown) < 0)
		return false;
	memcpy(ret, j.version, sizeof j.version);
	return true;
}

int build_agent_for(const char *program, struct err *e)
{
	char python[PATH_MAX], tag[AGENTS_TAG];
	struct job j = { .python = python };
	struct err unknown = ERR_INIT;
	struct err why = ERR_INIT;

	if (!find_interpreter(program, python, sizeof python) ||
		(tag_of_name(python, tag) && agents_has(tag)) || ask(&j, &unknown) < 0 ||
		agents_has(j.tag))
		return 0;
	if (check_headers(&j, &why) == 0 && check_compiler(&why) == 0 && check_folder(&why) == 0)
		build_and_say(&j, &why);
	if (!why.code)
		return 0;
	return err_set(e, ERR_NO_AGENT,
		"cannot trace CPython %s: leadline has no agent for it and cannot build one: %s",
		j.version, why.text);
}
