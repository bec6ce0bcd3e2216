/* SPDX-License-Identifier: MIT
 * See report_ops.h. */
#include "cmd/report_ops.h"

#include <unistd.h>

#include "advise/torch/advice.h"
#include "analyze/torch/neighbours.h"
#include "analyze/torch/table.h"
#include "analyze/torch/results.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/torch.h"
#include "json/values.h"
#include "view/torch/allocations.h"
#include "view/torch/compile.h"
#include "view/torch/modules.h"
#include "view/torch/neighbours.h"
#include "view/torch/collected.h"
#include "view/torch/overview.h"
#include "view/torch/work.h"
#include "view/torch/table.h"
#include "base/banned.h"

/* Rows as asked for; NULL: they cannot be had so. */
static const struct ops *count(
	struct torch *t, const struct report_ops *o, struct ops_torch *torch, struct err *e)
{
	struct ops_options options = { .by_shape = o->by_shape, .n_stack = o->n_stack };
	struct ops *ops;

	if (!ops_torch_version(&t->x, o->version, torch)) {
		err_set(e, ERR_USAGE,
			"--torch=%s is not a release of torch; for example: --torch=2.13",
			o->version);
		return NULL;
	}
	if (!o->as_torch && !o->sort && !o->n_stack)
		return torch_ops(t, o->by_shape);
	ops = o->as_torch ? ops_as_torch(&t->arena, &t->x, &options, torch)
			  : ops_count(&t->arena, &t->x, &options);
	if (ops_sort(ops, o->sort || o->as_torch ? o->sort : "self_cpu_time_total"))
		return ops;
	err_set(e, ERR_USAGE,
		"--sort %s: operators can be sorted by count, flops, cpu_time, cuda_time, "
		"(self_)cpu_time_total, (self_)cuda_time_total, (self_)cpu_memory_usage and (self_)cuda_memory_usage",
		o->sort);
	return NULL;
}

static const struct op_kernels *launches(struct torch *t, const struct report_ops *o)
{
	return o->by_shape ? torch_launches(t) : torch_kernels(t);
}

static void add_gap(struct buf *out)
{
	if (out->n)
		buf_addc(out, '\n');
}

enum { NEIGHBOURS_MOST = 20 }; /* operators that one name stands for */

/* Callers or callees of all that a text names. */
struct neighbours {
	const struct op_neighbours *v[NEIGHBOURS_MOST];
	size_t n;
};

static int find_neighbours(struct torch *t, const char *text, const char *option,
	struct neighbours *ret, struct err *e)
{
	const char *const *names;
	size_t n;

	if (!text)
		return 0;
	if (op_neighbours_names(&t->arena, torch_ops(t, false), text, &names, &n, e) < 0)
		return err_note(e, "--%s", option);
	for (ret->n = 0; ret->n < n && ret->n < NEIGHBOURS_MOST; ret->n++)
		ret->v[ret->n] = op_neighbours_build(&t->arena, &t->x, names[ret->n]);
	return 0;
}

static void neighbours_json(const char *key, const struct neighbours *of, int which, size_t limit,
	struct json_writer *w)
{
	if (!of->n)
		return;
	json_key(w, key);
	json_array_begin(w);
	for (size_t i = 0; i < of->n; i++) {
		json_object_begin(w);
		op_neighbours_json(of->v[i], which, limit, w);
		json_object_end(w);
	}
	json_array_end(w);
}

struct page {
	struct torch *t;
	const struct report_ops *o;
	const struct ops *ops; /* NULL: not asked for */
	struct neighbours callers, callees;
	struct ops_torch torch;
	struct ops_view view;
	const char *path;
};

static void print(const struct page *p, struct buf *out)
{
	const struct report_ops *o = p->o;
	const struct ops_view *v = &p->view;
	struct torch *t = p->t;

	if (o->as_torch) {
		ops_print_torch(p->ops, &p->torch, v, out);
		return;
	}
	if (o->overview) {
		op_overview_print(&t->x, torch_steps(t), torch_phases(t), torch_advice(t), v, out);
		op_work_print(torch_work(t), v, out);
	}
	if (o->steps) {
		add_gap(out);
		op_steps_print(torch_steps(t), v, out);
		op_slow_print(torch_slow(t), torch_steps(t), v, out);
	}
	for (size_t i = 0; i < p->callers.n; i++) {
		add_gap(out);
		op_neighbours_print(p->callers.v[i], true, v, out);
	}
	for (size_t i = 0; i < p->callees.n; i++) {
		add_gap(out);
		op_neighbours_print(p->callees.v[i], false, v, out);
	}
	if (p->ops) {
		add_gap(out);
		ops_print(p->ops, v, p->path, out);
	}
	if (o->modules) {
		add_gap(out);
		op_modules_print(torch_modules(t), v, out);
	}
	if (o->compile) {
		add_gap(out);
		op_compile_print(torch_compile(t), v, out);
	}
	if (o->memory) {
		add_gap(out);
		op_allocations_print(torch_allocations(t), v, out);
	}
	if (o->kernels) {
		add_gap(out);
		op_kernels_print(launches(t, o), v, out);
	}
	if (o->streams) {
		add_gap(out);
		op_streams_print(torch_streams(t), v, out);
	}
}

static void write_json(const struct page *p, struct json_writer *w)
{
	const struct report_ops *o = p->o;
	const struct ops_view *v = &p->view;
	struct torch *t = p->t;

	if (*op_events_missing(&t->x))
		json_kv_string(w, "damage", op_events_missing(&t->x));
	if (o->overview) {
		op_overview_json(&t->x, torch_steps(t), torch_phases(t), torch_advice(t), w);
		op_work_json(torch_work(t), w);
	}
	if (o->steps) {
		op_steps_json(torch_steps(t), v->limit, w);
		op_slow_json(torch_slow(t), torch_steps(t), w);
	}
	neighbours_json("operator_callers", &p->callers, OP_NEIGHBOURS_CALLERS, v->limit, w);
	neighbours_json("operator_callees", &p->callees, OP_NEIGHBOURS_CALLEES, v->limit, w);
	if (p->ops)
		ops_json(p->ops, v->top_level, v->limit, w);
	if (o->modules)
		op_modules_json(torch_modules(t), v->tree_limit, w);
	if (o->compile)
		op_compile_json(torch_compile(t), v->limit, w);
	if (o->memory)
		op_allocations_json(torch_allocations(t), v->limit, w);
	if (o->kernels)
		op_kernels_json(launches(t, o), v->limit, w);
	if (o->streams)
		op_streams_json(torch_streams(t), w);
}

static void print_json(const struct page *p, struct buf *out)
{
	struct json_writer w;

	json_page_begin(&w, out);
	write_json(p, &w);
	json_page_end(&w);
}

void report_ops_most(struct torch *t, const struct output *output, size_t limit, struct buf *out)
{
	struct ops_view view = { .limit = limit, .colour = output->colour, .width = output->width };

	add_gap(out);
	ops_print(torch_ops(t, false), &view, NULL, out);
	buf_addc(out, '\n');
}

int report_ops(struct torch *whole, const char *path, const struct report_ops *o, struct err *e)
{
	struct torch *t = whole;
	struct page p;
	struct buf text = BUF_INIT, losses = BUF_INIT;
	int status = 0;

	if (o->phase && torch_in_phase(whole, o->phase, &t, e) < 0)
		return err_note(e, "%s", path);
	p = (struct page){ .t = t,
		.o = o,
		.path = path,
		.view = { .limit = o->limit,
			.tree_limit = o->tree_limit,
			.top_level = o->top_level,
			.by_launch = o->by_shape,
			.places = o->places,
			.is_partial = *op_events_missing(&t->x),
			.is_light = t->x.collected.is_asked,
			.colour = o->output.colour,
			.width = o->output.width } };
	if (find_neighbours(t, o->callers, "callers", &p.callers, e) < 0 ||
		find_neighbours(t, o->callees, "callees", &p.callees, e) < 0)
		return -(int)e->code;
	if (o->ops && !o->callers && !o->callees && !(p.ops = count(t, o, &p.torch, e)))
		return -(int)e->code;
	ops_print_losses(&t->x, &losses);
	op_collected_print_unseen(&t->x.collected, &losses);
	output_write(STDERR_FILENO, &losses);
	if (o->into)
		write_json(&p, o->into);
	else if (o->json)
		print_json(&p, &text);
	else
		print(&p, &text);
	status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	buf_done(&losses);
	return status;
}
