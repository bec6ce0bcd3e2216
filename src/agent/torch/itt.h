/* SPDX-License-Identifier: MIT
 *
 * The collector of ITT, the interface by which PyTorch tells of its operators: the agent's library is named in
 * INTEL_LIBITTNOTIFY64 when torch begins its first range, and puts its own functions into torch's table of them. Only what
 * torch tells under its own name ("PyTorch") is taken. */
#ifndef AGENT_TORCH_ITT_H
#define AGENT_TORCH_ITT_H

#include <stdbool.h>

#pragma GCC visibility push(hidden)

/* Whether torch has begun a range, so that it knows our functions. */
bool itt_is_used(void);
/* From now on its ranges are taken. when_over: called once, by whichever thread ends a range after nobody listens any more, without the
 * GIL; then torch's table is as it would be without a collector. */
void itt_open(void (*when_over)(void));

#pragma GCC visibility pop

#endif
