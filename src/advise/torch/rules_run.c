/* SPDX-License-Identifier: MIT
 * See rule.h: rules about the run around the operators: loading, threads, memory, ranks. Most need what a recording says beside
 * them (host.h). */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "advise/torch/advice.h"
#include "advise/torch/rule.h"
#include "analyze/torch/host.h"
#include "analyze/torch/steps.h"
#include "analyze/torch/table.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "base/banned.h"

#define STARTS 0.85 /* of starting workers: the first batch of an epoch still has to be made */
#define FREE   0.5  /* CPUs, from which on a worker has one */

/* ---- the training ---------------------------------------------------------------------------- */

static int64_t first_ns(const struct op_facts *f)
{
	return f->steps->n ? f->steps->v[0].start_ns : 0;
}

static int64_t last_ns(const struct op_facts *f)
{
	return f->steps->n ? f->steps->v[f->steps->n - 1].end_ns : 0;
}

static uint32_t pid_of(const struct op_facts *f, const struct op_event *e)
{
	const struct intern_item *track = intern_get(&f->x->tracks, e->track);

	return track->n ? (uint32_t)strtoul(track->p, NULL, 10) : 0;
}

/* The process with most of the operators in the steps. */
static uint32_t training_pid(const struct op_facts *f)
{
	struct map n_of = { 0 };
	uint64_t most = 0;
	uint32_t pid = 0;

	for (size_t i = 0; i < f->x->v.n; i++) {
		const struct op_event *e = &f->x->v.v[i];
		uint64_t n = 0;
		uint32_t of;

		if (e->category != OP_CPU || !op_in_steps(f, e->start_ns))
			continue;
		of = pid_of(f, e);
		map_find(&n_of, of, &n);
		map_put(&n_of, of, ++n);
		if (n > most) {
			most = n;
			pid = of;
		}
	}
	map_done(&n_of);
	return pid;
}

/* ---- loading --------------------------------------------------------------------------------- */

static bool is_batch(const struct op_facts *f, const struct op_event *e)
{
	return e->category == OP_ANNOTATION &&
		strncmp(op_events_name(f->x, e->name), "enumerate(DataLoader)#", 22) == 0;
}

static int by_start(const void *a, const void *b)
{
	const struct op_event *const *x = a, *const *y = b;

	return ((*x)->start_ns > (*y)->start_ns) - ((*x)->start_ns < (*y)->start_ns);
}

struct starts { /* of workers, each time a loader was gone through anew */
	uint64_t n;
	double seconds; /* until the first batch was there, of all times */
	double later_s; /* of all but the first */
};

struct start_search {
	const struct op_facts *f;
	uint32_t pid;
	VEC(const struct op_event *) batches; /* in the order of time */
	size_t at;       /* the first batch that is not before the start looked at */
	size_t next;     /* in the tree's order, likewise */
	int64_t busy_ns; /* until then the process did something else */
};

static int64_t end_of(const struct op_event *e)
{
	return e->start_ns + e->duration_ns;
}

/* Moves on to what is around that time. */
static void search_until(struct start_search *s, int64_t t_ns)
{
	const struct ops_tree *tree = &s->f->tree;

	while (s->at < s->batches.n && end_of(s->batches.v[s->at]) <= t_ns)
		s->at++;
	for (; s->next < tree->n; s->next++) {
		const struct op_event *e = ops_node(tree, tree->order[s->next]);

		if (e->start_ns >= t_ns)
			break;
		if ((e->category == OP_CPU || is_batch(s->f, e)) && end_of(e) <= t_ns &&
			end_of(e) > s->busy_ns && pid_of(s->f, e) == s->pid)
			s->busy_ns = end_of(e);
	}
}

/* From the end of an epoch, where its workers are waited for in the call that finds no batch, to the first batch of the next; of
 * the first epoch from the start of its workers. */
static double start_seconds(const struct start_search *s, int64_t t_ns, bool is_first)
{
	const struct op_event *last = s->at ? s->batches.v[s->at - 1] : NULL;
	int64_t from = is_first || !s->busy_ns ? t_ns : s->busy_ns;
	int64_t ns = end_of(s->batches.v[s->at]) - from;

	return (double)(ns + (last && !is_first ? last->duration_ns : 0)) / 1e9;
}

static struct starts find_starts(const struct op_facts *f, uint32_t pid)
{
	struct start_search s = { .f = f, .pid = pid };
	struct starts to = { 0 };

	for (size_t i = 0; i < f->x->v.n; i++)
		if (is_batch(f, &f->x->v.v[i]) && pid_of(f, &f->x->v.v[i]) == pid)
			vec_push(&s.batches, &f->x->v.v[i]);
	if (s.batches.n)
		qsort(s.batches.v, s.batches.n, sizeof *s.batches.v, by_start);
	for (size_t i = 0; i < f->host->n_starts; i++) {
		int64_t t_ns = f->host->starts[i].t_ns;
		double took;

		if (f->host->starts[i].parent != pid)
			continue;
		search_until(&s, t_ns);
		if (s.at == s.batches.n)
			break;
		/* The other workers of this time are started before its first batch is there. */
		while (i + 1 < f->host->n_starts &&
			f->host->starts[i + 1].t_ns < end_of(s.batches.v[s.at]))
			i++;
		took = start_seconds(&s, t_ns, !to.n);
		to.later_s += to.n ? took : 0;
		to.seconds += took;
		to.n++;
	}
	vec_done(&s.batches);
	return to;
}

/* Where samples are made, by the samples of the recording: ", 83 % of loading at data.py:31 (decode)". */
static const char *tell_loading(const struct op_facts *f, struct finding *to)
{
	struct op_loading l = op_host_loading(f->a, f->host);
	char share[UNITS_TEXT];

	if (!(l.seconds > 0) || !l.file)
		return "";
	if (2 * l.line_s >= l.seconds) {
		to->file = l.file;
		to->line = l.line;
	}
	return arena_printf(f->a, "; %s of loading is at %s:%u (%s)",
		units_format(share, UNIT_SHARE, l.line_s / l.seconds), l.file, l.line, l.function);
}

/* CPUs that nothing of this program wanted while it trained; NAN: not known. */
static double free_cpus(const struct op_facts *f)
{
	struct op_load load = op_host_load(f->host, first_ns(f), last_ns(f));

	return f->host ? fmax(f->host->cpus - load.cpu - load.queue, 0) : NAN;
}

static bool tell_starts(const struct op_facts *f, double waited, struct finding *to)
{
	struct starts s = f->host ? find_starts(f, training_pid(f)) : (struct starts){ 0 };
	char each[UNITS_TEXT];

	if (s.n < 2 || s.seconds < 0.5 * waited)
		return false;
	to->saving.value = s.seconds;
	to->saving.estimate = STARTS * s.later_s;
	to->evidence = arena_printf(f->a,
		"the DataLoader's workers were started %" PRIu64
		" times, and each time the first batch took %s: %s",
		s.n, units_format(each, UNIT_SECONDS, s.seconds / (double)s.n),
		op_of_steps(f, s.seconds));
	to->change = "keep the workers between epochs: DataLoader(..., persistent_workers=True)";
	return true;
}

/* What workers can take over: all but what they take longer for than the rest of the steps, if there are so many. */
static double moved(const struct op_facts *f, double waited, double n_workers)
{
	double rest = fmax(f->steps->seconds - waited, 0);

	return waited - fmax(waited / n_workers - rest, 0);
}

static const char *const cheaper =
	"make loading a sample cheaper: decode or resize once and store it; more num_workers would only share the same CPUs";

static bool check_dataloader(const struct op_facts *f, double threshold, struct finding *to)
{
	const struct ops_row *row = op_find_row(f, "enumerate(DataLoader)#");
	double waited = f->steps->parts_s[OP_PART_DATALOADER], free_n = free_cpus(f);
	bool is_single = row && strstr(row->name, "_SingleProcess");

	if (!row || !op_is_over(f, waited, threshold))
		return false;
	if (!is_single && tell_starts(f, waited, to))
		return true;
	to->saving.value = waited;
	to->evidence = arena_printf(f->a,
		"the program waited for its DataLoader for %s, in %" PRIu64 " calls of %s%s",
		op_of_steps(f, waited), row->n_calls, row->name, tell_loading(f, to));
	if (!to->file)
		op_add_lines_of(f, "enumerate(DataLoader)#");
	if (free_n < FREE) {
		to->change = cheaper;
	} else if (is_single) {
		to->change =
			"samples are loaded in the training process: give the DataLoader num_workers (and persistent_workers=True)";
		if (!isnan(free_n))
			to->saving.estimate = moved(f, waited, fmax(floor(free_n), 1));
	}
	return true;
}

/* ---- threads --------------------------------------------------------------------------------- */

static bool check_threads(const struct op_facts *f, double threshold, struct finding *to)
{
	struct op_load load = op_host_load(f->host, first_ns(f), last_ns(f));
	char wanted[UNITS_TEXT], queue[UNITS_TEXT], cpus[UNITS_TEXT];

	if (!f->host || !(f->host->cpus >= 1) || f->steps->seconds < 0.5 ||
		!(load.cpu + load.queue > threshold * f->host->cpus) ||
		!(load.queue > (threshold - 1) * f->host->cpus))
		return false;
	to->evidence = arena_printf(f->a,
		"%s threads of the program wanted a CPU at a time, and it may use %s; %s of the threads had none",
		units_format(wanted, UNIT_RATIO, load.cpu + load.queue),
		units_format(cpus, UNIT_COUNT, f->host->cpus),
		units_format(queue, UNIT_RATIO, load.queue));
	return true;
}

/* ---- memory ---------------------------------------------------------------------------------- */

enum { QUARTERS = 4, POINTS = 12 };
#define GROWS_PROCESS   (8.0 * (1 << 20)) /* less is noise … */
#define GROWS_ALLOCATOR (1.0 * (1 << 20)) /* … of which an allocator's own figures have none */

struct point {
	int64_t t_ns;
	double bytes;
};

struct points {
	VEC(struct point) v;
	bool is_exact; /* the allocator's */
};

/* Of the allocator on the CPU, where the trace has it; else of the process. */
static void read_memory(const struct op_facts *f, struct points *to)
{
	uint32_t pid = 0;

	vec_each (&f->x->memory, m)
		if (ops_cpu_bytes(m) && m->total_bytes && op_in_steps(f, m->t_ns))
			vec_push(&to->v, (struct point){ m->t_ns, (double)m->total_bytes });
	to->is_exact = to->v.n > 0;
	if (to->is_exact || !f->host)
		return;
	pid = training_pid(f);
	for (size_t i = 0; i < f->host->n_resident; i++) {
		const struct op_resident *r = &f->host->resident[i];

		if (r->pid == pid && r->t_ns >= first_ns(f) && r->t_ns <= last_ns(f))
			vec_push(&to->v, (struct point){ r->t_ns, r->bytes });
	}
}

/* The least of each quarter of the second half of the steps: what is held throughout. NAN: nobody looked. */
static void lowest(const struct op_facts *f, const struct points *p, double to[QUARTERS])
{
	size_t half = f->steps->n / 2, n = f->steps->n - half;

	for (size_t q = 0; q < QUARTERS; q++) {
		int64_t from = f->steps->v[half + n * q / QUARTERS].start_ns;
		int64_t until = f->steps->v[half + n * (q + 1) / QUARTERS - 1].end_ns;

		to[q] = NAN;
		for (size_t i = 0; i < p->v.n; i++)
			if (p->v.v[i].t_ns >= from && p->v.v[i].t_ns <= until)
				to[q] = fmin(to[q], p->v.v[i].bytes);
	}
}

static bool check_growth(const struct op_facts *f, double threshold, struct finding *to)
{
	struct points p = { .v = VEC_INIT };
	double q[QUARTERS], grown, each;
	char all[UNITS_TEXT], step[UNITS_TEXT];

	if (f->steps->n < 4 * QUARTERS)
		return false;
	read_memory(f, &p);
	lowest(f, &p, q);
	vec_done(&p.v);
	grown = q[QUARTERS - 1] - q[0];
	each = grown / (QUARTERS - 1);
	for (unsigned i = 1; i < QUARTERS; i++) /* as much in each of them, give or take */
		if (!(q[i] - q[i - 1] > 0.4 * each) || !(q[i] - q[i - 1] < 2 * each))
			return false;
	if (!(grown > (p.is_exact ? GROWS_ALLOCATOR : GROWS_PROCESS)) ||
		!(grown > threshold * q[0]))
		return false;
	each *= 2.0 * QUARTERS / (double)f->steps->n;
	to->saving = (struct finding_saving){
		.value = 1.5 * each * (double)f->steps->n,
		.estimate = each * (double)f->steps->n,
		.unit = UNIT_BYTES,
		.of = "the memory at the end",
		.whole = NAN,
	};
	to->evidence = arena_printf(f->a,
		"memory grew by %s per step and never shrank, by %s in the second half of the steps alone",
		units_format(step, UNIT_BYTES, each),
		units_format(all, UNIT_BYTES, grown * QUARTERS / (QUARTERS - 1)));
	return true;
}

/* ---- ranks ----------------------------------------------------------------------------------- */

enum { RANKS_MOST = 256 }; /* of one recording */

struct collective { /* of a rank: the how-many-th of its own, and how long */
	uint32_t rank;
	uint64_t ordinal;
	int64_t ns;
};

struct ranks {
	uint32_t pids[RANKS_MOST];
	uint64_t n_calls[RANKS_MOST], n_last[RANKS_MOST]; /* last: the others waited for it */
	size_t n;
	VEC(struct collective) calls;
};

static bool is_collective(const struct op_facts *f, const struct op_event *e)
{
	const char *name = op_events_name(f->x, e->name);

	return e->category == OP_ANNOTATION &&
		(strncmp(name, "gloo:", 5) == 0 || strncmp(name, "nccl:", 5) == 0 ||
			strncmp(name, "mpi:", 4) == 0);
}

static void read_ranks(const struct op_facts *f, struct ranks *to)
{
	for (size_t i = 0; i < f->tree.n; i++) {
		const struct op_event *e = ops_node(&f->tree, f->tree.order[i]);
		uint32_t pid, at = 0;

		if (!is_collective(f, e))
			continue;
		pid = pid_of(f, e);
		while (at < to->n && to->pids[at] != pid)
			at++;
		if (at == RANKS_MOST)
			continue;
		if (at == to->n)
			to->pids[to->n++] = pid;
		vec_push(&to->calls, (struct collective){ at, to->n_calls[at]++, e->duration_ns });
	}
}

/* How long the ranks waited for the last one, which a collective takes the least time of, in all. */
static double compare_ranks(struct ranks *r)
{
	size_t n = r->n_calls[0];
	int64_t *took = xcalloc(r->n * n + 1, sizeof *took);
	double waited = 0;

	vec_each (&r->calls, c)
		took[c->ordinal * r->n + c->rank] = c->ns;
	for (size_t k = 0; k < n; k++) {
		const int64_t *of = &took[k * r->n];
		size_t least = 0, most = 0;

		for (size_t i = 1; i < r->n; i++) {
			least = of[i] < of[least] ? i : least;
			most = of[i] > of[most] ? i : most;
		}
		r->n_last[least]++;
		waited += (double)(of[most] - of[least]) / 1e9;
	}
	free(took);
	return waited;
}

/* A recording of several ranks: the k-th collective of one is the k-th of the others. NULL: none of them is late. */
static const char *find_late(const struct op_facts *f, double *ret_waited)
{
	struct ranks r = { .n = 0 };
	const char *late = NULL;
	bool is_even;

	*ret_waited = 0;
	read_ranks(f, &r);
	is_even = r.n > 1 && r.n_calls[0] >= OP_ADVICE_STEPS;
	for (size_t i = 1; i < r.n; i++)
		is_even &= r.n_calls[i] == r.n_calls[0];
	if (is_even)
		*ret_waited = compare_ranks(&r);
	for (size_t i = 0; is_even && i < r.n; i++)
		if (10 * r.n_last[i] >= 8 * r.n_calls[0])
			late = arena_printf(f->a, "process %u", r.pids[i]);
	vec_done(&r.calls);
	return late;
}

static bool check_communication(const struct op_facts *f, double threshold, struct finding *to)
{
	double exposed = f->steps->parts_s[OP_PART_COMMUNICATION], waited;
	const char *late;
	char wait[UNITS_TEXT];

	if (!op_is_over(f, exposed, threshold))
		return false;
	late = find_late(f, &waited);
	to->saving.value = exposed;
	to->evidence = arena_printf(f->a, "communication that did not overlap computation took %s",
		op_of_steps(f, exposed));
	if (late && waited > 0.5 * exposed) {
		to->evidence = arena_printf(f->a,
			"%s; the other ranks waited %s of it for %s, which came last", to->evidence,
			units_format(wait, UNIT_SECONDS, waited), late);
		to->change = arena_printf(f->a,
			"find out why %s comes last (its own data, its own CPUs): sending less would not help",
			late);
	}
	return true;
}

/* ---- the rows -------------------------------------------------------------------------------- */

const struct op_rule op_rules_run[] = {
	{
		.name = "dataloader",
		.threshold = 0.05,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_dataloader,
		.change =
			"give the DataLoader more num_workers while CPUs are free, or make loading a sample cheaper",
		.proof = BY_STEPS,
	},
	{
		.name = "communication",
		.threshold = 0.10,
		.saves = SAVES_BUSY,
		.confidence = FINDING_BOUND,
		.check = check_communication,
		.change =
			"first check whether one rank is late (report --distributed); otherwise accumulate gradients over several batches (no_sync), compress them, or give each device more work",
		.proof = BY_STEPS,
	},
	{
		.name = "threads",
		.threshold = 1.3,
		.saves = SAVES_HOST,
		.confidence = FINDING_HEURISTIC,
		.check = check_threads,
		.change =
			"give all processes together no more threads than there are CPUs: torch.set_num_threads(), OMP_NUM_THREADS, fewer num_workers",
		.proof = BY_HOST,
	},
	{
		.name = "growth",
		.threshold = 0.02,
		.saves = SAVES_HOST,
		.confidence = FINDING_BOUND,
		.check = check_growth,
		.change =
			"keep no tensors of past steps: total += loss.item() or loss.detach(), no lists of outputs that need gradients",
		.proof = BY_HOST,
	},
	{ 0 },
};
