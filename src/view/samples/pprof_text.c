/* SPDX-License-Identifier: MIT
 * See pprof_text.h. How pprof chooses one unit for the whole page: the one that fits the least value shown, or
 * that times 100 where the total has another (then the least shows as 0.01). */
#include "view/samples/pprof_text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "analyze/samples/by_name.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

enum { VALUE_TEXT = 32 };

static const double NODE_FRACTION = 0.005; /* rows with less of the total are dropped */

struct scale {
	const char *unit;
	double factor;
};

static const struct scale times[] = { { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 },
	{ "hrs", 3600e9 }, { NULL, 0 } };
static const struct scale sizes[] = { { "B", 1 }, { "kB", 1024 }, { "MB", 1 << 20 },
	{ "GB", 1 << 30 }, { "TB", 1024.0 * (1 << 30) }, { "PB", 1048576.0 * (1 << 30) },
	{ NULL, 0 } };
static const struct scale counts[] = { { "", 1 }, { NULL, 0 } };

static struct scale scale_for(enum unit unit, double value)
{
	const struct scale *s = unit == UNIT_SECONDS ? times : unit == UNIT_BYTES ? sizes : counts;
	struct scale found = s[0];

	for (; s->unit; s++)
		if (value >= s->factor)
			found = *s;
	return found;
}

static const char *format_value(char to[VALUE_TEXT], struct scale s, uint64_t value)
{
	int n = snprintf(to, VALUE_TEXT, "%.2f", (double)value / s.factor);

	if (n > 3 && strcmp(to + n - 3, ".00") == 0)
		to[n - 3] = '\0';
	if (strcmp(to, "0") != 0)
		snprintf(to + strlen(to), VALUE_TEXT - strlen(to), "%s", s.unit);
	return to;
}

static const char *format_share(char to[VALUE_TEXT], uint64_t value, uint64_t total)
{
	double share = total ? fabs((double)value / (double)total) * 100 : 0;

	if (share >= 99.95 && share <= 100.05)
		snprintf(to, VALUE_TEXT, "  100%%");
	else if (share >= 1)
		snprintf(to, VALUE_TEXT, "%5.2f%%", share);
	else
		snprintf(to, VALUE_TEXT, "%5.2g%%", share);
	return to;
}

static const char *skip_blanks(const char *s)
{
	return s + strspn(s, " ");
}

static struct scale choose_scale(
	const struct pprof_text *p, const struct by_name *rows, uint64_t cutoff)
{
	uint64_t least = 0;
	struct scale small, large;
	size_t shown = 0;

	for (size_t i = 0; i < rows->n && (!p->limit || shown < p->limit); i++) {
		uint64_t value = rows->rows[i].flat ? rows->rows[i].flat : rows->rows[i].cum;

		if (rows->rows[i].cum < cutoff)
			continue;
		shown++;
		if (value && (!least || value < least))
			least = value;
	}
	least = least ? least : rows->total;
	small = scale_for(p->unit, (double)least);
	large = scale_for(p->unit, (double)rows->total);
	if (small.factor != large.factor && least * 100 < rows->total)
		small = scale_for(p->unit, (double)least * 100);
	return small;
}

static void print_head(
	const struct pprof_text *p, const struct by_name *rows, struct scale s, struct buf *out)
{
	const char *slash = strrchr(p->program, '/');
	char when[80], value[VALUE_TEXT], total[VALUE_TEXT], share[VALUE_TEXT];
	time_t seconds = (time_t)(p->begun_ns / 1000000000);
	struct tm t;

	if (*p->program) {
		buf_adds(out, "File: ");
		text_add_printable(out, slash ? slash + 1 : p->program,
			strlen(slash ? slash + 1 : p->program));
		buf_addc(out, '\n');
	}
	if (*p->comment)
		text_add_line(out, "%s", p->comment);
	text_add_line(out, "Type: %s", p->type);
	if (p->begun_ns && localtime_r(&seconds, &t) &&
		strftime(when, sizeof when, "%b %-d, %Y at %-I:%M%P (%Z)", &t))
		buf_printf(out, "Time: %s\n", when);
	if (p->duration_ns)
		buf_printf(out, "Duration: %s, Total samples = %s (%s)\n",
			format_value(value, scale_for(UNIT_SECONDS, (double)p->duration_ns),
				p->duration_ns),
			format_value(total, s, rows->total),
			skip_blanks(format_share(share, rows->total, p->duration_ns)));
}

void pprof_text_print(const struct pprof_text *p, const struct by_name *rows, struct buf *out)
{
	uint64_t cutoff = (uint64_t)((double)rows->total * NODE_FRACTION), sum = 0;
	struct scale s = choose_scale(p, rows, cutoff);
	char flat[VALUE_TEXT], cum[VALUE_TEXT], a[VALUE_TEXT], b[VALUE_TEXT], c[VALUE_TEXT];
	size_t kept = 0, shown = 0;

	for (size_t i = 0; i < rows->n; i++)
		if (rows->rows[i].cum >= cutoff && (!p->limit || kept++ < p->limit))
			sum += rows->rows[i].flat;
	kept = 0;
	for (size_t i = 0; i < rows->n; i++)
		kept += rows->rows[i].cum >= cutoff;
	print_head(p, rows, s, out);
	buf_printf(out, "Showing nodes accounting for %s, %s of %s total\n",
		format_value(flat, s, sum), skip_blanks(format_share(a, sum, rows->total)),
		format_value(cum, s, rows->total));
	if (kept < rows->n)
		buf_printf(out, "Dropped %zu nodes (cum <= %s)\n", rows->n - kept,
			format_value(flat, s, cutoff));
	if (p->limit && p->limit < kept)
		buf_printf(out, "Showing top %zu nodes out of %zu\n", p->limit, kept);
	buf_adds(out, "      flat  flat%   sum%        cum   cum%\n");
	sum = 0;
	for (size_t i = 0; i < rows->n && (!p->limit || shown < p->limit); i++) {
		const struct by_name_row *r = &rows->rows[i];

		if (r->cum < cutoff)
			continue;
		shown++;
		sum += r->flat;
		buf_printf(out, "%10s %s %s %10s %s  ", format_value(flat, s, r->flat),
			format_share(a, r->flat, rows->total), format_share(b, sum, rows->total),
			format_value(cum, s, r->cum), format_share(c, r->cum, rows->total));
		text_add_printable(out, r->name, strlen(r->name));
		if (*r->file) {
			buf_addc(out, ' ');
			text_add_printable(out, r->file, strlen(r->file));
		}
		if (r->line)
			buf_printf(out, ":%d", r->line);
		buf_addc(out, '\n');
	}
}
