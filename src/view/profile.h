/* SPDX-License-Identifier: MIT
 * Terminal and JSON pages of analyze/profile: hot functions, hot lines, threads, fidelity. */
#ifndef VIEW_PROFILE_H
#define VIEW_PROFILE_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct json_writer;
struct profile;
struct stacks;

struct profile_view {
	size_t width;
	bool colour, legend;
	size_t limit;       /* rows of a table; 0: all */
	const char *folder; /* of the program: paths below it are shown without it; NULL: none */
};

void profile_print_functions(
	const struct profile *p, const struct profile_view *v, struct buf *out);
void profile_print_lines(const struct profile *p, const struct profile_view *v, struct buf *out);
void profile_print_threads(const struct stacks *s, const struct profile_view *v, struct buf *out);
/* "functions" and "lines" of the JSON contract, inside an object the caller opened. */
void profile_json(const struct profile *p, struct json_writer *w);

#endif
