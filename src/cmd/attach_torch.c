/* SPDX-License-Identifier: MIT
 * See attach_torch.h. */
#include "cmd/attach_torch.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/torch/events.h"
#include "analyze/torch/results.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/outfile.h"
#include "base/units.h"
#include "cmd/command.h"
#include "cmd/recorder.h"
#include "cmd/report_ops.h"
#include "collect/torch/job.h"
#include "formats/torch/trace.h"
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
		return outfile_make_folder(to) == 0 || errno == EEXIST
			? 0
			: err_errno(e, ERR_SYSTEM, "%s", to);
	}
	recorder_stem(o->name, stem, sizeof stem);
	for (int i = 1; i < FOLDERS_MOST; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof number, ".%d", i);
		snprintf(to, PATH_BYTES, "%s%s.torch", stem, number);
		if (outfile_make_folder(to) == 0)
			return 0;
		if (errno != EEXIST)
			break;
	}
	return err_errno(e, ERR_SYSTEM, "cannot create the folder %s for the traces", to);
}

static int keep(struct torch_job *j, const struct torch_part *p, const char *path, struct err *e)
{
	int to, status = outfile_open(path, OUTFILE_NEW, &to, e);

	if (status < 0)
		return status;
	status = torch_job_copy(j, p, to, e);
	if (close(to) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "%s", path);
	if (status < 0)
		unlink(path); /* part of a trace would be taken for one */
	return status;
}

struct shown { /* what there is to say of all traces */
	const struct attach_torch *o;
	bool prints;          /* the report */
	struct json_writer w; /* with JSON: an array is open */
	size_t n;
	bool is_short; /* something is missing */
};

static size_t count_steps(const struct op_events *x)
{
	size_t n = 0;

	for (size_t i = 0; i < x->v.n; i++)
		n += strncmp(op_events_name(x, x->v.v[i].name), "Optimizer.step#", 15) == 0;
	return n;
}

/* torch then falls back on half a second. */
static void tell_without_steps(const struct torch_part *p, uint64_t n_steps)
{
	output_line(STDERR_FILENO,
		"leadline: process %d had not made an optimizer step yet, so its trace does not cover %llu steps; try again once it trains, or use --seconds",
		(int)p->pid, (unsigned long long)n_steps);
}

static void print_heading(const struct torch_part *p, const char *path, bool is_first)
{
	char rank[RANK_TEXT];

	rank_of(p->pid, rank);
	if (!is_first)
		output_line(STDOUT_FILENO, "%s", "");
	output_line(STDOUT_FILENO, "Process %d%s%s: %s", (int)p->pid, *rank ? ", rank " : "", rank,
		path);
}

/* One object of the array: what is known of the process, and of its trace as `report --overview --ops` has it. */
static int write_process(struct shown *s, const struct torch_part *p, struct torch *t,
	const char *path, struct err *e)
{
	struct report_ops pages = { .overview = true,
		.ops = true,
		.limit = s->o->limit ? s->o->limit : SIZE_MAX,
		.into = &s->w };
	char rank[RANK_TEXT];
	int status = 0;

	json_object_begin(&s->w);
	json_kv_i64(&s->w, "pid", p->pid);
	json_kv_string(&s->w, "rank", *rank_of(p->pid, rank) ? rank : NULL);
	json_kv_string(&s->w, "trace", path);
	if (t)
		status = report_ops(t, path, &pages, e);
	json_object_end(&s->w);
	return status;
}

/* Its heading, the overview, and for the first process its operators. */
static int show(struct shown *s, const struct torch_part *p, const char *path, struct err *e)
{
	const struct attach_torch *o = s->o;
	bool is_first = s->n++ == 0;
	struct report_ops pages = { .output = output_for(STDOUT_FILENO, o->color),
		.overview = true,
		.ops = is_first,
		.limit = o->limit ? o->limit : SIZE_MAX };
	struct op_events x = { 0 };
	struct torch *t;
	bool prints = s->prints && s->n <= OVERVIEWS_MOST;
	int status = prints || o->has_json || o->n_steps ? torch_trace_load_file(&x, path, e) : 0;

	t = torch_of_events(&x);
	if (status == 0 && prints) {
		print_heading(p, path, is_first);
		status = report_ops(t, path, &pages, e);
	}
	if (status == 0 && o->has_json)
		status = write_process(s, p, t, path, e);
	if (status == 0 && o->n_steps && !count_steps(&t->x)) {
		tell_without_steps(p, o->n_steps);
		s->is_short = true;
	}
	torch_free(t);
	return status;
}

static void tell_missing(struct shown *s, const struct torch_part *p)
{
	struct err ignored = ERR_INIT;

	output_line(STDERR_FILENO,
		"leadline: process %d wrote no trace: it exited, or another profiler was running in it%s",
		(int)p->pid,
		s->o->n_steps ? ", or its optimizer made fewer steps (then use --seconds)" : "");
	if (s->o->has_json)
		write_process(s, p, NULL, NULL, &ignored);
	s->is_short = true;
}

static int show_all(struct shown *s, struct torch_job *j, struct err *e)
{
	char folder[PATH_BYTES] = "", path[PATH_BYTES + LOOKUP_NAME];
	int status;

	for (const struct torch_part *p = j->parts.v; p < j->parts.v + j->parts.n; p++) {
		if (!p->is_written) {
			tell_missing(s, p);
			continue;
		}
		if (!*folder && take_folder(s->o, folder, e) < 0)
			return -(int)e->code;
		snprintf(path, sizeof path, "%s/trace_%d.pt.trace.json", folder, (int)p->pid);
		if (keep(j, p, path, e) < 0)
			return -(int)e->code;
		status = show(s, p, path, e);
		if (status != 0)
			return status;
	}
	if (s->prints && s->n > 1)
		output_line(STDOUT_FILENO, "%s", "");
	if (s->prints && s->n > OVERVIEWS_MOST)
		output_line(
			STDOUT_FILENO, "%zu more traces are in %s", s->n - OVERVIEWS_MOST, folder);
	if (s->prints && s->n > 1)
		output_line(
			STDOUT_FILENO, "Compare ranks: leadline report --distributed %s", folder);
	return 0;
}

static int collect_and_show(
	const struct command *self, const struct attach_torch *o, struct torch_job *j)
{
	struct shown s = { .o = o, .prints = !o->has_json || o->json };
	struct buf json = BUF_INIT;
	struct err e = ERR_INIT;
	int status;

	json_init_shown(&s.w, &json, true);
	json_object_begin(&s.w);
	json_key(&s.w, "processes");
	json_array_begin(&s.w);
	status = show_all(&s, j, &e);
	json_array_end(&s.w);
	json_object_end(&s.w);
	buf_addc(&json, '\n');
	if (status == 0 && o->json)
		status = outfile_save(&json, o->json, &e);
	else if (status == 0 && o->has_json)
		status = output_write(STDOUT_FILENO, &json);
	buf_done(&json);
	return e.code ? command_fail(self, &e) : status ? status : s.is_short;
}

static void tell_start(const struct attach_torch *o)
{
	char length[UNITS_TEXT];

	if (!isatty(STDERR_FILENO))
		return;
	if (o->n_steps)
		output_line(STDERR_FILENO,
			"leadline: processes of %d (%s) look for requests every 5 s; each then traces %llu steps",
			(int)o->pid, o->name, (unsigned long long)o->n_steps);
	else
		output_line(STDERR_FILENO,
			"leadline: tracing all processes of %d (%s) for %s, starting in 6 s",
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
		err_set(&e, ERR_NOT_PREPARED, "interrupted before any process looked for requests");
	if (e.code)
		status = command_fail(self, &e);
	else
		status = collect_and_show(self, o, &j);
	torch_job_done(&j);
	return status;
}
