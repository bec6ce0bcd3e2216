/* SPDX-License-Identifier: MIT
 * See attach_torch.h. */
#include "cmd/attach_torch.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/recording.h"
#include "cmd/report_ops.h"
#include "collect/torch_job.h"
#include "sys/lookup.h"
#include "sys/rank.h"
#include "base/banned.h"

enum { FOLDERS_MOST = 1000, OVERVIEWS_MOST = 8, PATH_BYTES = 4096 };

/* The folder for the traces: the one that was named, or the first of NAME.torch, NAME.2.torch … that is not there. */
static int take_folder(const struct attach_torch *o, char to[PATH_BYTES], struct err *e)
{
	char stem[LOOKUP_NAME];

	if (o->folder) {
		snprintf(to, PATH_BYTES, "%s", o->folder);
		return mkdir(to, 0777) == 0 || errno == EEXIST ? 0
							       : err_errno(e, ERR_SYSTEM, "%s", to);
	}
	recording_stem(o->name, stem, sizeof stem);
	for (int i = 1; i < FOLDERS_MOST; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof number, ".%d", i);
		snprintf(to, PATH_BYTES, "%s%s.torch", stem, number);
		if (mkdir(to, 0777) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return err_errno(e, ERR_SYSTEM, "cannot make the folder %s for the traces", to);
}

static int copy_all(int from, int to)
{
	ssize_t n;

	while ((n = sendfile(to, from, NULL, 1 << 24)) > 0)
		;
	return n < 0 ? -1 : 0;
}

static int keep(
	const struct torch_job *j, const struct torch_part *p, const char *path, struct err *e)
{
	int from, to, status = 0;

	if (torch_job_open(j, p, &from, e) < 0)
		return -(int)e->code;
	to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	if (to < 0 || copy_all(from, to) < 0)
		status = err_errno(e, ERR_SYSTEM, "%s", path);
	close(from);
	if (to >= 0 && close(to) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "%s", path);
	return status;
}

static void print_line(const struct buf *line)
{
	fputs(buf_str(line), stdout);
	fflush(stdout);
}

/* Its heading, the overview, and for the first process its operators. */
static int show(const struct command *self, const struct attach_torch *o,
	const struct torch_part *p, const char *path, bool is_first)
{
	struct report_ops pages = { .output = output_for(STDOUT_FILENO, o->color),
		.overview = true,
		.ops = is_first,
		.limit = o->limit ? o->limit : SIZE_MAX };
	char rank[RANK_TEXT];
	struct buf line = BUF_INIT;
	int status;

	rank_of(p->pid, rank);
	buf_printf(&line, "%sProcess %d%s%s: %s\n", is_first ? "" : "\n", (int)p->pid,
		*rank ? ", rank " : "", rank, path);
	print_line(&line);
	buf_done(&line);
	status = report_ops(self, path, &pages);
	return status;
}

static int collect_and_show(
	const struct command *self, const struct attach_torch *o, const struct torch_job *j)
{
	char folder[PATH_BYTES] = "", path[PATH_BYTES + LOOKUP_NAME];
	struct err e = ERR_INIT;
	size_t n_shown = 0;
	int status = 0;

	for (const struct torch_part *p = j->parts.v; p < j->parts.v + j->parts.n; p++) {
		if (!p->is_written) {
			fprintf(stderr,
				"leadline: process %d wrote no trace: it ended, was too busy to "
				"hear, or another profiler "
				"ran in "
				"it%s\n",
				(int)p->pid,
				o->n_steps
					? ", or no optimizer made so many steps (then: --seconds)"
					: "");
			status = 1;
			continue;
		}
		if (!*folder && take_folder(o, folder, &e) < 0)
			return command_fail(self, &e);
		snprintf(path, sizeof path, "%s/trace_%d.pt.trace.json", folder, (int)p->pid);
		if (keep(j, p, path, &e) < 0)
			return command_fail(self, &e);
		if (n_shown++ < OVERVIEWS_MOST && show(self, o, p, path, n_shown == 1) != 0)
			status = 1;
	}
	if (n_shown > OVERVIEWS_MOST)
		printf("\n%zu more traces are in %s\n", n_shown - OVERVIEWS_MOST, folder);
	if (n_shown > 1)
		printf("\nSide by side: leadline report --distributed %s\n", folder);
	return status;
}

static void tell_start(const struct attach_torch *o)
{
	char length[UNITS_TEXT];

	if (!isatty(STDERR_FILENO))
		return;
	if (o->n_steps)
		fprintf(stderr,
			"leadline: processes of %d (%s) ask for work every 5 s; then %llu steps of "
			"each "
			"are traced\n",
			(int)o->pid, o->name, (unsigned long long)o->n_steps);
	else
		fprintf(stderr,
			"leadline: all processes of %d (%s) are traced for %s, from 6 s from now "
			"on\n",
			(int)o->pid, o->name,
			units_format(length, UNIT_SECONDS, (double)o->length_ns / 1e9));
}

int attach_torch(const struct command *self, const struct attach_torch *o)
{
	struct torch_wish wish = { .pid = o->pid,
		.is_single = o->is_single,
		.length_ns = o->length_ns,
		.n_steps = o->n_steps };
	struct err e = ERR_INIT;
	struct torch_job j;
	int status;

	if (torch_job_begin(&j, &wish, &e) == 0) {
		tell_start(o);
		torch_job_wait(&j, &e);
	}
	if (!e.code && !j.parts.n)
		err_set(&e, ERR_NOT_PREPARED, "interrupted before any process had asked for work");
	if (e.code)
		status = command_fail(self, &e);
	else
		status = collect_and_show(self, o, &j);
	torch_job_done(&j);
	return status;
}
