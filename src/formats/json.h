/* SPDX-License-Identifier: MIT
 * The row of registry.c for plain JSON; see json.c. */
#ifndef FORMATS_JSON_H
#define FORMATS_JSON_H

extern const struct format format_json;

#endif
