/* SPDX-License-Identifier: MIT
 *
 * Which process of a distributed job: RANK (torchrun), SLURM_PROCID, OMPI_COMM_WORLD_RANK, PMI_RANK or
 * PMIX_RANK, the first of them that is set to a number. */
#ifndef SYS_RANK_H
#define SYS_RANK_H

#include <stddef.h>
#include <sys/types.h>

enum { RANK_TEXT = 16 };

/* Our own environment's; "" without one. */
const char *rank_own(char to[RANK_TEXT]);
/* The environment the process's program was started with, as far as we may read it; "" without. */
const char *rank_of(pid_t pid, char to[RANK_TEXT]);

#endif
