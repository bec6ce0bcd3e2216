/* SPDX-License-Identifier: MIT
 * See gnu_time.h. */
#include "view/host/gnu_time.h"

#include <inttypes.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/units.h"
#include "base/banned.h"

const char gnu_time_verbose[] = "\tCommand being timed: \"%C\"\n"
				"\tUser time (seconds): %U\n"
				"\tSystem time (seconds): %S\n"
				"\tPercent of CPU this job got: %P\n"
				"\tElapsed (wall clock) time (h:mm:ss or m:ss): %E\n"
				"\tAverage shared text size (kbytes): %X\n"
				"\tAverage unshared data size (kbytes): %D\n"
				"\tAverage stack size (kbytes): %p\n"
				"\tAverage total size (kbytes): %K\n"
				"\tMaximum resident set size (kbytes): %M\n"
				"\tAverage resident set size (kbytes): %t\n"
				"\tMajor (requiring I/O) page faults: %F\n"
				"\tMinor (reclaiming a frame) page faults: %R\n"
				"\tVoluntary context switches: %w\n"
				"\tInvoluntary context switches: %c\n"
				"\tSwaps: %W\n"
				"\tFile system inputs: %I\n"
				"\tFile system outputs: %O\n"
				"\tSocket messages sent: %s\n"
				"\tSocket messages received: %r\n"
				"\tSignals delivered: %k\n"
				"\tPage size (bytes): %Z\n"
				"\tExit status: %x";

/* In so many parts of a second, the rest cut off; the little more undoes what a double lost. */
static uint64_t parts(double seconds, double per_second)
{
	return units_is_known(seconds) && seconds > 0 ? (uint64_t)(seconds * per_second + 1e-6) : 0;
}

static void add_count(struct buf *out, double v, double unit)
{
	if (units_is_known(v))
		buf_printf(out, "%" PRIu64, (uint64_t)(v / unit));
	else
		buf_addc(out, '?');
}

static void add_seconds(struct buf *out, double s)
{
	uint64_t hundredths = parts(s, 100);

	if (units_is_known(s))
		buf_printf(out, "%" PRIu64 ".%02" PRIu64, hundredths / 100, hundredths % 100);
	else
		buf_addc(out, '?');
}

/* 1:02:03, or 2:03.45 */
static void add_elapsed(struct buf *out, double s)
{
	uint64_t hundredths = parts(s, 100), seconds = hundredths / 100;

	if (seconds >= 3600)
		buf_printf(out, "%" PRIu64 ":%02" PRIu64 ":%02" PRIu64, seconds / 3600,
			seconds % 3600 / 60, seconds % 60);
	else
		buf_printf(out, "%" PRIu64 ":%02" PRIu64 ".%02" PRIu64, seconds / 60, seconds % 60,
			hundredths % 100);
}

static void add_percent(struct buf *out, const struct usage *u)
{
	uint64_t wall_ms = parts(u->wall_s, 1000);

	if (wall_ms && units_is_known(u->user_s) && units_is_known(u->system_s))
		buf_printf(out, "%" PRIu64 "%%",
			(parts(u->user_s, 1000) + parts(u->system_s, 1000)) * 100 / wall_ms);
	else
		buf_adds(out, "?%");
}

static void add_command(struct buf *out, const struct usage *u)
{
	for (const char *const *word = u->argv; word && *word; word++)
		buf_printf(out, "%s%s", word == u->argv ? "" : " ", *word);
}

/* Of one that was killed 0, as GNU time has it. */
static void add_status(struct buf *out, const struct usage *u)
{
	if (u->status == -1)
		buf_addc(out, '?');
	else
		buf_printf(out, "%d", WIFEXITED(u->status) ? WEXITSTATUS(u->status) : 0);
}

static void add_sequence(struct buf *out, const struct usage *u, char letter)
{
	enum { KB = 1024, BLOCK = 512 };

	switch (letter) {
	case '%':
		buf_addc(out, '%');
		break;
	case 'C':
		add_command(out, u);
		break;
	case 'E':
		add_elapsed(out, u->wall_s);
		break;
	case 'e':
		add_seconds(out, u->wall_s);
		break;
	case 'U':
		add_seconds(out, u->user_s);
		break;
	case 'S':
		add_seconds(out, u->system_s);
		break;
	case 'P':
		add_percent(out, u);
		break;
	case 'M':
		add_count(out, u->max_rss_bytes, KB);
		break;
	case 'F':
		add_count(out, u->major_faults, 1);
		break;
	case 'R':
		add_count(out, u->minor_faults, 1);
		break;
	case 'w':
		add_count(out, u->voluntary_switches, 1);
		break;
	case 'c':
		add_count(out, u->involuntary_switches, 1);
		break;
	case 'I':
		add_count(out, u->read_bytes, BLOCK);
		break;
	case 'O':
		add_count(out, u->write_bytes, BLOCK);
		break;
	case 'Z':
		buf_printf(out, "%ld", sysconf(_SC_PAGESIZE));
		break;
	case 'x':
		add_status(out, u);
		break;
	case 'D':
	case 'K':
	case 'X':
	case 'p':
	case 't':
	case 'W':
	case 'k':
	case 'r':
	case 's':
		buf_addc(out, '0');
		break;
	default:
		buf_addc(out, '?');
		if (letter)
			buf_addc(out, letter);
	}
}

static void add_escape(struct buf *out, char letter)
{
	switch (letter) {
	case 'n':
		buf_addc(out, '\n');
		break;
	case 't':
		buf_addc(out, '\t');
		break;
	case '\\':
		buf_addc(out, '\\');
		break;
	default:
		buf_adds(out, "?\\");
		if (letter)
			buf_addc(out, letter);
	}
}

static void add_end(struct buf *out, int status)
{
	if (status == -1)
		return;
	if (WIFSIGNALED(status))
		buf_printf(out, "Command terminated by signal %d\n", WTERMSIG(status));
	else if (WIFEXITED(status) && WEXITSTATUS(status))
		buf_printf(out, "Command exited with non-zero status %d\n", WEXITSTATUS(status));
}

void gnu_time_print(const struct usage *u, const char *format, bool tell_end, struct buf *out)
{
	if (tell_end)
		add_end(out, u->status);
	for (const char *at = format; *at; at += *at != '\0') {
		if (*at == '%')
			add_sequence(out, u, *++at);
		else if (*at == '\\')
			add_escape(out, *++at);
		else
			buf_addc(out, *at);
	}
	buf_addc(out, '\n');
}
