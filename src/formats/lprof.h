/* SPDX-License-Identifier: MIT
 * The row of registry.c for line_profiler's files; see lprof.c. */
#ifndef FORMATS_LPROF_H
#define FORMATS_LPROF_H

extern const struct format format_lprof;

#endif
