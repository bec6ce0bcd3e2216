/* SPDX-License-Identifier: MIT
 * See event.h. */
#include "formats/torch/event.h"

#include <string.h>

#include "analyze/torch/events.h"
#include "base/banned.h"

struct category_row {
	const char *word;
	enum op_category category;
};

/* The capitals are of 1.11 and before. */
static const struct category_row categories[] = {
	{ "cpu_op", OP_CPU },
	{ "Operator", OP_CPU },
	{ "user_annotation", OP_ANNOTATION },
	{ "python_function", OP_PYTHON },
	{ "cuda_runtime", OP_RUNTIME },
	{ "cuda_driver", OP_RUNTIME },
	{ "Runtime", OP_RUNTIME },
	{ "xpu_runtime", OP_RUNTIME },
	{ "privateuse1_runtime", OP_RUNTIME },
	{ "privateuse1_driver", OP_RUNTIME },
	{ "mtia_runtime", OP_RUNTIME },
	{ "overhead", OP_OVERHEAD },
	{ "kernel", OP_KERNEL },
	{ "Kernel", OP_KERNEL },
	{ "mtia_ccp_events", OP_KERNEL },
	{ "hpu_op", OP_KERNEL },
	{ "gpu_memcpy", OP_COPY },
	{ "Memcpy", OP_COPY },
	{ "gpu_memset", OP_SET },
	{ "Memset", OP_SET },
	{ "gpu_user_annotation", OP_DEVICE_ANNOTATION },
};

unsigned torch_event_category(const struct scan_text *word)
{
	if (scan_is(word, "cpu_op")) /* most of them */
		return OP_CPU;
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++)
		if (scan_is(word, categories[i].word))
			return categories[i].category;
	return TORCH_NO_CATEGORY;
}

/* Where the value of an argument goes; nothing for most of them. */
static void take_argument(
	struct torch_event *f, const struct scan_text *key, const struct scan_text *value)
{
	switch (key->n) {
	case 4: /* of "process_name" */
		if (scan_is(key, "name"))
			f->label = *value;
		else if (scan_is(key, "grid"))
			f->grid = *value;
		else if (scan_is(key, "Addr"))
			scan_i64(value, &f->address);
		else if (scan_is(key, "file"))
			f->file = *value;
		else if (scan_is(key, "line"))
			f->line = *value;
		break;
	case 5:
		if (scan_is(key, "Bytes") || scan_is(key, "bytes"))
			scan_i64(value, &f->bytes);
		else if (scan_is(key, "block"))
			f->block = *value;
		break;
	case 8:
		if (scan_is(key, "CallFrom"))
			f->call_from = *value;
		break;
	case 9:
		if (scan_is(key, "Device Id"))
			scan_i64(value, &f->device);
		break;
	case 10:
		if (scan_is(key, "Input Dims") || scan_is(key, "Input dims"))
			f->dims = *value;
		else if (scan_is(key, "Input type"))
			f->types = *value;
		break;
	case 11:
		if (scan_is(key, "External id") || scan_is(key, "external id"))
			scan_i64(value, &f->external);
		else if (scan_is(key, "correlation"))
			scan_i64(value, &f->correlation);
		else if (scan_is(key, "Device Type"))
			scan_i64(value, &f->device_type);
		else if (scan_is(key, OP_SOURCE_KEY))
			f->source = *value;
		break;
	case 13:
		if (scan_is(key, "blocks per SM"))
			scan_milli(value, &f->blocks_per_sm);
		else if (scan_is(key, "Fwd thread id"))
			scan_i64(value, &f->forward_thread);
		else if (scan_is(key, "shared memory"))
			scan_i64(value, &f->shared_bytes);
		break;
	case 14:
		if (scan_is(key, "Total Reserved"))
			scan_i64(value, &f->reserved_bytes);
		break;
	case 20:
		if (scan_is(key, "registers per thread"))
			scan_i64(value, &f->registers);
		break;
	case 25:
		if (scan_is(key, "est. achieved occupancy %"))
			scan_milli(value, &f->occupancy);
		break;
	case 15:
		if (scan_is(key, "Concrete Inputs"))
			f->concrete = *value;
		else if (scan_is(key, "Total Allocated"))
			scan_i64(value, &f->total_bytes);
		else if (scan_is(key, "Sequence number"))
			scan_i64(value, &f->sequence);
		break;
	}
}

static bool scan_arguments(struct scan *s, struct torch_event *f)
{
	struct scan_text key, value;

	if (scan_peek(s) != '{')
		return scan_value(s, &value);
	s->at++;
	for (bool is_first = true; scan_key(s, &key, is_first); is_first = false) {
		if (!scan_value(s, &value))
			return false;
		take_argument(f, &key, &value);
	}
	return s->status == SCAN_OK;
}

static struct scan_text *field_of(struct torch_event *f, const struct scan_text *key)
{
	switch (key->n) {
	case 2:
		return key->p[0] == 'p' && key->p[1] == 'h'    ? &f->phase
			: key->p[0] == 't' && key->p[1] == 's' ? &f->ts
			: key->p[0] == 'i' && key->p[1] == 'd' ? &f->id
							       : NULL;
	case 3:
		return scan_is(key, "cat")    ? &f->category
			: scan_is(key, "pid") ? &f->pid
			: scan_is(key, "tid") ? &f->tid
			: scan_is(key, "dur") ? &f->duration
					      : NULL;
	case 4:
		return scan_is(key, "name") ? &f->name : NULL;
	}
	return NULL;
}

/* From the '{' to behind the '}'. */
bool torch_event_scan(struct scan *s, struct torch_event *f)
{
	struct scan_text key, ignored, *field;

	*f = (struct torch_event){ .device_type = -1,
		.device = -1,
		.sequence = -1,
		.registers = -1,
		.shared_bytes = -1,
		.blocks_per_sm = -1,
		.occupancy = -1 };
	s->at++;
	for (bool is_first = true; scan_key(s, &key, is_first); is_first = false) {
		if (key.n == 4 && scan_is(&key, "args")) {
			if (!scan_arguments(s, f))
				return false;
			continue;
		}
		field = field_of(f, &key);
		if (!scan_value(s, field ? field : &ignored))
			return false;
	}
	return s->status == SCAN_OK;
}

bool torch_event_has(const struct scan_text *key)
{
	struct torch_event f;

	return field_of(&f, key);
}
