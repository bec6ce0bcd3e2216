/* SPDX-License-Identifier: MIT
 * See op_work.h. */
#include "view/op_work.h"

#include "analyze/op_work.h"
#include "base/buf.h"
#include "base/units.h"
#include "view/ops.h"
#include "view/style.h"
#include "base/banned.h"

void op_work_print(const struct op_work *work, const struct ops_view *v, struct buf *out)
{
	char rate[UNITS_TEXT], peak[UNITS_TEXT], share[UNITS_TEXT];
	struct buf text = BUF_INIT;

	if (!work)
		return;
	buf_printf(&text, "Arithmetic: %sFLOP/s in the steps, as far as torch has formulas",
		units_format(rate, UNIT_COUNT, work->per_s));
	if (units_is_known(work->share))
		buf_printf(&text, "; MFU %s of %sFLOP/s, the %s",
			units_format(share, UNIT_SHARE, work->share),
			units_format(peak, UNIT_COUNT, work->peak_per_s), work->peak);
	buf_addc(&text, '.');
	buf_addc(out, '\n');
	style_wrap(out, buf_str(&text), 0, v->width);
	buf_done(&text);
}
