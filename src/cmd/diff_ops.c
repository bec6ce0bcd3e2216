/* SPDX-License-Identifier: MIT
 * See diff_ops.h. */
#include "cmd/diff_ops.h"

#include <unistd.h>

#include "analyze/recording.h"
#include "analyze/torch/results.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/format.h"
#include "json/torch.h"
#include "json/values.h"
#include "view/torch/diff.h"
#include "view/torch/table.h"
#include "base/banned.h"

/* One after the other, so that only one is in memory. */
static int take(struct arena *a, const char *path, bool is_asked, struct ops_diff_source *ret,
	struct buf *losses, struct err *e)
{
	struct recording *r;
	struct torch *torch;
	int status = 0;

	if (format_load(&r, path, e) < 0)
		return -(int)e->code;
	torch = is_asked || !recording_has_stacks(r) ? recording_torch(r) : NULL;
	if (torch) {
		ops_print_losses(&torch->x, losses);
		*ret = ops_diff_take(a, path, &torch->x);
	} else {
		status = err_set(e, ERR_NOT_PREPARED, "%s: %s", path,
			recording_why(
				r, "it holds no operators; leadline run --torch records them"));
	}
	recording_free(r);
	return status;
}

static void show(const struct ops_diff *d, const struct diff_ops *o, struct buf *out)
{
	const struct ops_view view = {
		.limit = o->limit, .colour = o->output.colour, .width = o->output.width
	};
	struct json_writer w;

	if (!o->json) {
		ops_diff_print(d, &view, out);
		return;
	}
	json_page_begin(&w, out);
	ops_diff_json(d, &w);
	json_page_end(&w);
}

bool diff_ops(const struct command *self, char *const files[2], const struct diff_ops *o,
	bool is_asked, int *ret_status)
{
	struct ops_diff_source source[2];
	struct arena a = ARENA_INIT;
	struct buf text = BUF_INIT, losses = BUF_INIT;
	struct err e = ERR_INIT;
	bool is_shown = true;

	if (take(&a, files[0], is_asked, &source[0], &losses, &e) == 0 &&
		take(&a, files[1], is_asked, &source[1], &losses, &e) == 0) {
		output_write(STDERR_FILENO, &losses);
		show(ops_diff_build(&a, source, o->scale), o, &text);
		*ret_status = output_write(STDOUT_FILENO, &text);
	} else if (is_asked) {
		*ret_status = command_fail(self, &e);
	} else {
		is_shown = false;
	}
	buf_done(&text);
	buf_done(&losses);
	arena_done(&a);
	return is_shown;
}
