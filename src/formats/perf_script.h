/* SPDX-License-Identifier: MIT
 * The row of registry.c for what `perf script` prints; see perf_script.c. */
#ifndef FORMATS_PERF_SCRIPT_H
#define FORMATS_PERF_SCRIPT_H

extern const struct format format_perf_script;

#endif
