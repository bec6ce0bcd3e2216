/* SPDX-License-Identifier: MIT
 *
 * The functions of this process by address, numbered, and told to the tool once each. Code objects are not
 * kept alive: when one dies its address counts no more. A code object with the same file, name, line and
 * line table as an earlier one (exec in a loop) gets that one's number. */
#ifndef AGENT_CORE_CODES_H
#define AGENT_CORE_CODES_H

#include <stdbool.h>
#include <stdint.h>

#pragma GCC visibility push(hidden)

struct function {
	const void *volatile key; /* NULL since the code object died */
	uint32_t number;          /* from 1 */
	bool is_told;
	bool is_excluded; /* exclude.h; such a one is not told */
	uint64_t content; /* what makes it the same as another */
	struct function *next_same;
};

/* Asks to be told of dying code objects. Needs the GIL. */
bool codes_start(void);
void codes_forget(void);

/* The function at this address, told to the tool. callable: NULL for a Python function, whose key is its
 * code object; else what was called (a PyCFunction or a method descriptor), which names the C function.
 * NULL: no memory. May allocate Python strings; needs the GIL, or an attached thread. */
const struct function *codes_get(const void *key, void *callable);

#pragma GCC visibility pop

#endif
