/* SPDX-License-Identifier: MIT
 *
 * The one reader of Chrome's trace events, as torch.profiler (.pt.trace.json), VizTracer, browsers and our own export write
 * them, also gzipped. Of torch every schema since 1.8, of Kineto, of torch's own Python writer and of the profiler without
 * Kineto (an array alone). Read in one pass with memory bounded by the number of events; what is no JSON is repaired where
 * that is clear, else left out and counted. analyze/torch/stacks makes stacks of what was read.
 *
 *	struct op_events x = { 0 };
 *	if (torch_trace_load(&x, path, &e) < 0) …
 *	op_events_done(&x); */
#ifndef FORMATS_TORCH_TRACE_H
#define FORMATS_TORCH_TRACE_H

struct err;
struct input;
struct op_events;

/* Fills *to, which is zeroed before, but for keeps_all; op_events_done also after a failure. Trace events of any tool: torch's
 * become events, spans of others op_events.others, both in the file's order. */
int torch_trace_read_any(struct input *in, struct op_events *to, struct err *e);
/* Whether it is torch's: ERR_BAD_FILE where not a single event is. */
int torch_trace_check(const struct op_events *x, struct err *e);
/* Both. */
int torch_trace_read(struct input *in, struct op_events *to, struct err *e);
int torch_trace_load_file(struct op_events *to, const char *path, struct err *e);
/* A trace, or a recording that holds operators (analyze/torch/record.h). */
int torch_trace_load(struct op_events *to, const char *path, struct err *e);

#endif
