/* SPDX-License-Identifier: MIT
 *
 * The processes of a trace: which one each of its tracks is of. Tracks of a device are of none. */
#ifndef ANALYZE_TORCH_PROCESSES_H
#define ANALYZE_TORCH_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/intern.h"

struct op_events;

struct op_processes {
	struct intern names; /* as the trace has them: pids */
	uint32_t *of_track;  /* number in names; owned */
};

void op_processes_init(struct op_processes *p, const struct op_events *x);
void op_processes_done(struct op_processes *p);

/* 0: its name is no number. */
uint32_t op_processes_pid(const struct op_processes *p, uint32_t process);

#endif
