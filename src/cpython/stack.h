/* SPDX-License-Identifier: MIT
 *
 * Frames by their links, from the leaf to the root, of a thread or of a suspended coroutine; with the
 * frames' addresses, so that their variables can be read. For one look at a program: who counts looks
 * (the sampler) uses cpython/walk.h, because a chain read link by link is whole only while the thread
 * stands still. Here it is read until two readings agree. */
#ifndef CPYTHON_STACK_H
#define CPYTHON_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct objects;

struct stack_frame {
	uint64_t address;
	uint64_t code;  /* address of the code object */
	uint64_t instr; /* 3.11+: address of the instruction as the frame has it */
	int32_t lasti;  /* before: its offset in bytes, -1: not begun */
	uint32_t copy;  /* free-threaded 3.14+: which copy of the code the thread runs */
};

enum stack_state {
	STACK_WHOLE,  /* two readings agree but for the leaf's instruction */
	STACK_MOVING, /* they agree in the frames given only, which are on the root's side */
	STACK_EMPTY,  /* no Python code */
	STACK_LOST,   /* nothing could be taken */
};

/* The frames of the thread state at this address, leaf first, at most `most`: *ret_n of them. */
enum stack_state stack_read(
	struct objects *o, uint64_t thread, struct stack_frame *ret, size_t most, size_t *ret_n);

enum coroutine_state { COROUTINE_CREATED, COROUTINE_SUSPENDED, COROUTINE_RUNNING, COROUTINE_ENDED };

/* The frame of a coroutine (or generator), and what it waits for: another coroutine, a future's
 * iterator …, or 0. 0 or -errno when there is no coroutine at this address. */
int stack_coroutine(struct objects *o, uint64_t coroutine, enum coroutine_state *ret_state,
	struct stack_frame *ret_frame, uint64_t *ret_awaits);

#endif
