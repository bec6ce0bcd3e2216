/* SPDX-License-Identifier: MIT
 *
 * Functions that a user does not want traced: they have no node, what they take is their caller's, and what they call is
 * called by that. From 3.12 on their places are switched off as they are met, so that they cost nothing any more; before,
 * each event is looked at and left.
 *
 *	exclude_set("vendored_?.py,parse.py");	before the first event
 *	if (unlikely(exclude_is_set) && exclude_has(code)) … */
#ifndef AGENT_CALLS_EXCLUDE_H
#define AGENT_CALLS_EXCLUDE_H

#include <stdbool.h>
#include <stddef.h>

#pragma GCC visibility push(hidden)

extern bool exclude_is_set;

/* Patterns as in line_select.h, of files and functions. False: more than fit. */
bool exclude_set(const char *patterns);
/* By what is known of a code object: the texts need not end in a 0. */
bool exclude_means(const char *file, size_t n_file, const char *name, size_t n_name);
/* Whether a code object is excluded. Needs the GIL, or an attached thread. */
bool exclude_has(const void *code);

#pragma GCC visibility pop

#endif
