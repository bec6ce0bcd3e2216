/* SPDX-License-Identifier: MIT
 *
 * The report of `leadline doctor`, for people and as JSON. It gets answers and shows them; it asks
 * the system nothing. All text is borrowed, and may be foreign: it is made safe to print here.
 *
 *	verdict
 *	Checks, Interpreters, Collectors: one row each
 *	    mark and word   name   what was found
 *	                           needed for …       (where the answer is not ok)
 *	                         → what to type
 *	legend
 */
#ifndef VIEW_HOST_DOCTOR_H
#define VIEW_HOST_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

struct buf;
struct doctor;

struct doctor_view {
	size_t width;
	bool colour;
	bool legend; /* the line that explains */
};

void doctor_print(const struct doctor *d, const struct doctor_view *v, struct buf *out);

#endif
