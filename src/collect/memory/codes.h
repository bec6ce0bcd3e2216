/* SPDX-License-Identifier: MIT
 *
 * Code objects that a process's preloaded library has copied (struct memory_code), read as if they still were in the process: behind a
 * struct mem, so that collect/samples/code.h makes rows of them as of any other. The object at place i of the table has the address
 * memory_codes_address(i) here; its own may have been others' before and after. */
#ifndef COLLECT_MEMORY_CODES_H
#define COLLECT_MEMORY_CODES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "cpython/mem.h"
#include "wire/memory_area.h"

struct session_process;

/* Copies n bytes of a process's sparse area; false: they are not there. */
typedef bool memory_read_fn(
	const struct session_process *p, uint64_t offset, void *to, uint64_t n_bytes);

struct memory_codes {
	const struct session_process *process; /* borrowed */
	memory_read_fn *read;
	uint32_t place;   /* of the object in `bytes` + 1; 0: none */
	struct buf bytes; /* its struct memory_code and what follows */
};

/* Reads from c, which must stay where it is. */
struct mem memory_codes_mem(struct memory_codes *c);
void memory_codes_done(struct memory_codes *c);

#define MEMORY_CODE_BASE ((uint64_t)1 << 60) /* where no process has memory */
enum { MEMORY_CODE_SPAN_LOG2 = 12 };

static inline uint64_t memory_codes_address(uint32_t place)
{
	return MEMORY_CODE_BASE + ((uint64_t)(place + 1) << MEMORY_CODE_SPAN_LOG2);
}

#endif
