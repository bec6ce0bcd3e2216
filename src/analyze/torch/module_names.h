/* SPDX-License-Identifier: MIT
 *
 * The modules of a model that a recording tells beside its operators (records op_module), with names as torch gives them: "Linear_0", the first
 * one of its class. Modules of several processes that are in the same place of the same model share a name, as those of the ranks of a job do.
 *
 *	struct module_names m;
 *	module_names_init(&m, tables, to);
 *	name = module_names_find(&m, process, number);	in to->names + 1; 0: none, or not known
 *	module_names_done(&m);
 *
 * Paths and callers of those that are asked for go to `to` (module_paths, module_parents). */
#ifndef ANALYZE_TORCH_MODULE_NAMES_H
#define ANALYZE_TORCH_MODULE_NAMES_H

#include <stdint.h>

#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"

struct op_events;
struct tables;

struct module_told {
	uint32_t process, number, parent;
	const char *class, *path; /* borrowed from the tables */
	uint32_t name;            /* in names + 1; 0: not made yet */
};

struct module_names {
	struct op_events *to;
	VEC(struct module_told) v;
	struct map at; /* process and number → in v */
	/* class, path, name of the caller, which of them in its process: each text has a name */
	struct intern keys;
	VEC(uint32_t) key_names; /* by key: in names + 1 */
	struct map n_of_key;     /* process and key without "which" → how many so far */
	struct intern classes;
	VEC(uint32_t) n_of_class;
};

void module_names_init(struct module_names *m, struct tables *t, struct op_events *to);
uint32_t module_names_find(struct module_names *m, uint32_t process, uint32_t number);
void module_names_done(struct module_names *m);

#endif
