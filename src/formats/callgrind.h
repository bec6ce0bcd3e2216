/* SPDX-License-Identifier: MIT
 * The row of registry.c for callgrind's files; see callgrind.c. */
#ifndef FORMATS_CALLGRIND_H
#define FORMATS_CALLGRIND_H

extern const struct format format_callgrind;

#endif
