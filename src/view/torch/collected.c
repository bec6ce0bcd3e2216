/* SPDX-License-Identifier: MIT
 * See collected.h. */
#include "view/torch/collected.h"

#include <string.h>

#include "analyze/torch/collected.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/banned.h"

static const char *plural(uint64_t n)
{
	return n == 1 ? "" : "s";
}

void op_collected_print(const struct op_collected *c, const char *path, struct buf *out)
{
	char n[UNITS_TEXT];

	if (!c->is_asked)
		return;
	if (!c->version[0]) {
		buf_adds(out, "No operators: ");
		if (c->cannot[0])
			text_add_printable(out, c->cannot, strlen(c->cannot));
		else
			buf_adds(out, "torch was never imported");
		buf_adds(out, ".\n");
		return;
	}
	buf_adds(out, "PyTorch ");
	text_add_printable(out, c->version, strlen(c->version));
	buf_printf(out, ": %s operator call%s", units_format(n, UNIT_COUNT, (double)c->n_operators),
		plural(c->n_operators));
	if (c->n_processes > 1)
		buf_printf(out, " of %s processes",
			units_format(n, UNIT_COUNT, (double)c->n_processes));
	if (c->cost_ns) {
		buf_printf(out, ", about %s of collecting each",
			units_format(n, UNIT_SECONDS, (double)c->cost_ns / 1e9));
		if (units_is_known(c->slowdown))
			buf_printf(out, " (%s slower in the thread that ran most)",
				units_format(n, UNIT_SHARE, c->slowdown));
	}
	text_add_line(out, "   more: leadline report %s --ops", path);
	op_collected_print_unseen(c, out);
}

void op_collected_print_unseen(const struct op_collected *c, struct buf *out)
{
	char n[UNITS_TEXT], t[UNITS_TEXT];

	if (c->n_gaps)
		buf_printf(out,
			"Operators not seen for %s (%s time%s): the program's own profiler was on, and torch allows one per thread.\n",
			units_format(t, UNIT_SECONDS, (double)c->gap_ns / 1e9),
			units_format(n, UNIT_COUNT, (double)c->n_gaps), plural(c->n_gaps));
	if (c->n_threads_unseen)
		buf_printf(out,
			"Operators not seen in %s thread%s that started before torch was imported.\n",
			units_format(n, UNIT_COUNT, (double)c->n_threads_unseen),
			plural(c->n_threads_unseen));
	if (c->n_lost)
		buf_printf(out,
			"Operator calls lost: %s, because they came faster than they could be written.\n",
			units_format(n, UNIT_COUNT, (double)c->n_lost));
}
