/* SPDX-License-Identifier: MIT
 *
 * Instructions that the CPU ran in user mode for this process and the children it starts meanwhile, counted by the CPU itself (perf events). Many
 * virtual machines have no such counter. */
#ifndef BENCH_INSTRUCTIONS_H
#define BENCH_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

struct instructions {
	int fd;
};

/* False: there is no counter, or it may not be used. Counting begins at once. */
bool instructions_start(struct instructions *c);
/* Ends it. False where the count is not to be had. */
bool instructions_stop(struct instructions *c, uint64_t *ret);

#endif
