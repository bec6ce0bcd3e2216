/* SPDX-License-Identifier: MIT
 * See modules.h. */
#include "agent/torch/modules.h"

#include <pthread.h>
#include <string.h>

#include "agent/core/link.h"
#include "agent/core/lookup.h"
#include "agent/torch/ops.h"
#include "wire/op_area.h"

enum {
	DEPTH = 64, /* modules in each other */
	NEVER = 0,  /* a round that is none */
};

struct module {
	const void *type;
	uint32_t number;
	uint32_t told;  /* in which life of the process */
	uint32_t round; /* in which it was seen first and may be placed; NEVER: no more */
	struct module *parent;
	const char *class, *path; /* path NULL: not known */
};

/* An address at which there was a module. */
struct slot {
	const void *address;
	struct module *now; /* NULL: it has died */
};

static struct {
	pthread_mutex_t lock;
	PyTypeObject *type; /* NULL: nobody watches */
	PyObject *ask;
	struct lookup slots;
	struct pool pool;
	uint32_t n_modules;
	uint32_t round; /* grows after each time Python was asked */
	bool is_wanted; /* some were seen since */
	bool is_asked;  /* a pending call is under way */
	uint64_t rest;  /* until then nothing is asked, in the session's clock */
	unsigned char record[sizeof(struct op_module) + 2 * OP_NAME_BYTES];
} all = { .lock = PTHREAD_MUTEX_INITIALIZER, .round = 1 };

uint32_t modules_age;

/* ---- telling --------------------------------------------------------------------------------- */

static size_t put_text(unsigned char *to, const char *text)
{
	size_t n = text ? strnlen(text, OP_NAME_BYTES) : 0;

	memcpy(to, n ? text : "", n);
	return n;
}

static void tell_one(struct module *m)
{
	struct op_module head = { .number = m->number,
		.parent = m->parent ? m->parent->number : 0 };
	unsigned char *at = all.record + sizeof head;

	at += head.n_class = (uint32_t)put_text(at, m->class);
	at += head.n_path = (uint32_t)put_text(at, m->path);
	memcpy(all.record, &head, sizeof head);
	if (leadline_link_emit(TRACE_RECORD_OP_MODULE, all.record, (uint32_t)(at - all.record)))
		m->told = ops_life;
}

/* With those it is in. */
static void tell(struct module *m)
{
	for (int i = 0; m && i < DEPTH && m->told != ops_life; i++, m = m->parent)
		tell_one(m);
}

/* ---- the table ------------------------------------------------------------------------------- */

/* NULL: no memory. */
static struct slot *slot_at(const void *address, bool is_new_wanted)
{
	uint64_t hash = lookup_mix((uintptr_t)address);
	struct slot *s;

	for (uint32_t i = lookup_first(&all.slots, hash); (s = lookup_at(&all.slots, &i, hash));)
		if (s->address == address)
			return s;
	s = is_new_wanted ? pool_take(&all.pool, sizeof *s) : NULL;
	if (!s)
		return NULL;
	s->address = address;
	return lookup_add(&all.slots, hash, s) ? s : NULL;
}

static const char *keep_text(const char *text)
{
	size_t n = strnlen(text, OP_NAME_BYTES);
	char *to = pool_take(&all.pool, n + 1);

	if (to)
		memcpy(to, text, n);
	return to;
}

/* The address is of a module that was not seen before. */
static struct module *module_new(struct slot *s, const PyTypeObject *type)
{
	struct module *m = all.n_modules < OP_MODULES_MOST ? pool_take(&all.pool, sizeof *m) : NULL;

	if (s->now)
		modules_age++;
	s->now = m;
	if (!m)
		return NULL;
	*m = (struct module){ .type = type,
		.number = ++all.n_modules,
		.round = all.round,
		.class = keep_text(type->tp_name) };
	return m;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static int ask_pending(void *unused)
{
	uint64_t start = leadline_link_now(), end;
	PyObject *result;

	(void)unused;
	result = PyObject_CallFunctionObjArgs(all.ask, NULL);
	Py_XDECREF(result);
	PyErr_Clear();
	end = leadline_link_now();
	pthread_mutex_lock(&all.lock);
	all.round++;
	all.is_asked = false;
	if (all.round > MODULES_FREE)
		all.rest = end + MODULES_REST * (end > start ? end - start : 0);
	pthread_mutex_unlock(&all.lock);
	return 0;
}

/* False: not now. */
static bool ask_soon(void)
{
	if (all.is_asked)
		return true;
	if (leadline_link_now() < all.rest || Py_AddPendingCall(ask_pending, NULL) != 0)
		return false;
	all.is_asked = true;
	all.is_wanted = false;
	return true;
}

void modules_ask(void)
{
	if (!__atomic_load_n(&all.is_wanted, __ATOMIC_RELAXED))
		return;
	pthread_mutex_lock(&all.lock);
	ask_soon();
	pthread_mutex_unlock(&all.lock);
}

/* ---- the interface --------------------------------------------------------------------------- */

void modules_watch(PyObject *type, PyObject *ask)
{
	Py_INCREF(type);
	Py_INCREF(ask);
	all.ask = ask;
	all.type = (PyTypeObject *)type;
}

bool modules_is_watching(void)
{
	return all.type != NULL;
}

uint32_t modules_number(PyObject *self)
{
	struct module *m = NULL;
	struct slot *s;

	if (!all.type || !PyType_IsSubtype(Py_TYPE(self), all.type))
		return 0;
	pthread_mutex_lock(&all.lock);
	s = slot_at(self, true);
	m = s ? s->now : NULL;
	if (s && (!m || m->type != Py_TYPE(self))) {
		m = module_new(s, Py_TYPE(self));
		all.is_wanted = true;
		/* Where Python is asked later, another module may lie here then. */
		if (m && !ask_soon())
			m->round = NEVER;
	}
	tell(m);
	pthread_mutex_unlock(&all.lock);
	return m ? m->number : 0;
}

void modules_place(PyObject *module, PyObject *parent, const char *path)
{
	struct slot *s, *up;
	struct module *m;

	pthread_mutex_lock(&all.lock);
	s = slot_at(module, true);
	up = parent ? slot_at(parent, false) : NULL;
	m = s ? s->now : NULL;
	if (s && (!m || m->type != Py_TYPE(module) || (!m->path && m->round != all.round)))
		m = module_new(s, Py_TYPE(module));
	if (m && !m->path) {
		m->path = keep_text(path);
		m->parent = up && up->now != m ? up->now : NULL;
		if (m->told == ops_life) {
			m->told = 0;
			tell(m);
		}
	}
	pthread_mutex_unlock(&all.lock);
}

void modules_gone(const void *module)
{
	struct slot *s;

	pthread_mutex_lock(&all.lock);
	s = slot_at(module, false);
	if (s)
		s->now = NULL;
	modules_age++;
	pthread_mutex_unlock(&all.lock);
}

void modules_forget(void)
{
	pthread_mutex_init(&all.lock, NULL);
	all.is_asked = false;
}
