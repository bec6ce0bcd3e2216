/* SPDX-License-Identifier: MIT
 *
 * memory_profiler's .dat: the memory of a program over time, as mprof plots it.
 *
 *	CMDLINE python x.py
 *	MEM 12.5 1700000000.1000                     MiB, seconds since 1970
 *	CHLD 0 3.5 1700000000.1000                   the same of a child, by its number
 *	FUNC f 12.5 1700000000.1 14.5 1700000000.3 0 memory and time at a call's begin and end, its level
 *
 * MEM of ours is the resident memory of the program and all its children at each look. Read, MEM and CHLD are processes whose
 * memory alone is known, and FUNC regions. mprof gives times of looks and of calls from different moments on, so zero is the first. */
#include "formats/dat.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/recording.h"
#include "analyze/host/usage.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "formats/sink.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "base/banned.h"

static const double MIB = 1024 * 1024;

static int write(struct selection *s, struct sink *out, struct err *e)
{
	const struct usage *u = s->recording->usage;
	double begun_s = (double)s->recording->reader->begun_realtime_ns / 1e9;

	if (!u->n_ticks)
		return err_set(e, ERR_USAGE,
			"it holds no memory over time: leadline run and leadline time record it");
	buf_printf(&out->text, "CMDLINE %s\n", u->command);
	for (size_t i = 0; i < u->n_ticks; i++) {
		buf_printf(&out->text, "MEM %.6f %.4f\n", u->ticks[i].rss_bytes / MIB,
			begun_s + u->ticks[i].t_s);
		sink_flush(out);
	}
	return 0;
}

/* ---- reading --------------------------------------------------------------------------------- */

enum { CHILDREN = 10000, FIELDS = 5 };

struct file {
	struct input *in;
	struct foreign *to;
	struct err *e;
	double zero_s; /* of the first line with a time */
	uint64_t n_looks, last_ns;
	uint32_t thread, command; /* rows */
	uint32_t *processes; /* rows: the program, then its children by number; 0: not seen yet */
};

static int bad(const struct file *f, const char *what)
{
	return err_set(f->e, ERR_BAD_FILE, "line %" PRIu64 ": %s", f->in->n_lines, what);
}

/* Numbers separated by blanks; how many there are. */
static size_t numbers(const char *s, double to[FIELDS])
{
	size_t n = 0;
	char *end;

	for (; n < FIELDS; n++, s = end) {
		to[n] = strtod(s, &end);
		if (end == s || !isfinite(to[n]))
			break;
	}
	return n;
}

/* + 1: a time of 0 means that there is none. */
static uint64_t time_ns(struct file *f, double t_s)
{
	if (isnan(f->zero_s))
		f->zero_s = t_s;
	return foreign_value((t_s - f->zero_s) * 1e9) + 1;
}

static uint32_t process_at(struct file *f, size_t i, uint64_t t_ns)
{
	uint32_t *row = &f->processes[i];

	if (!*row) {
		char name[40];

		snprintf(name, sizeof name, "child %zu", i - 1);
		*row = writer_row(f->to->w, RECORD_process,
			&(struct rec_process){ .pid = (uint32_t)i + 1,
				.parent_pid = i ? 1 : 0,
				.command = i ? writer_string(f->to->w, name) : f->command });
		writer_add(f->to->w, RECORD_life,
			&(struct rec_life){ .t_ns = t_ns, .process = *row, .event = LIFE_START });
	}
	return *row;
}

static void add_look(struct file *f, size_t process, double mib, double t_s)
{
	uint64_t t_ns = time_ns(f, t_s);

	if (t_ns < f->last_ns || (process && f->n_looks))
		t_ns = f->last_ns; /* time does not go back; children are of the same look */
	f->last_ns = t_ns;
	f->n_looks++;
	writer_add(f->to->w, RECORD_process_usage,
		&(struct rec_process_usage){ .t_ns = t_ns,
			.process = process_at(f, process, t_ns),
			.user_ns = RECORD_UNKNOWN,
			.system_ns = RECORD_UNKNOWN,
			.rss_bytes = foreign_value(mib * MIB),
			.pss_bytes = RECORD_UNKNOWN,
			.minor_faults = RECORD_UNKNOWN,
			.major_faults = RECORD_UNKNOWN,
			.read_chars = RECORD_UNKNOWN,
			.write_chars = RECORD_UNKNOWN,
			.read_calls = RECORD_UNKNOWN,
			.write_calls = RECORD_UNKNOWN,
			.read_bytes = RECORD_UNKNOWN,
			.write_bytes = RECORD_UNKNOWN });
}

/* "FUNC name memory begin memory end level": names may hold blanks. */
static int take_call(struct file *f, char *s)
{
	double x[FIELDS];
	char *at = s + strlen(s);
	uint64_t from_ns, to_ns;

	for (size_t words = 0; at > s && words < FIELDS;)
		words += *--at == ' ';
	if (at == s || numbers(at, x) != FIELDS)
		return bad(f, "expected FUNC, a name and five numbers");
	from_ns = time_ns(f, x[1]);
	to_ns = time_ns(f, x[3]);
	writer_add(f->to->w, RECORD_region,
		&(struct rec_region){ .t_ns = from_ns,
			.duration_ns = to_ns > from_ns ? to_ns - from_ns : 0,
			.thread = f->thread,
			.name = writer_string_n(f->to->w, s, (size_t)(at - s)) });
	return 0;
}

static int take_line(struct file *f, char *s)
{
	double x[FIELDS];

	if (strncmp(s, "CMDLINE ", 8) == 0) {
		foreign_command(f->to, s + 8);
		f->command = writer_string(f->to->w, s + 8);
		return 0;
	}
	if (strncmp(s, "FUNC ", 5) == 0)
		return take_call(f, s + 5);
	if (strncmp(s, "MEM ", 4) == 0) {
		if (numbers(s + 4, x) != 2 || x[0] < 0)
			return bad(f, "expected MEM, MiB and seconds");
		add_look(f, 0, x[0], x[1]);
	} else if (strncmp(s, "CHLD ", 5) == 0) {
		if (numbers(s + 5, x) != 3 || !(x[0] >= 0 && x[0] < CHILDREN) || x[1] < 0)
			return bad(f, "expected CHLD, a number, MiB and seconds");
		add_look(f, 1 + (size_t)x[0], x[1], x[2]);
	} else if (*s) {
		return bad(f, "neither MEM, CHLD, FUNC nor CMDLINE");
	}
	return 0;
}

static void end_processes(struct file *f)
{
	char wall_s[40];

	for (size_t i = 0; i <= CHILDREN; i++)
		if (f->processes[i])
			writer_add(f->to->w, RECORD_process_end,
				&(struct rec_process_end){ .t_ns = f->last_ns,
					.process = f->processes[i],
					.source = END_LAST_SEEN,
					.status = UINT32_MAX, /* not known */
					.user_ns = RECORD_UNKNOWN,
					.system_ns = RECORD_UNKNOWN,
					.own_user_ns = RECORD_UNKNOWN,
					.own_system_ns = RECORD_UNKNOWN,
					.max_rss_bytes = RECORD_UNKNOWN,
					.minor_faults = RECORD_UNKNOWN,
					.major_faults = RECORD_UNKNOWN,
					.voluntary_switches = RECORD_UNKNOWN,
					.involuntary_switches = RECORD_UNKNOWN,
					.read_chars = RECORD_UNKNOWN,
					.write_chars = RECORD_UNKNOWN,
					.read_calls = RECORD_UNKNOWN,
					.write_calls = RECORD_UNKNOWN,
					.read_bytes = RECORD_UNKNOWN,
					.write_bytes = RECORD_UNKNOWN });
	snprintf(wall_s, sizeof wall_s, "%.9f", (double)f->last_ns / 1e9);
	writer_meta(f->to->w, "wall_s", wall_s);
}

static int read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .in = in, .to = to, .e = e, .zero_s = NAN };
	char *line;
	size_t n;
	int status;

	f.processes = xcalloc(CHILDREN + 1, sizeof *f.processes);
	f.thread = foreign_thread(to, 1, 1, "");
	foreign_unit(to, FOREIGN_BYTES, "");
	while ((status = input_line(in, &line, &n, e)) > 0)
		if (take_line(&f, line) < 0) {
			status = -(int)e->code;
			break;
		}
	if (status == 0 && !f.n_looks)
		status = err_set(e, ERR_BAD_FILE, "it holds no memory over time");
	if (status == 0)
		end_processes(&f);
	free(f.processes);
	return status;
}

bool dat_recognise(const char *head, size_t n)
{
	const char *line = head;
	double x[FIELDS];
	char look[100];

	if (n > 8 && memcmp(head, "CMDLINE ", 8) == 0) {
		line = memchr(head, '\n', n);
		line = line ? line + 1 : head + n;
	}
	n -= (size_t)(line - head);
	if (n < 4 ||
		(memcmp(line, "MEM ", 4) != 0 && memcmp(line, "CHLD", 4) != 0 &&
			memcmp(line, "FUNC", 4) != 0))
		return false;
	snprintf(look, sizeof look, "%.*s", (int)(n < 99 ? n : 99), line);
	look[strcspn(look, "\n")] = '\0';
	return *look != 'M' || (numbers(look + 4, x) == 2 && x[1] > 0);
}

const struct format format_dat = {
	.name = "dat",
	.alias = "mprof",
	.suffixes = { ".dat" },
	.summary = "memory over time, for memory_profiler's mprof plot",
	.recognise = dat_recognise,
	.read = read,
	.takes_totals = true,
	.choice = FORMAT_OF_ALL,
	.write = write,
};
