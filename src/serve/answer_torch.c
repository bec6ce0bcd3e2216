/* SPDX-License-Identifier: MIT
 * Answer "torch": the pages of a PyTorch trace, with the keys that `leadline report --json` has for them. */
#include <string.h>

#include "analyze/op_steps.h"
#include "analyze/op_streams.h"
#include "analyze/ops.h"
#include "base/buf.h"
#include "base/err.h"
#include "serve/answer_parts.h"
#include "serve/library.h"
#include "serve/params.h"
#include "serve/torch.h"
#include "view/op_overview.h"
#include "view/ops.h"
#include "base/banned.h"

enum { ROWS = 5000 };

static const struct ops_view rows = { .limit = ROWS };

static void write_overview(struct torch *t, struct json_writer *w);

static void write_operators(struct torch *t, struct json_writer *w)
{
	const struct ops *ops = torch_ops(t, false);

	json_kv_u64(w, "n", ops->n);
	ops_json(ops, &rows, w);
}

static void write_shapes(struct torch *t, struct json_writer *w)
{
	const struct ops *ops = torch_ops(t, true);

	json_kv_u64(w, "n", ops->n);
	ops_json(ops, &rows, w);
}

static void write_kernels(struct torch *t, struct json_writer *w)
{
	op_kernels_json(torch_kernels(t), &rows, w);
}

static void write_steps(struct torch *t, struct json_writer *w)
{
	const struct op_steps *s = torch_steps(t);

	json_kv_u64(w, "n", s->n);
	json_kv_double(w, "median_s", s->median_s);
	json_kv_double(w, "p99_s", s->p99_s);
	json_kv_double(w, "max_s", s->max_s);
	json_key(w, "median_parts_s");
	json_object_begin(w);
	for (unsigned i = 0; i < OP_N_PARTS; i++)
		json_kv_double(w, op_part_names[i], s->median_parts_s[i]);
	json_object_end(w);
	op_steps_json(s, &rows, w);
}

static void write_streams(struct torch *t, struct json_writer *w)
{
	op_streams_json(torch_streams(t), w);
}

static const char *always(struct torch *t)
{
	(void)t;
	return "";
}

static const char *with_shapes(struct torch *t)
{
	return t->x.has_shapes ? "" : "no shapes were recorded: profile with record_shapes=True";
}

static const char *with_device(struct torch *t)
{
	return t->x.device.n ? "" : "nothing ran on a device, or it was not profiled";
}

/* Panes, in the order of their tabs. */
static const struct {
	const char *name;
	void (*write)(struct torch *t, struct json_writer *w);
	const char *(*missing)(struct torch *t); /* "": it can be filled; else why not */
} panes[] = {
	{ "overview", write_overview, always },
	{ "operators", write_operators, always },
	{ "shapes", write_shapes, with_shapes },
	{ "kernels", write_kernels, with_device },
	{ "steps", write_steps, always },
	{ "streams", write_streams, with_device },
};

enum { PANES = sizeof panes / sizeof *panes };

static void write_overview(struct torch *t, struct json_writer *w)
{
	struct buf notes = BUF_INIT;

	json_key(w, "panes");
	json_object_begin(w);
	for (size_t i = 0; i < PANES; i++)
		json_kv_string(w, panes[i].name, panes[i].missing(t));
	json_object_end(w);
	ops_print_losses(&t->x, &notes);
	json_kv_string(w, "notes", buf_str(&notes)); /* a line each */
	buf_done(&notes);
	json_kv_u64(w, "events", t->x.v.n);
	op_overview_json(&t->x, torch_steps(t), torch_advice(t), w);
}

int answer_torch(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	const char *what = params_find(p, "what");
	struct recording *r;

	if (library_find(l, p, &r, e) < 0)
		return -(int)e->code;
	if (!r->torch)
		return err_set(e, ERR_UNSUPPORTED,
			"no operators of PyTorch are in it: leadline view takes traces of "
			"torch.profiler (trace.json)");
	for (size_t i = 0; i < PANES; i++) {
		if (strcmp(what && *what ? what : "overview", panes[i].name) != 0)
			continue;
		if (*panes[i].missing(r->torch))
			return err_set(e, ERR_UNSUPPORTED, "%s", panes[i].missing(r->torch));
		panes[i].write(r->torch, w);
		return 0;
	}
	return err_set(e, ERR_USAGE, "what: there is no '%.100s'", what);
}
