/* SPDX-License-Identifier: MIT
 * See processes.h. */
#include "analyze/torch/processes.h"

#include <string.h>

#include "analyze/torch/events.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "base/banned.h"

void op_processes_init(struct op_processes *p, const struct op_events *x)
{
	size_t n = x->tracks.items.n;

	*p = (struct op_processes){ .of_track = xcalloc(n + 1, sizeof *p->of_track) };
	for (size_t i = 0; i < n; i++) /* pid, NUL, tid; an item ends in a NUL of its own */
		p->of_track[i] = intern_adds(&p->names, intern_get(&x->tracks, (uint32_t)i)->p);
}

void op_processes_done(struct op_processes *p)
{
	intern_done(&p->names);
	free(p->of_track);
	p->of_track = NULL;
}

uint32_t op_processes_pid(const struct op_processes *p, uint32_t process)
{
	uint64_t pid;

	return text_parse_u64(intern_get(&p->names, process)->p, &pid) && pid <= UINT32_MAX
		? (uint32_t)pid
		: 0;
}
