/* SPDX-License-Identifier: MIT
 * The row of registry.c for pictures by Graphviz; see png.c. */
#ifndef FORMATS_PNG_H
#define FORMATS_PNG_H

extern const struct format format_png;

#endif
