/* SPDX-License-Identifier: MIT
 * See proc.h. */
#include "sys/proc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

static uint64_t ticks_to_ns(uint64_t ticks)
{
	static const uint64_t second = 1000000000u;

	return ticks * (second / (uint64_t)sysconf(_SC_CLK_TCK));
}

/* The numbers after the name, which may itself hold ") R 1": the last ")" counts. */
bool proc_stat_parse(const char *text, struct proc_stat *ret)
{
	enum {
		PPID = 4,
		MINFLT = 10,
		CMINFLT,
		MAJFLT,
		CMAJFLT,
		UTIME = 14,
		STIME,
		CUTIME,
		CSTIME,
		THREADS = 20,
		START = 22,
		RSS = 24,
		FIELDS
	};
	const char *open = strchr(text, '('), *close = strrchr(text, ')');
	uint64_t field[FIELDS] = { 0 };
	const char *at;

	if (!open || !close || close < open || close[1] != ' ' || !close[2])
		return false;
	*ret = (struct proc_stat){ .state = close[2] };
	snprintf(ret->name, sizeof ret->name, "%.*s", (int)(close - open - 1), open + 1);
	at = close + 3;
	for (int i = PPID; i < FIELDS; i++) {
		char *end;

		field[i] = (uint64_t)strtoll(at, &end, 10);
		if (end == at)
			return false;
		at = end;
	}
	ret->parent = (pid_t)field[PPID];
	ret->minor_faults = field[MINFLT];
	ret->major_faults = field[MAJFLT];
	ret->children_minor_faults = field[CMINFLT];
	ret->children_major_faults = field[CMAJFLT];
	ret->user_ns = ticks_to_ns(field[UTIME]);
	ret->system_ns = ticks_to_ns(field[STIME]);
	ret->children_user_ns = ticks_to_ns(field[CUTIME]);
	ret->children_system_ns = ticks_to_ns(field[CSTIME]);
	ret->n_threads = field[THREADS];
	ret->start_ns = ticks_to_ns(field[START]);
	ret->rss_bytes = field[RSS] * (uint64_t)sysconf(_SC_PAGESIZE);
	return true;
}

uint64_t proc_field(const char *text, const char *name)
{
	size_t n = strlen(name);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (strncmp(line, name, n) == 0 && line[n] == ':') {
			char *end;
			uint64_t value = strtoull(line + n + 1, &end, 10);

			return end == line + n + 1 ? PROC_UNKNOWN : value;
		}
	}
	return PROC_UNKNOWN;
}

void proc_io_parse(const char *text, struct proc_io *ret)
{
	*ret = (struct proc_io){
		.read_chars = proc_field(text, "rchar"),
		.write_chars = proc_field(text, "wchar"),
		.read_calls = proc_field(text, "syscr"),
		.write_calls = proc_field(text, "syscw"),
		.read_bytes = proc_field(text, "read_bytes"),
		.write_bytes = proc_field(text, "write_bytes"),
	};
}

bool proc_sched_parse(const char *text, struct proc_sched *ret)
{
	return sscanf(text, "%" SCNu64 " %" SCNu64, &ret->cpu_ns, &ret->queue_ns) == 2;
}

ssize_t proc_read_fd(char *to, size_t size, int fd)
{
	ssize_t got = pread(fd, to, size - 1, 0);

	to[got > 0 ? got : 0] = '\0';
	return got;
}

ssize_t proc_read(char *to, size_t size, const char *fmt, ...)
{
	char path[256];
	va_list ap;
	ssize_t got;
	int fd, failed;

	to[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(path, sizeof path, fmt, ap);
	va_end(ap);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	got = proc_read_fd(to, size, fd);
	failed = got == 0 ? ESRCH : errno; /* an empty file is that of a process that ended */
	close(fd);
	errno = failed;
	return got;
}

bool proc_command(pid_t pid, char *to, size_t size)
{
	char text[4096], *argv[129];
	ssize_t n = proc_read(text, sizeof text, "/proc/%d/cmdline", (int)pid);
	struct buf line = BUF_INIT, safe = BUF_INIT;
	size_t n_words = 0;

	if (n < 0)
		return false;
	for (ssize_t at = 0; at < n && n_words < 128; at += (ssize_t)strlen(text + at) + 1)
		argv[n_words++] = text + at;
	argv[n_words] = NULL;
	if (n_words) {
		text_add_command(&line, argv);
	} else {
		struct proc_stat st;

		if (proc_read(text, sizeof text, "/proc/%d/stat", (int)pid) > 0 &&
			proc_stat_parse(text, &st))
			buf_printf(&line, "[%s]", st.name);
	}
	text_add_printable(&safe, buf_str(&line), line.n);
	snprintf(to, size, "%s", buf_str(&safe));
	buf_done(&line);
	buf_done(&safe);
	return true;
}

static uint64_t pressure_total(const char *text, const char *word)
{
	const char *line = strstr(text, word), *total = line ? strstr(line, "total=") : NULL;

	return total ? strtoull(total + 6, NULL, 10) : PROC_UNKNOWN;
}

void proc_pressure(const char *what, uint64_t *ret_some_us, uint64_t *ret_full_us)
{
	char text[512];

	if (proc_read(text, sizeof text, "/proc/pressure/%s", what) < 0)
		text[0] = '\0';
	*ret_some_us = pressure_total(text, "some ");
	*ret_full_us = pressure_total(text, "full ");
}

/* The last number after "NSpid:". */
uint64_t proc_inner_id(pid_t pid, uint64_t tid)
{
	char text[4096];
	const char *line;
	uint64_t id = tid;

	if (proc_read(text, sizeof text, "/proc/%d/task/%llu/status", (int)pid,
		    (unsigned long long)tid) <= 0)
		return 0;
	line = strstr(text, "\nNSpid:");
	if (!line)
		return id; /* a kernel without: there is only one namespace to see */
	for (const char *p = line + strlen("\nNSpid:"); *p == '\t' || *p == ' ';) {
		char *end;

		id = strtoull(p, &end, 10);
		if (end == p)
			break;
		p = end;
	}
	return id;
}
