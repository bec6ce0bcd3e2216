/* SPDX-License-Identifier: MIT
 * See event_json.h. */
#include "analyze/torch/event_json.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/torch/event_template.h"
#include "analyze/torch/events.h"
#include "base/buf.h"
#include "base/banned.h"

static const char *const words[OP_N_CATEGORIES] = { "cpu_op", "user_annotation", "python_function",
	"cuda_runtime", "overhead", "kernel", "gpu_memcpy", "gpu_memset", "gpu_user_annotation" };

/* As its file has it; false where it is of none. */
static bool fill(const struct op_events *x, const struct op_written *from,
	const struct op_template_own *own, struct buf *out)
{
	const struct intern_item *form;

	if (!from->form || from->form >= x->texts.items.n)
		return false;
	form = intern_get(&x->texts, from->form);
	return op_template_fill(form->p, form->n, x->numbers.data ? x->numbers.data + from->at : "",
		from->n, own, out);
}

/* A number stays one. */
static void add_id(struct buf *out, const char *text, size_t n)
{
	size_t i = n > 1 && *text == '-';
	bool is_number = n > i && n < 19 && (text[i] != '0' || n == i + 1);

	for (; i < n; i++)
		is_number &= text[i] >= '0' && text[i] <= '9';
	if (is_number)
		buf_add(out, text, n);
	else
		op_template_quote(out, text, n);
}

static void add_track(const struct op_events *x, uint16_t track, struct buf *out)
{
	const struct intern_item *item = intern_get(&x->tracks, track);
	const char *text = item->p;
	size_t n_pid = strnlen(text, item->n), tid = n_pid + (n_pid < item->n);

	buf_adds(out, ",\"pid\":");
	add_id(out, text, n_pid);
	buf_adds(out, ",\"tid\":");
	add_id(out, text + tid, item->n - tid);
}

static void add_argument(struct buf *out, const char *key, uint64_t value, bool *is_first)
{
	if (value)
		buf_printf(out, "%s\"%s\":%" PRIu64, *is_first ? "" : ",", key, value);
	*is_first &= !value;
}

/* As torch_event.c reads it again. */
static void add_source(const struct op_events *x, size_t span, struct buf *out, bool is_first)
{
	const struct intern_item *source;

	if (span >= x->sources.n || !x->sources.v[span])
		return;
	source = intern_get(&x->names, x->sources.v[span] - 1);
	buf_printf(out, "%s\"" OP_SOURCE_KEY "\":", is_first ? "" : ",");
	op_template_quote(out, source->p, source->n);
}

static void add_arguments(const struct op_events *x, size_t span, struct buf *out)
{
	const struct op_event *e = &x->v.v[span];
	bool is_first = true;

	buf_adds(out, ",\"args\":{");
	add_argument(out, "External id", e->link, &is_first);
	if (op_is_device(e) && e->detail) {
		const struct op_device *d = &x->device.v[e->detail - 1];

		add_argument(out, "correlation", d->correlation, &is_first);
		add_argument(out, "bytes", d->bytes, &is_first);
	} else if (e->category == OP_RUNTIME) {
		add_argument(out, "correlation", e->detail, &is_first);
	} else if (e->detail) {
		const struct intern_item *shapes = intern_get(&x->shapes, e->detail - 1);

		buf_printf(out, "%s\"Input Dims\":%s", is_first ? "" : ",",
			(const char *)shapes->p); /* its arguments are behind a NUL */
		is_first = false;
	}
	add_source(x, span, out, is_first);
	buf_addc(out, '}');
}

void op_event_json_print(const struct op_events *x, size_t span, struct buf *out)
{
	const struct op_event *e = &x->v.v[span];
	const struct intern_item *name = intern_get(&x->names, e->name);
	/* Written 1 ns wider on each side. */
	bool is_wider = e->category == OP_DEVICE_ANNOTATION;
	struct op_template_own own = { .name = name->p,
		.n_name = name->n,
		.ts_ns = e->start_ns - is_wider,
		.duration_ns = e->duration_ns + 2 * is_wider,
		.link = e->link };

	if (span < x->v_written.n && fill(x, &x->v_written.v[span], &own, out))
		return;
	buf_printf(out, "{\"ph\":\"X\",\"cat\":\"%s\",\"name\":", words[e->category]);
	op_template_quote(out, own.name, own.n_name);
	add_track(x, e->track, out);
	buf_adds(out, ",\"ts\":");
	op_template_us(out, own.ts_ns);
	buf_adds(out, ",\"dur\":");
	op_template_us(out, own.duration_ns);
	add_arguments(x, span, out);
	buf_addc(out, '}');
}

void op_event_json_print_memory(const struct op_events *x, size_t memory, struct buf *out)
{
	const struct op_memory *m = &x->memory.v[memory];
	struct op_template_own own = { .name = "", .ts_ns = m->t_ns };

	if (memory < x->memory_written.n && fill(x, &x->memory_written.v[memory], &own, out))
		return;
	buf_printf(out, "{\"ph\":\"i\",\"cat\":\"cpu_instant_event\",\"s\":\"t\",\"name\":\"%s\"",
		m->is_failure ? "[OutOfMemory]" : "[memory]");
	add_track(x, m->track, out);
	buf_adds(out, ",\"ts\":");
	op_template_us(out, m->t_ns);
	buf_printf(out,
		",\"args\":{\"Device Type\":%u,\"Bytes\":%" PRId64 ",\"Total Allocated\":%" PRIu64
		"}}",
		m->device_type, m->bytes, m->total_bytes);
}

bool op_event_json_print_mark(const struct op_events *x, size_t mark, struct buf *out)
{
	const struct op_mark *m = &x->marks.v[mark];
	struct op_template_own own = { .name = "", .ts_ns = m->t_ns, .link = (int64_t)m->link };

	return fill(x, &m->written, &own, out);
}
