/* SPDX-License-Identifier: MIT
 *
 * Files: which functions of a recording are in which file, worked out once; a recording may have as many files as functions. */
#ifndef ANALYZE_CODE_FILES_H
#define ANALYZE_CODE_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/intern.h"

struct recording;

struct files {
	struct intern names;
	VEC(uint32_t) first; /* by file: function + 1 */
	uint32_t *next;      /* by function: the next one of its file, + 1; owned */
	bool *has_bytecode;  /* by function; owned */
	/* by file: the pointer that all its functions have (frames.h); owned */
	const char **file_of;
	size_t n_functions;
};

/* Made when first asked for. */
struct files *recording_files(struct recording *r);
void files_free(struct files *f); /* accepts NULL */

/* The file's name as its functions have it, NULL: none is there. *ret_first: the first of them, + 1. */
const char *files_find(struct files *f, const char *name, uint32_t *ret_first);

#endif
