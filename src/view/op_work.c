/* SPDX-License-Identifier: MIT
 * See op_work.h. */
#include "view/op_work.h"

#include "analyze/op_work.h"
#include "base/buf.h"
#include "base/json_write.h"
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

void op_work_json(const struct op_work *work, struct json_writer *w)
{
	json_key(w, "work");
	if (!work) {
		json_null(w);
		return;
	}
	json_object_begin(w);
	json_kv_double(w, "flops", work->flops);
	json_kv_double(w, "flops_per_s", work->per_s);
	json_kv_double(w, "peak_flops_per_s", work->peak_per_s);
	json_kv_string(w, "peak", work->peak);
	json_kv_double(w, "mfu", work->share);
	json_object_end(w);
}
