/* SPDX-License-Identifier: MIT
 * See style.h. */
#include "view/kit/style.h"

#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "base/buf.h"
#include "base/text.h"
#include "base/banned.h"

static const char *const codes[] = {
	[STYLE_PLAIN] = "",
	[STYLE_BOLD] = "\033[1m",
	[STYLE_DIM] = "\033[2m",
	[STYLE_ACCENT] = "\033[36m",
	[STYLE_WARNING] = "\033[33m",
	[STYLE_REVERSE] = "\033[7m",
};

void style_begin(struct buf *out, enum style s, bool colour)
{
	if (colour)
		buf_adds(out, codes[s]);
}

void style_end(struct buf *out, enum style s, bool colour)
{
	if (colour && s != STYLE_PLAIN)
		buf_adds(out, "\033[0m");
}

void style_switch(struct buf *out, enum style s, bool colour)
{
	buf_adds(out, "\033[0m");
	if (colour || s == STYLE_BOLD || s == STYLE_DIM || s == STYLE_REVERSE)
		buf_adds(out, codes[s]);
}

void style_add(struct buf *out, enum style s, bool colour, const char *fmt, ...)
{
	va_list ap;

	style_begin(out, s, colour);
	va_start(ap, fmt);
	buf_vprintf(out, fmt, ap);
	va_end(ap);
	style_end(out, s, colour);
}

/* U+2588 full block, U+2589 … U+258F seven eighths down to one. */
void style_bar(struct buf *out, double share, size_t width)
{
	size_t eighths = (size_t)lround(fmin(1, fmax(0, share)) * (double)width * 8);

	for (size_t i = 0; i < eighths / 8; i++)
		buf_adds(out, "\xe2\x96\x88");
	if (eighths % 8)
		buf_add(out, (char[]){ '\xe2', '\x96', (char)(0x90 - eighths % 8) }, 3);
}

static double mean_between(const double *values, size_t n, double from, double to)
{
	size_t first = (size_t)from, last = (size_t)ceil(to);
	double sum = 0;

	if (last > n)
		last = n;
	if (first >= last)
		first = last - 1;
	for (size_t i = first; i < last; i++)
		sum += values[i];
	return sum / (double)(last - first);
}

void style_sparkline(struct buf *out, const double *values, size_t n, double most, size_t width)
{
	static const unsigned char left[] = { 0, 0x40, 0x44, 0x46, 0x47 };
	static const unsigned char right[] = { 0, 0x80, 0xa0, 0xb0, 0xb8 };

	if (n == 0)
		return;
	if (width > (n + 1) / 2)
		width = (n + 1) / 2;
	for (size_t i = 0; i < width; i++) {
		unsigned dots = 0;

		for (int half = 0; half < 2; half++) {
			double step = (double)n / (double)(2 * width),
			       from = (double)(2 * i + (size_t)half) * step;
			double v = mean_between(values, n, from, from + step);
			int level = most > 0 ? (int)ceil(fmin(1, v / most) * 4 - 0.05) : 0;

			level = level < 0 ? 0 : level > 4 ? 4 : level;
			dots |= half ? right[level] : left[level];
		}
		buf_add(out,
			(char[]){ '\xe2', (char)(0xa0 | dots >> 6), (char)(0x80 | (dots & 0x3f)) },
			3);
	}
}

void style_wrap(struct buf *out, const char *text, size_t indent, size_t width)
{
	size_t column = indent;

	width = text_prose_width(width);
	buf_fill(out, ' ', indent);
	while (*text) {
		size_t n = strcspn(text, " ");
		struct buf word = BUF_INIT;

		text_add_printable(&word, text, n);
		if (column > indent && column + 1 + text_width(buf_str(&word)) > width) {
			buf_addc(out, '\n');
			buf_fill(out, ' ', indent);
			column = indent;
		} else if (column > indent) {
			buf_addc(out, ' ');
			column++;
		}
		buf_add(out, word.data, word.n);
		column += text_width(buf_str(&word));
		buf_done(&word);
		text += n;
		text += strspn(text, " ");
	}
	buf_addc(out, '\n');
}
