/* SPDX-License-Identifier: MIT
 * Functions that a budget has switched off, found in a copy of a process's sparse area (wire/budget_area.h), which may
 * hold anything. */
#ifndef COLLECT_AGENTS_TRACE_BUDGET_H
#define COLLECT_AGENTS_TRACE_BUDGET_H

#include "wire/budget_area.h"

struct buf;

typedef void trace_budget_fn(void *ctx, const struct budget_entry *entry);

/* Each entry, copied; `last` is until when its function was off, off_clock how long by the session's clock, 0: not
 * known. */
void trace_budget_each(const struct buf *area, trace_budget_fn *on_entry, void *ctx);

#endif
