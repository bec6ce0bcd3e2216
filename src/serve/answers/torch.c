/* SPDX-License-Identifier: MIT
 * Answer "torch": the pages of a PyTorch trace, with the keys that `leadline report --json` has for them. */
#include <math.h>
#include <string.h>

#include "advise/advice.h"
#include "advise/finding.h"
#include "advise/pages.h"
#include "advise/torch/advice.h"
#include "analyze/torch/allocations.h"
#include "analyze/torch/compile.h"
#include "analyze/torch/modules.h"
#include "analyze/torch/neighbours.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/timeline.h"
#include "analyze/torch/streams.h"
#include "analyze/torch/table.h"
#include "analyze/torch/training.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "json/regions.h"
#include "json/torch.h"
#include "serve/answers/parts.h"
#include "serve/answers/torch.h"
#include "serve/library.h"
#include "serve/http/params.h"
#include "store/reader.h"
#include "analyze/torch/results.h"
#include "view/torch/table.h"
#include "base/banned.h"

enum { ROWS = 5000 };

static torch_pane write_overview;

static int write_rows(const struct ops *ops, struct json_writer *w)
{
	json_kv_u64(w, "n", ops->n);
	ops_json(ops, false, ROWS, w);
	return 0;
}

static int write_operators(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	return write_rows(torch_ops(t, false), w);
}

static int write_shapes(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	return write_rows(torch_ops(t, true), w);
}

/* operator=NAME: what asks for it, and what it calls. */
static int write_neighbours(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	const char *name = params_find(p, "operator");
	const struct op_neighbours *n;
	struct arena a = ARENA_INIT;

	if (!name || !*name)
		return err_set(e, ERR_USAGE, "operator needs a name");
	n = op_neighbours_build(&a, &t->x, name);
	if (n->n_calls)
		op_neighbours_json(n, OP_NEIGHBOURS_CALLERS | OP_NEIGHBOURS_CALLEES, ROWS, w);
	else
		err_set(e, ERR_USAGE, "there is no operator '%.100s'", name);
	arena_done(&a);
	return -(int)e->code;
}

static int write_kernels(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	op_kernels_json(torch_kernels(t), ROWS, w);
	return 0;
}

static int write_launches(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	op_kernels_json(torch_launches(t), ROWS, w);
	return 0;
}

static int write_steps(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	const struct op_steps *s = torch_steps(t);

	(void)p, (void)e;
	op_steps_json(s, ROWS, w);
	op_slow_json(torch_slow(t), s, w);
	return 0;
}

static int write_streams(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	op_streams_json(torch_streams(t), w);
	return 0;
}

static int write_modules(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	op_modules_json(torch_modules(t), ROWS, w);
	return 0;
}

/* Where steps begin in a picture over time, and where the last one ends. */
static void write_marks(const struct op_steps *s, int64_t begin_ns, struct json_writer *w)
{
	size_t n = s->how == OP_STEPS_ALL ? 0 : s->n < ROWS ? s->n : ROWS;

	json_key(w, "marks");
	json_object_begin(w);
	json_key(w, "t");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++)
		json_double(w, (double)(s->v[i].start_ns - begin_ns) / 1e9);
	json_array_end(w);
	json_key(w, "name");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++)
		json_string(w, s->v[i].name);
	json_array_end(w);
	json_kv_double(w, "end", n ? (double)(s->v[n - 1].end_ns - begin_ns) / 1e9 : NAN);
	json_object_end(w);
}

static int write_memory(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	op_allocations_json(torch_allocations(t), ROWS, w);
	op_unreleased_json(torch_unreleased(t), ROWS, w);
	write_marks(torch_steps(t), torch_allocations(t)->begin_ns, w);
	return 0;
}

static int write_compile(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	(void)p, (void)e;
	op_compile_json(torch_compile(t), ROWS, w);
	return 0;
}

static const char *always(struct torch *t)
{
	(void)t;
	return "";
}

static const char *with_shapes(struct torch *t)
{
	return t->x.has_shapes
		? ""
		: "no shapes were recorded: profile with record_shapes=True, or use leadline run --torch=full";
}

static const char *with_device(struct torch *t)
{
	return t->x.device.n ? "" : "nothing ran on a device, or the device was not profiled";
}

static const char *with_launches(struct torch *t)
{
	return t->x.launches.items.n ? "" : "the trace does not say how kernels were launched";
}

static const char *with_modules(struct torch *t)
{
	return torch_modules(t)->n
		? ""
		: "no modules were recorded: profile with with_stack=True, or use leadline run --torch";
}

static const char *with_compile(struct torch *t)
{
	const struct op_compile *c = torch_compile(t);

	return c->n || c->n_frames ? "" : "torch.compile did not run in this trace";
}

static const char *with_memory(struct torch *t)
{
	return t->x.memory.n
		? ""
		: "no memory was recorded: profile with profile_memory=True, or use leadline run --torch=full";
}

static const struct {
	const char *name;
	torch_pane *write;
	const char *(*missing)(struct torch *t); /* "": it can be filled; else why not */
} panes[] = {
	{ "overview", write_overview, always }, { "operators", write_operators, always },
	{ "neighbours", write_neighbours, always }, /* of one of the operators */
	{ "shapes", write_shapes, with_shapes }, { "kernels", write_kernels, with_device },
	{ "launches", write_launches, with_launches }, { "steps", write_steps, always },
	{ "streams", write_streams, with_device }, { "modules", write_modules, with_modules },
	{ "memory", write_memory, with_memory }, { "compile", write_compile, with_compile },
	{ "timeline", torch_timeline_pane, always },
	{ "span", torch_span_pane, always }, /* of the timeline, one of its spans */
};

enum { PANES = sizeof panes / sizeof *panes };

/* docs/advice, of the rules that speak. */
static void write_pages(const struct advice *advice, struct json_writer *w)
{
	json_key(w, "advice_pages");
	json_object_begin(w);
	for (size_t i = 0; i < advice->n; i++)
		json_kv_string(w, advice->v[i].rule, advice_page_find(advice->v[i].rule));
	json_object_end(w);
}

static int write_overview(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e)
{
	struct buf notes = BUF_INIT;

	(void)p, (void)e;
	ops_print_losses(&t->x, &notes);
	json_kv_string(w, "notes", buf_str(&notes)); /* a line each */
	buf_done(&notes);
	json_kv_u64(w, "events", t->x.v.n);
	json_kv_u64(w, "world_size", t->x.world_size);
	op_overview_json(&t->x, torch_steps(t), torch_phases(t), torch_advice(t), w);
	op_work_json(torch_work(t), w);
	write_pages(torch_advice(t), w);
	return 0;
}

static void write_panes(struct recording *r, struct json_writer *w)
{
	json_key(w, "panes");
	json_object_begin(w);
	for (size_t i = 0; i < PANES; i++)
		json_kv_string(w, panes[i].name, recording_why(r, panes[i].missing(r->torch)));
	json_object_end(w);
}

/* What the program told of its training, beside the trace. */
static void write_training(const struct recording *r, struct json_writer *w)
{
	struct arena a = ARENA_INIT;
	const struct training *t = r->tables ? training_build(&a, r->tables) : NULL;

	if (t)
		training_json(t, w);
	arena_done(&a);
}

/* Where the operators of a run begin beside its samples; a trace of another tool has a clock of its own. */
static void write_begin(struct recording *r, struct torch *t, struct json_writer *w)
{
	bool is_known = r->usage && !r->origin.is_foreign && recording_has_stacks(r);
	int64_t begin_ns = torch_timeline(t, false)->begin_ns;

	json_kv_double(w, "begin_s",
		is_known ? (double)(begin_ns - (int64_t)r->reader->begun_monotonic_ns) / 1e9 : NAN);
}

int answer_torch(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	const char *what = params_find(p, "what"), *phase = params_find(p, "phase");
	struct recording *r;
	struct torch *t;

	if (library_find(l, p, &r, e) < 0)
		return -(int)e->code;
	if (!r->torch)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(r,
				"it has no PyTorch operators: record with leadline run --torch, or open a trace of torch.profiler"));
	t = r->torch;
	if (phase && *phase && torch_in_phase(r->torch, phase, &t, e) < 0)
		return -(int)e->code;
	for (size_t i = 0; i < PANES; i++) {
		if (strcmp(what && *what ? what : "overview", panes[i].name) != 0)
			continue;
		if (*panes[i].missing(r->torch))
			return err_set(e, ERR_UNSUPPORTED, "%s",
				recording_why(r, panes[i].missing(r->torch)));
		if (panes[i].write == write_overview) {
			write_panes(r, w);
			write_training(r, w);
		}
		if (panes[i].write == torch_timeline_pane)
			write_begin(r, t, w);
		return panes[i].write(t, p, w, e);
	}
	return err_set(e, ERR_USAGE, "there is no pane '%.100s'", what);
}
