/* SPDX-License-Identifier: MIT
 *
 * One line of progress on a terminal while long work goes on, gone when it is over:
 *
 *	reading trace.json ▕██████▋      ▏ 53 %  2.10 s left
 *	⠹ reading symbols  12.3 k  4.50 s                          (total unknown)
 *
 *	struct progress p;
 *
 *	progress_init(&p, STDERR_FILENO, isatty(STDERR_FILENO), "reading", size_bytes);
 *	while (...)
 *		progress_set(&p, done_bytes);
 *	progress_done(&p);
 *
 * Not enabled, it writes nothing at all. It first shows after 0.2 s, then at most ten times a
 * second, so progress_set may be called often (it costs a read of the clock). The line never
 * reaches the last column of the terminal, whose width is asked for each time; what does not fit
 * goes in this order: the bar, the end of the label, the time left. A failing write turns it off.
 * Nothing to free. */
#ifndef BASE_PROGRESS_H
#define BASE_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct buf;

struct progress {
	int fd; /* borrowed */
	bool enabled;
	bool is_shown;       /* a line stands on the terminal */
	const char *label;   /* borrowed */
	uint64_t done;       /* of total, any unit */
	uint64_t total;      /* 0: unknown */
	uint64_t started_ns; /* CLOCK_MONOTONIC, as are all times here */
	uint64_t next_ns;    /* no redraw before */
};

/* The caller decides whether fd is a terminal worth writing to (`enabled`). */
void progress_init(struct progress *p, int fd, bool enabled, const char *label, uint64_t total);
void progress_set(struct progress *p, uint64_t done);
/* Erases the line. */
void progress_done(struct progress *p);

/* progress_set at a time of the caller's choosing (one clock for several things, tests). */
void progress_set_at(struct progress *p, uint64_t done, uint64_t now_ns);
/* Appends the line itself, less than `width` columns, without control characters. */
void progress_format(const struct progress *p, struct buf *out, size_t width, uint64_t now_ns);

#endif
