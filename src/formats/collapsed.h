/* SPDX-License-Identifier: MIT
 * The row of registry.c for collapsed stacks; see collapsed.c. */
#ifndef FORMATS_COLLAPSED_H
#define FORMATS_COLLAPSED_H

extern const struct format format_collapsed;

#endif
