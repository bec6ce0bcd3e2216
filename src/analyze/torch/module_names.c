/* SPDX-License-Identifier: MIT
 * See module_names.h. */
#include "analyze/torch/module_names.h"

#include <string.h>

#include "analyze/torch/events.h"
#include "base/buf.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

enum { DEPTH = 64 }; /* modules in each other; agents tell no more */

static uint64_t id_of(uint32_t process, uint32_t number)
{
	return (uint64_t)process << 32 | number;
}

void module_names_init(struct module_names *m, struct tables *t, struct op_events *to)
{
	struct record_iter it = record_iter(t, RECORD_op_module);

	*m = (struct module_names){ .to = to };
	for (const struct rec_op_module *r; (r = record_next(&it));) {
		struct module_told told = { .process = r->process,
			.number = r->number,
			.parent = r->parent,
			.class = tables_string(t, r->class),
			.path = tables_string(t, r->path) };
		uint64_t at;

		if (map_find(&m->at, id_of(r->process, r->number), &at)) {
			m->v.v[at] = told;
			continue;
		}
		map_put(&m->at, id_of(r->process, r->number), m->v.n);
		vec_push(&m->v, told);
	}
	record_iter_done(&it);
}

void module_names_done(struct module_names *m)
{
	vec_done(&m->v);
	map_done(&m->at);
	intern_done(&m->keys);
	vec_done(&m->key_names);
	map_done(&m->n_of_key);
	intern_done(&m->classes);
	vec_done(&m->n_of_class);
}

static uint32_t key_number(struct module_names *m, const struct buf *text)
{
	uint32_t key = intern_add(&m->keys, text->data, text->n, NULL);

	while (m->key_names.n <= key)
		vec_push(&m->key_names, 0);
	return key;
}

/* The same for modules of several processes that are in the same place of the same model. */
static uint32_t key_of(struct module_names *m, const struct module_told *t, uint32_t parent)
{
	struct buf text = BUF_INIT;
	uint64_t n = 0;
	uint32_t key;

	buf_printf(&text, "%s%c%s%c%u", t->class, 0, t->path, 0, parent);
	key = key_number(m, &text);
	map_find(&m->n_of_key, id_of(t->process, key), &n);
	map_put(&m->n_of_key, id_of(t->process, key), n + 1);
	buf_printf(&text, "%c%llu", 0, (unsigned long long)n);
	key = key_number(m, &text);
	buf_done(&text);
	return key;
}

/* "nn.Module: Linear_0", in names. */
static uint32_t name_new(struct module_names *m, const char *class)
{
	uint32_t of = intern_adds(&m->classes, class), name;
	struct buf text = BUF_INIT;

	while (m->n_of_class.n <= of)
		vec_push(&m->n_of_class, 0);
	buf_printf(&text, "nn.Module: %s_%u", class, m->n_of_class.v[of]++);
	name = intern_add(&m->to->names, text.data, text.n, NULL);
	buf_done(&text);
	return name;
}

static uint32_t find(struct module_names *m, uint32_t process, uint32_t number, unsigned depth)
{
	struct module_told *t;
	uint32_t parent, key;
	uint64_t at;

	if (!number || depth > DEPTH || !map_find(&m->at, id_of(process, number), &at))
		return 0;
	if (m->v.v[at].name)
		return m->v.v[at].name;
	parent = find(m, process, m->v.v[at].parent, depth + 1);
	t = &m->v.v[at];
	key = key_of(m, t, parent);
	if (!m->key_names.v[key]) {
		uint32_t name = name_new(m, t->class);

		m->key_names.v[key] = name + 1;
		if (*t->path)
			map_put(&m->to->module_paths, name, intern_adds(&m->to->names, t->path));
		if (parent)
			map_put(&m->to->module_parents, name, parent - 1);
	}
	return t->name = m->key_names.v[key];
}

uint32_t module_names_find(struct module_names *m, uint32_t process, uint32_t number)
{
	return find(m, process, number, 0);
}
