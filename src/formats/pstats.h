/* SPDX-License-Identifier: MIT
 * The row of registry.c for cProfile's files; see pstats.c. */
#ifndef FORMATS_PSTATS_H
#define FORMATS_PSTATS_H

extern const struct format format_pstats;

#endif
