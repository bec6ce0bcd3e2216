/* SPDX-License-Identifier: MIT
 * Writes operators as torch.profiler writes them (.pt.trace.json): what came from a trace as it was there, and what a program's
 * recording holds with the arguments that viewers look for. */

#include <string.h>

#include "analyze/recording.h"
#include "analyze/torch/event_json.h"
#include "analyze/torch/event_template.h"
#include "analyze/torch/events.h"
#include "analyze/torch/record.h"
#include "base/err.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "base/banned.h"

struct list {
	struct sink *out;
	bool has_items;
};

static void begin_event(struct list *l)
{
	buf_adds(&l->out->text, l->has_items ? ",\n" : "\n");
	l->has_items = true;
	sink_flush(l->out);
}

/* Each process, where the events themselves say nothing of it. */
static void write_names(const struct op_events *x, struct list *l)
{
	struct intern pids = INTERN_INIT;
	bool is_new;

	for (size_t i = 0; i < x->tracks.items.n; i++) {
		const struct intern_item *track = intern_get(&x->tracks, (uint32_t)i);
		const char *pid = track->p;
		size_t n = strnlen(pid, track->n);

		intern_add(&pids, pid, n, &is_new);
		if (!is_new || strspn(pid, "0123456789") != n || !n)
			continue;
		begin_event(l);
		buf_printf(&l->out->text,
			"{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%s,\"tid\":0,\"args\":{\"name\":\"python\"}}",
			pid);
	}
	intern_done(&pids);
}

static void write_events(const struct op_events *x, struct sink *out)
{
	struct list l = { .out = out };

	buf_addc(&out->text, '[');
	for (size_t i = 0; i < x->v.n; i++) {
		begin_event(&l);
		op_event_json_print(x, i, &out->text);
	}
	for (size_t i = 0; i < x->memory.n; i++) {
		begin_event(&l);
		op_event_json_print_memory(x, i, &out->text);
	}
	for (size_t i = 0; i < x->marks.n; i++) {
		struct buf *text = &out->text;
		struct list before = l;
		size_t n;

		begin_event(&l);
		n = text->n;
		if (!op_event_json_print_mark(x, i, text)) { /* a damaged one */
			text->n = n - (before.has_items ? 2 : 1);
			l = before;
		}
	}
	if (!x->marks.n)
		write_names(x, &l);
	buf_adds(&out->text, "\n]");
}

static void write_all(const struct op_events *x, struct sink *out)
{
	struct buf *text = &out->text;

	if (x->is_array) {
		write_events(x, out);
		buf_addc(text, '\n');
		return;
	}
	buf_adds(text, "{\n");
	for (size_t i = 0; i < x->properties.n; i++) {
		const struct op_property *p = &x->properties.v[i];
		const struct intern_item *key = intern_get(&x->texts, p->key);

		op_template_quote(text, key->p, key->n);
		buf_printf(text, ": %s,\n", (const char *)intern_get(&x->texts, p->value)->p);
		sink_flush(out);
	}
	if (!x->properties.n)
		buf_adds(text, "\"schemaVersion\": 1,\n\"displayTimeUnit\": \"ms\",\n");
	buf_adds(text, "\"traceEvents\": ");
	write_events(x, out);
	buf_adds(text, "\n}\n");
}

static int write_trace(struct selection *s, struct sink *out, struct err *e)
{
	struct op_events x = { .keeps_all = true };
	int status = op_record_read(s->recording->tables, &x, e);

	if (status == 0)
		write_all(&x, out);
	op_events_done(&x);
	return status;
}

static int write_packed(struct selection *s, struct sink *out, struct err *e)
{
	sink_gzip(out);
	return write_trace(s, out, e);
}

const struct format format_torch_trace = {
	.name = "torch-trace",
	.summary = "operators as torch.profiler writes them",
	.suffixes = { ".pt.trace.json" },
	.takes_ops = true,
	.choice = FORMAT_OF_ALL,
	.write = write_trace,
};

const struct format format_torch_trace_gz = {
	.name = "torch-trace-gz",
	.summary = "the same, gzipped",
	.suffixes = { ".pt.trace.json.gz" },
	.takes_ops = true,
	.choice = FORMAT_OF_ALL,
	.write = write_packed,
};
