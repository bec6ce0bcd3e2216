/* SPDX-License-Identifier: MIT
 * See recording.h. */
#include "cmd/recording.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/result.h"
#include "formats/format.h"
#include "store/writer.h"
#include "sys/rank.h"
#include "base/banned.h"

enum { NAMES_MOST = 10000 };

int recording_rate(const char *text, double *ret_hz, struct err *e)
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
			"--rate wants a number of samples per second such as 2000 or 10k, or max, "
			"not '%s'",
			text);
	return 0;
}

/* ---- names ----------------------------------------------------------------------------------- */

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n > m && strcmp(s + n - m, end) == 0;
}

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
		".csv", ".md", ".lprof", ".cpuprofile", ".callgrind", ".pb.gz", ".pprof" };

	*ret = NULL;
	if (name) {
		*ret = format_find(name);
		return *ret
			? 0
			: err_set(e, ERR_USAGE,
				  "there is no format '%s' yet; there is: collapsed (raw)", name);
	}
	for (size_t i = 0; output && i < n_formats; i++)
		if (ends_with(output, formats[i]->suffix))
			*ret = formats[i];
	for (size_t i = 0; output && i < sizeof later / sizeof *later; i++)
		if (ends_with(output, later[i]))
			return err_set(e, ERR_USAGE,
				"-o %s: its suffix names a format that does not exist yet; there "
				"is: "
				".folded (collapsed)",
				output);
	return 0;
}

/* Without what follows the last dot of the file's name. */
static int stem_length(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const char *dot = strrchr(name, '.');

	return (int)(dot && dot != name ? (size_t)(dot - path) : strlen(path));
}

/* STEM.lead, or the first of STEM.2.lead … that is not there. Whoever creates it first has it. */
static int open_numbered(struct recording *r, const char *stem, int length, struct err *e)
{
	for (int i = 1; i < NAMES_MOST; i++) {
		char number[16] = "";

		if (i > 1)
			snprintf(number, sizeof number, ".%d", i);
		if (snprintf(r->path, sizeof r->path, "%.*s%s.lead", length, stem, number) >=
			(int)sizeof r->path)
			return err_set(e, ERR_USAGE, "the name of the recording is too long");
		if (writer_open(&r->writer, r->path, NULL, e) == 0)
			return 0;
		if (access(r->path, F_OK) != 0)
			return -(int)e->code;
	}
	return err_set(e, ERR_SYSTEM, "%.*s.lead and its numbers are all taken", length, stem);
}

static int open_named(struct recording *r, const char *name, struct err *e)
{
	bool names_recording = !r->format || ends_with(name, ".lead");

	if (strlen(name) >= sizeof r->path)
		return err_set(e, ERR_USAGE, "the name of the recording is too long");
	if (!names_recording) {
		snprintf(r->other_path, sizeof r->other_path, "%s", name);
		return open_numbered(r, name, stem_length(name), e);
	}
	snprintf(r->path, sizeof r->path, "%s", name);
	return writer_open(&r->writer, r->path, NULL, e);
}

int recording_open(struct recording *r, const struct recording_options *o, const char *stem,
	pid_t pid, struct err *e)
{
	struct buf name = BUF_INIT;
	char rank[RANK_TEXT];
	int status;

	*r = (struct recording){ 0 };
	if (find_format(o->format, o->output, &r->format, e) < 0)
		return -(int)e->code;
	if (o->output) {
		expand(o->output, pid, &name);
		status = open_named(r, buf_str(&name), e);
	} else {
		buf_adds(&name, stem);
		if (*rank_own(rank))
			buf_printf(&name, ".rank%s", rank);
		status = open_numbered(r, buf_str(&name), (int)name.n, e);
	}
	buf_done(&name);
	if (status == 0 && r->format && !*r->other_path)
		snprintf(r->other_path, sizeof r->other_path, "%.*s%s", stem_length(r->path),
			r->path, r->format->suffix);
	return status;
}

int recording_close(struct recording *r, struct err *e)
{
	int status = writer_close(r->writer, e);

	r->writer = NULL;
	return status;
}

void recording_discard(struct recording *r)
{
	struct err ignored = ERR_INIT;

	recording_close(r, &ignored);
	unlink(r->path);
}

/* ---- the report ------------------------------------------------------------------------------ */

bool recording_json_on_stdout(const struct recording_options *o)
{
	return o->has_json && !o->json;
}

struct output recording_output(const struct recording_options *o)
{
	return o->report ? (struct output){ .width = 80 } : output_for(STDERR_FILENO, o->color);
}

int recording_emit(const struct recording_options *o, const struct buf *report,
	const struct buf *json, struct err *e)
{
	int status = 0;

	if (o->report)
		status = buf_save(report, o->report, e);
	else if (!recording_json_on_stdout(o)) /* which replaces the report on the terminal */
		output_write(STDERR_FILENO, report);
	if (status == 0 && o->json)
		status = buf_save(json, o->json, e);
	else if (status == 0 && o->has_json)
		output_write(STDOUT_FILENO, json);
	return status;
}

static int export(const struct recording *r, const struct result *result, struct err *e)
{
	struct buf text = BUF_INIT;
	int status = r->format->emit(result->tables, &text, e);

	if (status == 0)
		status = buf_save(&text, r->other_path, e);
	buf_done(&text);
	return status;
}

int recording_show(const struct recording *r, const struct recording_options *o,
	struct result_page page, const struct stacks_options *state, const char *note,
	struct err *e)
{
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct result result;
	int status = result_open(&result, r->path, state, e);

	page.output = recording_output(o);
	if (status == 0 && r->format)
		status = export(r, &result, e);
	if (status == 0) {
		if (!o->report)
			buf_addc(&text, '\n');
		result_print(&result, &page, &text);
		if (!result.profile)
			buf_printf(&text, "No Python stacks were seen: %s.\n",
				*result.fidelity.no_python ? result.fidelity.no_python
							   : "it did not run long enough");
		buf_adds(&text, note);
		if (r->format)
			buf_printf(&text, "Written: %s (%s)\n", r->other_path, r->format->name);
		buf_printf(&text, "Recording: %s   more: leadline report %s --lines --limit 40\n",
			r->path, r->path);
		result_json(&result, &json);
		status = recording_emit(o, &text, &json, e);
	}
	result_done(&result);
	buf_done(&text);
	buf_done(&json);
	return status;
}
