/* SPDX-License-Identifier: MIT
 * See report_ranks.h. */
#include "cmd/report_ranks.h"

#include <stdio.h>
#include <unistd.h>

#include "analyze/torch/events.h"
#include "analyze/torch/ranks.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "cmd/folder.h"
#include "formats/torch/trace.h"
#include "json/torch.h"
#include "json/values.h"
#include "view/torch/ranks.h"
#include "view/torch/table.h"
#include "base/banned.h"

/* One after the other, so that only one is in memory. */
static int add(struct op_ranks *r, const char *path, struct err *e)
{
	struct op_events x = { .keeps_all = true };
	int status = torch_trace_load(&x, path, e);
	struct buf losses = BUF_INIT;

	if (status == 0) {
		ops_print_losses(&x, &losses);
		output_write(STDERR_FILENO, &losses);
		status = op_ranks_add(r, path, &x, e);
	}
	buf_done(&losses);
	op_events_done(&x);
	return status;
}

static int add_folder(struct op_ranks *r, const char *path, struct err *e)
{
	struct folder folder;
	int status = folder_list(r->a, path, true, &folder, e);

	if (status == 0 && folder.n_older)
		output_line(STDERR_FILENO,
			"leadline: %s: left out %zu older trace%s of the same workers", path,
			folder.n_older, folder.n_older == 1 ? "" : "s");
	for (size_t i = 0; status == 0 && i < folder.n; i++)
		status = add(r, folder.v[i], e);
	return status;
}

int report_ranks(const struct command *self, char **paths, const struct report_ranks *o)
{
	const struct ops_view view = {
		.limit = o->limit, .colour = o->output.colour, .width = o->output.width
	};
	struct arena a = ARENA_INIT;
	struct op_ranks r = { .a = &a };
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	struct json_writer w;
	int status = 0;

	for (; *paths && status == 0; paths++)
		status = folder_is(*paths) ? add_folder(&r, *paths, &e) : add(&r, *paths, &e);
	if (status == 0)
		status = op_ranks_compare(&r, &e);
	if (status == 0 && o->json) {
		json_page_begin(&w, &text);
		op_ranks_json(&r, &w);
		json_page_end(&w);
	} else if (status == 0) {
		op_ranks_print(&r, &view, &text);
	}
	status = status < 0 ? command_fail(self, &e) : output_write(STDOUT_FILENO, &text);
	op_ranks_done(&r);
	buf_done(&text);
	arena_done(&a);
	return status;
}
