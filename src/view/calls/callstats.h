/* SPDX-License-Identifier: MIT
 *
 * Call statistics as pstats prints them, to the column: the texts that Python's users know by heart. */
#ifndef VIEW_CALLS_CALLSTATS_H
#define VIEW_CALLS_CALLSTATS_H

#include <stddef.h>

struct buf;
struct callstats;
struct callstats_list;
struct callstats_order;

struct callstats_page {
	const struct callstats *stats;
	const struct callstats_order *order;
	const struct callstats_list *list;
	const char *heads; /* a line per file, or "" */
};

/* "N function calls (M primitive calls) in S seconds" and the table. */
void callstats_print(const struct callstats_page *p, struct buf *out);
void callstats_print_callers(const struct callstats_page *p, struct buf *out);
void callstats_print_callees(const struct callstats_page *p, struct buf *out);

#endif
