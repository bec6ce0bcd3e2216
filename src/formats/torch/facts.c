/* SPDX-License-Identifier: MIT
 * See facts.h. */
#include "formats/torch/facts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "base/buf.h"
#include "formats/torch/scan.h"
#include "base/banned.h"

enum { RANKS = 1 << 20 };

/* The list of devices: how many, and the first one's name and memory. */
static void take_devices(struct op_events *to, const struct scan_text *list)
{
	struct scan s = { .at = list->p + 1, .end = list->p + list->n };
	struct scan_text key, value;
	struct buf name = BUF_INIT;
	int64_t number;

	for (; s.at < s.end && (s.at = memchr(s.at, '{', (size_t)(s.end - s.at)));
		to->n_devices++) {
		s.at++;
		for (bool is_first = true; scan_key(&s, &key, is_first); is_first = false) {
			if (!scan_value(&s, &value))
				break;
			if (to->n_devices)
				continue;
			if (scan_is(&key, "name")) {
				buf_clear(&name);
				scan_decode(&value, &name);
				snprintf(to->device_name, sizeof to->device_name, "%s",
					buf_str(&name));
			} else if (scan_is(&key, "totalGlobalMem") && scan_i64(&value, &number) &&
				number > 0) {
				to->device_bytes = (uint64_t)number;
			} else if (scan_is(&key, "computeMajor") && scan_i64(&value, &number) &&
				number > 0 && number < 1000) {
				to->device_capability = (unsigned)number;
			}
		}
		if (s.status != SCAN_OK)
			break;
	}
	to->has_device |= to->n_devices > 0;
	buf_done(&name);
}

/* Backend, rank and number of ranks of distributedInfo. */
static void take_job(struct op_events *to, const struct scan_text *job)
{
	struct scan s = { .at = job->p + 1, .end = job->p + job->n };
	struct scan_text key, value;
	int64_t number;

	for (bool is_first = true; scan_key(&s, &key, is_first); is_first = false) {
		if (!scan_value(&s, &value))
			break;
		if (scan_is(&key, "backend") && value.n < sizeof to->backend && !value.has_escapes)
			snprintf(to->backend, sizeof to->backend, "%.*s", (int)value.n, value.p);
		else if (scan_is(&key, "rank") && scan_i64(&value, &number) && number >= 0 &&
			number < RANKS)
			to->rank = (int)number;
		else if (scan_is(&key, "world_size") && scan_i64(&value, &number) && number > 0 &&
			number <= RANKS)
			to->world_size = (unsigned)number;
	}
}

/* Of the epoch: more digits than scan_i64 takes. */
static int64_t nanoseconds(const struct scan_text *value)
{
	char text[24] = "";

	if (value->n < sizeof text)
		memcpy(text, value->p, value->n);
	return strtoll(text, NULL, 10);
}

void torch_facts_take(
	struct op_events *to, const struct scan_text *key, const struct scan_text *value)
{
	bool is_set = scan_is(value, "1");

	if (scan_is(key, OP_COMPILED_KEY) && !to->compiled.n)
		buf_add(&to->compiled, value->p, value->n);
	if (scan_is(key, OP_LINES_KEY) && !to->lines.n)
		buf_add(&to->lines, value->p, value->n);
	if (scan_is(key, "baseTimeNanoseconds"))
		to->base_ns = nanoseconds(value);
	if (scan_is(key, "profile_memory"))
		to->has_memory |= is_set;
	else if (scan_is(key, "with_flops"))
		to->has_flops |= is_set;
	else if (scan_is(key, "with_stack"))
		to->has_stack |= is_set;
	else if (scan_is(key, "record_shapes"))
		to->has_shapes |= is_set;
	else if (scan_is(key, "host_name"))
		to->has_host = true;
	else if (scan_is(key, "baseTimeNanoseconds"))
		to->has_base = true;
	else if (scan_is(key, "deviceProperties") && (to->is_kineto = true) && value->n > 1 &&
		*value->p == '[')
		take_devices(to, value);
	else if (scan_is(key, "distributedInfo") && value->n > 1 && *value->p == '{')
		take_job(to, value);
}
