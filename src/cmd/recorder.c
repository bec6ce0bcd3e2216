/* SPDX-License-Identifier: MIT
 * See recording.h. */
#include "cmd/recorder.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/calls/arguments.h"
#include "analyze/memory/memory.h"
#include "analyze/torch/collected.h"
#include "analyze/recording.h"
#include "analyze/samples/regions.h"
#include "base/ascii.h"
#include "base/buf.h"
#include "base/tty.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "cmd/report_ops.h"
#include "cmd/result.h"
#include "collect/program.h"
#include "formats/format.h"
#include "store/writer.h"
#include "sys/rank.h"
#include "wire/agent_options.h"
#include "view/torch/collected.h"
#include "base/banned.h"

enum { NAMES_MOST = 10000, PATH_MOST = 4096, COPY_BYTES = 1 << 20 };

int recorder_rate(const char *text, double *ret_hz, struct err *e)
{
	uint64_t v;

	if (!text)
		*ret_hz = 1000;
	else if (strcmp(text, "max") == 0)
		*ret_hz = 0;
	else if (text_parse_u64(text, &v) && v > 0 && v <= 1000000)
		*ret_hz = (double)v;
	else
		return err_set(e, ERR_USAGE,
			"--rate expects a number of samples per second such as 2000 or 10k, or max, not '%s'",
			text);
	return 0;
}

int recorder_period(const char *option, const char *text, uint64_t *ret_bytes, struct err *e)
{
	char *end = NULL;
	unsigned long long v = text ? strtoull(text, &end, 10) : 128 << 10;
	unsigned shift = !text || !*end      ? 0
		: *end == 'k' || *end == 'K' ? 10
		: *end == 'M'                ? 20
		: *end == 'G'                ? 30
					     : 0;

	if (text &&
		(*text < '0' || *text > '9' || end[shift != 0] || v < 1 || v > UINT32_MAX ||
			v << shift > AGENT_MEMORY_PERIOD_MAX))
		return err_set(e, ERR_USAGE,
			"%s expects the bytes between two samples, such as 64k or 1M, not '%s'",
			option, text);
	*ret_bytes = (uint64_t)v << shift;
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static void expand(const char *name, pid_t pid, struct buf *out)
{
	char rank[RANK_TEXT];
	struct utsname host;

	for (; *name; name++) {
		if (name[0] != '%' || !name[1] || !strchr("phr%", name[1])) {
			buf_addc(out, *name);
			continue;
		}
		switch (*++name) {
		case 'p':
			buf_printf(out, "%d", (int)pid);
			break;
		case 'h':
			buf_adds(out, uname(&host) == 0 ? host.nodename : "host");
			break;
		case 'r':
			buf_adds(out, *rank_own(rank) ? rank : "0");
			break;
		default:
			buf_addc(out, '%');
		}
	}
}

/* A suffix that promises another tool's file. */
static int find_format(
	const char *name, const char *output, const struct format **ret, struct err *e)
{
	static const char *const later[] = { ".svg", ".html", ".prof", ".pstats", ".json", ".dot",
		".csv", ".md", ".lprof", ".cpuprofile", ".callgrind", ".pb.gz", ".pprof", ".png" };
	struct buf names = BUF_INIT;

	formats_list(&names);
	*ret = name ? format_find(name) : output ? format_for_path(output) : NULL;
	if (name && (!*ret || !(*ret)->write))
		err_set(e, ERR_USAGE, "unknown format '%s'; there are: %s", name, buf_str(&names));
	for (size_t i = 0; output && !name && !*ret && i < sizeof later / sizeof *later; i++)
		if (text_ends_with(output, later[i]))
			err_set(e, ERR_USAGE,
				"-o %s: leadline cannot write this format yet; there are: %s",
				output, buf_str(&names));
	buf_done(&names);
	return -(int)e->code;
}

/* Without what follows the last dot of the file's name. */
static int stem_length(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return (int)(dot && dot != name ? (size_t)(dot - path) : strlen(path));
}

void recorder_stem(const char *name, char *to, size_t size)
{
	snprintf(to, size, "%.*s", (int)(strlen(name) - (text_ends_with(name, ".py") ? 3 : 0)),
		name);
}

/* STEM, with the rank in a job that has them. */
static void add_ranked(struct buf *name, const char *stem)
{
	char rank[RANK_TEXT];

	buf_adds(name, stem);
	if (*rank_own(rank))
		buf_printf(name, ".rank%s", rank);
}

/* Takes a name for the caller, or fails: because it is there already, or for good. */
typedef int (*take_fn)(void *ctx, const char *path, struct err *e);

/* STEM.lead, or the first of STEM.2.lead … that can be taken. Whoever creates it first has it. */
static int take_numbered(
	char path[PATH_MOST], const char *stem, int length, take_fn take, void *ctx, struct err *e)
{
	for (int i = 1; i < NAMES_MOST; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof number, ".%d", i);
		if (snprintf(path, PATH_MOST, "%.*s%s.lead", length, stem, number) >= PATH_MOST)
			return err_set(e, ERR_USAGE, "the name of the recording is too long");
		if (take(ctx, path, e) == 0)
			return 0;
		if (access(path, F_OK) != 0)
			return -(int)e->code;
	}
	return err_set(
		e, ERR_SYSTEM, "%.*s.lead and all its numbered names are taken", length, stem);
}

static int take_writer(void *ctx, const char *path, struct err *e)
{
	struct recorder *r = ctx;

	return writer_open(&r->writer, path, NULL, e);
}

static int take_file(void *ctx, const char *path, struct err *e)
{
	return outfile_open(path, OUTFILE_NEW, ctx, e);
}

static int take_nothing(void *ctx, const char *path, struct err *e)
{
	(void)ctx;
	return access(path, F_OK) == 0 ? err_set(e, ERR_SYSTEM, "%s already exists", path) : 0;
}

int recorder_check_files(const struct recorder_options *o, struct err *e)
{
	return output_may_write(o->report, o->force || o->append, e) < 0 ||
			output_may_write(o->json, o->force, e) < 0
		? -(int)e->code
		: 0;
}

/* A file of ours; no device, no link. */
static bool is_own_file(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISREG(st.st_mode) && st.st_uid == geteuid();
}

/* What --force replaces is lost only when there is something in its place. */
static void put_old_aside(struct recorder *r)
{
	if (!is_own_file(r->path) ||
		snprintf(r->old_path, sizeof r->old_path, "%s.before-%d", r->path, (int)getpid()) >=
			(int)sizeof r->old_path ||
		rename(r->path, r->old_path) < 0)
		r->old_path[0] = '\0';
}

static void bring_old_back(struct recorder *r)
{
	if (*r->old_path)
		rename(r->old_path, r->path);
	r->old_path[0] = '\0';
}

static int open_at(
	struct recorder *r, const char *path, const struct writer_options *w, struct err *e)
{
	snprintf(r->path, sizeof r->path, "%s", path);
	if (w->overwrite)
		put_old_aside(r);
	if (writer_open(&r->writer, r->path, w, e) == 0)
		return 0;
	bring_old_back(r);
	return -(int)e->code;
}

static int open_given(struct recorder *r, const char *name, bool force, struct err *e)
{
	bool names_recording = !r->format || text_ends_with(name, ".lead");

	if (strlen(name) >= sizeof r->path)
		return err_set(e, ERR_USAGE, "the name of the recording is too long");
	if (output_may_write(name, force, e) < 0)
		return -(int)e->code;
	if (!names_recording) {
		snprintf(r->other_path, sizeof r->other_path, "%s", name);
		return take_numbered(r->path, name, stem_length(name), take_writer, r, e);
	}
	return open_at(r, name, &(struct writer_options){ .overwrite = force }, e);
}

int recorder_open(struct recorder *r, const struct recorder_options *o, const char *stem, pid_t pid,
	struct err *e)
{
	struct buf name = BUF_INIT;
	int status;

	*r = (struct recorder){ 0 };
	if (find_format(o->format, o->output, &r->format, e) < 0 || recorder_check_files(o, e) < 0)
		return -(int)e->code;
	if (o->output) {
		expand(o->output, pid, &name);
		status = open_given(r, buf_str(&name), o->force, e);
	} else {
		add_ranked(&name, stem);
		status = take_numbered(r->path, buf_str(&name), (int)name.n, take_writer, r, e);
	}
	buf_done(&name);
	if (status == 0 && r->format && !*r->other_path)
		snprintf(r->other_path, sizeof r->other_path, "%.*s%s", stem_length(r->path),
			r->path, r->format->suffixes[0]);
	if (status == 0 && (status = output_may_write(r->other_path, o->force, e)) < 0)
		recorder_discard(r);
	return status;
}

int recorder_open_named(struct recorder *r, const char *name, pid_t pid,
	const struct writer_options *w, struct err *e)
{
	struct buf full = BUF_INIT;
	int status;

	*r = (struct recorder){ 0 };
	if (find_format(NULL, name, &r->format, e) < 0)
		return -(int)e->code;
	expand(name, pid, &full);
	if (r->format)
		status = err_set(e, ERR_USAGE,
			"-o names the recording, and %s is the suffix of %s: leadline export converts a recording to it",
			r->format->suffixes[0], r->format->name);
	else if (full.n >= sizeof r->path)
		status = err_set(e, ERR_USAGE, "the name of the recording is too long");
	else if ((status = output_may_write(buf_str(&full), w->overwrite, e)) == 0)
		status = open_at(r, buf_str(&full), w, e);
	buf_done(&full);
	return status;
}

int recorder_close(struct recorder *r, int *ret_fd, struct err *e)
{
	int status;

	signal(SIGXFSZ, SIG_IGN); /* a limit on the size of files is as good as a full disk */
	status = ret_fd ? writer_close_keep_fd(r->writer, ret_fd, e) : writer_close(r->writer, e);
	r->writer = NULL;
	if (*r->old_path)
		unlink(r->old_path);
	r->old_path[0] = '\0';
	r->is_short = status < 0;
	if (status < 0)
		output_line(STDERR_FILENO,
			"leadline: %s; the report covers what was recorded until then", e->text);
	return status;
}

void recorder_discard(struct recorder *r)
{
	struct err ignored = ERR_INIT;

	writer_close(r->writer, &ignored);
	r->writer = NULL;
	if (*r->path && is_own_file(r->path))
		unlink(r->path);
	bring_old_back(r);
}

void recorder_next(const char *stem, char *to, size_t size)
{
	struct buf name = BUF_INIT;
	struct err ignored = ERR_INIT;
	char path[PATH_MOST];

	add_ranked(&name, stem);
	take_numbered(path, buf_str(&name), (int)name.n, take_nothing, NULL, &ignored);
	snprintf(to, size, "%s", path);
	buf_done(&name);
}

static int copy(int from, int to, struct err *e)
{
	struct buf part = BUF_INIT;
	off_t at = 0;
	int status = 0;

	for (ssize_t got = 1; got > 0 && status == 0;) {
		buf_clear(&part);
		got = pread(from, buf_reserve(&part, COPY_BYTES), COPY_BYTES, at);
		if (got < 0)
			status = err_errno(e, ERR_SYSTEM, "reading the recording");
		if (got <= 0)
			break;
		buf_advance(&part, (size_t)got);
		at += got;
		status = buf_write(&part, to, e);
	}
	buf_done(&part);
	return status;
}

int recorder_keep(int fd, const char *stem, char *to, size_t size, struct err *e)
{
	struct buf name = BUF_INIT;
	char path[PATH_MOST];
	int out, status;

	add_ranked(&name, stem);
	status = take_numbered(path, buf_str(&name), (int)name.n, take_file, &out, e);
	buf_done(&name);
	if (status < 0)
		return status;
	status = copy(fd, out, e);
	if (close(out) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "writing %s", path);
	if (status < 0)
		unlink(path);
	snprintf(to, size, "%s", path);
	return status;
}

/* ---- the report ------------------------------------------------------------------------------ */

bool recorder_json_on_stdout(const struct recorder_options *o)
{
	return o->has_json && !o->json;
}

struct output recorder_output(const struct recorder_options *o)
{
	return o->report ? output_for(-1, COLOR_NEVER) : output_for(STDERR_FILENO, o->color);
}

/* In the characters that the terminal would get. */
static int save_report(const struct buf *report, const struct recorder_options *o, struct err *e)
{
	struct buf ascii = BUF_INIT;
	int status = (o->append ? outfile_append : outfile_save)(
		ascii_where_needed(report, &ascii, ascii_add), o->report, e);

	buf_done(&ascii);
	return status;
}

int recorder_emit(const struct recorder_options *o, const struct buf *report,
	const struct buf *json, struct err *e)
{
	int status = 0;

	if (o->report)
		status = save_report(report, o, e);
	else if (!recorder_json_on_stdout(o)) /* which replaces the report on the terminal */
		output_write(STDERR_FILENO, report);
	if (status == 0 && o->json)
		status = outfile_save(json, o->json, e);
	else if (status == 0 && o->has_json)
		output_write(STDOUT_FILENO, json);
	return status;
}

int recorder_export(const struct recorder *r, struct recording *recording, struct err *e)
{
	static const struct choice usual = { 0 };
	static const char *const no_filter = NULL;
	struct selection *s;

	if (format_select(r->format, recording, &usual, &no_filter, &s, e) < 0)
		return -(int)e->code;
	return format_save(r->format, s, &format_defaults, r->other_path, e);
}

/* What is missing of exact counts. Notes come from the program: they are made printable. */
static void add_untraced(const struct fidelity *f, struct buf *out)
{
	const char *line = f->trace_notes;

	if (*f->no_trace)
		text_add_line(out, "No calls were traced: %s.", f->no_trace);
	while (*line) {
		size_t n = strcspn(line, "\n");

		buf_adds(out, "Tracing: ");
		text_add_printable(out, line, n);
		buf_addc(out, '\n');
		line += n + (line[n] == '\n');
	}
}

/* Why there is no table. */
static void add_nothing(const struct recorder *r, const struct fidelity *f, struct buf *out)
{
	if (*f->no_trace || r->lacks_agent)
		return;
	if (f->lines)
		buf_printf(out, "No lines were counted: %s.\n",
			*f->lines
				? "no function that --lines names was called"
				: "no function decorated with @profile was called; --lines=FUNCTION names one");
	else if (*f->trace && !*f->engine && *f->trace_notes)
		return; /* which tell why */
	else if (*f->trace && !*f->engine)
		buf_adds(out, "No calls were traced: the program ended before its first one.\n");
	else
		text_add_line(out, "No Python stacks were seen: %s.",
			*f->no_python         ? f->no_python
				: r->is_short ? "the recording ends before"
					      : "it did not run long enough");
}

/* That allocations were sampled, how, and where they are shown. */
static void add_memory(const struct memory *m, const char *path, struct buf *out)
{
	char samples[UNITS_TEXT], period[UNITS_TEXT];

	if (!m)
		return;
	text_add_line(out,
		"sample/preload: %s allocations sampled, one per %s, %llu dropped; which code made "
		"them: leadline report %s --memory",
		units_format(samples, UNIT_COUNT, (double)m->all.n_sampled),
		units_format(period, UNIT_BYTES, m->period_bytes),
		(unsigned long long)m->all.n_dropped, path);
}

static int show(struct recorder *r, const struct recorder_options *o, struct result_page page,
	const struct choice *choice, const char *note, struct err *e)
{
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct result_choice asked = { .of = *choice, .source = true, .sort = o->sort };
	struct result result;
	struct op_collected collected;
	struct torch *torch;
	int status = result_open(&result, r->path, &asked, e);

	page.output = recorder_output(o);
	if (status == 0 && r->format)
		status = recorder_export(r, result.recording, e);
	if (status == 0) {
		if (!o->report)
			buf_addc(&text, '\n');
		page.regions = result.recording->regions->n > 0;
		page.arguments =
			result.selection->profile && selection_arguments(result.selection)->n > 0;
		result_print(&result, &page, &text);
		r->lacks_agent = fidelity_lacks_agent(&result.recording->fidelity);
		add_untraced(&result.recording->fidelity, &text);
		collected = op_collected_build(result.recording->tables);
		torch = recording_torch(result.recording);
		if (torch)
			report_ops_most(torch, &page.output, o->limit ? o->limit : SIZE_MAX, &text);
		op_collected_print(&collected, r->path, &text);
		if (!result.profile)
			add_nothing(r, &result.recording->fidelity, &text);
		add_memory(recording_memory(result.recording), r->path, &text);
		buf_adds(&text, note);
		if (r->format)
			text_add_line(&text, "Written: %s (%s)", r->other_path, r->format->name);
		text_add_line(&text, "Recording: %s   more: leadline report %s %s", r->path,
			r->path, result.selection->exact ? "--tree" : "--lines --limit 40");
		if (result.selection->exact)
			text_add_line(
				&text, "Browse it as pstats does: leadline stats %s", r->path);
		result_json(&result, &json);
		status = recorder_emit(o, &text, &json, e);
	}
	result_done(&result);
	buf_done(&text);
	buf_done(&json);
	return status;
}

int recorder_end(const struct command *self, struct recorder *r, const struct recorder_options *o,
	const struct program_result *result, const struct choice *choice, const char *note)
{
	struct result_page page = {
		.functions = true, .lines = true, .legend = !o->no_legend, .limit = o->limit
	};
	struct err e = ERR_INIT, closing = ERR_INIT;

	recorder_close(r, NULL, &closing);
	if (result->end == PROGRAM_INTERRUPTED)
		signal(SIGINT, SIG_IGN); /* pressed twice: the report still comes */
	if (show(r, o, page, choice, note, &e) < 0) {
		if (!r->is_short || e.code != ERR_BAD_FILE)
			return command_fail(self, &e);
		output_line(STDERR_FILENO, "leadline: nothing of the run was recorded until then");
	}
	return closing.code ? err_exit_status(&closing) : 0;
}
