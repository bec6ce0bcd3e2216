/* SPDX-License-Identifier: MIT
 * See finding.h. */
#include "advise/finding.h"

#include <stdbool.h>

#include "base/banned.h"

const char *const finding_confidence_names[FINDING_N_CONFIDENCES] = {
	[FINDING_MEASURED] = "measured",
	[FINDING_BOUND] = "bound",
	[FINDING_HEURISTIC] = "heuristic",
};

const char *const finding_confidence_meanings[FINDING_N_CONFIDENCES] = {
	[FINDING_MEASURED] = "the change removes what was measured",
	[FINDING_BOUND] =
		"the change removes part of what was measured; a second run shows how much",
	[FINDING_HEURISTIC] = "judged by names, counts or estimates, or from little data",
};

static bool comes_before(const struct finding *a, const struct finding *b)
{
	const struct finding_saving *x = &a->saving, *y = &b->saving;

	if (!units_is_known(x->value) || !units_is_known(y->value))
		return units_is_known(x->value) && !units_is_known(y->value);
	if (x->unit != y->unit)
		return x->unit == UNIT_SECONDS || (y->unit != UNIT_SECONDS && x->unit < y->unit);
	return x->value > y->value;
}

/* There are as many as there are rules: a few dozen. */
void findings_sort(struct finding *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct finding moved = v[i];
		size_t at = i;

		for (; at > 0 && comes_before(&moved, &v[at - 1]); at--)
			v[at] = v[at - 1];
		v[at] = moved;
	}
}
