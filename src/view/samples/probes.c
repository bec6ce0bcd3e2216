/* SPDX-License-Identifier: MIT
 * See probes.h. */
#include "view/samples/probes.h"

#include <stdint.h>
#include <string.h>

#include "analyze/samples/probes.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/banned.h"

/* Below these nothing is said: of a line's own time; of the probes that saw the same. */
static const double LINE_SHARE = 0.25, SAME_SHARE = 0.6;

bool probes_add_line(
	const struct probes *p, const char *file, int line, double line_self_s, struct buf *out)
{
	const struct probe_site *s = p ? probes_line(p, file, line) : NULL;
	char share[UNITS_TEXT];
	double of_line;

	if (!s || !*s->operation || s->share < SAME_SHARE || line_self_s <= 0)
		return false;
	of_line = s->self_s / line_self_s;
	if (of_line < LINE_SHARE)
		return false;
	if (strncmp(s->operation, "in ", 3) != 0)
		buf_adds(out, "in ");
	text_add_printable(out, s->operation, strlen(s->operation));
	buf_printf(out, " %s", units_format(share, UNIT_SHARE, of_line > 1 ? 1 : of_line));
	return true;
}
