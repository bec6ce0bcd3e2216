/* SPDX-License-Identifier: MIT
 * See result.h. */
#include "cmd/result.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/units.h"
#include "store/reader.h"
#include "store/tables.h"
#include "view/profile.h"
#include "view/style.h"
#include "view/usage.h"
#include "base/banned.h"

static int load(struct result *r, const struct stacks_options *o, const char *name, struct err *e)
{
	if (tables_load(&r->tables, r->reader, e) < 0)
		return err_note(e, "%s", name);
	r->usage = usage_build(&r->arena, r->tables);
	r->stacks = stacks_build(&r->arena, r->tables, o);
	r->profile = r->stacks->n ? profile_build(&r->arena, r->stacks) : NULL;
	r->fidelity = fidelity_build(&r->arena, r->tables);
	if (!r->usage)
		return err_set(e, ERR_BAD_FILE, "%s: holds no run of a program", name);
	r->bound = bound_build(r->usage);
	return 0;
}

int result_open(struct result *r, const char *path, const struct stacks_options *o, struct err *e)
{
	*r = (struct result){ 0 };
	return reader_open(&r->reader, path, e) < 0 ? -(int)e->code : load(r, o, path, e);
}

int result_open_fd(struct result *r, int fd, const struct stacks_options *o, struct err *e)
{
	static const char name[] = "the recording in memory";

	*r = (struct result){ 0 };
	return reader_open_fd(&r->reader, fd, name, e) < 0 ? -(int)e->code : load(r, o, name, e);
}

void result_done(struct result *r)
{
	tables_free(r->tables);
	reader_close(r->reader);
	arena_done(&r->arena);
}

static void print_fidelity(const struct result *r, const struct result_page *page, struct buf *out)
{
	const struct fidelity *f = &r->fidelity;
	char rate[UNITS_TEXT], asked[UNITS_TEXT], own[UNITS_TEXT], bytes[UNITS_TEXT], text[500];

	snprintf(text, sizeof text,
		"%s: %.0f samples, %.0f lost, %.0f shortened; %s reached (%s asked); own cost %s "
		"of a core; "
		"the program's own slow-down is not known; %s recorded.",
		f->engine, f->samples, f->lost, f->shortened,
		units_format(rate, UNIT_HERTZ, f->rate_reached_hz),
		f->rate_asked_hz > 0 ? units_format(asked, UNIT_HERTZ, f->rate_asked_hz)
				     : "as many as possible",
		units_format(own, UNIT_SHARE, f->own_cpu_s / r->usage->wall_s),
		units_format(bytes, UNIT_BYTES, (double)f->file_bytes));
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, text, 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
}

static void print_profile(const struct result *r, const struct result_page *page, struct buf *out)
{
	char folder[4096];
	struct profile_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.legend = page->legend,
		.limit = page->limit,
		.folder = getcwd(folder, sizeof folder) ? folder : NULL };

	if (page->functions)
		profile_print_functions(r->profile, &v, out);
	if (page->lines)
		profile_print_lines(r->profile, &v, out);
	if (page->threads)
		profile_print_threads(r->stacks, &v, out);
	print_fidelity(r, page, out);
	if (page->legend)
		style_add(out, STYLE_DIM, page->output.colour,
			"self: in the function's own code; total: with what it calls; ±: 95 %% "
			"interval, of all samples\n");
}

void result_print(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct usage_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.tree = page->processes,
		.legend = page->legend };

	if (page->host || !r->profile)
		usage_print(r->usage, &r->bound, &v, out);
	else
		usage_print_head(r->usage, &r->bound, &v, out);
	if (r->profile)
		print_profile(r, page, out);
}

void result_json(const struct result *r, struct buf *out)
{
	const struct fidelity *f = &r->fidelity;
	struct json_writer w;

	json_init(&w, out, true);
	json_object_begin(&w);
	usage_json(r->usage, &r->bound, &w);
	if (r->profile) {
		json_key(&w, "fidelity");
		json_object_begin(&w);
		json_kv_string(&w, "engine", f->engine);
		json_kv_string(&w, "interpreter", f->interpreter);
		json_kv_double(&w, "samples", f->samples);
		json_kv_double(&w, "lost", f->lost);
		json_kv_double(&w, "shortened", f->shortened);
		json_kv_double(&w, "missed_ticks", f->missed_ticks);
		json_kv_double(&w, "rate_asked_hz", f->rate_asked_hz);
		json_kv_double(&w, "rate_reached_hz", f->rate_reached_hz);
		json_kv_double(&w, "own_cpu_s", f->own_cpu_s);
		json_kv_double(&w, "slowdown_est", UNITS_UNKNOWN);
		json_object_end(&w);
		profile_json(r->profile, &w);
	}
	json_object_end(&w);
	buf_addc(out, '\n');
}
