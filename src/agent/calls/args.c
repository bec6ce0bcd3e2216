/* SPDX-License-Identifier: MIT
 * See args.h. */
#include "agent/calls/args.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "agent/core/link.h"
#include "agent/core/memory.h"
#include "wire/args_area.h"

enum {
	ARGUMENTS_MOST = 12, /* of a call */
	ITEMS_MOST = 8,      /* of a tuple */
	DEPTH_MOST = 2,      /* of tuples */
	CONTENT_MOST = 256,  /* bytes of a text */
	NAME_MOST = 64,      /* of a type */
	SKETCHES_MOST = 8192,
	FUNCTIONS_FIRST = 1024,
	FUNCTIONS_MOST = 1 << 20, /* by number */
};

static _Atomic uint32_t n_sketches; /* of the process */

bool args_are_wanted(void)
{
	return leadline_link_options().wants_args && !tree_is_rehearsing();
}

void args_forget(void)
{
	atomic_store(&n_sketches, 0);
}

/* ---- the hash of a call ---------------------------------------------------------------------- */

struct look {
	uint64_t hash;
	bool is_opaque;
};

static inline void mix(struct look *l, uint64_t v)
{
	uint64_t h = (l->hash ^ v) * 0x9e3779b97f4a7c15u;

	l->hash = h ^ h >> 32;
}

static void mix_bytes(struct look *l, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	uint64_t word;

	for (; n >= sizeof word; n -= sizeof word, p += sizeof word) {
		memcpy(&word, p, sizeof word);
		mix(l, word);
	}
	word = 0;
	memcpy(&word, p, n);
	mix(l, word + n);
}

/* Of an object's type: its name, for addresses are used again. */
static void mix_type(struct look *l, const PyTypeObject *type)
{
	mix_bytes(l, type->tp_name, strnlen(type->tp_name, NAME_MOST));
}

static void mix_sized(struct look *l, char kind, Py_ssize_t size, const void *content, size_t n)
{
	mix(l, (uint64_t)kind << 56 ^ (uint64_t)size);
	if (content && n <= CONTENT_MOST)
		mix_bytes(l, content, n);
	else
		l->is_opaque = true;
}

static void mix_int(struct look *l, PyObject *o)
{
	int overflow = 0;
	long long v = PyLong_AsLongLongAndOverflow(o, &overflow);

	mix(l, 'i');
	mix(l, overflow ? (uint64_t)PyLong_Type.tp_hash(o) : (uint64_t)v);
	mix(l, (uint64_t)overflow);
}

static void mix_float(struct look *l, PyObject *o)
{
	double v = PyFloat_AS_DOUBLE(o);
	uint64_t bits;

	memcpy(&bits, &v, sizeof bits);
	mix(l, 'f');
	mix(l, bits);
}

static void mix_object(struct look *l, PyObject *o, int depth);

static void mix_tuple(struct look *l, PyObject *o, int depth)
{
	Py_ssize_t n = PyTuple_GET_SIZE(o);

	mix(l, (uint64_t)'t' << 56 ^ (uint64_t)n);
	if (n > ITEMS_MOST || depth >= DEPTH_MOST) {
		l->is_opaque = true;
		return;
	}
	for (Py_ssize_t i = 0; i < n; i++)
		mix_object(l, PyTuple_GET_ITEM(o, i), depth + 1);
}

/* Types are compared, never asked: a class of the program's own that derives from one of these is not one of them. */
static void mix_object(struct look *l, PyObject *o, int depth)
{
	const PyTypeObject *type = o ? Py_TYPE(o) : NULL;

	if (!o) {
		mix(l, 'n');
		l->is_opaque = true;
	} else if (o == Py_None || type == &PyBool_Type) {
		mix(l, o == Py_None ? 'N' : o == Py_True ? 'T' : 'F');
	} else if (type == &PyLong_Type) {
		mix_int(l, o);
	} else if (type == &PyFloat_Type) {
		mix_float(l, o);
	} else if (type == &PyUnicode_Type) {
		struct compat_text t = compat_text(o);

		mix_sized(l, 's', PyUnicode_GET_LENGTH(o), t.data, t.n);
	} else if (type == &PyBytes_Type) {
		mix_sized(l, 'b', PyBytes_GET_SIZE(o), PyBytes_AS_STRING(o),
			(size_t)PyBytes_GET_SIZE(o));
	} else if (type == &PyTuple_Type) {
		mix_tuple(l, o, depth);
	} else if (type == &PyList_Type) {
		mix_sized(l, 'l', PyList_GET_SIZE(o), NULL, 0);
	} else if (type == &PyDict_Type) {
		Py_ssize_t n = ((PyDictObject *)o)->ma_used;

		mix_sized(l, 'd', n, n ? NULL : "", 0);
	} else {
		mix_type(l, type);
		l->is_opaque = true;
	}
}

static int n_arguments(const PyCodeObject *code)
{
	return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
		!!(code->co_flags & CO_VARKEYWORDS);
}

/* ---- in words -------------------------------------------------------------------------------- */

struct words {
	char *at;
	size_t room; /* with the NUL */
};

__attribute__((format(printf, 2, 3))) static void say(struct words *w, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(w->at, w->room, fmt, ap);
	va_end(ap);
	if (n > 0) {
		size_t used = (size_t)n < w->room ? (size_t)n : w->room - 1;

		w->at += used;
		w->room -= used;
	}
}

static void say_object(struct words *w, PyObject *o, int depth);

static void say_tuple(struct words *w, PyObject *o, int depth)
{
	Py_ssize_t n = PyTuple_GET_SIZE(o);

	if (n > ITEMS_MOST || depth >= DEPTH_MOST) {
		say(w, "tuple[%zd]", n);
		return;
	}
	say(w, "(");
	for (Py_ssize_t i = 0; i < n; i++) {
		say(w, "%s", i ? ", " : "");
		say_object(w, PyTuple_GET_ITEM(o, i), depth + 1);
	}
	say(w, n == 1 ? ",)" : ")");
}

static void say_int(struct words *w, PyObject *o)
{
	int overflow = 0;
	long long v = PyLong_AsLongLongAndOverflow(o, &overflow);

	if (overflow)
		say(w, "int %s2**63", overflow > 0 ? "≥ " : "< −");
	else
		say(w, "int %lld", v);
}

/* Texts are not shown: what a program works with may be private. */
static void say_object(struct words *w, PyObject *o, int depth)
{
	const PyTypeObject *type = o ? Py_TYPE(o) : NULL;

	if (!o)
		say(w, "?");
	else if (o == Py_None)
		say(w, "None");
	else if (type == &PyBool_Type)
		say(w, o == Py_True ? "True" : "False");
	else if (type == &PyLong_Type)
		say_int(w, o);
	else if (type == &PyFloat_Type)
		say(w, "float %g", PyFloat_AS_DOUBLE(o));
	else if (type == &PyUnicode_Type)
		say(w, "str[%zd]", PyUnicode_GET_LENGTH(o));
	else if (type == &PyBytes_Type)
		say(w, "bytes[%zd]", PyBytes_GET_SIZE(o));
	else if (type == &PyTuple_Type)
		say_tuple(w, o, depth);
	else if (type == &PyList_Type)
		say(w, "list[%zd]", PyList_GET_SIZE(o));
	else if (type == &PyDict_Type)
		say(w, "dict[%zd]", ((PyDictObject *)o)->ma_used);
	else
		say(w, "%.*s", NAME_MOST, type->tp_name);
}

static void say_call(
	char text[static ARGS_TEXT], const PyCodeObject *code, const void *activation, int n)
{
	struct words w = { text, ARGS_TEXT };

	say(&w, "(");
	for (int i = 0; i < n && i < ARGUMENTS_MOST; i++) {
		say(&w, "%s", i ? ", " : "");
		say_object(&w, compat_argument(activation, code, i), 0);
	}
	say(&w, n > ARGUMENTS_MOST ? ", …)" : ")");
	if (w.room <= 1) { /* cut, maybe within a character */
		memcpy(text + ARGS_TEXT - 4, "…", 4);
		for (int i = ARGS_TEXT - 5; i > 0 && (text[i] & 0xc0) == 0x80; i--)
			text[i] = ' ';
		if ((unsigned char)text[ARGS_TEXT - 5] >= 0xc0)
			text[ARGS_TEXT - 5] = ' ';
	}
}

/* ---- the sketch ------------------------------------------------------------------------------ */

/* Room for this function's number; false: there is none. */
static bool make_room(struct tracer *t, uint32_t function)
{
	uint32_t n = t->n_sketches ? t->n_sketches : FUNCTIONS_FIRST;
	struct args_sketch **larger;

	while (n <= function)
		n *= 2;
	if (function >= FUNCTIONS_MOST || !(larger = memory_map(n * sizeof *larger)))
		return false;
	if (t->sketches) {
		memcpy(larger, t->sketches, t->n_sketches * sizeof *larger);
		memory_unmap(t->sketches, t->n_sketches * sizeof *larger);
	}
	t->sketches = larger;
	t->n_sketches = n;
	return true;
}

static struct args_sketch *sketch_new(const struct tracer *t, uint32_t function)
{
	struct trace_granule *g = atomic_fetch_add(&n_sketches, 1) < SKETCHES_MOST
		? tree_area(TRACE_GRANULE_BYTES)
		: NULL;
	struct args_sketch *s;

	if (!g)
		return NULL;
	s = (struct args_sketch *)(void *)(g + 1);
	s->function = function;
	g->kind = TRACE_GRANULE_ARGS;
	g->thread = t->number;
	g->tid = t->tid;
	g->start = t->start;
	g->n = 1;
	__atomic_store_n(&g->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
	return s;
}

/* NULL: this function is not looked at. */
static struct args_sketch *sketch_of(struct tracer *t, uint32_t function)
{
	if (unlikely(function >= t->n_sketches) && !make_room(t, function))
		return NULL;
	if (unlikely(!t->sketches[function]))
		t->sketches[function] = sketch_new(t, function);
	return t->sketches[function];
}

/* Makes room by leaving out half of the hashes there can be. */
static void raise_level(struct args_sketch *s)
{
	struct args_sample kept[ARGS_SAMPLES] = { { 0 } };
	uint64_t mask;

	s->level++;
	mask = ((uint64_t)1 << s->level) - 1;
	for (uint32_t i = 0; i < ARGS_SAMPLES; i++) {
		uint32_t at = (uint32_t)(s->samples[i].hash >> 57) % ARGS_SAMPLES;

		if (!s->samples[i].hash || (s->samples[i].hash & mask))
			continue;
		while (kept[at].hash)
			at = (at + 1) % ARGS_SAMPLES;
		kept[at] = s->samples[i];
	}
	memcpy(s->samples, kept, sizeof kept);
}

static void sample(struct args_sketch *s, uint64_t hash)
{
	while (!(hash & (((uint64_t)1 << s->level) - 1))) {
		uint32_t at = (uint32_t)(hash >> 57) % ARGS_SAMPLES;

		for (uint32_t i = 0; i < ARGS_SAMPLES; i++, at = (at + 1) % ARGS_SAMPLES) {
			if (s->samples[at].hash && s->samples[at].hash != hash)
				continue;
			s->samples[at].count++;
			s->samples[at].hash = hash;
			return;
		}
		if (s->level == ARGS_LEVEL_MAX)
			return;
		raise_level(s);
	}
}

/* The one with this hash, else the one seen least often, which it takes the place of. */
static struct args_frequent *count_frequent(struct args_sketch *s, uint64_t hash)
{
	struct args_frequent *least = &s->frequent[0];

	for (struct args_frequent *f = s->frequent; f < s->frequent + ARGS_FREQUENT; f++) {
		if (f->hash == hash) {
			f->count++;
			return f;
		}
		if (f->count < least->count)
			least = f;
	}
	least->hash = hash;
	least->over = least->count;
	least->count++;
	least->text[0] = '\0';
	return NULL;
}

void args_look(struct tracer *t, const PyCodeObject *code, const void *activation, bool with_clock)
{
	uint32_t function = t->top->node->function;
	int n = n_arguments(code);
	struct args_sketch *s = function && n ? sketch_of(t, function) : NULL;
	struct look l = { .hash = 0x6c656164 };
	struct args_frequent *f;

	if (!s)
		return;
	for (int i = 0; i < n && i < ARGUMENTS_MOST; i++)
		mix_object(&l, compat_argument(activation, code, i), 0);
	l.is_opaque |= n > ARGUMENTS_MOST;
	mix(&l, (uint64_t)n);
	mix(&l, 0);
	l.hash += !l.hash;
	s->n_calls++;
	s->n_opaque += l.is_opaque;
	sample(s, l.hash);
	f = count_frequent(s, l.hash);
	if (f && !f->text[0])
		say_call(f->text, code, activation, n);
	if (with_clock)
		t->last = t->top->entered = clock_read(tree_clock);
}
