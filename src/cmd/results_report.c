/* SPDX-License-Identifier: MIT
 * See results_report.h. */
#include "cmd/results_report.h"

#include <string.h>

#include "analyze/stats/series.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "formats/results.h"
#include "json/results.h"
#include "json/values.h"
#include "view/bench/bench.h"
#include "base/banned.h"

static void add_known(struct buf *out, const char *words, const char *text)
{
	if (!*text)
		return;
	buf_adds(out, words);
	text_add_printable(out, text, strlen(text));
}

static void add_head(const struct results *r, struct buf *out)
{
	text_add_printable(out, r->name, strlen(r->name));
	buf_printf(out, ": %zu benchmark%s of %s", r->n, r->n == 1 ? "" : "s", r->format);
	add_known(out, ", ", r->date);
	add_known(out, ", ", r->python);
	add_known(out, ", ", r->cpu);
	add_known(out, ", on ", r->host);
	add_known(out, ", commit ", r->commit);
	buf_adds(out, "\n\n");
}

/* The page is about times; what is measured in something else can be had as JSON. */
static int print(struct arena *a, const struct results *r, struct output output, struct buf *out,
	struct err *e)
{
	struct series *series = arena_new_n(a, struct series, r->n);
	struct series_summary *sums = arena_new_n(a, struct series_summary, r->n);

	for (size_t i = 0; i < r->n; i++) {
		if (r->v[i].unit != UNIT_SECONDS)
			return err_set(e, ERR_USAGE,
				"%s: '%.100s' is not in seconds; see it with --json or leadline view",
				r->name, r->v[i].series.name);
		series[i] = r->v[i].series;
		sums[i] = series_summarise(a, &series[i]);
	}
	add_head(r, out);
	bench_print(&(struct bench_view){ .series = series,
			    .sums = sums,
			    .n = r->n,
			    .precision = 3,
			    .is_stored = true,
			    .colour = output.colour,
			    .width = output.width },
		out);
	return 0;
}

int results_report(
	const char *path, bool json, struct output output, struct buf *out, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct json_writer w;
	struct results r;
	int status = results_load(&a, path, &r, e);

	if (status == 0)
		command_tell_missing(path, r.damage);
	if (status == 0 && json) {
		json_page_begin(&w, out);
		results_json(&r, &w);
		json_page_end(&w);
	} else if (status == 0) {
		status = print(&a, &r, output, out, e);
	}
	arena_done(&a);
	return status;
}
