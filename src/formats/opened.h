/* SPDX-License-Identifier: MIT
 *
 * The one door: any file is opened and read once, and what it is follows from what was read. So a pipe serves as well as a
 * file, and nobody tries one reader after another.
 *
 *	struct opened o = { 0 };
 *	if (format_open_any(path, &o, e) < 0) …
 *	if (o.has_results)              benchmark results: opened_results
 *	else if (o.ops)                 a trace of torch: its events; opened_reader makes stacks of them
 *	else                            o.reader: a recording, or another tool's file as one
 *	opened_done(&o);
 *
 * Whoever keeps the reader or the events takes them out and leaves NULL. */
#ifndef FORMATS_OPENED_H
#define FORMATS_OPENED_H

#include <stdbool.h>

#include "base/arena.h"

struct err;
struct op_events;
struct reader;
struct results;

struct opened {
	bool keeps_all;   /* the caller's: events of a trace as written, too (events.h) */
	bool has_results; /* it holds benchmark results; a recording of them has a reader, too */
	struct reader *reader; /* owned; of traces of torch NULL until it is asked for */
	struct op_events *ops; /* owned; NULL: no trace of torch */

	/* private */
	const char *path;
	struct results *results; /* NULL: not made yet */
	struct arena arena;
};

/* *ret is zeroed before, but for keeps_all. After a failure there is nothing to undo. */
int format_open_any(const char *path, struct opened *ret, struct err *e);
void opened_done(struct opened *o);

/* Stacks; of a trace made when first asked for. Borrowed. Benchmark results in JSON have none: ERR_USAGE. */
int opened_reader(struct opened *o, struct reader **ret, struct err *e);
/* Only where it has some. Borrowed. */
int opened_results(struct opened *o, const struct results **ret, struct err *e);

#endif
