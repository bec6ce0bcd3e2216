/* SPDX-License-Identifier: MIT
 * See choosing.h. */
#include "cmd/choosing.h"

#include <string.h>

#include "analyze/selection.h"
#include "base/err.h"
#include "base/banned.h"

bool choosing_is_any(const struct choosing *o)
{
	return o->thread || o->process || o->filter || o->phase || o->from_ns || o->has_to ||
		o->state || o->only_mine || o->idle || o->imports || o->memory;
}

int choosing_memory(const char *view, enum memory_view *ret, struct err *e)
{
	*ret = MEMORY_NONE;
	for (int i = MEMORY_PEAK; view && i < MEMORY_VIEWS_; i++)
		if (strcmp(view, memory_views[i]) == 0)
			*ret = (enum memory_view)i;
	if (!view || *ret)
		return 0;
	return err_set(e, ERR_USAGE,
		"--memory is --memory, or =peak, =growth, =leaks or =churn, not --memory=%s", view);
}

int choosing_parse(const struct choosing *o, struct choice *ret, struct err *e)
{
	enum memory_view view;

	if (o->has_to && o->to_ns <= o->from_ns)
		return err_set(e, ERR_USAGE, "--to must be later than --from");
	if (choosing_memory(o->memory_view, &view, e) < 0)
		return -(int)e->code;
	*ret = (struct choice){ .memory = o->memory && !view ? MEMORY_PEAK : view,
		.state = (enum stacks_state)o->state,
		.from_s = (double)o->from_ns / 1e9,
		.to_s = (double)o->to_ns / 1e9,
		.phase = o->phase,
		.threads = o->thread,
		.processes = o->process,
		.only_mine = o->only_mine,
		.idle = o->idle,
		.imports = o->imports };
	return 0;
}
