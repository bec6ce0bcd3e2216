/* SPDX-License-Identifier: MIT
 * The collector of allocations: a preloaded library (src/agent/memory) samples them inside the program. */
#ifndef COLLECT_MEMORY_MEMORY_H
#define COLLECT_MEMORY_MEMORY_H

extern const struct collector collector_memory;

#endif
