/* SPDX-License-Identifier: MIT
 * See op_events.h. */
#include "analyze/op_events.h"

#include "base/banned.h"

void op_events_done(struct op_events *x)
{
	vec_done(&x->v);
	vec_done(&x->memory);
	vec_done(&x->device);
	vec_done(&x->sequences);
	intern_done(&x->launches);
	intern_done(&x->names);
	intern_done(&x->shapes);
	intern_done(&x->tracks);
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
