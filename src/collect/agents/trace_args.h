/* SPDX-License-Identifier: MIT
 * What functions were called with, found in a copy of a process's sparse area (wire/args_area.h), which may hold anything. */
#ifndef COLLECT_AGENTS_TRACE_ARGS_H
#define COLLECT_AGENTS_TRACE_ARGS_H

#include <stdint.h>

#include "wire/args_area.h"

struct buf;

typedef void trace_args_fn(void *ctx, int32_t tid, const struct args_sketch *sketch);

/* Each sketch, copied. Its texts end and its level is one. */
void trace_args_each(const struct buf *area, trace_args_fn *on_sketch, void *ctx);

#endif
