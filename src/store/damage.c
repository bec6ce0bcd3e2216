/* SPDX-License-Identifier: MIT
 * See damage.h. */
#include "store/damage.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/units.h"
#include "wire/records.h"
#include "base/banned.h"

bool damage_is_loss(const struct damage *d)
{
	return !d->has_end || d->lost_bytes || d->n_bad_chunks || d->n_bad_references;
}

static void add(char *to, const char *text)
{
	size_t n = strlen(to);

	snprintf(to + n, DAMAGE_TEXT - n, "%s%s", n ? "; " : "", text);
}

bool damage_describe(const struct damage *d, char ret[static DAMAGE_TEXT])
{
	const struct record_type *type = record_type_find(d->first_bad_kind);
	char text[160], lost[UNITS_TEXT];

	*ret = '\0';
	if (!d->has_end)
		add(ret, "the recorder did not finish, or the end was cut off");
	else if (!d->has_index)
		add(ret, "the index is damaged, chunks were found without it");
	if (d->lost_bytes) {
		snprintf(text, sizeof text, "%s from byte %" PRIu64 " on could not be read",
			units_format(lost, UNIT_BYTES, (double)d->lost_bytes), d->first_lost_byte);
		add(ret, text);
	}
	if (d->n_bad_chunks) {
		snprintf(text, sizeof text,
			"damaged: %" PRIu64 " of %" PRIu64 " chunks could not be read (%s%s)",
			d->n_bad_chunks, d->n_chunks, type ? type->name : "of an unknown kind",
			d->n_bad_chunks > 1 ? " and others" : "");
		add(ret, text);
	}
	if (d->n_bad_references) {
		snprintf(text, sizeof text,
			"%" PRIu64 " reference%s to what is missing, shown as unknown",
			d->n_bad_references, d->n_bad_references == 1 ? "" : "s");
		add(ret, text);
	}
	if (damage_is_loss(d))
		add(ret, "the figures lack what it held");
	return *ret != '\0';
}
