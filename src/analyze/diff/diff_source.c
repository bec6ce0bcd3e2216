/* SPDX-License-Identifier: MIT
 * See diff_source.h. */
#include "analyze/diff/diff_source.h"

#include <string.h>

#include "analyze/calls/exact.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/origin.h"
#include "analyze/recording.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/regions.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/banned.h"

struct diff_source diff_source_of(struct selection *s, const char *name)
{
	struct recording *r = s->recording;

	return (struct diff_source){ .name = name,
		.stacks = s->stacks,
		.profile = s->profile,
		.exact = s->exact,
		.exact_lines = s->exact_lines,
		.texts = recording_texts(r),
		.regions = r->regions,
		.origin = &r->origin,
		.blocks = s->blocks };
}

static int side_of(
	struct arena *a, const struct diff_source *s, struct diff_side *ret, struct err *e)
{
	if (!s->profile)
		return err_set(e, ERR_USAGE,
			"%s: holds no samples and no calls, only what the run used; compare what leadline report prints",
			s->name);
	*ret = (struct diff_side){ .stacks = s->stacks,
		.profile = s->profile,
		.has_calls = s->exact != NULL,
		.exact_lines = s->exact_lines,
		.texts = s->texts,
		.blocks = s->blocks,
		.units = 1 };
	if (!s->exact && s->exact_lines) {
		ret->profile = exact_lines_profile(a, s->exact_lines);
		ret->has_calls = true;
	}
	return 0;
}

/* ---- units of work --------------------------------------------------------------------------- */

static double times_of(const struct diff_source *s, const struct diff_side *side, const char *name)
{
	double calls = 0;

	for (size_t i = 0; i < s->regions->n; i++)
		if (strcmp(s->regions->v[i].name, name) == 0)
			return (double)s->regions->v[i].n_times;
	for (size_t i = 0; side->has_calls && i < side->profile->n_functions; i++)
		if (strcmp(side->profile->functions[i].name, name) == 0)
			calls += (double)side->profile->functions[i].calls;
	return calls;
}

/* "500": of both; "500:1000": of A and of B. */
static bool parse_units(const char *text, struct diff_side sides[2])
{
	char first[32];
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	uint64_t of_a, of_b;

	if (n >= sizeof first)
		return false;
	memcpy(first, text, n);
	first[n] = '\0';
	if (!text_parse_u64(first, &of_a) || !text_parse_u64(colon ? colon + 1 : first, &of_b) ||
		!of_a || !of_b)
		return false;
	sides[0].units = (double)of_a;
	sides[1].units = (double)of_b;
	return true;
}

static int find_units(const struct diff_source sources[2], const char *name,
	struct diff_side sides[2], struct err *e)
{
	if (!name && sources[0].regions->n == 1)
		name = sources[0].regions->v[0].name;
	if (!name)
		return err_set(e, ERR_USAGE,
			"--normalize unit needs --unit: a region's name, a traced function, or a count, such as 500 or 500:1000");
	if (parse_units(name, sides))
		return 0;
	for (int i = 0; i < 2; i++) {
		sides[i].units = times_of(&sources[i], &sides[i], name);
		if (!(sides[i].units > 0))
			return err_set(e, ERR_USAGE,
				"%s: no region and no counted function is called '%s'",
				sources[i].name, name);
	}
	return 0;
}

/* ---- both ------------------------------------------------------------------------------------ */

int diff_sides(struct arena *a, const struct diff_source sources[2], const struct diff_options *o,
	const char *unit, struct diff_side ret[2], struct err *e)
{
	static const char *const units[] = {
		[UNIT_COUNT] = "counts", [UNIT_SECONDS] = "time", [UNIT_BYTES] = "bytes"
	};

	if (side_of(a, &sources[0], &ret[0], e) < 0 || side_of(a, &sources[1], &ret[1], e) < 0)
		return -(int)e->code;
	if (sources[0].stacks->unit != sources[1].stacks->unit)
		return err_set(e, ERR_USAGE, "%s is in %s and %s in %s: they cannot be compared",
			sources[0].name, units[sources[0].stacks->unit], sources[1].name,
			units[sources[1].stacks->unit]);
	return o->normalize == DIFF_UNIT ? find_units(sources, unit, ret, e) : 0;
}

void diff_source_made(const struct diff_source *s, struct buf *out)
{
	char n[UNITS_TEXT];

	if (s->exact)
		buf_printf(out, "%scalls counted", s->origin->is_foreign ? "" : "traced, ");
	else if (s->exact_lines)
		buf_adds(out, "lines counted");
	else if (s->stacks->n_samples)
		buf_printf(out, "%s samples",
			units_format(n, UNIT_COUNT, (double)s->stacks->n_samples));
	else
		buf_printf(out, "%s file", s->origin->format);
}
