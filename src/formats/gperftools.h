/* SPDX-License-Identifier: MIT
 * The row of registry.c for gperftools' CPU profiles; see gperftools.c. */
#ifndef FORMATS_GPERFTOOLS_H
#define FORMATS_GPERFTOOLS_H

extern const struct format format_gperftools;

#endif
