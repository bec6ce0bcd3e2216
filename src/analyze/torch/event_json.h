/* SPDX-License-Identifier: MIT
 * Events as JSON of a trace again: as their file had them (read with keeps_all), or made up from what is known. */
#ifndef ANALYZE_TORCH_EVENT_JSON_H
#define ANALYZE_TORCH_EVENT_JSON_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct op_events;

/* Each appends one object: the span or the allocation with that number. */
void op_event_json_print(const struct op_events *x, size_t span, struct buf *out);
void op_event_json_print_memory(const struct op_events *x, size_t memory, struct buf *out);
/* Likewise; false and nothing for one that cannot be written. */
bool op_event_json_print_mark(const struct op_events *x, size_t mark, struct buf *out);

#endif
