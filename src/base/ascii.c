/* SPDX-License-Identifier: MIT
 * See ascii.h. */
#include "base/ascii.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/bisect.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/tty.h"
#include "base/banned.h"

/* By number. cell: where there is one column. */
static const struct sign {
	uint32_t c;
	const char *text;
	char cell;
} signs[] = {
	{ 0x00a0, " ", ' ' },
	{ 0x00b1, "+-", '~' },  /* ± */
	{ 0x00b2, "^2", '2' },  /* ² */
	{ 0x00b3, "^3", '3' },  /* ³ */
	{ 0x00b5, "u", 'u' },   /* µ, as in µs */
	{ 0x00b7, ".", '.' },   /* · */
	{ 0x00b9, "^1", '1' },  /* ¹ */
	{ 0x00d7, "x", 'x' },   /* × */
	{ 0x00f7, "/", '/' },   /* ÷ */
	{ 0x03a3, "sum", 'S' }, /* Σ */
	{ 0x03b4, "d", 'd' },   /* δ */
	{ 0x03bc, "u", 'u' },   /* μ */
	{ 0x2013, "-", '-' },   /* – */
	{ 0x2014, "-", '-' },   /* — */
	{ 0x2018, "'", '\'' },
	{ 0x2019, "'", '\'' },
	{ 0x201c, "\"", '"' },
	{ 0x201d, "\"", '"' },
	{ 0x2022, "*", '*' },    /* • */
	{ 0x2026, "...", '.' },  /* … */
	{ 0x203a, ">", '>' },    /* › */
	{ 0x2070, "^0", '0' },   /* ⁰ */
	{ 0x2190, "<-", '<' },   /* ← */
	{ 0x2191, "^", '^' },    /* ↑ */
	{ 0x2192, "->", '>' },   /* → */
	{ 0x2193, "v", 'v' },    /* ↓ */
	{ 0x21bb, "@", '@' },    /* ↻: calls itself */
	{ 0x2212, "-", '-' },    /* − */
	{ 0x221a, "sqrt", 'V' }, /* √ */
	{ 0x221e, "inf", '8' },  /* ∞ */
	{ 0x2248, "~", '~' },    /* ≈ */
	{ 0x2264, "<=", '<' },   /* ≤ */
	{ 0x2265, ">=", '>' },   /* ≥ */
	{ 0x22ef, "...", '.' },  /* ⋯ */
	{ 0x2500, "-", '-' },    /* ─ */
	{ 0x2502, "|", '|' },    /* │ */
	{ 0x2514, "`", '`' },    /* └ */
	{ 0x251c, "+", '+' },    /* ├ */
	{ 0x2581, "_", '_' },    /* ▁, bars that stand, by eighths */
	{ 0x2582, "_", '_' },
	{ 0x2583, "_", '_' },
	{ 0x2584, "=", '=' },
	{ 0x2585, "=", '=' },
	{ 0x2586, "#", '#' },
	{ 0x2587, "#", '#' },
	{ 0x2588, "#", '#' }, /* █, bars that lie, by eighths */
	{ 0x2589, "#", '#' },
	{ 0x258a, "#", '#' },
	{ 0x258b, "#", '#' },
	{ 0x258c, "#", '#' },
	{ 0x258d, "|", '|' },
	{ 0x258e, "|", '|' },
	{ 0x258f, "|", '|' },
	{ 0x2595, "|", '|' },
	{ 0x25b2, "^", '^' }, /* ▲ */
	{ 0x25b8, ">", '>' }, /* ▸ */
	{ 0x25bc, "v", 'v' }, /* ▼ */
	{ 0x25be, "v", 'v' }, /* ▾ */
	{ 0x26a0, "!", '!' }, /* ⚠ */
	{ 0x2713, "+", '+' }, /* ✓ */
	{ 0x2717, "x", 'x' }, /* ✗ */
	{ 0xfffd, "?", '?' },
};

static const struct sign *find(uint32_t c)
{
	size_t low = bisect(i, sizeof signs / sizeof *signs, signs[i].c < c);

	return low < sizeof signs / sizeof *signs && signs[low].c == c ? &signs[low] : NULL;
}

/* Braille is sparklines and spinners: the more dots, the darker. 0: no such character. */
static char braille(uint32_t c)
{
	return c >= 0x2800 && c <= 0x28ff ? " .:-=+*#@"[__builtin_popcount(c & 0xff)] : '\0';
}

static void add_foreign(struct buf *out, uint32_t c)
{
	buf_printf(out, c < 0x100 ? "\\x%02x" : c < 0x10000 ? "\\u%04x" : "\\U%08x", (unsigned)c);
}

void ascii_add(struct buf *out, const char *s, size_t n)
{
	size_t too_long = 0; /* columns that the line has become longer by */
	uint32_t c;

	for (size_t at = 0, step; at < n; at += step) {
		size_t before = out->n, width;
		const struct sign *sign;

		step = text_decode(s + at, n - at, &c);
		if (c == ' ' && too_long && at + 1 < n && s[at + 1] == ' ') {
			too_long--;
			continue;
		}
		if (c < 0x80) {
			too_long = c == '\n' ? 0 : too_long;
			buf_addc(out, (char)c);
			continue;
		}
		sign = find(c);
		if (sign)
			buf_adds(out, sign->text);
		else if (braille(c))
			buf_addc(out, braille(c));
		else
			add_foreign(out, c);
		width = (size_t)text_char_width(c);
		too_long += out->n - before > width ? out->n - before - width : 0;
	}
}

void ascii_add_cells(struct buf *out, const char *s, size_t n)
{
	uint32_t c;

	for (size_t at = 0; at < n;) {
		const struct sign *sign;

		at += text_decode(s + at, n - at, &c);
		sign = find(c);
		if (c < 0x80)
			buf_addc(out, (char)c);
		else
			buf_fill(out,
				sign                 ? sign->cell
					: braille(c) ? braille(c)
						     : '?',
				(size_t)text_char_width(c));
	}
}

const struct buf *ascii_where_needed(const struct buf *text, struct buf *room,
	void (*add)(struct buf *out, const char *s, size_t n))
{
	if (tty_is_utf8() || !text->n)
		return text;
	add(room, text->data, text->n);
	return room;
}
