/* SPDX-License-Identifier: MIT
 * See places.h. */
#include "agent/torch/places.h"

#include <pthread.h>
#include <string.h>

#include "agent/calls/tree.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"
#include "agent/core/lookup.h"
#include "agent/core/name_text.h"
#include "agent/torch/modules.h"
#include "agent/torch/ops.h"
#include "wire/op_area.h"

/* A code object, or with `code` a place in it. */
struct place {
	struct place_key key; /* of a code object: offset 0 */
	uint32_t number, told;
	struct place *code; /* NULL: this is one */
};

static struct {
	pthread_mutex_t lock;
	struct lookup places, codes;
	struct pool pool;
	uint32_t n_places, n_codes;
	const char *torch; /* its folder */
	unsigned char record[sizeof(struct op_code) + 3 * OP_TEXT_BYTES];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- texts ----------------------------------------------------------------------------------- */

static uint32_t put_bytes(unsigned char *to, PyObject *bytes)
{
	size_t n = bytes && PyBytes_Check(bytes) ? (size_t)PyBytes_GET_SIZE(bytes) : 0;

	if (n > OP_TEXT_BYTES)
		return 0; /* a part of a line table says nothing */
	memcpy(to, n ? PyBytes_AS_STRING(bytes) : "", n);
	return (uint32_t)n;
}

/* ---- telling --------------------------------------------------------------------------------- */

static bool tell_code(struct place *p)
{
	const PyCodeObject *code = p->key.code;
	struct op_code head = { .number = p->number,
		.first_line = p->key.first_line,
		.n_code = (uint32_t)compat_code_n_bytes(code) };
	unsigned char *at = all.record + sizeof head;

	at += head.n_file = name_text_put(at, code->co_filename, NAME_PATH_MOST);
	at += head.n_qualname = name_text_put(at, compat_code_name(code), NAME_CHARS_MOST);
	at += head.n_linetable = put_bytes(at, compat_code_lines(code));
	memcpy(all.record, &head, sizeof head);
	return leadline_link_emit(TRACE_RECORD_OP_CODE, all.record, (uint32_t)(at - all.record));
}

static bool tell_place(const struct place *p)
{
	struct op_place r = { .number = p->number,
		.code = p->code->number,
		.offset = p->key.offset,
		.module = (uint32_t)(uintptr_t)p->key.module };

	return leadline_link_emit(TRACE_RECORD_OP_PLACE, &r, sizeof r);
}

/* ---- the tables ------------------------------------------------------------------------------ */

static bool is_same(const struct place_key *a, const struct place_key *b)
{
	return a->code == b->code && a->offset == b->offset && a->lines == b->lines &&
		a->file == b->file && a->first_line == b->first_line && a->module == b->module;
}

static uint64_t hash_of(const struct place_key *k)
{
	return lookup_mix(lookup_mix((uintptr_t)k->code ^ (uintptr_t)k->module >> 4) + k->offset);
}

/* NULL: no memory, or too many. */
static struct place *get(
	struct lookup *l, const struct place_key *key, uint32_t *n_numbers, struct place *code)
{
	uint64_t hash = hash_of(key);
	struct place *p;

	for (uint32_t i = lookup_first(l, hash); (p = lookup_at(l, &i, hash));)
		if (is_same(&p->key, key))
			return p;
	p = *n_numbers < OP_PLACES_MOST ? pool_take(&all.pool, sizeof *p) : NULL;
	if (!p)
		return NULL;
	*p = (struct place){ .key = *key, .number = ++*n_numbers, .code = code };
	return lookup_add(l, hash, p) ? p : NULL;
}

static uint32_t find(const struct place_key *key)
{
	struct place_key of_code = *key, of_place = *key;
	struct place *code, *p = NULL;
	uint32_t number = 0;

	of_code.offset = 0;
	of_code.module = NULL;
	if (key->module)
		of_place.module = (void *)(uintptr_t)modules_number((PyObject *)key->module);
	pthread_mutex_lock(&all.lock);
	code = get(&all.codes, &of_code, &all.n_codes, NULL);
	if (code && code->told != ops_life && tell_code(code))
		code->told = ops_life;
	if (code)
		p = get(&all.places, &of_place, &all.n_places, code);
	if (p && p->told != ops_life && tell_place(p))
		p->told = ops_life;
	if (p)
		number = p->number;
	pthread_mutex_unlock(&all.lock);
	return number;
}

/* ---- whose code ------------------------------------------------------------------------------ */

enum place_code { CODE_PROGRAM, CODE_TORCH, CODE_REGION, CODE_MODULE, CODE_MAX_ };

static bool begins(PyObject *text, const char *with)
{
	struct compat_text t = { 0 };
	size_t n = strlen(with);

	if (text && PyUnicode_Check(text) && PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND)
		t = compat_text(text);
	return t.data && t.n > n && memcmp(t.data, with, n) == 0;
}

static bool is_text(PyObject *text, const char *what)
{
	struct compat_text t = { 0 };

	if (text && PyUnicode_Check(text) && PyUnicode_KIND(text) == PyUnicode_1BYTE_KIND)
		t = compat_text(text);
	return t.data && t.n == strlen(what) && memcmp(t.data, what, t.n) == 0;
}

/* Of a file of torch's. */
static enum place_code classify_torch(const PyCodeObject *code, const char *file, size_t n)
{
	static const char regions[] = "/autograd/profiler.py", modules[] = "/nn/modules/module.py";

	if (n == sizeof regions - 1 && memcmp(file, regions, n) == 0)
		return begins(code->co_name, "__enter_") ? CODE_REGION : CODE_TORCH;
	if (n == sizeof modules - 1 && memcmp(file, modules, n) == 0 &&
		(is_text(code->co_name, "_call_impl") ||
			is_text(code->co_name, "_wrapped_call_impl")))
		return CODE_MODULE;
	return CODE_TORCH;
}

static enum place_code classify(const PyCodeObject *code)
{
	const char *folder = all.torch;
	struct compat_text file;
	size_t n;

	if (!folder || !begins(code->co_filename, folder))
		return CODE_PROGRAM;
	n = strlen(folder);
	file = compat_text(code->co_filename);
	if (((const char *)file.data)[n] != '/')
		return CODE_PROGRAM;
	return classify_torch(code, (const char *)file.data + n, file.n - n);
}

static struct place_key key_of(const struct compat_leaf *leaf)
{
	return (struct place_key){ .code = leaf->code,
		.file = leaf->code->co_filename,
		.lines = compat_code_lines(leaf->code),
		.first_line = (uint32_t)leaf->code->co_firstlineno,
		.offset = leaf->offset };
}

static bool is_cached(const struct place_cached *c, const struct place_key *key)
{
	return likely(c->age == ops_life + modules_age && is_same(&c->key, key));
}

static enum place_code whose(struct places *p, const PyCodeObject *code)
{
	struct place_owner *c = &p->codes[(uintptr_t)code >> 5 & (PLACES_CODES_CACHED - 1)];
	uintptr_t owner = c->file_and_owner ^ (uintptr_t)code->co_filename;

	if (likely(c->code == code && owner < CODE_MAX_))
		return (enum place_code)owner;
	*c = (struct place_owner){ code, (uintptr_t)code->co_filename | classify(code) };
	return (enum place_code)(c->file_and_owner ^ (uintptr_t)code->co_filename);
}

/* ---- the interface --------------------------------------------------------------------------- */

struct place_mark places_mark(void)
{
	const PyThreadState *thread = PyGILState_GetThisThreadState();
	compat_frame *f = thread ? compat_leaf_frame(thread) : NULL;

	return (struct place_mark){ f, f ? compat_leaf_mark(f) : 0 };
}

/* What torch's call of a module runs; NULL: not known. */
static PyObject *module_of(compat_frame *f)
{
	return modules_is_watching() ? compat_leaf_self(f) : NULL;
}

/* The innermost frame that is the program's own; NULL: there is none. *module: the innermost that was met on the way. */
static compat_frame *up_to_program(
	struct places *p, compat_frame *f, uint32_t *flags, PyObject **module)
{
	enum place_code who = whose(p, compat_leaf_code(f));

	*flags = who == CODE_REGION ? OP_IS_REGION : 0;
	for (int i = 0; who != CODE_PROGRAM && i < PLACES_FRAMES; i++) {
		if (who == CODE_MODULE && !*module)
			*module = module_of(f);
		f = compat_leaf_up(f);
		if (!f)
			return NULL;
		who = whose(p, compat_leaf_code(f));
		if (i == 0 && who == CODE_REGION) /* through torch.ops, whose call is one frame */
			*flags = OP_IS_REGION;
	}
	return who == CODE_PROGRAM ? f : NULL;
}

static PyObject *up_to_module(struct places *p, compat_frame *f)
{
	PyObject *module = NULL;

	for (int i = 0; !module && i < PLACES_FRAMES && f; i++, f = compat_leaf_up(f))
		if (whose(p, compat_leaf_code(f)) == CODE_MODULE)
			module = module_of(f);
	return module;
}

uint32_t places_here(struct places *p, const struct place_mark *mark)
{
	compat_frame *f = mark->frame, *own;
	PyObject *module = NULL;
	struct compat_leaf leaf;
	struct place_key key;
	struct place_cached *c;
	uint32_t flags, age = ops_life + modules_age;

	if (!f)
		return 0;
	own = up_to_program(p, f, &flags, &module);
	if (!module && own && modules_is_watching())
		module = up_to_module(p, own);
	leaf = compat_leaf(own ? own : f);
	key = key_of(&leaf);
	key.module = module;
	c = &p->places[hash_of(&key) & (PLACES_CACHED - 1)];
	if (!is_cached(c, &key))
		*c = (struct place_cached){ key, find(&key), age };
	return c->number | flags;
}

/* ---- modules that run ------------------------------------------------------------------------ */

/* Inner ones first. */
static void add_modules(PyObject *list, const PyThreadState *thread)
{
	for (compat_frame *f = compat_leaf_frame(thread); f; f = compat_leaf_up(f)) {
		PyObject *self = classify(compat_leaf_code(f)) == CODE_MODULE ? module_of(f) : NULL;

		if (self)
			PyList_Append(list, self);
	}
}

PyObject *places_modules(void)
{
	PyObject *list = PyList_New(0);

	if (!list)
		return NULL;
	for (PyThreadState *t = compat_next_still(NULL); t; t = compat_next_still(t))
		add_modules(list, t);
	PyErr_Clear();
	return list;
}

void places_set_torch(const char *folder)
{
	all.torch = folder;
}

void places_forget(void)
{
	pthread_mutex_init(&all.lock, NULL);
}
