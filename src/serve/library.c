/* SPDX-License-Identifier: MIT
 * See library.h. */
#include "serve/library.h"

#include <stdio.h>
#include <string.h>

#include "analyze/blocks.h"
#include "analyze/exact.h"
#include "analyze/exact_lines.h"
#include "analyze/probes.h"
#include "analyze/profile.h"
#include "analyze/regions.h"
#include "analyze/shape.h"
#include "analyze/stacks.h"
#include "analyze/texts.h"
#include "analyze/threads.h"
#include "analyze/timeline.h"
#include "analyze/strips.h"
#include "analyze/turned.h"
#include "analyze/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/format.h"
#include "serve/answer_parts.h"
#include "serve/files.h"
#include "serve/params.h"
#include "serve/torch.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

/* What makes a selection; from and to where they choose samples, filter where it chooses stacks. */
static const char *const parameters[] = { "from", "to", "thread", "process", "state", "only_mine",
	"idle", "focus", "drop", "merge", "collapse", "filter" };

enum { N_PARAMETERS = sizeof parameters / sizeof *parameters };

/* ---- recordings ------------------------------------------------------------------------------ */

static void selection_free(struct selection *s)
{
	if (!s)
		return;
	shape_free(s->shape);
	turned_free(s->inverted);
	arena_done(&s->arena);
	if (s->blocks)
		blocks_done(s->blocks);
	free(s->blocks);
	free(s->key);
	free(s);
}

static void recording_free(struct recording *r)
{
	for (size_t i = 0; i < LIBRARY_SELECTIONS; i++)
		selection_free(r->selections[i]);
	tables_free(r->tables);
	reader_close(r->reader);
	torch_free(r->torch);
	files_free(r->files);
	arena_done(&r->arena);
	free(r);
}

static int load_records(struct recording *r, const char *path, struct err *e)
{
	if (format_open(&r->reader, path, e) < 0)
		return -(int)e->code;
	if (tables_load(&r->tables, r->reader, e) < 0)
		return err_note(e, "%s", path);
	tables_settle(r->tables);
	r->usage = usage_build(&r->arena, r->tables);
	if (!r->usage)
		return err_set(e, ERR_BAD_FILE, "%s: holds no run of a program", path);
	r->bound = bound_build(r->usage);
	r->fidelity = fidelity_build(&r->arena, r->tables);
	r->origin = origin_build(&r->arena, r->tables);
	r->regions = regions_build(&r->arena, r->tables);
	r->frames = frames_new(&r->arena, r->tables);
	return 0;
}

/* As calls in each other, spans of many millions take far longer than as operators, and pictures of them tell less. */
enum { LARGE_TRACE = 1000000 };

static int load(struct recording *r, const char *path, struct err *e)
{
	const char *slash = strrchr(path, '/');
	int status;

	r->path = arena_strdup(&r->arena, path);
	r->name = slash ? r->path + (slash + 1 - path) : r->path;
	if (strncmp(path, "/proc/", 6) ==
		0) /* a descriptor, as host has it: its number says nothing */
		r->name = "this recording";
	r->torch = torch_open(path);
	if (r->torch && r->torch->x.v.n > LARGE_TRACE)
		return 0;
	status = load_records(r, path, e);
	if (!r->torch && r->reader && r->tables)
		r->torch = torch_of(r->reader, r->tables);
	if (status == 0)
		return 0;
	if (!r->torch)
		return -(int)e->code;
	/* Cut off, or damaged where it tells of the run: its operators could be read all the same. Those of a recording are
	 * read again later, so it stays open. */
	if (r->torch->is_file) {
		tables_free(r->tables);
		reader_close(r->reader);
		r->tables = NULL;
		r->reader = NULL;
	}
	*e = ERR_INIT;
	return 0;
}

void library_done(struct library *l)
{
	vec_each (&l->recordings, r)
		recording_free(*r);
	vec_done(&l->recordings);
	comparison_free(l->comparison);
	ranks_free(l->ranks);
	vec_done(&l->results);
	arena_done(&l->arena);
}

int library_find(
	const struct library *l, const struct params *p, struct recording **ret, struct err *e)
{
	uint32_t number = 0;

	if (params_u32(p, "r", UINT32_MAX, &number, e) < 0)
		return -(int)e->code;
	if (!l->recordings.n)
		return err_set(e, ERR_UNSUPPORTED, "only benchmark results are open, no recording");
	if (number >= l->recordings.n)
		return err_set(e, ERR_NO_FILE, "there is no recording %u; %zu %s open", number,
			l->recordings.n, l->recordings.n == 1 ? "is" : "are");
	*ret = l->recordings.v[number];
	return 0;
}

const char *recording_damage(struct recording *r)
{
	if (!r->reader)
		return r->torch ? op_events_missing(&r->torch->x) : "";
	reader_check(r->reader);
	damage_describe(&r->reader->damage, r->damage);
	return r->damage;
}

const char *recording_why(struct recording *r, const char *usual)
{
	bool is_lost = *recording_damage(r) && (!r->reader || damage_is_loss(&r->reader->damage));

	return *usual && is_lost ? "nothing of it is in what could be read: the file is damaged"
				 : usual;
}

const struct texts *recording_texts(struct recording *r)
{
	if (!r->texts)
		r->texts = texts_load(&r->arena, r->tables);
	return r->texts;
}

const struct strips *recording_strips(struct recording *r)
{
	if (!r->strips)
		r->strips = strips_build(&r->arena, r->tables, r->frames);
	return r->strips;
}

/* ---- selections ------------------------------------------------------------------------------ */

static char *key_of(const struct params *p, enum library_filter filter)
{
	struct buf key = BUF_INIT;
	char *text;

	if (filter == LIBRARY_BLOCKS)
		buf_addc(&key, '\3');
	for (size_t i = filter == LIBRARY_WHOLE_TIME ? 2 : 0;
		i < N_PARAMETERS - (filter == LIBRARY_ROWS || filter == LIBRARY_BLOCKS); i++)
		for (size_t k = 0; k < p->n; k++)
			if (strcmp(p->v[k].name, parameters[i]) == 0 && *p->v[k].value)
				/* \1 and \2 part what a value might look like. */
				buf_printf(&key, "%s\1%s\2", p->v[k].name, p->v[k].value);
	text = xstrdup(buf_str(&key));
	buf_done(&key);
	return text;
}

static int parse_state(const struct params *p, enum stacks_state *ret, struct err *e)
{
	static const char *const words[] = { [STACKS_WALL] = "wall",
		[STACKS_CPU] = "cpu",
		[STACKS_GIL] = "gil",
		[STACKS_WAIT] = "wait" };
	const char *word = params_find(p, "state");

	if (!word || !*word)
		return 0;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		if (strcmp(word, words[i]) != 0)
			continue;
		*ret = (enum stacks_state)i;
		return 0;
	}
	return err_set(e, ERR_USAGE, "state wants wall, cpu, gil or wait, not '%.100s'", word);
}

static const char *text_of(const struct params *p, const char *name)
{
	const char *text = params_find(p, name);

	return text && *text ? text : NULL;
}

static int parse_options(struct selection *s, const struct params *p, enum library_filter filter,
	struct stacks_options *o, struct err *e)
{
	const char *threads = text_of(p, "thread"), *processes = text_of(p, "process");
	struct thread_rows rows = { 0 };

	o->frames = s->recording->frames;
	o->only_mine = params_is_set(p, "only_mine");
	if (parse_state(p, &o->state, e) < 0 ||
		params_number(p, "from", 0, 1e9, &o->from_s, e) < 0 ||
		params_number(p, "to", 0, 1e9, &o->to_s, e) < 0)
		return -(int)e->code;
	if (filter == LIBRARY_WHOLE_TIME)
		o->from_s = o->to_s = 0;
	if ((threads || processes) &&
		threads_choose(&s->arena, s->recording->tables, threads, processes, &rows, e) < 0)
		return -(int)e->code;
	o->threads = rows.v;
	o->n_threads = rows.n;
	/* As report has it: who asks for threads, or for what waits, gets all of it. */
	o->fold_idle = !params_is_set(p, "idle") && !threads && o->state == STACKS_WALL;
	return 0;
}

static int parse_shape(
	struct selection *s, struct params *p, enum library_filter filter, struct err *e)
{
	struct shape_options o = { .collapse = params_is_set(p, "collapse") };

	o.focus.n = params_all(p, "focus", &o.focus.v);
	o.drop.n = params_all(p, "drop", &o.drop.v);
	o.merge.n = params_all(p, "merge", &o.merge.v);
	if (filter != LIBRARY_ROWS && filter != LIBRARY_BLOCKS)
		o.keep.n = params_all(p, "filter", &o.keep.v);
	return shape_new(&s->shape, &s->arena, s->recording->frames, &o, e);
}

/* What the file cannot say. */
static int refuse(const struct selection *s, const struct stacks_options *o, struct err *e)
{
	const struct recording *r = s->recording;

	if (r->origin.is_foreign && o->state != STACKS_WALL)
		return err_set(e, ERR_UNSUPPORTED,
			"a %s file does not say which samples were on a CPU or held the GIL",
			r->origin.format);
	if (s->exact && (o->state != STACKS_WALL || o->from_s > 0 || o->to_s > 0))
		return err_set(e, ERR_UNSUPPORTED,
			"traced calls are sums over the whole run: states and ranges of time need "
			"samples");
	if (s->exact && !s->exact->has_contexts && (o->only_mine || s->shape))
		return err_set(e, ERR_UNSUPPORTED,
			"that needs calling contexts, and such a file only says who called whom");
	return 0;
}

static int fill(struct selection *s, struct params *p, enum library_filter filter, struct err *e)
{
	struct stacks_options o = { 0 };
	struct recording *r = s->recording;

	if (parse_options(s, p, filter, &o, e) < 0 || parse_shape(s, p, filter, e) < 0)
		return -(int)e->code;
	o.shape = s->shape;
	if (filter == LIBRARY_BLOCKS)
		o.blocks = s->blocks = xcalloc(1, sizeof *s->blocks);
	s->stacks = stacks_build(&s->arena, r->tables, &o);
	s->exact = exact_build(&s->arena, r->tables, r->frames, s->stacks->nodes);
	s->exact_lines = exact_lines_build(&s->arena, r->tables, r->frames, o.threads, o.n_threads);
	if (refuse(s, &o, e) < 0)
		return -(int)e->code;
	if (!s->exact && !s->exact_lines && !s->stacks->n && !s->stacks->n_threads)
		return 0;
	if (s->shape)
		s->exact = NULL;
	s->profile =
		s->exact ? exact_profile(&s->arena, s->exact) : profile_build(&s->arena, s->stacks);
	s->probes = probes_build(&s->arena, s->stacks, selection_lost_share(s));
	return 0;
}

/* Where the one goes that was not asked for longest. */
static struct selection **slot_for(struct recording *r)
{
	struct selection **oldest = &r->selections[0];

	for (size_t i = 0; i < LIBRARY_SELECTIONS; i++) {
		if (!r->selections[i])
			return &r->selections[i];
		if (r->selections[i]->last_used < (*oldest)->last_used)
			oldest = &r->selections[i];
	}
	return oldest;
}

int library_select(struct library *l, struct params *p, enum library_filter filter,
	struct selection **ret, struct err *e)
{
	struct recording *r;
	struct selection *s;
	struct selection **slot;

	if (library_find(l, p, &r, e) < 0)
		return -(int)e->code;
	if (!r->usage)
		return err_set(e, ERR_UNSUPPORTED, "%s",
			recording_why(r,
				"of such a trace of PyTorch only its operators are shown: see "
				"Torch"));
	s = xcalloc(1, sizeof *s);
	*s = (struct selection){ .recording = r, .key = key_of(p, filter) };
	for (size_t i = 0; i < LIBRARY_SELECTIONS; i++) {
		if (!r->selections[i] || strcmp(r->selections[i]->key, s->key) != 0)
			continue;
		selection_free(s);
		*ret = r->selections[i];
		(*ret)->last_used = ++l->n_asked;
		return 0;
	}
	s->last_used = ++l->n_asked;
	if (fill(s, p, filter, e) < 0) {
		selection_free(s);
		return -(int)e->code;
	}
	slot = slot_for(r);
	selection_free(*slot);
	*ret = *slot = s;
	return 0;
}

double selection_lost_share(const struct selection *s)
{
	return s->exact || !s->profile ? 0 : s->profile->lost_share;
}

const struct flametree *selection_tree(struct selection *s)
{
	if (!s->tree)
		s->tree = flametree_build(&s->arena, s->stacks, selection_lost_share(s));
	return s->tree;
}

struct turned *selection_inverted(struct selection *s)
{
	if (!s->inverted)
		s->inverted = turned_new(selection_tree(s), TURNED_CALLERS, 0);
	return s->inverted;
}

/* Of traced calls: of the chosen thread with most of them. Calls are shown as they were, so no shape can be asked for. */
static const struct flametree *tree_of_calls(struct selection *s, size_t *ret_number)
{
	struct recording *r = s->recording;
	const struct timeline *t = NULL;
	size_t best = SIZE_MAX;

	if (!s->shape && !s->stacks->only_mine)
		t = timeline_build(&s->arena, r->tables, r->frames);
	for (size_t i = 0; t && i < t->n_threads; i++)
		for (size_t k = 0; k < s->stacks->n_threads; k++)
			if (t->threads[i].row == s->stacks->threads[k].row &&
				(best == SIZE_MAX ||
					t->threads[i].n_calls > t->threads[best].n_calls)) {
				best = i;
				*ret_number = k + 1;
			}
	return best == SIZE_MAX ? NULL
				: flametree_of_calls(&s->arena, t, t->threads[best].row,
					  r->reader->begun_monotonic_ns);
}

/* The strip of the chosen thread that was sampled longest without being idle. */
const struct flametree *selection_time_tree(struct selection *s, size_t *ret_number)
{
	const struct strips *t = recording_strips(s->recording);
	const struct stack_thread *best = NULL;

	if (s->stacks->nodes->n) {
		if (!s->time_tree)
			s->time_tree = tree_of_calls(s, &s->time_thread);
		*ret_number = s->time_thread;
		return s->time_tree;
	}
	for (size_t i = 0; i < s->stacks->n_threads; i++) {
		const struct stack_thread *x = &s->stacks->threads[i];

		if (!best || x->value > best->value)
			best = x;
	}
	for (size_t i = 0; best && i < t->n_threads; i++) {
		if (t->threads[i].row != best->row || !t->threads[i].n)
			continue;
		*ret_number = i + 1;
		if (!s->time_tree)
			s->time_tree = flametree_of_time(&s->arena, s->stacks, &t->threads[i]);
		return s->time_tree;
	}
	return NULL;
}

/* ---- opening --------------------------------------------------------------------------------- */

/* Makes what every page begins with, so that the first answer is quick, and functions have the same numbers whatever
 * is asked first. */
static int prepare(struct library *l, struct err *e)
{
	struct params p = { 0 };
	struct selection *s;
	char number[24];
	int status;

	snprintf(number, sizeof number, "%zu", l->recordings.n - 1);
	params_add(&p, "r", number);
	status = library_select(l, &p, LIBRARY_ROWS, &s, e);
	if (status == 0) {
		s->recording->n_places = s->stacks->n;
		selection_tree(s);
		recording_strips(s->recording);
	}
	params_done(&p);
	return status;
}

static int open_results(struct library *l, const char *path, struct err *e)
{
	struct results r;

	if (results_load(&l->arena, path, &r, e) < 0)
		return -(int)e->code;
	vec_push(&l->results, r);
	return 0;
}

int library_open(struct library *l, const char *path, struct err *e)
{
	struct recording *r;

	if (results_are_in(path))
		return open_results(l, path, e);
	r = xcalloc(1, sizeof *r);
	if (load(r, path, e) < 0) {
		recording_free(r);
		return -(int)e->code;
	}
	vec_push(&l->recordings, r);
	return r->usage ? prepare(l, e) : 0;
}
