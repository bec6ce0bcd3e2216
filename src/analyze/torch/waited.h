/* SPDX-License-Identifier: MIT
 *
 * Which operators were long because their thread did not get a CPU: of those that took OP_LONG_NS and more, how long the thread was ready to
 * run and others ran, from what the kernel counts for each thread (thread_usage, of the same recording). Looks come now and then, so this
 * is what is certain of it: the operator's time less all CPU time between the looks around it, and no more than was waited between them. */
#ifndef ANALYZE_TORCH_WAITED_H
#define ANALYZE_TORCH_WAITED_H

#include <stdint.h>

struct op_events;
struct ops_tree;
struct tables;

enum { OP_LONG_NS = 10000000 };

/* Fills x->waited. */
void op_waited_find(struct tables *t, struct op_events *x);

/* By event: without what the operators it called waited. The caller frees it. */
int64_t *op_waited_own(const struct ops_tree *t);

#endif
