/* SPDX-License-Identifier: MIT
 *
 * What a recording tells of its processes beside their operators: their rank and how long they were there, steps that
 * leadline.torch.step() ended, and by the samples of their main threads when they imported modules or saved something (torch.save,
 * torch.distributed.checkpoint, safetensors). */
#ifndef ANALYZE_TORCH_ASIDES_H
#define ANALYZE_TORCH_ASIDES_H

#include <stdbool.h>

struct op_events;
struct tables;

/* Fills told, asides and processes. */
void op_asides_read(struct tables *t, struct op_events *to);
/* Of a trace with Python functions: fills asides with saves; nothing where they are known. */
void op_asides_of_python(struct op_events *x);

#endif
