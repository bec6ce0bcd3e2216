/* SPDX-License-Identifier: MIT
 * See op_events.h. */
#include "analyze/op_events.h"

#include "base/banned.h"

void op_events_done(struct op_events *x)
{
	vec_done(&x->v);
	vec_done(&x->memory);
	vec_done(&x->device);
	intern_done(&x->names);
	intern_done(&x->shapes);
	intern_done(&x->tracks);
}

const char *op_events_name(const struct op_events *x, uint32_t name)
{
	return intern_get(&x->names, name)->p;
}
