/* SPDX-License-Identifier: MIT
 * See choosing.h. */
#include "cmd/choosing.h"

#include "analyze/selection.h"
#include "base/err.h"
#include "base/banned.h"

bool choosing_is_any(const struct choosing *o)
{
	return o->thread || o->process || o->filter || o->phase || o->from_ns || o->has_to ||
		o->state || o->only_mine || o->idle || o->imports;
}

int choosing_parse(const struct choosing *o, struct choice *ret, struct err *e)
{
	if (o->has_to && o->to_ns <= o->from_ns)
		return err_set(e, ERR_USAGE, "--to must be later than --from");
	*ret = (struct choice){ .state = (enum stacks_state)o->state,
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
