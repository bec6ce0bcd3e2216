/* SPDX-License-Identifier: MIT
 * See report_ops.h. */
#include "cmd/report_ops.h"

#include <sys/stat.h>
#include <unistd.h>

#include "analyze/op_advice.h"
#include "analyze/op_allocations.h"
#include "analyze/op_compile.h"
#include "analyze/op_events.h"
#include "analyze/op_kernels.h"
#include "analyze/op_modules.h"
#include "analyze/op_record.h"
#include "analyze/op_slow.h"
#include "analyze/op_steps.h"
#include "analyze/op_streams.h"
#include "analyze/op_work.h"
#include "analyze/ops.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/torch_trace.h"
#include "json/torch.h"
#include "json/values.h"
#include "store/reader.h"
#include "view/op_allocations.h"
#include "view/op_compile.h"
#include "view/op_modules.h"
#include "view/op_collected.h"
#include "view/op_overview.h"
#include "view/op_work.h"
#include "view/ops.h"
#include "base/banned.h"

static struct ops *count(struct arena *a, struct op_events *x, const struct report_ops *o,
	struct ops_torch *torch, struct err *e)
{
	struct ops_options options = { .by_shape = o->by_shape, .n_stack = o->n_stack };
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

struct pages {
	struct ops *ops;
	const struct op_steps *steps;
	const struct op_slow *slow;
	const struct op_kernels *kernels, *launches; /* of the advice; as shown */
	const struct op_advice *advice;
	const struct op_streams *streams;
	const struct op_modules *modules;
	const struct op_allocations *allocations;
	const struct op_compile *compile;
	const struct op_work *work;
	struct ops_torch torch;
};

/* Only what is asked for is made. */
static int build(struct arena *a, struct op_events *x, const struct report_ops *o, struct pages *to,
	struct err *e)
{
	to->ops = count(a, x, o, &to->torch, e);
	if (!to->ops)
		return -(int)e->code;
	if (o->overview || o->steps)
		to->steps = op_steps_build(a, x);
	if (o->steps)
		to->slow = op_slow_build(a, x, to->steps);
	if (o->overview || o->kernels)
		to->kernels = op_kernels_build(a, x);
	if (o->kernels)
		to->launches = o->by_shape ? op_kernels_by_launch(a, x) : to->kernels;
	if (o->modules)
		to->modules = op_modules_build(a, x);
	if (o->compile)
		to->compile = op_compile_build(a, x);
	if (o->memory)
		to->allocations = op_allocations_build(a, x);
	if (o->streams)
		to->streams = op_streams_build(a, x);
	if (o->overview)
		to->work = op_work_build(a, x, to->steps);
	if (o->overview)
		to->advice = op_advice_build(a, x, to->steps, to->kernels, to->ops);
	return 0;
}

static void add_gap(struct buf *out)
{
	if (out->n)
		buf_addc(out, '\n');
}

static void print(const struct pages *p, const struct op_events *x, const struct report_ops *o,
	const struct ops_view *v, const char *path, struct buf *out)
{
	if (o->as_torch) {
		ops_print_torch(p->ops, &p->torch, v, out);
		return;
	}
	if (o->overview) {
		op_overview_print(x, p->steps, p->advice, v, out);
		op_work_print(p->work, v, out);
	}
	if (o->steps) {
		add_gap(out);
		op_steps_print(p->steps, v, out);
		op_slow_print(p->slow, p->steps, v, out);
	}
	if (o->ops) {
		add_gap(out);
		ops_print(p->ops, v, path, out);
	}
	if (o->modules) {
		add_gap(out);
		op_modules_print(p->modules, v, out);
	}
	if (o->compile) {
		add_gap(out);
		op_compile_print(p->compile, v, out);
	}
	if (o->memory) {
		add_gap(out);
		op_allocations_print(p->allocations, v, out);
	}
	if (o->kernels) {
		add_gap(out);
		op_kernels_print(p->launches, v, out);
	}
	if (o->streams) {
		add_gap(out);
		op_streams_print(p->streams, v, out);
	}
}

static void write_json(const struct pages *p, const struct op_events *x, const struct report_ops *o,
	const struct ops_view *v, struct json_writer *w)
{
	if (*op_events_missing(x))
		json_kv_string(w, "damage", op_events_missing(x));
	if (o->overview) {
		op_overview_json(x, p->steps, p->advice, w);
		op_work_json(p->work, w);
	}
	if (o->steps) {
		op_steps_json(p->steps, v->limit, w);
		op_slow_json(p->slow, p->steps, w);
	}
	if (o->ops)
		ops_json(p->ops, v->top_level, v->limit, w);
	if (o->modules)
		op_modules_json(p->modules, v->tree_limit, w);
	if (o->compile)
		op_compile_json(p->compile, v->limit, w);
	if (o->memory)
		op_allocations_json(p->allocations, v->limit, w);
	if (o->kernels)
		op_kernels_json(p->launches, v->limit, w);
	if (o->streams)
		op_streams_json(p->streams, w);
}

static void print_json(const struct pages *p, const struct op_events *x, const struct report_ops *o,
	const struct ops_view *v, struct buf *out)
{
	struct json_writer w;

	json_page_begin(&w, out);
	write_json(p, x, o, v, &w);
	json_page_end(&w);
}

bool report_ops_alone(const char *path)
{
	struct err e = ERR_INIT;
	struct reader *r;
	bool is_alone;

	if (reader_open(&r, path, &e) < 0)
		return false;
	is_alone = op_record_is_in(r);
	for (size_t i = 0; i < r->n_chunks; i++)
		is_alone &= r->chunks[i].kind != RECORD_sample && r->chunks[i].kind != RECORD_node;
	reader_close(r);
	return is_alone;
}

void report_ops_most(const char *path, const struct output *output, size_t limit, struct buf *out)
{
	struct report_ops o = { .ops = true };
	struct ops_view view = { .limit = limit, .colour = output->colour, .width = output->width };
	struct arena a = ARENA_INIT;
	struct op_events x = { 0 };
	struct pages pages = { 0 };
	struct err e = ERR_INIT;

	if (torch_trace_load(&x, path, &e) == 0 && build(&a, &x, &o, &pages, &e) == 0) {
		add_gap(out);
		ops_print(pages.ops, &view, NULL, out);
		buf_addc(out, '\n');
	}
	arena_done(&a);
	op_events_done(&x);
}

int report_ops_loaded(
	struct op_events *x, const char *path, const struct report_ops *o, struct err *e)
{
	struct ops_view view = { .limit = o->limit,
		.tree_limit = o->tree_limit,
		.top_level = o->top_level,
		.by_launch = o->by_shape,
		.is_partial = *op_events_missing(x),
		.colour = o->output.colour,
		.width = o->output.width };
	struct arena a = ARENA_INIT;
	struct pages pages = { 0 };
	struct buf text = BUF_INIT, losses = BUF_INIT;
	int status = build(&a, x, o, &pages, e);

	if (status == 0) {
		ops_print_losses(x, &losses);
		op_collected_print_unseen(&x->collected, &losses);
		output_write(STDERR_FILENO, &losses);
		if (o->into)
			write_json(&pages, x, o, &view, o->into);
		else if (o->json)
			print_json(&pages, x, o, &view, &text);
		else
			print(&pages, x, o, &view, path, &text);
		status = output_write(STDOUT_FILENO, &text);
	}
	buf_done(&text);
	buf_done(&losses);
	arena_done(&a);
	return status;
}

int report_ops(const struct command *self, const char *path, const struct report_ops *o)
{
	struct op_events x = { 0 };
	struct err e = ERR_INIT;
	int status = torch_trace_load(&x, path, &e);

	if (status == 0)
		status = report_ops_loaded(&x, path, o, &e);
	op_events_done(&x);
	return e.code ? command_fail(self, &e) : status;
}

bool report_ops_trace(
	const struct command *self, const char *path, const struct report_ops *o, int *ret_status)
{
	struct op_events x = { 0 };
	struct err e = ERR_INIT;
	struct stat st;
	bool is_trace;

	/* What comes through a pipe can be read only once. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	is_trace = torch_trace_load_file(&x, path, &e) == 0 || x.is_kineto;
	if (is_trace && !e.code)
		*ret_status = report_ops_loaded(&x, path, o, &e);
	if (is_trace && e.code)
		*ret_status = command_fail(self, &e);
	op_events_done(&x);
	return is_trace;
}
