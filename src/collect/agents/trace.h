/* SPDX-License-Identifier: MIT
 *
 * Exact calls: meets the agents of a traced program (session.h), learns its functions from their rings and its
 * calling-context trees from snapshots of their memory (wire/trace.h), and writes rows of `code`, `thread` and
 * `node`. A node is written whenever it has changed since the last snapshot, which is taken now and then (trace_tree_next) and
 * when its process ends; later records of the same id replace it.
 *
 * The program must be started with the environment the collector sets: it puts the session's directory into
 * LEADLINE_SESSION and the folder that starts the agent in front of PYTHONPATH. */
#ifndef COLLECT_AGENTS_TRACE_H
#define COLLECT_AGENTS_TRACE_H

struct collector;

extern const struct collector collector_trace;

#endif
