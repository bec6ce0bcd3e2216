/* SPDX-License-Identifier: MIT
 * Traces as torch.profiler writes them, made of the operators of a recording. */
#ifndef FORMATS_TORCH_WRITE_H
#define FORMATS_TORCH_WRITE_H

struct format;

extern const struct format format_torch_trace, format_torch_trace_gz;

#endif
