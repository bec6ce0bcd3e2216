/* SPDX-License-Identifier: MIT
 *
 * Two recordings compared, as JSON. */
#ifndef JSON_DIFF_H
#define JSON_DIFF_H

#include <stdbool.h>

struct diff;
struct diff_name;
struct json_writer;

/* sides: A and B. Both, the change of all, and "functions", "lines" and maybe "paths". */
void diff_json(const struct diff *d, const struct diff_name *sides, double noise, bool with_paths,
	struct json_writer *w);

#endif
