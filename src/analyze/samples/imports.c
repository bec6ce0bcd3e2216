/* SPDX-License-Identifier: MIT
 * See imports.h. */
#include "analyze/samples/imports.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/frames.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/banned.h"

/* ---- which frames ---------------------------------------------------------------------------- */

static bool is_importlib(const char *file)
{
	static const char *const begins[] = { "<frozen importlib.", "<frozen zipimport>" };

	for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
		if (strncmp(file, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

enum import_frame imports_step(
	enum imports_mode mode, struct import_step *x, const struct stack_frame *f)
{
	if (*f->file == '<' && is_importlib(f->file)) {
		x->is_import = true;
		return IMPORT_GOES;
	}
	if (!f->is_library && !f->is_synthetic) {
		*x = (struct import_step){ 0 };
		return mode == IMPORTS_ALONE ? IMPORT_ENDS : IMPORT_STAYS;
	}
	if (!x->is_import)
		return mode == IMPORTS_ALONE ? IMPORT_GOES : IMPORT_STAYS;
	if (!x->module && !f->is_synthetic)
		x->module = f->function + 1;
	return mode == IMPORTS_ALONE && strcmp(f->name, "<module>") == 0 ? IMPORT_STAYS
									 : IMPORT_GOES;
}

size_t imports_apply(struct frames *f, enum imports_mode mode, struct stack_frame *frames, size_t n)
{
	struct import_step x = { 0 };
	size_t to = n; /* what stays lies in frames[to … n) */

	if (mode == IMPORTS_WHOLE)
		return n;
	for (size_t i = n; i-- > 0;) {
		struct stack_frame frame = frames[i];
		enum import_frame is = imports_step(mode, &x, &frame);

		if (is == IMPORT_ENDS)
			to = n;
		else if (is == IMPORT_STAYS)
			frames[--to] = frame;
	}
	if (x.is_import && (mode == IMPORTS_FOLDED || to == n))
		frames[--to] = frames_imports(f); /* at least one frame of importlib went */
	memmove(frames, frames + to, (n - to) * sizeof *frames);
	return n - to;
}

/* ---- of what --------------------------------------------------------------------------------- */

/* "torch" of "…/site-packages/torch/nn/modules.py", "os" of "<frozen os>". */
static const char *package_of(struct arena *a, const char *file)
{
	static const char frozen[] = "<frozen ";
	const char *path = strncmp(file, frozen, sizeof frozen - 1) == 0 ? file + sizeof frozen - 1
									 : frames_module_path(file);

	return arena_strndup(a, path, strcspn(path, "/.>"));
}

static int by_name(const void *a, const void *b)
{
	const struct import_package *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static int by_value(const void *a, const void *b)
{
	const struct import_package *x = a, *y = b;

	if (x->value != y->value)
		return x->value < y->value ? 1 : -1;
	return strcmp(x->name, y->name);
}

struct imports imports_build(
	struct arena *a, const struct frames *f, const struct imports_of *of, size_t n)
{
	struct import_package *v = arena_new_n(a, struct import_package, n + 1);
	struct imports x = { 0 };
	size_t named = 0, kept = 0;

	for (size_t i = 0; i < n; i++) {
		const char *name = of[i].function
			? package_of(a, frames_function(f, of[i].function - 1)->file)
			: "";

		x.value += of[i].value;
		x.n_samples += of[i].n_samples;
		if (*name)
			v[named++] = (struct import_package){ name, of[i].value };
	}
	qsort(v, named, sizeof *v, by_name);
	for (size_t i = 0; i < named; i++) {
		if (kept && strcmp(v[kept - 1].name, v[i].name) == 0)
			v[kept - 1].value += v[i].value;
		else
			v[kept++] = v[i];
	}
	qsort(v, kept, sizeof *v, by_value);
	x.packages = v;
	x.n_packages = kept;
	return x;
}

void imports_describe(const struct imports *x, size_t most, struct buf *to)
{
	for (size_t i = 0; i < x->n_packages && i < most; i++) {
		buf_adds(to, i ? ", " : "");
		text_add_printable(to, x->packages[i].name, strlen(x->packages[i].name));
	}
	if (x->n_packages > most)
		buf_adds(to, " …");
}
