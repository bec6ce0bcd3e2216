/* SPDX-License-Identifier: MIT
 * See report_memory.h. */
#include "cmd/report_memory.h"

#include <stdint.h>
#include <unistd.h>

#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/command.h"
#include "cmd/report_ops.h"
#include "json/host.h"
#include "json/memory.h"
#include "json/values.h"
#include "view/host/usage.h"
#include "view/kit/style.h"
#include "view/memory/memory.h"
#include "base/banned.h"

enum { SHOWN_MOST = 2 }; /* views at once */

/* What is shown of recorded allocations; n 0: there are none. */
struct shown {
	struct result v[SHOWN_MOST];
	size_t n;
};

static int choose(struct shown *s, struct recording *r, struct report_memory *o, struct err *e)
{
	static const enum memory_view overview[] = { MEMORY_PEAK, MEMORY_GROWTH };
	size_t n = o->is_overview ? 2 : 1;
	int status = 0;

	for (size_t i = 0; i < n && status == 0; i++) {
		o->choice.of.memory = o->view ? o->view : overview[i];
		status = i ? result_again(&s->v[i], &s->v[0], &o->choice, e)
			   : result_of(&s->v[i], r, &o->choice, e);
		s->n++;
	}
	return status;
}

static void shown_done(struct shown *s)
{
	for (size_t i = s->n; i-- > 0;)
		result_done(&s->v[i]);
}

/* ---- recorded allocations -------------------------------------------------------------------- */

static void print_allocations(const struct shown *s, const struct report_memory *o, struct buf *out)
{
	struct recording *r = s->v[0].recording;
	const struct memory *m = recording_memory(r);
	struct memory_page v = { .width = o->page.output.width,
		.limit = o->page.limit,
		.colour = o->page.output.colour,
		.legend = o->page.legend };
	struct result_page page = o->page;

	memory_print_head(m, r->usage, &v, out);
	page.lines &= !o->is_overview || s->n == 1;
	for (size_t i = 0; i < s->n; i++) {
		page.what = s->v[i].selection->what;
		result_print_memory(&s->v[i], &page, out);
		memory_print_part(s->v[i].selection->memory, &v, out);
	}
	memory_print_legend(m, &v, out);
}

static void write_allocations(
	const struct shown *s, const struct report_memory *o, struct json_writer *w)
{
	struct recording *r = s->v[0].recording;

	json_key(w, "allocations");
	json_object_begin(w);
	memory_json(r, recording_memory(r), w);
	json_key(w, "views");
	json_array_begin(w);
	for (size_t i = 0; i < s->n; i++)
		memory_view_json(s->v[i].selection, s->v[i].profile, w);
	json_array_end(w);
	json_object_end(w);
	if (!o->is_overview)
		result_json_memory(&s->v[0], &o->page, w);
}

/* ---- all of it ------------------------------------------------------------------------------- */

static int print(struct recording *r, const struct shown *s, const struct report_memory *o,
	struct torch *torch, struct err *e)
{
	struct usage_view v = {
		.width = o->page.output.width, .colour = o->page.output.colour, .tree = o->processes
	};
	struct buf text = BUF_INIT;
	int status;

	if (s->n)
		print_allocations(s, o, &text);
	if (r->usage && r->usage->n_ticks > 0 && (!s->n || o->processes))
		usage_print_memory(r->usage, &v, &text);
	if (text.n && !s->n && !torch && !r->origin.is_foreign)
		style_add(&text, STYLE_DIM, v.colour,
			"\nWhich code allocated it: leadline run --memory records that.\n");
	buf_adds(&text, torch && text.n ? "\n" : "");
	status = output_write(STDOUT_FILENO, &text);
	if (status == 0 && torch)
		status = report_ops(torch, r->path, o->ops, e);
	buf_done(&text);
	return status;
}

static int write_json(struct recording *r, const struct shown *s, const struct report_memory *o,
	struct torch *torch, struct err *e)
{
	struct buf text = BUF_INIT;
	struct json_writer w;
	int status = 0;

	json_page_begin(&w, &text);
	if (s->n && *s->v[0].damage)
		json_kv_string(&w, "damage", s->v[0].damage);
	if (r->usage && (s->n || r->usage->n_ticks > 0))
		usage_json(r->usage, &r->bound, &w);
	if (s->n)
		write_allocations(s, o, &w);
	if (torch) {
		o->ops->into = &w;
		status = report_ops(torch, r->path, o->ops, e);
	}
	json_page_end(&w);
	if (status == 0)
		status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

int report_memory(struct recording *r, struct report_memory *o, struct err *e)
{
	bool has_allocations = recording_memory(r) || o->view;
	/* A view of allocations is that alone. */
	struct torch *torch = has_allocations && !o->is_overview ? NULL : recording_torch(r);
	struct shown s = { 0 };
	int status = 0;

	if (has_allocations)
		status = choose(&s, r, o, e);
	else
		command_tell_missing(r->path, recording_damage_of_records(r));
	if (status == 0 && !has_allocations && !torch && !(r->usage && r->usage->n_ticks > 0))
		status = err_set(e, ERR_NOT_PREPARED, "%s: %s", r->path,
			recording_why(r, "it records nothing about memory"));
	if (status == 0)
		status = (o->ops->json ? write_json : print)(r, &s, o, torch, e);
	if (s.n)
		shown_done(&s);
	else
		recording_free(r);
	return status;
}
