/* SPDX-License-Identifier: MIT
 * See phases.h. */
#include "analyze/torch/phases.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/processes.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/vec.h"
#include "base/banned.h"

const char *const op_phase_names[OP_N_PHASES + 1] = { "imports", "set-up", "training", "validation",
	"saving", "other", "unseen", NULL };

/* Which one a moment is of, where several are: the first of these. */
static const enum op_phase order[] = { OP_PHASE_TRAINING, OP_PHASE_SAVING, OP_PHASE_VALIDATION,
	OP_PHASE_IMPORTS, OP_PHASE_UNSEEN, OP_PHASE_SET_UP, OP_PHASE_OTHER };

struct edge {
	int64_t t_ns;
	int change; /* +1: it begins */
	enum op_phase phase;
};

struct sweeping {
	VEC(struct edge) edges;
	VEC(struct op_phase_span) spans;
	int64_t first_ns, last_ns; /* of the process, as far as anybody saw it */
};

static void add(struct sweeping *s, enum op_phase phase, int64_t start_ns, int64_t end_ns)
{
	start_ns = start_ns > s->first_ns ? start_ns : s->first_ns;
	end_ns = end_ns < s->last_ns ? end_ns : s->last_ns;
	if (end_ns <= start_ns)
		return;
	vec_push(&s->edges, (struct edge){ start_ns, 1, phase });
	vec_push(&s->edges, (struct edge){ end_ns, -1, phase });
}

static int by_time(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	return x->t_ns < y->t_ns ? -1 : x->t_ns > y->t_ns;
}

static void add_span(struct sweeping *s, enum op_phase phase, int64_t start_ns, int64_t end_ns)
{
	struct op_phase_span *last = s->spans.n ? &s->spans.v[s->spans.n - 1] : NULL;

	if (end_ns <= start_ns)
		return;
	if (last && last->phase == phase && last->end_ns == start_ns)
		last->end_ns = end_ns;
	else
		vec_push(&s->spans, (struct op_phase_span){ start_ns, end_ns, phase });
}

static void sweep(struct sweeping *s)
{
	int n_open[OP_N_PHASES] = { 0 };

	if (s->edges.n)
		qsort(s->edges.v, s->edges.n, sizeof *s->edges.v, by_time);
	for (size_t i = 0; i < s->edges.n; i++) {
		const struct edge *e = &s->edges.v[i];
		size_t k = 0;

		n_open[e->phase] += e->change;
		while (k + 1 < sizeof order / sizeof *order && n_open[order[k]] <= 0)
			k++;
		if (i + 1 < s->edges.n)
			add_span(s, order[k], e->t_ns, s->edges.v[i + 1].t_ns);
	}
}

/* ---- what is known --------------------------------------------------------------------------- */

static const struct op_process *process_of(const struct op_events *x, uint32_t pid)
{
	for (size_t i = 0; i < x->processes.n; i++)
		if (x->processes.v[i].pid == pid)
			return &x->processes.v[i];
	return NULL;
}

/* The first and the last moment of its operators. */
static void span_of(
	const struct op_events *x, uint32_t pid, int64_t *ret_first_ns, int64_t *ret_last_ns)
{
	struct op_processes p;

	op_processes_init(&p, x);
	*ret_first_ns = INT64_MAX;
	*ret_last_ns = INT64_MIN;
	for (size_t i = 0; i < x->v.n; i++) {
		const struct op_event *e = &x->v.v[i];
		int64_t end = e->start_ns + e->duration_ns;

		if (op_is_device(e) || op_processes_pid(&p, p.of_track[e->track]) != pid)
			continue;
		*ret_first_ns = e->start_ns < *ret_first_ns ? e->start_ns : *ret_first_ns;
		*ret_last_ns = end > *ret_last_ns ? end : *ret_last_ns;
	}
	op_processes_done(&p);
}

/* A trace within a recording begins and ends with torch's profiler; our own collector is there from the import of torch on. */
static void add_unseen(struct sweeping *s, const struct op_events *x, int64_t first, int64_t last)
{
	if (x->collected.is_asked)
		return;
	first = x->has_zero && x->zero_ns > s->first_ns && x->zero_ns < first ? x->zero_ns : first;
	add(s, OP_PHASE_UNSEEN, s->first_ns, first);
	add(s, OP_PHASE_UNSEEN, last, s->last_ns);
}

static void gather(struct sweeping *s, const struct op_events *x, const struct op_steps *steps)
{
	const struct op_process *process = process_of(x, steps->pid);
	int64_t first_ns, last_ns;

	span_of(x, steps->pid, &first_ns, &last_ns);
	s->first_ns = first_ns;
	s->last_ns = last_ns;
	if (process) {
		s->first_ns = process->start_ns < first_ns ? process->start_ns : first_ns;
		s->last_ns = process->end_ns > last_ns ? process->end_ns : last_ns;
		add_unseen(s, x, first_ns, last_ns);
	}
	for (size_t i = 0; i < steps->n; i++)
		add(s, OP_PHASE_TRAINING, steps->v[i].host_start_ns, steps->v[i].host_end_ns);
	for (size_t i = 0; i < steps->n_validations; i++)
		add(s, OP_PHASE_VALIDATION, steps->validations[i].start_ns,
			steps->validations[i].end_ns);
	for (size_t i = 0; i < x->asides.n; i++)
		if (x->asides.v[i].pid == steps->pid)
			add(s, x->asides.v[i].is_saving ? OP_PHASE_SAVING : OP_PHASE_IMPORTS,
				x->asides.v[i].start_ns, x->asides.v[i].end_ns);
	add(s, OP_PHASE_SET_UP, s->first_ns, steps->v[0].host_start_ns);
	add(s, OP_PHASE_OTHER, steps->v[0].host_start_ns, s->last_ns);
}

static void sum_up(const struct sweeping *s, const struct op_steps *steps, struct op_phases *to)
{
	for (size_t i = 0; i < s->spans.n; i++) {
		const struct op_phase_span *x = &s->spans.v[i];

		to->seconds[x->phase] += (double)(x->end_ns - x->start_ns) / 1e9;
		to->n_times[x->phase]++;
	}
	to->n_times[OP_PHASE_TRAINING] = steps->n;
	for (size_t i = 0; i < steps->n_validations; i++)
		to->n_passes += steps->validations[i].n_passes;
}

const struct op_phases *op_phases_build(
	struct arena *a, const struct op_events *x, const struct op_steps *steps)
{
	struct sweeping s = { 0 };
	struct op_phases *to;

	if (steps->how == OP_STEPS_ALL || !steps->n)
		return NULL;
	to = arena_new(a, struct op_phases);
	*to = (struct op_phases){ .pid = steps->pid,
		.is_training = steps->is_training,
		.has_imports = process_of(x, steps->pid) != NULL,
		.has_saving = process_of(x, steps->pid) || x->has_python };
	gather(&s, x, steps);
	sweep(&s);
	sum_up(&s, steps, to);
	to->v = arena_copy(a, s.spans.v, s.spans.n * sizeof *s.spans.v);
	to->n = s.spans.n;
	vec_done(&s.edges);
	vec_done(&s.spans);
	return to;
}

bool op_phases_find(const struct op_phases *p, const char *name, enum op_phase *ret)
{
	if (strcmp(name, "steps") == 0) {
		*ret = OP_PHASE_TRAINING;
		return true;
	}
	for (unsigned i = 0; i < OP_N_PHASES; i++)
		if (strcmp(name, op_phase_names[i]) == 0 &&
			(i != OP_PHASE_TRAINING || p->is_training)) {
			*ret = (enum op_phase)i;
			return true;
		}
	return false;
}
