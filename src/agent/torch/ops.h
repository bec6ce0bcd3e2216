/* SPDX-License-Identifier: MIT
 *
 * Operators of this process, thread by thread (wire/op_area.h). Whoever watches PyTorch tells of each beginning and end:
 *
 *	ops_begin(ops_name("aten::add"));
 *	ops_end();
 *
 * Any thread may, with or without the GIL. No lock and no system call but in a thread's first operator, at a name or a
 * place that is new, and when a block is full and goes to the tool: then a thread may have to wait for room (agent/core/link.h).
 * An end without a beginning is ignored, operators nested deeper than OPS_DEPTH are counted as lost. */
#ifndef AGENT_TORCH_OPS_H
#define AGENT_TORCH_OPS_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

enum { OPS_DEPTH = 512 };

#define OPS_NAME_MARK 0x6c656164

/* Begins with what ITT calls a string handle, of which programs read nothing but the text. A line of the CPU's cache holds
 * all of it and most texts. */
struct ops_name {
	const char *text; /* the bytes that follow */
	uint32_t mark;    /* OPS_NAME_MARK: it is one of ours; others have half of NULL here */
	uint32_t number;
	const char *seen; /* where its text lay when it was new, perhaps no longer */
	uint32_t told;    /* in which life of the process, ops_life */
	uint32_t reserved;
};

/* Before all else, with the session open: false when there is no memory. */
bool ops_start(void);
/* The name's one struct, told to the tool. Never NULL. */
struct ops_name *ops_name(const char *text);

void ops_begin(const struct ops_name *name);
void ops_end(void);
/* A span of another kind that began at `start` and ends now. */
void ops_add(const struct ops_name *name, uint64_t start);

/* What the calling thread runs from now on is not kept, only counted; false: it cannot be. */
bool ops_rehearse(void);
/* It is again; returns how many were not. */
uint64_t ops_rehearsed(void);

/* In a forked child: what was is the parent's. */
void ops_forget(void);

/* Which life of the process this is: names and places are told once in each. */
extern uint32_t ops_life;

#pragma GCC visibility pop

#endif
