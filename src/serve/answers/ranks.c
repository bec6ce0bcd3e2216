/* SPDX-License-Identifier: MIT
 * Answer "ranks": the traces of a distributed job that are open, side by side. */
#include "analyze/torch/ranks.h"
#include "analyze/torch/record.h"
#include "base/err.h"
#include "formats/torch/trace.h"
#include "json/torch.h"
#include "serve/answers/parts.h"
#include "serve/library.h"
#include "analyze/torch/results.h"
#include "base/banned.h"

/* Arguments of events, which tell collectives apart, are not in memory: the trace is read again. */
static int add(struct op_ranks *to, const struct recording *r, struct err *e)
{
	struct op_events x = { .keeps_all = true };
	int status = r->tables && op_record_is_in(r->reader)
		? op_record_read(r->tables, &x, e)
		: torch_trace_load_file(&x, r->path, e);

	if (status == 0)
		status = op_ranks_add(to, r->path, &x, e);
	op_events_done(&x);
	return status;
}

static int build(struct library *l, struct err *e)
{
	struct op_ranks ranks = { .a = &l->arena };
	int status = 0;

	for (size_t i = 0; i < l->recordings.n && status == 0; i++)
		if (l->recordings.v[i]->torch)
			status = add(&ranks, l->recordings.v[i], e);
	if (status == 0)
		status = op_ranks_compare(&ranks, e);
	if (status < 0) {
		op_ranks_done(&ranks);
		/* They can be looked at one by one all the same. */
		e->code = e->code == ERR_USAGE ? ERR_UNSUPPORTED : e->code;
		return -(int)e->code;
	}
	l->ranks = xcalloc(1, sizeof *l->ranks);
	*l->ranks = ranks;
	return 0;
}

void ranks_free(struct op_ranks *r)
{
	if (r)
		op_ranks_done(r);
	free(r);
}

int answer_ranks(struct library *l, struct params *p, struct json_writer *w, struct err *e)
{
	(void)p;
	if (!l->ranks && build(l, e) < 0)
		return -(int)e->code;
	op_ranks_json(l->ranks, w);
	return 0;
}
