/* SPDX-License-Identifier: MIT
 * See interpreters.h: finding them. Candidates are collected first (no process is started for
 * that), then all are asked (interpreters_ask.c), then scripts that led to the same program are
 * dropped. */
#include "sys/interpreters.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/xalloc.h"
#include "base/banned.h"

enum {
	CANDIDATES_MAX = 48,
	FOLDERS_MAX = 32, /* looked at below one parent, such as pyenv's versions */
	MINOR_FIRST = 4,  /* names looked for: python3.4 … python3.19, and with a t */
	MINOR_LAST = 19,
};

/* ---- candidates ------------------------------------------------------------------------------ */

static bool is_set(const char *s)
{
	return s && *s;
}

static bool is_script(const char *path)
{
	char head[2] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		return false; /* may be executable all the same */
	if (read(fd, head, 2) != 2)
		head[0] = '\0';
	close(fd);
	return head[0] == '#' && head[1] == '!';
}

static bool is_program(const char *path, struct stat *ret)
{
	return stat(path, ret) == 0 && S_ISREG(ret->st_mode) && access(path, X_OK) == 0;
}

/* Links lead to the same file; scripts are known by their path, since those that pick an
 * interpreter by the name they were called by may be one file. */
static bool is_known(
	const struct interpreters *c, const char *path, const struct stat *st, bool script)
{
	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->v[i].path, path) == 0)
			return true;
		if (!script && !c->v[i].is_script && c->v[i].dev == st->st_dev &&
			c->v[i].ino == st->st_ino)
			return true;
	}
	return false;
}

/* `named`: the user named its place (PATH, VIRTUAL_ENV …), we did not come across it. */
static void add(struct interpreters *c, const char *path, bool named)
{
	struct stat st;
	bool script;

	if (!is_program(path, &st))
		return;
	script = is_script(path);
	if (is_known(c, path, &st, script))
		return;
	if (c->n == CANDIDATES_MAX) {
		c->n_left_out++;
		return;
	}
	c->v[c->n++] = (struct interpreter){
		.path = xstrdup(path),
		.dev = st.st_dev,
		.ino = st.st_ino,
		.is_script = script,
		.is_trusted = named ||
			((st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH)),
	};
}

static void add_in(struct interpreters *c, const char *folder, const char *name, bool named)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
		add(c, path, named);
}

/* Names are tried rather than the folder read: /usr/bin may hold thousands. Folders called "shims"
 * (pyenv, asdf, mise) hold one pointer per version; these are found in their own folders. */
static void add_folder(struct interpreters *c, const char *folder, bool named)
{
	const char *slash = strrchr(folder, '/');
	char name[32];

	if (*folder != '/')
		return; /* depends on where we are */
	add_in(c, folder, "python3", named);
	if (slash && strcmp(slash, "/shims") == 0)
		return;
	for (int minor = MINOR_LAST; minor >= MINOR_FIRST; minor--)
		for (int t = 0; t < 2; t++) {
			snprintf(name, sizeof name, "python3.%d%s", minor, t ? "t" : "");
			add_in(c, folder, name, named);
		}
}

static void add_environment(struct interpreters *c, const char *prefix)
{
	char folder[4096];

	if (is_set(prefix) &&
		(size_t)snprintf(folder, sizeof folder, "%s/bin", prefix) < sizeof folder)
		add_folder(c, folder, true);
}

static void add_path(struct interpreters *c, const char *path)
{
	char folder[4096];

	while (is_set(path)) {
		size_t n = strcspn(path, ":");

		if (n && n < sizeof folder) {
			snprintf(folder, sizeof folder, "%.*s", (int)n, path);
			while (n > 1 && folder[n - 1] == '/')
				folder[--n] = '\0';
			add_folder(c, folder, true);
		}
		path += strcspn(path, ":");
		path += *path == ':';
	}
}

/* PARENT/ * /bin, in the order of their names. */
static void add_below(struct interpreters *c, const char *parent)
{
	struct dirent **names;
	int n = scandir(parent, &names, NULL, alphasort);

	for (int i = 0; i < n; i++) {
		char folder[4096];

		if (names[i]->d_name[0] != '.' && i < FOLDERS_MAX &&
			(size_t)snprintf(folder, sizeof folder, "%s/%s/bin", parent,
				names[i]->d_name) < sizeof folder)
			add_folder(c, folder, false);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

static void add_around(struct interpreters *c, const struct interpreter_places *p)
{
	static const char *const in_home[] = { ".local/share/uv/python", "miniconda3/envs",
		"miniforge3/envs", "mambaforge/envs", "anaconda3/envs", ".conda/envs",
		".asdf/installs/python", ".local/share/mise/installs/python" };
	static const char *const conda[] = { "miniconda3", "miniforge3", "mambaforge",
		"anaconda3" };
	const char *system = p->system ? p->system : "";
	char folder[4096];

	folder[0] = '\0';
	if (is_set(p->pyenv_root))
		snprintf(folder, sizeof folder, "%s/versions", p->pyenv_root);
	else if (is_set(p->home))
		snprintf(folder, sizeof folder, "%s/.pyenv/versions", p->home);
	add_below(c, folder);
	for (size_t i = 0; is_set(p->home) && i < sizeof conda / sizeof *conda; i++) {
		snprintf(folder, sizeof folder, "%s/%s/bin", p->home, conda[i]);
		add_folder(c, folder, false);
	}
	for (size_t i = 0; is_set(p->home) && i < sizeof in_home / sizeof *in_home; i++) {
		snprintf(folder, sizeof folder, "%s/%s", p->home, in_home[i]);
		add_below(c, folder);
	}
	snprintf(folder, sizeof folder, "%s/usr/local/bin", system);
	add_folder(c, folder, false);
	snprintf(folder, sizeof folder, "%s/usr/bin", system);
	add_folder(c, folder, false);
	snprintf(folder, sizeof folder, "%s/opt", system);
	add_below(c, folder);
	snprintf(folder, sizeof folder, "%s/opt/conda/envs", system);
	add_below(c, folder);
}

/* ---- what `run` takes ------------------------------------------------------------------------ */

static bool choose_in(const char *folder, const char *below, char *ret_path, size_t path_bytes)
{
	static const char *const names[] = { "python3", "python" };
	struct stat st;

	for (size_t i = 0; is_set(folder) && i < 2; i++)
		if ((size_t)snprintf(ret_path, path_bytes, "%s%s/%s", folder, below, names[i]) <
				path_bytes &&
			is_program(ret_path, &st))
			return true;
	return false;
}

static bool choose_on_path(const char *path, char *ret_path, size_t path_bytes)
{
	struct stat st;

	while (is_set(path)) {
		int n = (int)strcspn(path, ":");

		if (*path == '/' &&
			(size_t)snprintf(ret_path, path_bytes, "%.*s/python3", n, path) <
				path_bytes &&
			is_program(ret_path, &st))
			return true;
		path += n;
		path += *path == ':';
	}
	return false;
}

bool interpreter_choose(
	const struct interpreter_places *p, char *ret_path, size_t path_bytes, const char **ret_why)
{
	if (choose_in(p->virtual_env, "/bin", ret_path, path_bytes))
		*ret_why = "VIRTUAL_ENV";
	else if (choose_in(p->conda_prefix, "/bin", ret_path, path_bytes))
		*ret_why = "CONDA_PREFIX";
	else if (choose_in(p->own_folder, "", ret_path, path_bytes))
		*ret_why = "the environment leadline is installed in";
	else if (choose_on_path(p->path, ret_path, path_bytes))
		*ret_why = "python3 on the PATH";
	else
		return false;
	return true;
}

/* The folder we are in, when it is the bin/ of an environment and not of one that only holds tools
 * (pipx, uv tool). */
static bool find_own_folder(char *room, size_t room_bytes)
{
	static const char *const marks[] = { "pyvenv.cfg", "conda-meta" };
	char mark[4096 + 16];
	ssize_t n = readlink("/proc/self/exe", room, room_bytes - 1);

	if (n <= 0)
		return false;
	room[n] = '\0';
	*strrchr(room, '/') = '\0';
	if (strstr(room, "/pipx/") || strstr(room, "/uv/tools/"))
		return false;
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
		snprintf(mark, sizeof mark, "%s/../%s", room, marks[i]);
		if (access(mark, F_OK) == 0)
			return true;
	}
	return false;
}

struct interpreter_places interpreter_places_read(char *own_folder_room, size_t room_bytes)
{
	struct interpreter_places p = {
		.virtual_env = getenv("VIRTUAL_ENV"),
		.conda_prefix = getenv("CONDA_PREFIX"),
		.path = getenv("PATH"),
		.home = getenv("HOME"),
		.pyenv_root = getenv("PYENV_ROOT"),
	};

	if (find_own_folder(own_folder_room, room_bytes))
		p.own_folder = own_folder_room;
	return p;
}

/* ---- all together ---------------------------------------------------------------------------- */

void interpreters_deduplicate(struct interpreters *all)
{
	size_t kept = 0;

	for (size_t i = 0; i < all->n; i++) {
		struct interpreter *it = &all->v[i];
		bool is_again = false;

		for (size_t j = 0; j < kept && !is_again; j++)
			is_again = it->ino && it->ino == all->v[j].ino && it->dev == all->v[j].dev;
		if (is_again)
			free(it->path);
		else
			all->v[kept++] = *it;
	}
	all->n = kept;
}

/* The one `run` takes, then supported ones, then newest first. */
static int compare(const void *a, const void *b)
{
	const struct interpreter *x = a, *y = b;

	if (!x->chosen_by != !y->chosen_by)
		return x->chosen_by ? -1 : 1;
	if (x->is_supported != y->is_supported)
		return x->is_supported ? -1 : 1;
	if (x->major != y->major)
		return x->major > y->major ? -1 : 1;
	if (x->minor != y->minor)
		return x->minor > y->minor ? -1 : 1;
	return strcmp(x->path, y->path);
}

void interpreters_find(struct interpreters *ret, const struct interpreter_places *places)
{
	char path[4096];
	const char *why;

	*ret = (struct interpreters){ .v = xcalloc(CANDIDATES_MAX, sizeof *ret->v) };
	if (interpreter_choose(places, path, sizeof path, &why)) {
		add(ret, path, true);
		if (ret->n)
			ret->v[0].chosen_by = why;
	}
	add_environment(ret, places->virtual_env);
	add_environment(ret, places->conda_prefix);
	add_path(ret, places->path);
	add_around(ret, places);
	interpreters_ask(ret->v, ret->n);
	interpreters_deduplicate(ret);
	qsort(ret->v, ret->n, sizeof *ret->v, compare);
}

const struct interpreter *interpreters_default(const struct interpreters *all)
{
	return all->n && all->v[0].chosen_by ? &all->v[0] : NULL;
}

void interpreters_done(struct interpreters *all)
{
	for (size_t i = 0; i < all->n; i++)
		free(all->v[i].path);
	free(all->v);
	*all = (struct interpreters){ 0 };
}
