/* SPDX-License-Identifier: MIT
 * What a trace of torch.profiler says of itself beside its events: devices, the job it is part of, what was asked for. */
#ifndef FORMATS_TORCH_FACTS_H
#define FORMATS_TORCH_FACTS_H

struct op_events;
struct scan_text;

/* One key of the object around the events; most are nothing to us. */
void torch_facts_take(
	struct op_events *to, const struct scan_text *key, const struct scan_text *value);

#endif
