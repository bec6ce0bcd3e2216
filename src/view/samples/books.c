/* SPDX-License-Identifier: MIT
 * See books.h. */
#include "view/samples/books.h"

#include <string.h>

#include "analyze/samples/books.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/units.h"
#include "base/banned.h"

static const double SPEAK_OF_S = 0.010; /* shorter ones are noise of the clock */

static void add_seconds(struct buf *to, double value)
{
	char text[UNITS_TEXT];

	buf_adds(to, units_format(text, UNIT_SECONDS, value));
}

void books_describe(const struct books *b, struct buf *to)
{
	const struct book *sum = &b->sum;

	buf_printf(to, "accounted: %.1f %% of ", books_cpu_share(sum) * 100);
	add_seconds(to, sum->cpu.kernel_s);
	buf_printf(to, " of CPU, %.1f %% of ", books_wall_share(sum) * 100);
	add_seconds(to, sum->wall.threads_s);
	buf_adds(to, " of threads");
	if (sum->threads_not_seen > 0)
		buf_printf(to, "; %.0f %s not seen (by %s)", sum->threads_not_seen,
			sum->threads_not_seen == 1 ? "thread" : "threads",
			books_evidences[sum->evidence]);
	if (sum->threads_beyond > 0)
		buf_printf(to, "; %.0f threads too many to look at", sum->threads_beyond);
	if (b->unseen_processes_s > SPEAK_OF_S + 0.02 * sum->cpu.kernel_s) {
		buf_adds(to, "; processes not seen used ");
		add_seconds(to, b->unseen_processes_s);
	}
}

void books_describe_native(const struct books *b, size_t limit, struct buf *to)
{
	size_t shown = 0;

	for (size_t i = 0; i < b->n_native; i++) {
		const struct books_native *x = &b->native[i];

		if (x->cpu_s < SPEAK_OF_S)
			break;
		if (limit && shown == limit) {
			buf_adds(to, ", …");
			break;
		}
		buf_printf(to, "%s%zu %s \"", shown++ ? ", " : "", x->n,
			x->n == 1 ? "thread" : "threads");
		text_add_printable(to, x->name, strlen(x->name));
		buf_adds(to, "\" ");
		add_seconds(to, x->cpu_s);
	}
}
