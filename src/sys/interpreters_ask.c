/* SPDX-License-Identifier: MIT
 * See interpreters.h: asking them what they are, as programs of which nothing is known, and judging
 * what they say. */
#include "sys/interpreters.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
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
	ASKED_AT_ONCE = 4,
	PRINTED_MAX = 4096,
	OLDEST = 8, /* supported */
	NEWEST = 15,
};
#define SECOND_NS       1000000000ull
#define ANSWER_NS       (3 * SECOND_NS)
#define ALL_NS          (3 * SECOND_NS) /* then no further one is started */
#define AFTER_ANSWER_NS (SECOND_NS / 5) /* to end in peace */

#define ANSWER "leadline-answer\t"
#define TORCH  "leadline-torch\t"

/* Runs on every Python from 2.7 on. abiflags: 't' is the free-threaded build, whether or not the
 * GIL was turned on again. The path may hold any bytes. */
static const char question[] =
	"import sys\n"
	/* torch's version, which importing would take seconds to tell; site is off */
	"below = '/lib/python%d.%d%s/site-packages' % (sys.version_info[:2] +\n"
	"    ('t' if 't' in getattr(sys, 'abiflags', '') else '',))\n"
	"for p in (sys.executable or '').rpartition('/bin/')[0] + below, sys.prefix + below, '/usr/lib/python3/dist-packages':\n"
	"    try:\n"
	"        lines = open(p + '/torch/version.py').read(4096).split('\\n')\n"
	"        found = [x for x in lines if x.startswith('__version__')][0]\n"
	"        sys.stdout.write('" TORCH "' + found.split(\"'\")[1] + '\\n')\n"
	"        sys.stdout.flush()\n"
	"        break\n"
	"    except Exception:\n"
	"        pass\n"
	"v = sys.version_info\n"
	"level = {'alpha': 'a', 'beta': 'b', 'candidate': 'rc'}.get(v[3])\n"
	"version = '%d.%d.%d' % v[:3] + (level + str(v[4]) if level else '')\n"
	"name = getattr(getattr(sys, 'implementation', None), 'name', 'cpython')\n"
	"text = '" ANSWER "%s\\t%s\\t%d\\t%d\\t%s\\n' % (version, name,\n"
	"    't' in getattr(sys, 'abiflags', ''), sys.maxsize > 2**32, sys.executable or '')\n"
	"if str is not bytes:\n"
	"    text = text.encode(sys.getfilesystemencoding(), 'surrogateescape')\n"
	"getattr(sys.stdout, 'buffer', sys.stdout).write(text)\n";

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
		refuse(i, "%u.%u is newer than 3.%d, the newest version leadline knows", i->major,
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
		refuse(i, "it said nothing when asked for its version");
	else
		refuse(i, "asked for its version, it said: %s", buf_str(&shown));
	buf_done(&safe);
	buf_done(&shown);
}

static void parse_torch(struct interpreter *i, const char *line, size_t n)
{
	const size_t n_word = sizeof TORCH - 1;

	if (n > n_word && n - n_word < sizeof i->torch && memcmp(line, TORCH, n_word) == 0)
		snprintf(i->torch, sizeof i->torch, "%.*s", (int)(n - n_word), line + n_word);
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
		parse_torch(i, printed + at, length);
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

static void ask_begin(struct asking *a, struct interpreter *who, uint64_t now_ns)
{
	int ends[2];
	pid_t parent = getpid();

	if (pipe2(ends, O_CLOEXEC) < 0) {
		refuse(who, "it could not be asked: %s", strerror(errno));
		return;
	}
	a->pid = fork();
	if (a->pid == 0)
		run_interpreter(who->path, ends[1], parent);
	close(ends[1]);
	if (a->pid < 0) {
		refuse(who, "it could not be asked: %s", strerror(errno));
		close(ends[0]);
		return;
	}
	setpgid(a->pid, a->pid); /* whoever is first: the group must exist before we kill it */
	a->who = who;
	a->fd = ends[0];
	a->until_ns = now_ns + ANSWER_NS;
	a->has_answered = false;
	a->n = 0;
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
	if (exe[0] && stat(exe, &st) == 0 && S_ISREG(st.st_mode) &&
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

void interpreters_ask(struct interpreter *v, size_t n)
{
	struct asking *all = xcalloc(ASKED_AT_ONCE, sizeof *all);
	uint64_t end_ns = clock_monotonic_ns() + ALL_NS;
	size_t next = 0;
	int left;

	do {
		for (int i = 0; i < ASKED_AT_ONCE && next < n; i++) {
			struct interpreter *who = &v[next];
			uint64_t now_ns = clock_monotonic_ns();

			if (all[i].who)
				continue;
			if (!who->is_trusted)
				refuse(who,
					"not run: it belongs to another user, or anyone may change it");
			else if (now_ns >= end_ns)
				refuse(who, "not run: the others took too long");
			else
				ask_begin(&all[i], who, now_ns);
			next++;
		}
		left = ask_round(all);
	} while (left || next < n);
	free(all);
}
