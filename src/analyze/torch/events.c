/* SPDX-License-Identifier: MIT
 * See events.h. */
#include "analyze/torch/events.h"

#include "base/banned.h"

void op_events_done(struct op_events *x)
{
	vec_done(&x->v);
	vec_done(&x->sources);
	vec_done(&x->memory);
	vec_done(&x->device);
	vec_done(&x->sequences);
	vec_done(&x->told);
	vec_done(&x->asides);
	vec_done(&x->processes);
	vec_done(&x->waited);
	intern_done(&x->launches);
	intern_done(&x->names);
	intern_done(&x->shapes);
	intern_done(&x->tracks);
	vec_done(&x->v_written);
	vec_done(&x->memory_written);
	vec_done(&x->marks);
	vec_done(&x->properties);
	buf_done(&x->compiled);
	buf_done(&x->lines);
	map_done(&x->module_paths);
	map_done(&x->module_parents);
	vec_done(&x->modules);
	intern_done(&x->texts);
	vec_done(&x->others.v);
	intern_done(&x->others.texts);
	intern_done(&x->others.tracks);
	buf_done(&x->numbers);
}

void op_events_find_zero(struct op_events *x)
{
	if (x->has_zero)
		return;
	x->zero_ns = x->v.n ? x->v.v[0].start_ns : 0;
	if (x->is_array)
		x->zero_ns = 0;
	else
		vec_each (&x->v, e)
			x->zero_ns = e->start_ns < x->zero_ns ? e->start_ns : x->zero_ns;
}

const struct op_launch *op_events_launch(const struct op_events *x, const struct op_event *e)
{
	uint32_t launch = e->category == OP_KERNEL && e->detail && e->detail <= x->device.n
		? x->device.v[e->detail - 1].launch
		: 0;

	return launch ? intern_get(&x->launches, launch - 1)->p : NULL;
}

const char *op_events_name(const struct op_events *x, uint32_t name)
{
	return intern_get(&x->names, name)->p;
}

const char *op_events_missing(const struct op_events *x)
{
	if (*x->damage)
		return x->damage;
	if (x->is_cut)
		return "the file ends before its events do";
	return x->n_lost ? "some events could not be read" : "";
}
