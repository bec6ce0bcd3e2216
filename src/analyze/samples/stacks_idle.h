/* SPDX-License-Identifier: MIT
 * Which threads are idle: a part of stacks.c, whose header has the rule. */
#ifndef ANALYZE_SAMPLES_STACKS_IDLE_H
#define ANALYZE_SAMPLES_STACKS_IDLE_H

struct stack_place;
struct stack_thread;
struct stacks;

/* Fills waiting_s, is_idle and top_leaf of the threads from the places. */
void stacks_find_idle(const struct stacks *s, struct stack_thread *threads);
/* Takes places that wait for work out of s->v, which `places` is the writable form of. */
void stacks_fold_idle(struct stacks *s, struct stack_place *places);

#endif
