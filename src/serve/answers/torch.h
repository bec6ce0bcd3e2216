/* SPDX-License-Identifier: MIT
 * Panes of a PyTorch trace that are answered in files of their own. */
#ifndef SERVE_ANSWERS_TORCH_H
#define SERVE_ANSWERS_TORCH_H

struct err;
struct json_writer;
struct params;
struct torch;

/* Writes into the object that is open. */
typedef int torch_pane(
	struct torch *t, const struct params *p, struct json_writer *w, struct err *e);

torch_pane torch_timeline_pane, torch_span_pane;

#endif
