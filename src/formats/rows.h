/* SPDX-License-Identifier: MIT
 * The rows of registry.c for tables of functions; see rows.c. */
#ifndef FORMATS_ROWS_H
#define FORMATS_ROWS_H

extern const struct format format_csv, format_markdown;

#endif
