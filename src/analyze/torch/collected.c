/* SPDX-License-Identifier: MIT
 * See collected.h. */
#include "analyze/torch/collected.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/units.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct op_collected op_collected_build(struct tables *t)
{
	struct op_collected c = { .slowdown = UNITS_UNKNOWN };
	const struct {
		const char *key;
		uint64_t *value;
	} numbers[] = { { "torch_operators", &c.n_operators },
		{ "torch_processes", &c.n_processes }, { "torch_lost", &c.n_lost },
		{ "torch_gaps", &c.n_gaps }, { "torch_gap_ns", &c.gap_ns },
		{ "torch_threads_unseen", &c.n_threads_unseen }, { "torch_cost_ns", &c.cost_ns } };
	struct record_iter it = record_iter(t, RECORD_meta);

	for (const struct rec_meta *m; (m = record_next(&it));) {
		const char *key = tables_string(t, m->key);
		char value[sizeof c.cannot];

		snprintf(value, sizeof value, "%.*s", (int)m->value.n, (const char *)m->value.p);
		if (strcmp(key, "torch") == 0) {
			c.is_asked = true;
			snprintf(c.version, sizeof c.version, "%.39s", value);
		} else if (strcmp(key, "torch_cannot") == 0) {
			snprintf(c.cannot, sizeof c.cannot, "%s", value);
		} else if (strcmp(key, "torch_slowdown_est") == 0) {
			c.slowdown = strtod(value, NULL);
		}
		for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
			if (strcmp(key, numbers[i].key) == 0)
				*numbers[i].value = strtoull(value, NULL, 10);
	}
	record_iter_done(&it);
	return c;
}
