/* SPDX-License-Identifier: MIT
 * See files.h. */
#include "analyze/code/files.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "base/xalloc.h"
#include "analyze/recording.h"
#include "store/tables.h"
#include "base/banned.h"

static void add_functions(struct files *f, const struct frames *frames)
{
	for (size_t i = f->n_functions;
		i-- > 0;) { /* backwards, so that lists begin with the first */
		const char *name = frames_function(frames, (uint32_t)i)->file;
		bool added;
		uint32_t file = intern_add(&f->names, name, strlen(name), &added);

		if (added)
			vec_push(&f->first, 0);
		f->file_of[file] = name;
		f->next[i] = f->first.v[file];
		f->first.v[file] = (uint32_t)i + 1;
	}
}

static void add_bytecode(struct files *f, struct recording *r)
{
	for (uint32_t k = 1; k <= tables_count(r->tables, RECORD_code); k++) {
		const struct rec_code *code = tables_row(r->tables, RECORD_code, k);
		uint32_t function = code && code->code_bytes.n ? frames_code_function(r->frames, k)
							       : UINT32_MAX;

		if (function < f->n_functions)
			f->has_bytecode[function] = true;
	}
}

struct files *recording_files(struct recording *r)
{
	size_t n = frames_n_functions(r->frames);
	struct files *f = r->files;

	if (f && f->n_functions == n)
		return f;
	files_free(f); /* functions came */
	f = r->files = xcalloc(1, sizeof *f);
	f->n_functions = n;
	f->next = xcalloc(n + 1, sizeof *f->next);
	f->has_bytecode = xcalloc(n + 1, sizeof *f->has_bytecode);
	f->file_of = xcalloc(n + 1, sizeof *f->file_of);
	add_functions(f, r->frames);
	add_bytecode(f, r);
	return f;
}

void files_free(struct files *f)
{
	if (!f)
		return;
	intern_done(&f->names);
	vec_done(&f->first);
	free(f->next);
	free(f->has_bytecode);
	free(f->file_of);
	free(f);
}

const char *files_find(struct files *f, const char *name, uint32_t *ret_first)
{
	uint32_t file;
	bool is_found = intern_find(&f->names, name, strlen(name), &file);

	*ret_first = is_found ? f->first.v[file] : 0;
	return is_found ? f->file_of[file] : NULL;
}
