/* SPDX-License-Identifier: MIT
 *
 * Qualnames: qualified names of functions whose code objects know only plain ones (CPython up to 3.10), from the
 * source texts in the recording. A function is known by file and first line, which is that of its first decorator.
 *
 *	const struct qualnames *q = qualnames_load(&a, tables);
 *	const char *name = qualnames_find(q, file_row, 12, "step");	"Model.step"
 *
 * The text is looked at line by line, indentation being what makes scopes; strings and brackets that go on over
 * several lines are seen through. Nothing is found of lambdas and comprehensions, nor where the text is not recorded
 * or another function stands there now. */
#ifndef ANALYZE_CODE_QUALNAMES_H
#define ANALYZE_CODE_QUALNAMES_H

#include <stdint.h>

struct arena;
struct qualnames;
struct tables;

/* Lives in the arena. */
const struct qualnames *qualnames_load(struct arena *a, struct tables *t);

/* `file`: row of the string table. The plain name itself where nothing better is known; else one pointer per
 * distinct text. */
const char *qualnames_find(
	const struct qualnames *q, uint32_t file, uint32_t first_line, const char *name);

#endif
