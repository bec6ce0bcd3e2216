/* SPDX-License-Identifier: MIT
 * See origin.h. */
#include "analyze/origin.h"

#include <string.h>

#include "base/arena.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

struct origin origin_build(struct arena *a, struct tables *t)
{
	struct origin o = { .format = "", .measure = "", .note = "", .unit = UNIT_SECONDS };
	struct record_iter it = record_iter(t, RECORD_meta);

	for (const struct rec_meta *m; (m = record_next(&it));) {
		const char *key = tables_string(t, m->key),
			   *value = arena_strndup(a, m->value.p, m->value.n);

		if (strcmp(key, "format") == 0)
			o.format = value;
		else if (strcmp(key, "measure") == 0)
			o.measure = value;
		else if (strcmp(key, "format_note") == 0)
			o.note = value;
		else if (strcmp(key, "unit") == 0)
			o.unit = strcmp(value, "bytes") == 0 ? UNIT_BYTES
				: strcmp(value, "ns") == 0   ? UNIT_SECONDS
							     : UNIT_COUNT;
	}
	record_iter_done(&it);
	o.is_foreign = *o.format != '\0';
	return o;
}
