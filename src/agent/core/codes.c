/* SPDX-License-Identifier: MIT
 * See codes.h. Two tables: by address, and by content (which functions are the same). Both are only looked
 * at when a calling context is new, so a lock is all they need; nothing of Python is called under it. */
#include "agent/core/codes.h"

#include <pthread.h>
#include <string.h>

#include "agent/calls/budget.h"
#include "agent/calls/exclude.h"
#include "agent/calls/greenlets.h"
#include "agent/core/code_words.h"
#include "agent/core/compat.h"
#include "agent/core/link.h"
#include "agent/core/memory.h"
#include "agent/core/name_text.h"
#include "wire/trace.h"

enum { PIECE_BYTES = 64 << 10, LOG2_FIRST = 10 };

struct table { /* of functions, open addressing */
	struct function **items;
	uint32_t n, log2;
	bool is_by_content;
};

static struct {
	pthread_mutex_t lock;
	/* without the GIL: each function is told once. Nothing of Python is called under it */
	pthread_mutex_t telling;
	struct table by_key, by_content;
	struct function *piece; /* room for the next ones */
	uint32_t n_piece;
	uint32_t n_numbers;
} all = { .lock = PTHREAD_MUTEX_INITIALIZER,
	.telling = PTHREAD_MUTEX_INITIALIZER,
	.by_content.is_by_content = true };

/* ---- the tables ------------------------------------------------------------------------------ */

static uint64_t mix(uint64_t h)
{
	h = (h ^ h >> 32) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static uint64_t hash_of(const struct table *t, const struct function *f)
{
	return mix(t->is_by_content ? f->content : (uintptr_t)f->key);
}

static void table_add(struct table *t, struct function *f)
{
	uint32_t mask = (1u << t->log2) - 1, i = (uint32_t)hash_of(t, f) & mask;

	while (t->items[i])
		i = (i + 1) & mask;
	t->items[i] = f;
	t->n++;
}

/* Functions whose code object has died are left behind in the table by address. */
static bool table_grow(struct table *t)
{
	struct table larger = { .log2 = t->items ? t->log2 + 1 : LOG2_FIRST,
		.is_by_content = t->is_by_content };

	if (t->items && t->n < (1u << t->log2) / 2)
		return true;
	larger.items = memory_map(sizeof *larger.items << larger.log2);
	if (!larger.items)
		return false;
	for (uint32_t i = 0; t->items && i < 1u << t->log2; i++)
		if (t->items[i] && (t->is_by_content || t->items[i]->key))
			table_add(&larger, t->items[i]);
	if (t->items)
		memory_unmap(t->items, sizeof *t->items << t->log2);
	*t = larger;
	return true;
}

static struct function *find_key(const void *key)
{
	const struct table *t = &all.by_key;
	uint32_t mask = (1u << t->log2) - 1;

	if (!t->items)
		return NULL;
	for (uint32_t i = (uint32_t)mix((uintptr_t)key) & mask; t->items[i]; i = (i + 1) & mask)
		if (t->items[i]->key == key)
			return t->items[i];
	return NULL;
}

/* The first of those that are the same. */
static struct function *find_content(uint64_t content)
{
	const struct table *t = &all.by_content;
	uint32_t mask = (1u << t->log2) - 1;

	if (!t->items)
		return NULL;
	for (uint32_t i = (uint32_t)mix(content) & mask; t->items[i]; i = (i + 1) & mask)
		if (t->items[i]->content == content)
			return t->items[i];
	return NULL;
}

static struct function *function_new(void)
{
	if (!all.n_piece) {
		all.piece = memory_map(PIECE_BYTES);
		if (!all.piece)
			return NULL;
		all.n_piece = PIECE_BYTES / sizeof *all.piece;
	}
	all.n_piece--;
	return all.piece++;
}

/* A function that is not in the table by address. One that died and was the same comes back to life. */
static struct function *add(const void *key, uint64_t content)
{
	struct function *same = find_content(content), *f = same;

	if (!table_grow(&all.by_key) || !table_grow(&all.by_content))
		return NULL;
	while (f && f->key)
		f = f->next_same;
	if (f) {
		f->key = key;
		table_add(&all.by_key, f);
		return f;
	}
	f = function_new();
	if (!f)
		return NULL;
	f->key = key;
	f->content = content;
	f->number = same ? same->number : ++all.n_numbers;
	if (same) {
		f->is_told = same->is_told;
		f->next_same = same->next_same;
		same->next_same = f;
	} else {
		table_add(&all.by_content, f);
	}
	table_add(&all.by_key, f);
	return f;
}

/* By open addressing an item cannot be taken out; without its key it is not found any more. Its place is
 * used again when it comes back to life, or lost until the table grows. */
static void on_death(const void *code)
{
	struct function *f;

	pthread_mutex_lock(&all.lock);
	f = find_key(code);
	if (f)
		f->key = NULL;
	pthread_mutex_unlock(&all.lock);
	budget_died(code);
}

/* ---- telling the tool ------------------------------------------------------------------------ */

struct text {
	const char *p;
	uint32_t n;
	PyObject *owner; /* owned, may be NULL */
};

/* Any text as UTF-8; what is none of it as escapes. */
static struct text text_of(PyObject *string)
{
	struct text t = { .p = "?", .n = 1 };
	Py_ssize_t n = 0;
	const char *p = NULL;

	if (string && PyUnicode_Check(string)) {
		p = PyUnicode_AsUTF8AndSize(string, &n);
		if (!p) {
			PyErr_Clear();
			t.owner = PyUnicode_AsEncodedString(string, "utf-8", "backslashreplace");
		}
	} else if (string && PyBytes_Check(string)) {
		p = PyBytes_AS_STRING(string);
		n = PyBytes_GET_SIZE(string);
	}
	if (t.owner) {
		p = PyBytes_AS_STRING(t.owner);
		n = PyBytes_GET_SIZE(t.owner);
	}
	PyErr_Clear();
	if (p && n < INT32_MAX / 4) {
		t.p = p;
		t.n = (uint32_t)n;
	}
	return t;
}

/* The same of a name, cut where it is too long to be told. */
static struct text name_of(PyObject *string, size_t most)
{
	struct text t = { .p = "?", .n = 1 };

	if (!name_text_is_long(string, most))
		return text_of(string);
	t.owner = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)NAME_TEXT_BYTES(most));
	if (t.owner) {
		t.n = name_text_put((unsigned char *)PyBytes_AS_STRING(t.owner), string, most);
		t.p = PyBytes_AS_STRING(t.owner);
	}
	PyErr_Clear();
	return t;
}

enum { TEXT_FILE, TEXT_NAME, TEXT_LINES, TEXT_CODE, TEXT_HANDLERS, TEXT_WORDS, N_TEXTS };

static struct text text_of_own(PyObject *bytes)
{
	struct text t = text_of(bytes);

	if (!bytes)
		t.n = 0;
	t.owner = bytes;
	return t;
}

static void texts_of(PyCodeObject *code, struct text texts[N_TEXTS])
{
	PyObject *handlers = compat_code_handlers(code);

	Py_XINCREF(handlers);
	texts[TEXT_FILE] = name_of(code->co_filename, NAME_PATH_MOST);
	texts[TEXT_NAME] = name_of(compat_code_name(code), NAME_CHARS_MOST);
	texts[TEXT_LINES] = text_of(compat_code_lines(code));
	texts[TEXT_CODE] = text_of_own(compat_code_bytes(code));
	texts[TEXT_HANDLERS] = text_of_own(handlers);
	texts[TEXT_WORDS] = text_of_own(NULL);
}

static void texts_done(struct text texts[N_TEXTS])
{
	for (int i = 0; i < N_TEXTS; i++)
		Py_XDECREF(texts[i].owner);
}

/* The instructions are not looked at: only their length is the same as long as they run. */
static uint64_t content_of(const struct text texts[N_TEXTS], int first_line)
{
	uint64_t h = (uint64_t)first_line << 32 ^ texts[TEXT_CODE].n ^ 0xcbf29ce484222325u;

	for (int i = TEXT_FILE; i <= TEXT_LINES; i++) {
		h = mix(h + texts[i].n);
		for (uint32_t k = 0; k < texts[i].n; k++)
			h = (h ^ (unsigned char)texts[i].p[k]) * 0x100000001b3u;
	}
	return h;
}

static bool tell_bytes(uint32_t number, const struct text texts[N_TEXTS])
{
	unsigned char record[sizeof(struct trace_part) + TRACE_PART_BYTES];
	struct trace_part head = { .function = number };

	for (int i = 0; i < N_TEXTS; i++)
		for (uint32_t at = 0; at < texts[i].n;) {
			uint32_t n = texts[i].n - at;

			n = n < TRACE_PART_BYTES ? n : TRACE_PART_BYTES;
			memcpy(record, &head, sizeof head);
			memcpy(record + sizeof head, texts[i].p + at, n);
			if (!leadline_link_emit(
				    TRACE_RECORD_CODE_BYTES, record, (uint32_t)sizeof head + n))
				return false;
			at += n;
			head.offset += n;
		}
	return true;
}

static bool tell_code(uint32_t number, int first_line, const struct text texts[N_TEXTS])
{
	struct trace_code r = { .function = number,
		.first_line = (uint32_t)first_line,
		.n_file = texts[TEXT_FILE].n,
		.n_qualname = texts[TEXT_NAME].n,
		.n_linetable = texts[TEXT_LINES].n,
		.n_code = texts[TEXT_CODE].n,
		.n_handlers = texts[TEXT_HANDLERS].n,
		.n_words = texts[TEXT_WORDS].n };

	return leadline_link_emit(TRACE_RECORD_CODE, &r, sizeof r) && tell_bytes(number, texts);
}

/* What cProfile calls it, without running anything of the program. */
static PyObject *name_of_bound(const PyCFunctionObject *f)
{
	PyObject *name = PyUnicode_FromString(f->m_ml->ml_name), *found = NULL, *result = NULL;

	if (f->m_self)
		found = name ? _PyType_Lookup(Py_TYPE(f->m_self), name) : NULL;
	if (found &&
		(Py_TYPE(found) == &PyMethodDescr_Type || PyCFunction_Check(found) ||
			Py_TYPE(found) == &PyClassMethodDescr_Type))
		result = PyObject_Repr(found);
	else if (f->m_self && f->m_module && PyUnicode_Check(f->m_module))
		result = PyUnicode_FromFormat(
			"<built-in method %U.%s>", f->m_module, f->m_ml->ml_name);
	else if (f->m_self)
		result = PyUnicode_FromFormat("<built-in method %s>", f->m_ml->ml_name);
	else if (f->m_module && PyUnicode_Check(f->m_module) &&
		PyUnicode_CompareWithASCIIString(f->m_module, "builtins") != 0)
		result = PyUnicode_FromFormat("<%U.%s>", f->m_module, f->m_ml->ml_name);
	else
		result = PyUnicode_FromFormat("<%s>", f->m_ml->ml_name);
	Py_XDECREF(name);
	PyErr_Clear();
	return result;
}

/* Whoever calls one of these first is about to take our place. */
static void warn_of_profilers(const struct text *name)
{
	static const char *const names[] = { "<built-in method sys.setprofile>",
		"<method 'enable' of '_lsprof.Profiler' objects>" };
	static const char note[] =
		"the program sets a profile function of its own (sys.setprofile, cProfile): " COMPAT_PROFILER_IS_GONE
		", calls of that thread are not counted";

	for (size_t i = 0; COMPAT_HAS_ONE_PROFILER && i < sizeof names / sizeof *names; i++)
		if (name->n == strlen(names[i]) && memcmp(name->p, names[i], name->n) == 0)
			leadline_link_emit(TRACE_RECORD_NOTE, note, sizeof note - 1);
}

/* Whether the function, or another of the same content, has been told meanwhile. Under `telling`. */
static bool is_told_by_now(struct function *f)
{
	pthread_mutex_lock(&all.lock);
	for (const struct function *same = find_content(f->content); same && !f->is_told;
		same = same->next_same)
		f->is_told = same->is_told;
	pthread_mutex_unlock(&all.lock);
	return f->is_told;
}

static void tell_builtin(struct function *f, PyObject *callable)
{
	enum { ROOM = NAME_TEXT_BYTES(NAME_CHARS_MOST) };
	unsigned char record[sizeof(struct trace_builtin) + ROOM];
	struct trace_builtin head = { .function = f->number };
	PyObject *name = PyCFunction_Check(callable)
		? name_of_bound((const PyCFunctionObject *)callable)
		: PyObject_Repr(callable);
	struct text t = name_of(name, NAME_CHARS_MOST);
	uint32_t n = t.n < ROOM ? t.n : ROOM;

	memcpy(record, &head, sizeof head);
	memcpy(record + sizeof head, t.p, n);
	warn_of_profilers(&t);
	pthread_mutex_lock(&all.telling);
	if (!is_told_by_now(f))
		f->is_told =
			leadline_link_emit(TRACE_RECORD_BUILTIN, record, (uint32_t)sizeof head + n);
	pthread_mutex_unlock(&all.telling);
	Py_XDECREF(t.owner);
	Py_XDECREF(name);
	PyErr_Clear();
}

/* ---- the interface --------------------------------------------------------------------------- */

static struct function *find_or_add(const void *key, uint64_t content, bool is_new)
{
	struct function *f;

	pthread_mutex_lock(&all.lock);
	f = find_key(key);
	if (!f && is_new)
		f = add(key, content);
	pthread_mutex_unlock(&all.lock);
	return f;
}

static const struct function *get_python(PyCodeObject *code)
{
	struct function *f = find_or_add(code, 0, false);
	struct text texts[N_TEXTS];

	if (f && f->is_told)
		return f;
	texts_of(code, texts);
	if (!f) {
		f = find_or_add(code, content_of(texts, code->co_firstlineno), true);
		if (f)
			compat_watch(code);
	}
	if (f)
		f->is_excluded = exclude_means(texts[TEXT_FILE].p, texts[TEXT_FILE].n,
			texts[TEXT_NAME].p, texts[TEXT_NAME].n);
	greenlets_saw_file(texts[TEXT_FILE].p, texts[TEXT_FILE].n);
	if (f && f->is_excluded)
		f->is_told = true;
	if (f && !f->is_told) {
		texts[TEXT_WORDS] = text_of_own(code_words(code));
		pthread_mutex_lock(&all.telling);
		if (!is_told_by_now(f))
			f->is_told = tell_code(f->number, code->co_firstlineno, texts);
		pthread_mutex_unlock(&all.telling);
	}
	texts_done(texts);
	return f;
}

const struct function *codes_get(const void *key, void *callable)
{
	struct function *f;

	if (!callable)
		return get_python((PyCodeObject *)(uintptr_t)key);
	f = find_or_add(key, mix((uintptr_t)key), true);
	if (f && !f->is_told)
		tell_builtin(f, callable);
	return f;
}

bool codes_start(void)
{
	return compat_watch_start(on_death);
}

static void forget_told(struct table *t)
{
	for (uint32_t i = 0; t->items && i < 1u << t->log2; i++)
		for (struct function *f = t->items[i]; f; f = f->next_same)
			f->is_told = false;
}

void codes_forget(void)
{
	pthread_mutex_init(&all.lock, NULL);
	pthread_mutex_init(&all.telling, NULL);
	forget_told(&all.by_content);
}
