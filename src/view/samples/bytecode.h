/* SPDX-License-Identifier: MIT
 *
 * A function's bytecode as dis would print it, with sampled time, specialised forms and the source beside it. */
#ifndef VIEW_SAMPLES_BYTECODE_H
#define VIEW_SAMPLES_BYTECODE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct disassembly;
struct profile;
struct profile_view;
struct source_texts;

/* with_stack: what lies on the value stack before each instruction. texts may be NULL. */
void bytecode_print(const struct disassembly *d, const struct profile *p,
	const struct source_texts *t, bool with_stack, const struct profile_view *v,
	struct buf *out);

#endif
