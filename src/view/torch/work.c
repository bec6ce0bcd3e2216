/* SPDX-License-Identifier: MIT
 * See work.h. */
#include "view/torch/work.h"

#include "analyze/torch/work.h"
#include "base/buf.h"
#include "base/units.h"
#include "view/kit/style.h"
#include "view/torch/table.h"
#include "base/banned.h"

void op_work_print(const struct op_work *work, const struct ops_view *v, struct buf *out)
{
	char rate[UNITS_TEXT], peak[UNITS_TEXT], share[UNITS_TEXT];
	struct buf text = BUF_INIT;

	if (!work)
		return;
	buf_printf(&text, "Arithmetic: %sFLOP/s in the steps, for operators with a formula",
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
