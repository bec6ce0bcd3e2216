/* SPDX-License-Identifier: MIT
 * See interpreters.h. Candidates are collected first (no process is started for that), then all are
 * asked, then scripts that led to the same program are dropped. */
#include "sys/interpreters.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "wire/clock.h"
#include "base/banned.h"

enum {
	CANDIDATES_MAX = 48,
	FOLDERS_MAX = 32, /* looked at below one parent, such as pyenv's versions */
	ASKED_AT_ONCE = 4,
	PRINTED_MAX = 4096,
	MINOR_FIRST = 4, /* names looked for: python3.4 … python3.19, and with a t */
	MINOR_LAST = 19,
	OLDEST = 8, /* supported */
	NEWEST = 15,
};
#define SECOND_NS       1000000000ull
#define ANSWER_NS       (3 * SECOND_NS)
#define ALL_NS          (6 * SECOND_NS) /* then no further one is started */
#define AFTER_ANSWER_NS (SECOND_NS / 5) /* to end in peace */

#define ANSWER "leadline-answer\t"

/* Runs on every Python from 2.7 on. abiflags: 't' is the free-threaded build, whether or not the
 * GIL was turned on again. The path may hold any bytes. */
static const char question[] =
	"import sys\n"
	"v = sys.version_info\n"
	"level = {'alpha': 'a', 'beta': 'b', 'candidate': 'rc'}.get(v[3])\n"
	"version = '%d.%d.%d' % v[:3] + (level + str(v[4]) if level else '')\n"
	"name = getattr(getattr(sys, 'implementation', None), 'name', 'cpython')\n"
	"text = '" ANSWER "%s\\t%s\\t%d\\t%d\\t%s\\n' % (version, name,\n"
	"    't' in getattr(sys, 'abiflags', ''), sys.maxsize > 2**32, sys.executable or '')\n"
	"if str is not bytes:\n"
	"    text = text.encode(sys.getfilesystemencoding(), 'surrogateescape')\n"
	"getattr(sys.stdout, 'buffer', sys.stdout).write(text)\n";

/* ---- candidates ------------------------------------------------------------------------------ */

struct candidates {
	struct interpreter v[CANDIDATES_MAX];
	bool is_script[CANDIDATES_MAX];
	bool is_trusted[CANDIDATES_MAX]; /* may be run */
	size_t n, n_left_out;
};

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
	const struct candidates *c, const char *path, const struct stat *st, bool script)
{
	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->v[i].path, path) == 0)
			return true;
		if (!script && !c->is_script[i] && c->v[i].dev == st->st_dev &&
			c->v[i].ino == st->st_ino)
			return true;
	}
	return false;
}

/* `named`: the user named its place (PATH, VIRTUAL_ENV …), we did not come across it. */
static void add(struct candidates *c, const char *path, bool named)
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
	c->is_script[c->n] = script;
	c->is_trusted[c->n] =
		named || ((st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & S_IWOTH));
	c->v[c->n++] =
		(struct interpreter){ .path = xstrdup(path), .dev = st.st_dev, .ino = st.st_ino };
}

static void add_in(struct candidates *c, const char *folder, const char *name, bool named)
{
	char path[4096];

	if ((size_t)snprintf(path, sizeof path, "%s/%s", folder, name) < sizeof path)
		add(c, path, named);
}

/* Names are tried rather than the folder read: /usr/bin may hold thousands. Folders called "shims"
 * (pyenv, asdf, mise) hold one pointer per version; these are found in their own folders. */
static void add_folder(struct candidates *c, const char *folder, bool named)
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

static void add_environment(struct candidates *c, const char *prefix)
{
	char folder[4096];

	if (is_set(prefix) &&
		(size_t)snprintf(folder, sizeof folder, "%s/bin", prefix) < sizeof folder)
		add_folder(c, folder, true);
}

static void add_path(struct candidates *c, const char *path)
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
static void add_below(struct candidates *c, const char *parent)
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

static void add_around(struct candidates *c, const struct interpreter_places *p)
{
	static const char *const in_home[] = { ".local/share/uv/python", "miniconda3/envs",
		"miniforge3/envs", "mambaforge/envs", "anaconda3/envs", ".conda/envs",
		".asdf/installs/python", ".local/share/mise/installs/python" };
	static const char *const conda[] = { "miniconda3", "miniforge3", "mambaforge",
		"anaconda3" };
	const char *system = p->system ? p->system : "";
	char folder[4096];

	if (is_set(p->pyenv_root))
		snprintf(folder, sizeof folder, "%s/versions", p->pyenv_root);
	else
		snprintf(folder, sizeof folder, "%s/.pyenv/versions",
			is_set(p->home) ? p->home : "");
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

/* ---- what an interpreter says ---------------------------------------------------------------- */

static void __attribute__((format(printf, 2, 3)))
refuse(struct interpreter *i, const char *fmt, ...)
{
	va_list ap;

	i->is_supported = false;
	va_start(ap, fmt);
	vsnprintf(i->reason, sizeof i->reason, fmt, ap);
	va_end(ap);
}

static void judge(struct interpreter *i)
{
	i->is_supported = true;
	if (strcmp(i->implementation, "CPython") != 0)
		refuse(i, "%s is not CPython", i->implementation);
	else if (i->major != 3 || i->minor < OLDEST)
		refuse(i, "%u.%u is older than 3.%d", i->major, i->minor, OLDEST);
	else if (i->minor > NEWEST)
		refuse(i, "%u.%u is newer than 3.%d, the newest this leadline knows", i->major,
			i->minor, NEWEST);
	else if (!i->is_64bit)
		refuse(i, "it is a 32-bit build");
}

/* "3.13.5", "3.15.0a2", nothing else. */
static bool parse_version(const char *s, unsigned *ret_major, unsigned *ret_minor)
{
	unsigned major, minor;
	int n = 0;

	if (sscanf(s, "%3u.%3u.%n", &major, &minor, &n) != 2 || !n ||
		!isdigit((unsigned char)s[n]) || !isdigit((unsigned char)s[0]) ||
		s[n + (int)strspn(s + n, "0123456789abrc")])
		return false;
	*ret_major = major;
	*ret_minor = minor;
	return true;
}

static bool parse_flag(const char *s, bool *ret)
{
	*ret = s[0] == '1';
	return (s[0] == '0' || s[0] == '1') && s[1] == '\0';
}

static bool is_word(const char *s)
{
	size_t n = strlen(s);

	for (size_t i = 0; i < n; i++)
		if (!isalnum((unsigned char)s[i]) && !strchr("_-. ", s[i]))
			return false;
	return n > 0;
}

/* The names sys.implementation uses, as people write them. */
static const char *proper_name(const char *name)
{
	static const char *const names[][2] = { { "cpython", "CPython" }, { "pypy", "PyPy" },
		{ "graalpy", "GraalPy" }, { "ironpython", "IronPython" } };

	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(name, names[i][0]) == 0)
			return names[i][1];
	return name;
}

/* One line without its newline, after the word that marks it. */
static bool parse_answer(struct interpreter *i, char *line, char *ret_exe, size_t exe_bytes)
{
	enum { VERSION, NAME, THREADS, BITS, EXE, FIELDS };
	char *field[FIELDS], *at = line;

	for (int f = 0; f < FIELDS; f++) {
		field[f] = f < EXE ? strsep(&at, "\t") : at;
		if (!field[f])
			return false;
	}
	if (!parse_version(field[VERSION], &i->major, &i->minor) ||
		strlen(field[VERSION]) >= sizeof i->version || !is_word(field[NAME]) ||
		strlen(field[NAME]) >= sizeof i->implementation ||
		!parse_flag(field[THREADS], &i->is_free_threaded) ||
		!parse_flag(field[BITS], &i->is_64bit))
		return false;
	snprintf(i->version, sizeof i->version, "%s", field[VERSION]);
	snprintf(i->implementation, sizeof i->implementation, "%s", proper_name(field[NAME]));
	if (ret_exe && *field[EXE] == '/' && strlen(field[EXE]) < exe_bytes)
		snprintf(ret_exe, exe_bytes, "%s", field[EXE]);
	return true;
}

/* The last line that holds something says most: "…: cannot open shared object file". */
static void refuse_printed(struct interpreter *i, const char *printed, size_t n)
{
	struct buf safe = BUF_INIT, shown = BUF_INIT;
	size_t from;

	while (n && isspace((unsigned char)printed[n - 1]))
		n--;
	for (from = n; from && printed[from - 1] != '\n'; from--)
		;
	text_add_printable(&safe, printed + from, n - from);
	text_add_cut(&shown, buf_str(&safe), 60, TEXT_CUT_MIDDLE);
	if (n == 0)
		refuse(i, "it answered nothing when asked for its version");
	else
		refuse(i, "asked for its version, it said: %s", buf_str(&shown));
	buf_done(&safe);
	buf_done(&shown);
}

void interpreter_parse(
	struct interpreter *i, const char *printed, size_t n, char *ret_exe, size_t exe_bytes)
{
	char line[PRINTED_MAX + 1];

	if (ret_exe)
		ret_exe[0] = '\0';
	for (size_t at = 0; at < n;) {
		const char *end = memchr(printed + at, '\n', n - at);
		size_t length = end ? (size_t)(end - printed) - at : 0;

		if (!end)
			break; /* cut off */
		if (length > sizeof ANSWER - 1 && length < sizeof line &&
			memcmp(printed + at, ANSWER, sizeof ANSWER - 1) == 0 &&
			!memchr(printed + at, '\0', length)) {
			snprintf(line, sizeof line, "%.*s", (int)length, printed + at);
			if (parse_answer(i, line + sizeof ANSWER - 1, ret_exe, exe_bytes)) {
				judge(i);
				return;
			}
		}
		at += length + 1;
	}
	refuse_printed(i, printed, n);
}

/* ---- asking ---------------------------------------------------------------------------------- */

struct asking {
	struct interpreter *who; /* NULL: free */
	pid_t pid;
	int fd; /* what it prints */
	uint64_t until_ns;
	bool has_answered;
	size_t n;
	char printed[PRINTED_MAX];
};

static void __attribute__((noreturn)) run_interpreter(const char *path, int out, pid_t parent)
{
	char *const argv[] = { (char *)path, (char *)"-I", (char *)"-S", (char *)"-B", (char *)"-c",
		(char *)question, NULL };
	int null = open("/dev/null", O_RDONLY);
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	dup2(null, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execv(path, argv);
	dprintf(STDOUT_FILENO, "it cannot be run: %s\n", strerror(errno));
	_exit(127);
}

static bool ask_begin(struct asking *a, struct interpreter *who, uint64_t now_ns)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) < 0) {
		refuse(who, "it could not be asked: %s", strerror(errno));
		return false;
	}
	a->pid = fork();
	if (a->pid == 0)
		run_interpreter(who->path, ends[1], parent);
	close(ends[1]);
	if (a->pid < 0) {
		refuse(who, "it could not be asked: %s", strerror(errno));
		close(ends[0]);
		return false;
	}
	setpgid(a->pid, a->pid); /* whoever is first: the group must exist before we kill it */
	a->who = who;
	a->fd = ends[0];
	a->until_ns = now_ns + ANSWER_NS;
	a->has_answered = false;
	a->n = 0;
	return true;
}

/* Whatever it started and kept in its group goes with it. */
static void ask_end(struct asking *a, bool is_late)
{
	char exe[PRINTED_MAX];
	struct stat st;

	kill(-a->pid, SIGKILL);
	kill(a->pid, SIGKILL);
	while (waitpid(a->pid, NULL, 0) < 0 && errno == EINTR)
		;
	close(a->fd);
	interpreter_parse(a->who, a->printed, a->n, exe, sizeof exe);
	if (is_late && !a->who->version[0])
		refuse(a->who, "it did not answer within %llu s", ANSWER_NS / SECOND_NS);
	if (exe[0] && is_program(exe, &st) &&
		(st.st_dev != a->who->dev || st.st_ino != a->who->ino)) {
		free(a->who->path); /* it was a script or a launcher */
		a->who->path = xstrdup(exe);
		a->who->dev = st.st_dev;
		a->who->ino = st.st_ino;
	}
	a->who = NULL;
}

/* Returns false when no more can come. */
static bool ask_read(struct asking *a, uint64_t now_ns)
{
	ssize_t got = read(a->fd, a->printed + a->n, sizeof a->printed - a->n);

	if (got < 0)
		return errno == EINTR || errno == EAGAIN;
	a->n += (size_t)got;
	if (!a->has_answered && memmem(a->printed, a->n, ANSWER, sizeof ANSWER - 1) &&
		a->printed[a->n - 1] == '\n') {
		a->has_answered = true;
		a->until_ns = now_ns + AFTER_ANSWER_NS;
	}
	return got > 0 && a->n < sizeof a->printed;
}

static int wait_ms(const struct asking *all, uint64_t now_ns)
{
	uint64_t least_ns = ANSWER_NS;

	for (int i = 0; i < ASKED_AT_ONCE; i++)
		if (all[i].who && all[i].until_ns <= now_ns)
			return 0;
		else if (all[i].who && all[i].until_ns - now_ns < least_ns)
			least_ns = all[i].until_ns - now_ns;
	return (int)(least_ns / 1000000) + 1;
}

/* One round: waits for news of those being asked, takes it in. Returns how many are left. */
static int ask_round(struct asking *all)
{
	struct pollfd fds[ASKED_AT_ONCE];
	uint64_t now_ns = clock_monotonic_ns();
	int left = 0;

	for (int i = 0; i < ASKED_AT_ONCE; i++) {
		fds[i] = (struct pollfd){ .fd = all[i].who ? all[i].fd : -1, .events = POLLIN };
		left += all[i].who != NULL;
	}
	if (left == 0)
		return 0;
	left = 0;
	poll(fds, ASKED_AT_ONCE, wait_ms(all, now_ns));
	now_ns = clock_monotonic_ns();
	for (int i = 0; i < ASKED_AT_ONCE; i++) {
		if (!all[i].who)
			continue;
		if (fds[i].revents && !ask_read(&all[i], now_ns))
			ask_end(&all[i], false);
		else if (now_ns >= all[i].until_ns)
			ask_end(&all[i], true);
		else
			left++;
	}
	return left;
}

static void ask_all(struct candidates *c)
{
	struct asking *all = xcalloc(ASKED_AT_ONCE, sizeof *all);
	uint64_t end_ns = clock_monotonic_ns() + ALL_NS;
	size_t next = 0;
	int left;

	do {
		for (int i = 0; i < ASKED_AT_ONCE && next < c->n; i++) {
			struct interpreter *who = &c->v[next];
			uint64_t now_ns = clock_monotonic_ns();

			if (all[i].who)
				continue;
			if (!c->is_trusted[next])
				refuse(who,
					"not run: it belongs to another user or anyone may change "
					"it");
			else if (now_ns >= end_ns)
				refuse(who, "not run: the others took too long");
			else
				ask_begin(&all[i], who, now_ns);
			next++;
		}
		left = ask_round(all);
	} while (left || next < c->n);
	free(all);
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
	struct candidates *c = xcalloc(1, sizeof *c);
	char path[4096];
	const char *why;

	if (interpreter_choose(places, path, sizeof path, &why)) {
		add(c, path, true);
		c->v[0].chosen_by = why;
	}
	add_environment(c, places->virtual_env);
	add_environment(c, places->conda_prefix);
	add_path(c, places->path);
	add_around(c, places);
	ask_all(c);
	*ret = (struct interpreters){ .n = c->n, .n_left_out = c->n_left_out };
	ret->v = xcalloc(c->n + 1, sizeof *ret->v);
	memcpy(ret->v, c->v, c->n * sizeof *ret->v);
	free(c);
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
