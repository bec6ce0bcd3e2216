/* SPDX-License-Identifier: MIT
 * See progress.h. */
#include "base/progress.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/tty.h"
#include "base/units.h"
#include "base/banned.h"

enum { FIRST_NS = 200000000, EVERY_NS = 100000000 };
enum { BAR_LEAST = 5, BAR_MOST = 40 };
/* Room kept for what stands after the bar (" 53 %  59 min 59 s left"), so that its length stays. */
enum { TAIL_USUAL = 23 };

static uint64_t clock_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void progress_init(struct progress *p, int fd, bool enabled, const char *label, uint64_t total)
{
	uint64_t now_ns = enabled ? clock_ns() : 0;

	*p = (struct progress){ .fd = fd,
		.enabled = enabled,
		.label = label,
		.total = total,
		.started_ns = now_ns,
		.next_ns = now_ns + FIRST_NS };
}

/* What is done, 0 to 1. */
static double share(const struct progress *p)
{
	return p->done >= p->total ? 1 : (double)p->done / (double)p->total;
}

static void add_bar(struct buf *out, double share_done, size_t n_cells)
{
	static const char *const parts[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	size_t eighths = (size_t)(share_done * 8 * (double)n_cells);
	size_t full = eighths / 8, part = eighths % 8;

	buf_adds(out, "▕");
	for (size_t i = 0; i < full; i++)
		buf_adds(out, "█");
	buf_adds(out, parts[part]);
	buf_fill(out, ' ', n_cells - full - (part > 0));
	buf_adds(out, "▏");
}

/* " 53 %  2.10 s left" */
static void add_tail(struct buf *out, const struct progress *p, uint64_t now_ns)
{
	double done = share(p), elapsed_s = (double)(now_ns - p->started_ns) / 1e9;
	char text[UNITS_TEXT];

	buf_printf(out, " %2u %%", (unsigned)(done * 100));
	if (done > 0 && done < 1)
		buf_printf(out, "  %s left",
			units_format(text, UNIT_SECONDS, elapsed_s * (1 - done) / done));
}

static void format_known(
	const struct progress *p, struct buf *out, const char *label, size_t room, uint64_t now_ns)
{
	struct buf tail = BUF_INIT;
	size_t tail_width, used;

	add_tail(&tail, p, now_ns);
	tail_width = text_width(buf_str(&tail));
	used = text_width(label) + 1 + 2; /* a blank, the edges of the bar */
	used += tail_width > TAIL_USUAL ? tail_width : TAIL_USUAL;
	if (used + BAR_LEAST <= room) {
		size_t n_cells = room - used < BAR_MOST ? room - used : BAR_MOST;

		buf_printf(out, "%s ", label);
		add_bar(out, share(p), n_cells);
	} else if (tail_width < room) {
		text_add_cut(out, label, room - tail_width, TEXT_CUT_END);
	}
	buf_add(out, buf_str(&tail), tail.n);
	buf_done(&tail);
}

static void format_unknown(
	const struct progress *p, struct buf *out, const char *label, uint64_t now_ns)
{
	static const char *const spinner[] = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏" };
	uint64_t elapsed_ns = now_ns - p->started_ns;
	char count[UNITS_TEXT], time[UNITS_TEXT];

	buf_printf(out, "%s %s  %s  %s", spinner[elapsed_ns / EVERY_NS % 10], label,
		units_format(count, UNIT_COUNT, (double)p->done),
		units_format(time, UNIT_SECONDS, (double)elapsed_ns / 1e9));
}

void progress_format(const struct progress *p, struct buf *out, size_t width, uint64_t now_ns)
{
	struct buf line = BUF_INIT, label = BUF_INIT;
	size_t room = width > 0 ? width - 1 : 0;

	text_add_printable(&label, p->label, strlen(p->label));
	if (p->total)
		format_known(p, &line, buf_str(&label), room, now_ns);
	else
		format_unknown(p, &line, buf_str(&label), now_ns);
	text_add_cut(out, buf_str(&line), room, TEXT_CUT_END);
	buf_done(&label);
	buf_done(&line);
}

/* One write, so that lines of others do not fall into the middle. */
static void write_line(struct progress *p, const struct buf *line)
{
	struct buf ascii = BUF_INIT;

	line = ascii_where_needed(line, &ascii, ascii_add_cells);
	if (write(p->fd, line->data, line->n) < 0)
		p->enabled = false;
	buf_done(&ascii);
}

void progress_set_at(struct progress *p, uint64_t done, uint64_t now_ns)
{
	struct buf line = BUF_INIT;

	p->done = done;
	if (!p->enabled || now_ns < p->next_ns)
		return;
	buf_addc(&line, '\r');
	progress_format(p, &line, tty_columns(p->fd), now_ns);
	buf_adds(&line, "\x1b[K");
	write_line(p, &line);
	buf_done(&line);
	p->is_shown = true;
	p->next_ns = now_ns + EVERY_NS;
}

void progress_set(struct progress *p, uint64_t done)
{
	if (p->enabled)
		progress_set_at(p, done, clock_ns());
}

void progress_done(struct progress *p)
{
	static const char erase[] = "\r\x1b[K";

	if (p->enabled && p->is_shown && write(p->fd, erase, sizeof erase - 1) < 0)
		p->enabled = false;
	p->is_shown = false;
}
