/* SPDX-License-Identifier: MIT
 * See walk_heap.h. */
#include "cpython/walk_heap.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	CALLERS = 6,       /* remembered of each code */
	COUNT_MOST = 1024, /* sightings of one, then all are halved */
	GUESSES_MOST =
		32,       /* callers of a stack that no link tells: each looks through all frames */
	RARE = 32,        /* seen so many times less often than the most frequent one */
	UNCOMMON = 4,     /* the same, for links to be doubted */
	DOUBT_LEAST = 32, /* sightings of the most frequent one, for others to be doubted */
	HABITS_MOST = 100000, /* then all are forgotten */
};

struct call {
	uint64_t code;   /* of the caller */
	uint32_t offset; /* where it stood */
	uint32_t n;      /* looks that saw it, lately */
	uint64_t walk;   /* the last of them */
	bool is_proved;  /* caller and callee were seen together */
};

struct habit { /* how frames of one code were seen while they executed */
	struct call callers[CALLERS];
	bool has_been_leaf, has_been_root;
	uint32_t leaf_offset;
}; /* of an instruction that calls: `callers` are the codes it called */

struct walk_heap {
	uint64_t n_walks;
	struct map index; /* code, or site_key → habit */
	VEC(struct habit) habits;
	size_t n_trail;
	uint64_t trail[WALK_DEPTH]; /* the last whole stack's frames, from the root on */
	struct walk_heap_frame *path[WALK_DEPTH]; /* of this walk, from the leaf on */
	bool is_guessed[WALK_DEPTH];              /* that its caller is the next in the path */
	struct walk_heap_frame *way[WALK_DEPTH];  /* while depths are measured */
};

struct climb { /* from the leaf to the root */
	const struct py_layout *l;
	const struct walk_heap_callbacks *c;
	struct walk_heap *h;
	struct walk *out; /* leaf first until it is done */
	int n_guesses;
};

/* ---- frames as they stand in memory ---------------------------------------------------------- */

struct walk_heap_span walk_heap_span(const struct py_layout *l)
{
	const uint32_t fields[][2] = { { l->object_type, 8 }, { l->frame_previous, 8 },
		{ l->frame_code, 8 }, { l->frame_lasti, 4 }, { l->frame_state, 1 } };
	uint32_t from = UINT32_MAX, to = 0;

	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
		if (fields[i][0] < from)
			from = fields[i][0];
		if (fields[i][0] + fields[i][1] > to)
			to = fields[i][0] + fields[i][1];
	}
	return (struct walk_heap_span){ from, to - from };
}

void walk_heap_parse(
	const struct py_layout *l, const unsigned char *span, struct walk_heap_frame *ret)
{
	uint32_t from = walk_heap_span(l).from;

	memcpy(&ret->type, span + l->object_type - from, 8);
	memcpy(&ret->code, span + l->frame_code - from, 8);
	memcpy(&ret->back, span + l->frame_previous - from, 8);
	memcpy(&ret->lasti, span + l->frame_lasti - from, 4);
	ret->is_executing = span[l->frame_state - from] == l->frame_state_executing;
}

static uint32_t offset_of(
	const struct py_layout *l, const struct walk_heap_frame *f, const struct walk_code *code)
{
	uint64_t offset = f->lasti < 0 ? 0 : (uint64_t)f->lasti; /* before it begins: the first */

	if (l->flags & PY_LASTI_DOUBLED)
		offset *= 2;
	if (offset < code->n_code_bytes)
		return (uint32_t)offset;
	return code->n_code_bytes >= 2 ? code->n_code_bytes - 2 : 0;
}

/* ---- habits ---------------------------------------------------------------------------------- */

static struct habit *habit_find(const struct walk_heap *h, uint64_t code)
{
	uint64_t i;

	return map_find(&h->index, code, &i) ? &h->habits.v[i] : NULL;
}

/* Of an instruction. Odd, as no address of a code is. */
static uint64_t site_key(uint64_t code, uint32_t offset)
{
	return (code ^ (offset + 1) * 0x9e3779b97f4a7c15u) | 1;
}

static struct habit *habit_get(struct walk_heap *h, uint64_t code)
{
	struct habit *found = habit_find(h, code);

	if (found)
		return found;
	if (h->habits.n == HABITS_MOST) {
		vec_clear(&h->habits);
		map_clear(&h->index);
	}
	map_put(&h->index, code, h->habits.n);
	vec_push(&h->habits, (struct habit){ 0 });
	return &h->habits.v[h->habits.n - 1];
}

static struct call *note_caller(struct habit *habit, const struct walk_frame *caller, uint64_t walk)
{
	struct call *c = habit->callers, *rarest = c;

	for (; c < habit->callers + CALLERS && c->code != caller->code; c++)
		if (c->n < rarest->n)
			rarest = c;
	if (c == habit->callers + CALLERS) {
		c = rarest;
		*c = (struct call){ .code = caller->code };
	}
	c->offset = caller->offset;
	if (c->walk == walk)
		return c; /* recursion: its other pairs would seem rare */
	c->walk = walk;
	if (++c->n == COUNT_MOST)
		for (int i = 0; i < CALLERS; i++)
			habit->callers[i].n /= 2;
	return c;
}

/* Both ways: who calls this code, and whom that instruction calls. */
static struct call *note_call(struct climb *k, uint64_t code, const struct walk_frame *caller)
{
	struct walk_frame callee = { .code = code };

	note_caller(
		habit_get(k->h, site_key(caller->code, caller->offset)), &callee, k->h->n_walks);
	return note_caller(habit_get(k->h, code), caller, k->h->n_walks);
}

/* What later looks will need, of the frames that executed in this one. */
static void remember(struct climb *k, bool is_whole)
{
	const struct walk *w = k->out;

	for (size_t i = 0; i < w->n; i++) {
		struct habit *habit;

		if (!k->h->path[i]->is_executing || k->h->is_guessed[i] ||
			(i + 1 < w->n && !k->h->path[i + 1]->is_executing))
			continue;
		habit = habit_get(k->h, w->frames[i].code);
		if (i == 0) {
			habit->has_been_leaf = true;
			habit->leaf_offset = w->frames[i].offset;
		}
		if (i + 1 < w->n)
			note_call(k, w->frames[i].code, &w->frames[i + 1]);
		else if (is_whole)
			habit->has_been_root = true;
	}
}

static uint32_t most_seen(const struct habit *habit)
{
	uint32_t most = 0;

	for (int i = 0; i < CALLERS; i++)
		if (habit->callers[i].n > most)
			most = habit->callers[i].n;
	return most;
}

/* Pairs that were seen far less often than others come of torn images. */
static bool is_habitual(const struct habit *habit, uint64_t caller, uint32_t *ret_offset)
{
	uint32_t most = most_seen(habit);

	for (int i = 0; i < CALLERS; i++)
		if (habit->callers[i].code == caller && habit->callers[i].n > most / RARE) {
			*ret_offset = habit->callers[i].offset;
			return true;
		}
	return false;
}

/* Whether it is proved, or not much rarer than the most frequent one. */
static bool is_common(const struct habit *habit, uint64_t caller)
{
	uint32_t most = most_seen(habit);

	for (int i = 0; i < CALLERS; i++)
		if (habit->callers[i].code == caller)
			return habit->callers[i].is_proved || habit->callers[i].n > most / UNCOMMON;
	return false;
}

/* ---- who called ------------------------------------------------------------------------------ */

/* may_read: only for links that are set, others lead through all of the free list. */
static struct walk_heap_frame *frame_at(const struct climb *k, uint64_t address, bool may_read)
{
	return address ? k->c->frame(k->c->ctx, address, may_read) : NULL;
}

static bool is_new(const struct climb *k, const struct walk_heap_frame *f)
{
	return f && f->visit != k->h->n_walks;
}

/* Fills depth, n_dead and root of this frame and of those on its way to the root. */
static void measure(const struct climb *k, struct walk_heap_frame *f)
{
	const struct walk_heap_frame *caller;
	uint64_t walk = k->h->n_walks;
	size_t n = 0;

	while (f && f->measured != walk) {
		f->measured = walk;
		f->depth = 0; /* stays so when the way leads back here */
		if (!is_new(k, f) || n == WALK_DEPTH || (!f->is_executing && !f->back))
			break;
		k->h->way[n++] = f;
		f = frame_at(k, f->back, false);
	}
	for (caller = f; n--; caller = f) {
		f = k->h->way[n];
		if (f->back && !(caller && caller->depth))
			continue;
		f->depth = caller ? caller->depth + 1 : 1;
		f->n_dead = (caller ? caller->n_dead : 0) + !f->is_executing;
		f->root = caller ? caller->root : f->address;
	}
}

static bool is_better(const struct walk_heap_frame *a, const struct walk_heap_frame *than)
{
	if (!than || !a->depth != !than->depth)
		return !than || a->depth;
	if (a->n_dead != than->n_dead)
		return a->n_dead < than->n_dead;
	return a->depth > than->depth;
}

/* The best frame of a code that calls frames like f. The frames are those seen in this thread's stacks,
 * but a freed one may have gone to another thread: then it leads to another root. */
static struct walk_heap_frame *usual_caller(const struct climb *k, const struct habit *habit)
{
	struct walk_heap_frame *best = NULL, *one;
	uint64_t root = walk_heap_root(k->h);
	uint32_t offset;

	for (size_t i = 0; k->c->nth(k->c->ctx, i, &one); i++) {
		if (!one || !is_new(k, one) || !is_habitual(habit, one->code, &offset))
			continue;
		measure(k, one);
		if ((!one->depth || !root || one->root == root) && is_better(one, best))
			best = one;
	}
	return best;
}

/* Whether the two are, by a second copy of them alone, frames of these codes of which one calls the other. It was
 * made within a fraction of the time that the image took. */
static bool are_together(const struct climb *k, const struct walk_heap_frame *f,
	const struct walk_heap_frame *caller)
{
	struct walk_heap_frame now[2] = { { .address = f->address },
		{ .address = caller->address } };

	return k->c->again(k->c->ctx, now) && now[0].is_executing && now[1].is_executing &&
		now[0].code == f->code && now[1].code == caller->code &&
		now[0].back == caller->address;
}

/* Whether the image is torn between f and the frame its link leads to, so that one of the two was copied before the
 * other was there: as far as is known that one calls others where it stands, it is others that call f, and the two
 * were never seen together. */
static bool is_torn(struct climb *k, const struct walk_heap_frame *f,
	const struct walk_heap_frame *caller, struct walk_frame *ret_caller)
{
	const struct walk_code *code = k->c->code(k->c->ctx, caller->code);
	const struct habit *habit = habit_find(k->h, f->code), *site;

	if (!code || !habit || most_seen(habit) < DOUBT_LEAST || is_common(habit, caller->code))
		return false;
	*ret_caller = (struct walk_frame){ caller->code, offset_of(k->l, caller, code) };
	site = habit_find(k->h, site_key(caller->code, ret_caller->offset));
	if (!site || most_seen(site) < DOUBT_LEAST || is_common(site, f->code))
		return false;
	if (!are_together(k, f, caller))
		return true;
	note_call(k, f->code, ret_caller)->is_proved = true;
	return false;
}

/* The caller of a frame that executes, by its link, or, where the image is torn, one that has called such frames
 * before and executes. What the link says is remembered all the same: if it says so often it is no tear. */
static struct walk_heap_frame *more_usual(
	struct climb *k, const struct walk_heap_frame *f, struct walk_heap_frame *caller)
{
	struct walk_heap_frame *usual;
	struct walk_frame by_link;

	if (!is_torn(k, f, caller, &by_link))
		return caller;
	usual = usual_caller(k, habit_find(k->h, f->code));
	if (!usual || !usual->depth || usual->n_dead)
		return caller;
	note_call(k, f->code, &by_link);
	k->h->is_guessed[k->out->n - 1] = true;
	return usual;
}

/* Of a frame that has ended, or whose link leads back into the stack. */
static bool guess_caller(
	struct climb *k, const struct walk_heap_frame *f, struct walk_heap_frame **ret)
{
	const struct habit *habit = habit_find(k->h, f->code);
	struct walk_heap_frame *back = frame_at(k, f->back, false);
	uint32_t offset;
	bool is_usual;

	if (k->n_guesses++ == GUESSES_MOST)
		return false;
	if (!is_new(k, back))
		back = NULL;
	is_usual = back && habit && is_habitual(habit, back->code, &offset);
	if (back)
		measure(k, back);
	if (back && back->depth && !back->n_dead && (is_usual || !habit)) {
		*ret = back;
		return true;
	}
	*ret = habit ? usual_caller(k, habit) : NULL;
	if (is_usual && (!*ret || !(*ret)->depth))
		*ret = back; /* such as a generator, which has no link now */
	return *ret || (habit && habit->has_been_root && !habit->callers[0].code);
}

/* false: not to be found out. *ret is NULL at the root. */
static bool caller_of(struct climb *k, const struct walk_heap_frame *f, bool is_leaf,
	struct walk_heap_frame **ret)
{
	if (f->is_executing || (is_leaf && f->lasti < 0)) {
		*ret = frame_at(k, f->back, true);
		if (is_new(k, *ret))
			*ret = more_usual(k, f, *ret);
		if (!f->back || is_new(k, *ret))
			return true;
	}
	return guess_caller(k, f, ret);
}

/* ---- the stack ------------------------------------------------------------------------------- */

/* Where a frame stood when it called `callee`; NULL for the leaf. */
static uint32_t position(const struct climb *k, const struct walk_heap_frame *f,
	const struct walk_code *code, const struct walk_heap_frame *callee)
{
	const struct habit *habit = habit_find(k->h, callee ? callee->code : f->code);
	uint32_t offset;

	if (!callee && !f->is_executing && f->lasti >= 0 && habit && habit->has_been_leaf)
		return habit->leaf_offset;
	if (callee && !callee->is_executing && habit && is_habitual(habit, f->code, &offset))
		return offset; /* it may have gone on since */
	return offset_of(k->l, f, code);
}

/* Takes frame after frame into the path and k->out, leaf first. false: stopped before the root. */
static bool climb(struct climb *k, uint64_t leaf)
{
	struct walk_heap_frame *f = frame_at(k, leaf, true), *callee = NULL;

	if (!f)
		return false;
	while (f) {
		const struct walk_code *code = k->c->code(k->c->ctx, f->code);
		struct walk_heap_frame *caller;

		if (!code || k->out->n == WALK_DEPTH)
			return false;
		f->visit = k->h->n_walks;
		k->h->path[k->out->n] = f;
		k->h->is_guessed[k->out->n] = false;
		k->out->frames[k->out->n++] =
			(struct walk_frame){ f->code, position(k, f, code, callee) };
		if (!caller_of(k, f, callee == NULL, &caller))
			return false;
		callee = f;
		f = caller;
	}
	return true;
}

static void turn_round(struct walk *w, struct walk_heap *h)
{
	for (size_t i = 0; i < w->n / 2; i++) {
		struct walk_frame frame = w->frames[i];

		w->frames[i] = w->frames[w->n - 1 - i];
		w->frames[w->n - 1 - i] = frame;
	}
	for (size_t i = 0; i < w->n; i++)
		h->trail[i] = h->path[w->n - 1 - i]->address;
	h->n_trail = w->n;
}

static void note_coroutines(struct climb *k)
{
	struct walk *w = k->out;

	for (size_t i = 0; i < w->n && w->n_generators < WALK_GENERATORS; i++) {
		const struct walk_code *code = k->c->code(k->c->ctx, w->frames[i].code);

		if (code && code->is_coroutine)
			w->generators[w->n_generators++] = k->h->trail[i];
	}
}

/* Takes the part of the last whole stack that still executes, from the root on. */
static void take_surviving(struct climb *k)
{
	uint64_t back = 0;
	size_t n = 0;

	for (; n < k->h->n_trail; n++) {
		const struct walk_heap_frame *f = k->c->frame(k->c->ctx, k->h->trail[n], false);
		const struct walk_code *code = f && f->is_executing && f->back == back
			? k->c->code(k->c->ctx, f->code)
			: NULL;

		if (!code)
			break;
		k->out->frames[n] = (struct walk_frame){ f->code, offset_of(k->l, f, code) };
		back = f->address;
	}
	k->out->n = n;
	k->out->is_shortened = n > 0;
}

void walk_heap_stack(struct walk_heap *h, const struct py_layout *l, uint64_t leaf,
	const struct walk_heap_callbacks *c, struct walk *ret)
{
	struct climb k = { .l = l, .c = c, .h = h, .out = ret };

	h->n_walks++;
	ret->n = ret->n_generators = 0;
	ret->is_shortened = false;
	ret->leaf = leaf;
	if (climb(&k, leaf)) {
		remember(&k, true);
		turn_round(ret, h);
		note_coroutines(&k);
	} else {
		remember(&k, false);
		take_surviving(&k);
	}
}

uint64_t walk_heap_root(const struct walk_heap *h)
{
	return h->n_trail ? h->trail[0] : 0;
}

struct walk_heap *walk_heap_new(void)
{
	return xcalloc(1, sizeof(struct walk_heap));
}

void walk_heap_free(struct walk_heap *h)
{
	if (!h)
		return;
	vec_done(&h->habits);
	map_done(&h->index);
	free(h);
}
