/* SPDX-License-Identifier: MIT
 *
 * Code objects of one target, by address: read once, re-checked now and then, because a freed address
 * can be used again. Serves the walker (sizes, addresses) and the recording (rows of the code table). */
#ifndef COLLECT_SAMPLES_CODE_H
#define COLLECT_SAMPLES_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "cpython/walk.h"

struct mem;
struct py_bytecode;
struct py_codes;
struct py_layout;
struct sources;
struct writer;

/* All borrowed for the life of the cache. interpreter: "cpython 3.13.0 x86_64". */
struct py_codes *py_codes_new(
	const struct py_layout *l, const struct mem *mem, const char *interpreter);
void py_codes_free(struct py_codes *c);

/* From now on each file that is named first is told to `sources`, as one of its `process`. */
void py_codes_tell_sources(struct py_codes *c, struct sources *sources, unsigned process);

/* What the walker asks; NULL when there is no code object. Valid until the next py_codes_tick, whose
 * time counts. */
const struct walk_code *py_codes_find(struct py_codes *c, uint64_t address);
/* walk_callbacks.copy */
uint64_t py_codes_copy(struct py_codes *c, uint64_t address, uint32_t index, uint64_t instr);
/* Checks it now, once per look: whether it is another one than it was taken for. */
bool py_codes_check(struct py_codes *c, uint64_t address);
/* How often another one was found at an address: rows from before may be of another object. */
uint64_t py_codes_changes(const struct py_codes *c);
/* Called once per look. */
void py_codes_tick(struct py_codes *c, uint64_t now_ns);

/* Its instructions; read when first asked for. NULL: not known (now). Valid as the above. */
const struct py_bytecode *py_codes_bytecode(struct py_codes *c, uint64_t address);

/* A sample ended in it: of code that many end in the recording gets the instructions, and from time to time what
 * specialised forms they have. process: its row. */
void py_codes_leaf(struct py_codes *c, uint64_t address, struct writer *w, uint32_t process);

/* The row in the code table of the writer's current segment; 0 when unknown. */
uint32_t py_codes_row(struct py_codes *c, uint64_t address, struct writer *w);

#endif
