/* SPDX-License-Identifier: MIT
 * See report_ops.h. */
#include "cmd/report_ops.h"

#include <unistd.h>

#include "analyze/op_events.h"
#include "analyze/ops.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/torch_trace.h"
#include "view/ops.h"
#include "base/banned.h"

static struct ops *count(struct arena *a, struct op_events *x, const struct report_ops *o,
	struct ops_torch *torch, struct err *e)
{
	struct ops_options options = { .by_shape = o->by_shape };
	const char *sort = o->sort || o->as_torch ? o->sort : "self_cpu_time_total";
	struct ops *ops;

	if (!ops_torch_version(x, o->version, torch)) {
		err_set(e, ERR_USAGE, "--torch=%s is no release of torch; for example --torch=2.13",
			o->version);
		return NULL;
	}
	ops = o->as_torch ? ops_as_torch(a, x, &options, torch) : ops_count(a, x, &options);
	if (ops_sort(ops, sort))
		return ops;
	err_set(e, ERR_USAGE,
		"--sort %s: operators can be sorted by count, flops, cpu_time, cuda_time, and by "
		"(self_)cpu_time_total, (self_)cuda_time_total, (self_)cpu_memory_usage and "
		"(self_)cuda_memory_usage",
		sort);
	return NULL;
}

int report_ops(const struct command *self, const char *path, const struct report_ops *o)
{
	struct ops_view view = { .limit = o->limit,
		.top_level = o->top_level,
		.colour = o->output.colour,
		.width = o->output.width };
	struct arena a = ARENA_INIT;
	struct op_events x = { 0 };
	struct buf text = BUF_INIT, losses = BUF_INIT;
	struct err e = ERR_INIT;
	struct ops_torch torch;
	struct ops *ops = NULL;
	int status = torch_trace_load(&x, path, &e);

	if (status == 0)
		ops = count(&a, &x, o, &torch, &e);
	if (ops) {
		ops_print_losses(&x, &losses);
		output_write(STDERR_FILENO, &losses);
	}
	if (ops && o->json)
		ops_json(ops, &view, &text);
	else if (ops && o->as_torch)
		ops_print_torch(ops, &torch, &view, &text);
	else if (ops)
		ops_print(ops, &view, path, &text);
	status = ops ? output_write(STDOUT_FILENO, &text) : command_fail(self, &e);
	buf_done(&text);
	buf_done(&losses);
	arena_done(&a);
	op_events_done(&x);
	return status;
}
