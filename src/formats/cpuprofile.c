/* SPDX-License-Identifier: MIT
 *
 * V8's CPU profile, which VS Code and browsers' developer tools open: a table of stacks, and which of them was seen
 * when. The format knows one thread: the busiest is written. Lines count from 0 in it, times are µs. */

#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/json_write.h"
#include "base/vec.h"
#include "formats/contexts.h"
#include "formats/format.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/spans.h"
#include "base/banned.h"

struct page {
	struct arena a;
	struct spans *spans;
	size_t thread;
	struct contexts contexts;
	struct sink *out;
	struct json_writer w;
	uint64_t *hits;     /* by context; 0: the root */
	uint32_t *children; /* the first, by context; then siblings */
	uint32_t *next;
};

/* Some viewers count samples, others their time: both are right where each sample is one. */
static uint32_t parts_of(const struct span *x)
{
	return x->samples ? x->samples : 1;
}

static void link_contexts(struct page *p)
{
	struct span_iter it = spans_of(p->spans, p->thread);
	size_t n;

	for (struct span x; span_next(&it, &x);)
		contexts_of(&p->contexts, p->spans, &x);
	n = p->contexts.v.n + 1;
	p->hits = arena_new_n(&p->a, uint64_t, n);
	p->children = arena_new_n(&p->a, uint32_t, n);
	p->next = arena_new_n(&p->a, uint32_t, n);
	for (size_t i = n - 1; i > 0; i--) { /* so that the first comes first */
		uint32_t parent = p->contexts.v.v[i - 1].parent;

		p->next[i] = p->children[parent];
		p->children[parent] = (uint32_t)i;
	}
	it = spans_of(p->spans, p->thread);
	for (struct span x; span_next(&it, &x);)
		p->hits[contexts_of(&p->contexts, p->spans, &x)] += parts_of(&x);
}

/* Ids are the contexts' + 1: the root is 1. */
static void put_node(struct page *p, size_t context)
{
	static const struct stack_function root = { .name = "(root)", .file = "" };
	const struct stack_function *f = context
		? frames_function(p->spans->stacks->frames, p->contexts.v.v[context - 1].function)
		: &root;

	json_object_begin(&p->w);
	json_kv_u64(&p->w, "id", context + 1);
	json_key(&p->w, "callFrame");
	json_object_begin(&p->w);
	json_kv_string(&p->w, "functionName", f->name);
	json_kv_string(&p->w, "scriptId", "0");
	json_kv_string(&p->w, "url", f->file);
	json_kv_i64(&p->w, "lineNumber", (int64_t)f->first_line - 1);
	json_kv_i64(&p->w, "columnNumber", f->first_line ? 0 : -1);
	json_object_end(&p->w);
	json_kv_u64(&p->w, "hitCount", p->hits[context]);
	if (p->children[context]) {
		json_key(&p->w, "children");
		json_array_begin(&p->w);
		for (uint32_t c = p->children[context]; c; c = p->next[c])
			json_u64(&p->w, c + 1);
		json_array_end(&p->w);
	}
	json_object_end(&p->w);
	sink_flush(p->out);
}

/* A sample lasts until the next one: where the thread was not seen, the root is. */
struct sample {
	uint64_t t_ns;
	uint32_t context;
};

struct walk {
	struct span_iter it;
	struct span next;
	bool has_next;
	uint32_t part;   /* of next */
	uint64_t end_ns; /* of the last span */
};

static struct walk walk_begin(const struct page *p)
{
	struct walk w = { .it = spans_of(p->spans, p->thread),
		.end_ns = p->spans->threads[p->thread].t_ns };

	w.has_next = span_next(&w.it, &w.next);
	return w;
}

static bool walk_next(struct page *p, struct walk *w, struct sample *ret)
{
	if (!w->has_next)
		return false;
	if (w->next.t_ns > w->end_ns && !w->part) {
		*ret = (struct sample){ w->end_ns, 0 };
		w->end_ns = w->next.t_ns;
		return true;
	}
	*ret = (struct sample){ w->next.t_ns + w->next.value / parts_of(&w->next) * w->part,
		contexts_of(&p->contexts, p->spans, &w->next) };
	if (++w->part < parts_of(&w->next))
		return true;
	w->part = 0;
	w->end_ns = w->next.t_ns + w->next.value;
	w->has_next = span_next(&w->it, &w->next);
	return true;
}

static void put_samples(struct page *p)
{
	struct walk w = walk_begin(p);
	char before = ' ';

	json_key(&p->w, "samples");
	json_array_begin(&p->w);
	for (struct sample x; walk_next(p, &w, &x); before = ',') {
		sink_add_u64(&p->out->text, before, x.context + 1);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
}

static void put_deltas(struct page *p)
{
	struct walk w = walk_begin(p);
	uint64_t begun_ns = w.end_ns, last_us = 0;
	char before = ' ';

	json_key(&p->w, "timeDeltas");
	json_array_begin(&p->w);
	for (struct sample x; walk_next(p, &w, &x); before = ',') {
		uint64_t at_us = (x.t_ns - begun_ns) / 1000;

		sink_add_u64(&p->out->text, before, at_us - last_us);
		last_us = at_us;
		sink_flush(p->out);
	}
	json_array_end(&p->w);
	json_kv_u64(&p->w, "endTime", (w.end_ns - begun_ns) / 1000);
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct page p = { .a = ARENA_INIT, .out = out };
	int status = spans_build_time(&p.spans, &p.a, s, e);

	if (status < 0) {
		arena_done(&p.a);
		return status;
	}
	p.thread = label_first_thread(p.spans->stacks);
	json_init(&p.w, &out->text, false);
	json_object_begin(&p.w);
	if (p.spans->stacks->n_threads) {
		link_contexts(&p);
		json_key(&p.w, "nodes");
		json_array_begin(&p.w);
		for (size_t i = 0; i <= p.contexts.v.n; i++)
			put_node(&p, i);
		json_array_end(&p.w);
		json_kv_u64(&p.w, "startTime", 0);
		put_samples(&p);
		put_deltas(&p);
	}
	json_object_end(&p.w);
	buf_addc(&out->text, '\n');
	contexts_done(&p.contexts);
	status = spans_close(p.spans, e);
	arena_done(&p.a);
	return status;
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.suffixes = { ".cpuprofile" },
	.summary = "V8's CPU profile, which VS Code opens: the busiest thread",
	.write = write,
};
