/* SPDX-License-Identifier: MIT
 * One event of a trace of torch.profiler taken apart: its members and those of its arguments that mean something to us, as written. */
#ifndef FORMATS_TORCH_EVENT_H
#define FORMATS_TORCH_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/torch/scan.h"
#include "analyze/torch/events.h"

enum { TORCH_NO_CATEGORY = OP_N_CATEGORIES };

struct torch_event {
	struct scan_text phase, category, name, pid, tid, ts, duration;
	struct scan_text dims, types, concrete, label, grid, block;
	struct scan_text file, line; /* of other tools */
	struct scan_text source;     /* the line that asked, as leadline writes it */
	struct scan_text call_from;  /* "train.py:12", of a Python function */
	int64_t external, bytes, total_bytes, reserved_bytes, address, device_type, device,
		correlation;
	int64_t sequence, forward_thread, registers, shared_bytes; /* -1: not there */
	int64_t blocks_per_sm, occupancy;                          /* thousandths; -1: not there */
	struct scan_text whole, id;                                /* whole.n 0: it was no JSON */
};

/* From the '{' to behind the '}'. `whole` is left to the caller. */
bool torch_event_scan(struct scan *s, struct torch_event *f);

/* An enum op_category, or TORCH_NO_CATEGORY for what torch does not write. */
unsigned torch_event_category(const struct scan_text *word);

/* Whether events have a member of that name. */
bool torch_event_has(const struct scan_text *key);

#endif
