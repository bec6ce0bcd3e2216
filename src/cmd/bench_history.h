/* SPDX-License-Identifier: MIT
 *
 * `bench --history DIR`: every run adds a file of pyperf's JSON to a folder, named by date and commit; those that are there, of this and other
 * tools, are the history. `leadline view DIR/…` draws them. */
#ifndef CMD_BENCH_HISTORY_H
#define CMD_BENCH_HISTORY_H

struct bench_session;
struct buf;
struct err;
struct output;

/* Makes the folder where it is missing. Before anything is measured. */
int bench_history_open(const char *folder, struct err *e);
/* Adds what was measured. */
int bench_history_add(struct bench_session *s, struct err *e);
/* Appends the history of everything that was measured. */
int bench_history_print(
	struct bench_session *s, const struct output *output, struct buf *out, struct err *e);

#endif
