/* SPDX-License-Identifier: MIT
 * See names.h. */
#include "cpython/names.h"

#include <stdbool.h>

#include "base/buf.h"
#include "cpython/dict.h"
#include "cpython/object.h"
#include "cpython/strings.h"
#include "wire/name.h"
#include "wire/py_layout.h"
#include "base/banned.h"

struct naming {
	struct objects *o;
	name_visitor *visit;
	void *ctx;
	struct buf name;
};

int names_module(struct objects *o, uint64_t interp, const char *module, uint64_t *ret_module)
{
	uint64_t modules;
	int failed = object_word(o, interp, o->l->interp_modules, &modules);

	return failed ? failed : dict_find(o, modules, module, ret_module);
}

static bool name_thread(void *ctx, uint64_t key, uint64_t thread)
{
	struct naming *n = ctx;
	uint64_t name;
	int64_t ident;

	buf_clear(&n->name);
	if (object_int(n->o, key, &ident) == 0 &&
		attribute_find(n->o, thread, "_name", &name) == 0 &&
		strings_read_name(n->o->mem, n->o->l, name, NAME_CHARS_MOST, &n->name) == 0)
		n->visit(n->ctx, (uint64_t)ident, buf_str(&n->name));
	return true;
}

int names_each(struct objects *o, uint64_t interp, name_visitor *visit, void *ctx)
{
	struct naming n = { .o = o, .visit = visit, .ctx = ctx };
	uint64_t module, active;
	int failed = names_module(o, interp, "threading", &module);

	if (!failed)
		failed = attribute_find(o, module, "_active", &active);
	if (!failed)
		failed = dict_each(o, active, name_thread, &n);
	buf_done(&n.name);
	return failed;
}
