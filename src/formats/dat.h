/* SPDX-License-Identifier: MIT
 * The row of registry.c for memory_profiler's files; see dat.c. */
#ifndef FORMATS_DAT_H
#define FORMATS_DAT_H

extern const struct format format_dat;

#endif
