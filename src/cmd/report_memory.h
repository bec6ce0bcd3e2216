/* SPDX-License-Identifier: MIT
 *
 * `report --memory`: resident memory over time, recorded allocations by the code that made them, and PyTorch's. */
#ifndef CMD_REPORT_MEMORY_H
#define CMD_REPORT_MEMORY_H

#include <stdbool.h>

#include "analyze/memory/memory.h"
#include "cmd/result.h"

struct err;
struct recording;
struct report_ops;

struct report_memory {
	struct report_ops *ops; /* how pages of operators look; also says whether JSON is wanted */
	enum memory_view view;  /* MEMORY_NONE: as is_overview says */
	bool is_overview;       /* the peak and what grew, by function; else pages of the peak */
	bool processes;
	struct result_choice choice; /* of what was allocated; its view is set here */
	struct result_page page;
};

/* Takes the recording. ERR_NOT_PREPARED: it tells nothing of memory. */
int report_memory(struct recording *r, struct report_memory *o, struct err *e);

#endif
