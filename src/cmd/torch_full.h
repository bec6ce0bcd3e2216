/* SPDX-License-Identifier: MIT
 *
 * run --torch=full: torch's own profiler, driven inside the program (agent/bootstrap/torch_full.py), and its trace joined with
 * the samples in one recording.
 *
 *	struct torch_full t;
 *
 *	torch_full_begin(&t, "full:1,1,5", &e)     t.wish is for the program
 *	…                                          it runs
 *	torch_full_join(&t, writer, path, &notes)  what it wrote becomes records, the rest is told
 *	torch_full_done(&t) */
#ifndef CMD_TORCH_FULL_H
#define CMD_TORCH_FULL_H

#include "base/buf.h"
#include "sys/private_dir.h"

struct err;
struct writer;

struct torch_full {
	struct private_dir folder; /* for its traces */
	struct buf wish;
};

/* how: "full", "full:all" or "full:WAIT,WARMUP,ACTIVE". torch_full_done accepts a failed one. */
int torch_full_begin(struct torch_full *t, const char *how, struct err *e);
/* path: of the recording, beside which further processes' traces are kept. notes: lines for people. */
void torch_full_join(struct torch_full *t, struct writer *w, const char *path, struct buf *notes);
void torch_full_done(struct torch_full *t);

#endif
