/* SPDX-License-Identifier: MIT
 * See heap.h. */
#include "collect/samples/heap.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/map.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/samples/code.h"
#include "collect/samples/cost.h"
#include "cpython/mem.h"
#include "cpython/walk_heap.h"
#include "base/banned.h"

enum {
	KNOWN_MOST = 2 * WALK_DEPTH,
	RUNS_MOST = 256,      /* stretches of memory copied by a look */
	BYTES_MOST = 4 << 20, /* of all of them */
	GAP_MOST = 640,   /* bytes between two frames of one stretch: neighbours of usual size */
	LEARN_MOST = 32,  /* frames learned after one look besides those on the way */
	PLAN_LOOKS = 256, /* after so many looks the plan is made anew */
	SPAN_MOST = PY_FRAME_BYTES_MAX,
};

static const uint64_t FORGET_NS = 1000000000; /* frames that were not met for so long */
static const uint32_t NOT_COPIED = UINT32_MAX;

struct known { /* a frame's address */
	struct walk_heap_frame f;
	uint64_t used_ns;
	uint64_t look;   /* that f's bytes are of */
	uint32_t at;     /* its span in the image; NOT_COPIED */
	uint32_t n_met;  /* looks that needed it, lately */
	uint32_t n_leaf; /* of these, as the leaf */
	bool is_none;    /* what was there at this look was no frame */
};

struct run { /* a stretch of memory with known frames */
	uint64_t address;
	uint32_t n;
	uint32_t n_met, n_leaf;
	size_t first, end; /* of the sorted frames */
};

struct py_heap {
	uint64_t address; /* of the thread state */
	struct walk_heap_span span;
	uint64_t frame_type;       /* of the first whole stack; 0 not known yet */
	VEC(struct known *) known; /* sorted by address when planned */
	struct map index;          /* address → struct known * */
	bool is_planned;
	uint64_t look;
	uint64_t planned_look; /* when */
	VEC(struct run) runs;  /* in the order they are copied */
	unsigned char *image;
	size_t capacity;
	size_t n_copied; /* of it, at this look */
	uint64_t forget_ns;
	struct walk_heap *walk;
};

struct looking { /* for the walker's callbacks */
	struct py_heap *h;
	const struct py_view *v;
};

/* ---- what is copied -------------------------------------------------------------------------- */

static int by_address(const void *a, const void *b)
{
	const struct known *x = *(struct known *const *)a, *y = *(struct known *const *)b;

	return x->f.address < y->f.address ? -1 : x->f.address > y->f.address;
}

static int by_need(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->n_met > y->n_met ? -1 : x->n_met < y->n_met;
}

static int by_heat(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	return x->n_leaf > y->n_leaf ? -1 : x->n_leaf < y->n_leaf;
}

/* Stretches of the frames, which are sorted by address. */
static void make_runs(struct py_heap *h)
{
	struct run *r = NULL;

	vec_clear(&h->runs);
	for (size_t i = 0; i < h->known.n; i++) {
		struct known *k = h->known.v[i];
		uint64_t from = k->f.address + h->span.from;

		k->at = NOT_COPIED;
		if (!r || from - (r->address + r->n) > GAP_MOST || r->n > BYTES_MOST / 4) {
			vec_push(&h->runs, (struct run){ .address = from, .first = i });
			r = &h->runs.v[h->runs.n - 1];
		}
		r->n = (uint32_t)(from + h->span.n - r->address);
		r->end = i + 1;
		r->n_met += k->n_met;
		r->n_leaf += k->n_leaf;
		k->n_met /= 2;
		k->n_leaf /= 2;
	}
}

/* Keeps those needed most often as far as there is room; frames in the others are read when they are
 * met. */
static size_t choose_runs(struct py_heap *h)
{
	size_t n_bytes = 0, n = 0;

	qsort(h->runs.v, h->runs.n, sizeof *h->runs.v, by_need);
	while (n < h->runs.n && n < RUNS_MOST && n_bytes + h->runs.v[n].n <= BYTES_MOST)
		n_bytes += h->runs.v[n++].n;
	h->runs.n = n;
	return n_bytes;
}

static void plan(struct py_heap *h)
{
	size_t n_bytes;
	uint32_t at = 0;

	h->is_planned = true;
	h->planned_look = h->look;
	if (!h->known.n) {
		vec_clear(&h->runs);
		return;
	}
	qsort(h->known.v, h->known.n, sizeof *h->known.v, by_address);
	make_runs(h);
	n_bytes = choose_runs(h);
	qsort(h->runs.v, h->runs.n, sizeof *h->runs.v, by_heat);
	if (n_bytes > h->capacity) {
		h->capacity = 2 * n_bytes;
		free(h->image);
		h->image = xmalloc(h->capacity);
	}
	vec_each (&h->runs, r) {
		for (size_t i = r->first; i < r->end; i++) {
			struct known *k = h->known.v[i];

			k->at = at + (uint32_t)(k->f.address + h->span.from - r->address);
		}
		at += r->n;
	}
}

/* Memory that is no more ends the copying: the frames that were there are to be forgotten. */
static void drop_hole(struct py_heap *h)
{
	size_t at = 0;

	vec_each (&h->runs, r) {
		at += r->n;
		if (at <= h->n_copied)
			continue;
		for (size_t i = r->first; i < r->end; i++)
			h->known.v[i]->used_ns = 0;
		h->forget_ns = 0;
		return;
	}
}

/* Everything in one call, the frame pointer first. false when even that cannot be read. */
static bool copy_image(struct py_heap *h, const struct py_view *v, uint64_t *ret_leaf)
{
	struct iovec local[RUNS_MOST + 1], remote[RUNS_MOST + 1];
	unsigned char *to;
	ssize_t copied;
	size_t n = 1;

	if (!h->is_planned || h->look - h->planned_look > PLAN_LOOKS)
		plan(h);
	to = h->image;
	local[0] = (struct iovec){ ret_leaf, 8 };
	remote[0] = (struct iovec){ (void *)(uintptr_t)(h->address + v->l->thread_frame), 8 };
	vec_each (&h->runs, r) {
		local[n] = (struct iovec){ to, r->n };
		remote[n++] = (struct iovec){ (void *)(uintptr_t)r->address, r->n };
		to += r->n;
	}
	copied = mem_readv(v->mem, local, remote, n);
	if (copied < 8)
		return false;
	h->n_copied = (size_t)copied - 8;
	if (h->n_copied < (size_t)(to - h->image))
		drop_hole(h);
	return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static struct known *learn(struct py_heap *h, uint64_t address)
{
	struct known *k;

	if (h->known.n == KNOWN_MOST)
		return NULL;
	k = xcalloc(1, sizeof *k);
	k->f.address = address;
	k->at = NOT_COPIED;
	map_put(&h->index, address, (uint64_t)(uintptr_t)k);
	vec_push(&h->known, k);
	h->is_planned = false;
	return k;
}

/* Frames not met for a while; all of them when there is no room for more. */
static void forget(struct py_heap *h, uint64_t now_ns)
{
	bool is_full = h->known.n == KNOWN_MOST;

	if (!is_full && now_ns < h->forget_ns)
		return;
	h->forget_ns = now_ns + FORGET_NS / 4;
	for (size_t i = h->known.n; i-- > 0;) {
		struct known *k = h->known.v[i];

		if (!is_full && now_ns - k->used_ns <= FORGET_NS)
			continue;
		map_remove(&h->index, k->f.address);
		vec_remove_swap(&h->known, i);
		free(k);
		h->is_planned = false;
	}
}

static struct walk_heap_frame *find_frame(void *ctx, uint64_t address, bool may_read)
{
	const struct looking *looking = ctx;
	const struct py_view *v = looking->v;
	struct py_heap *h = looking->h;
	unsigned char bytes[SPAN_MOST];
	const unsigned char *p = bytes;
	struct known *k = NULL;
	uint64_t found;

	if (address % 8 || !address)
		return NULL;
	if (map_find(&h->index, address, &found))
		k = (struct known *)(uintptr_t)found;
	if (!k && !may_read)
		return NULL;
	if (!k || k->look != h->look) {
		if (k && k->at != NOT_COPIED && k->at + h->span.n <= h->n_copied)
			p = h->image + k->at;
		else if (!may_read ||
			mem_read(v->mem, address + h->span.from, bytes, h->span.n) < 0)
			return NULL;
		if (!k)
			k = learn(h, address);
		if (!k)
			return NULL;
		walk_heap_parse(v->l, p, &k->f);
		k->look = h->look;
		k->n_met++;
		k->is_none = h->frame_type && k->f.type != h->frame_type;
	}
	if (may_read) /* on the way of a stack, not only looked through */
		k->used_ns = v->now_ns;
	return k->is_none ? NULL : &k->f;
}

static bool nth_frame(void *ctx, size_t i, struct walk_heap_frame **ret)
{
	const struct looking *looking = ctx;
	const struct py_heap *h = looking->h;

	if (i >= h->known.n)
		return false;
	*ret = find_frame(ctx, h->known.v[i]->f.address, false);
	return true;
}

static bool read_two(void *ctx, struct walk_heap_frame two[2])
{
	const struct looking *looking = ctx;
	const struct py_view *v = looking->v;
	struct walk_heap_span span = looking->h->span;
	unsigned char bytes[2][SPAN_MOST];
	struct iovec local[2], remote[2];

	for (int i = 0; i < 2; i++) {
		local[i] = (struct iovec){ bytes[i], span.n };
		remote[i] =
			(struct iovec){ (void *)(uintptr_t)(two[i].address + span.from), span.n };
	}
	if (mem_readv(v->mem, local, remote, 2) != (ssize_t)(2 * span.n))
		return false;
	for (int i = 0; i < 2; i++)
		walk_heap_parse(v->l, bytes[i], &two[i]);
	return true;
}

/* After a stack that could not be followed: the callers of frames that execute, as far as they are not
 * known. A deep stack that comes and goes is learned so in few looks. */
static void learn_callers(struct looking *looking)
{
	struct py_heap *h = looking->h;
	size_t n = h->known.n, n_learned = 0;

	for (size_t i = 0; i < n && n_learned < LEARN_MOST; i++) {
		const struct walk_heap_frame *f;
		uint64_t found;

		if (nth_frame(looking, i, (struct walk_heap_frame **)&f) && f && f->is_executing &&
			!map_find(&h->index, f->back, &found))
			n_learned += find_frame(looking, f->back, true) != NULL;
	}
}

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	const struct looking *looking = ctx;

	return py_codes_find(looking->v->codes, address);
}

/* ---- the look -------------------------------------------------------------------------------- */

struct py_heap *py_heap_new(const struct py_layout *l, uint64_t address)
{
	struct py_heap *h = xcalloc(1, sizeof *h);

	h->address = address;
	h->span = walk_heap_span(l);
	h->walk = walk_heap_new();
	return h;
}

void py_heap_free(struct py_heap *h)
{
	if (!h)
		return;
	vec_each (&h->known, k)
		free(*k);
	vec_done(&h->known);
	vec_done(&h->runs);
	map_done(&h->index);
	walk_heap_free(h->walk);
	free(h->image);
	free(h);
}

static void note_leaf(struct py_heap *h, uint64_t leaf)
{
	uint64_t found;
	const struct known *root;

	if (map_find(&h->index, leaf, &found))
		((struct known *)(uintptr_t)found)->n_leaf++;
	if (!h->frame_type && map_find(&h->index, walk_heap_root(h->walk), &found)) {
		root = (const struct known *)(uintptr_t)found;
		h->frame_type = root->f.type;
	}
}

enum py_look py_heap_look(
	struct py_heap *h, const struct py_view *v, struct py_cost *cost, struct walk *ret)
{
	struct looking looking = { .h = h, .v = v };
	struct walk_heap_callbacks callbacks = { .code = find_code,
		.frame = find_frame,
		.nth = nth_frame,
		.again = read_two,
		.ctx = &looking };
	uint64_t leaf = 0;

	h->look++;
	if (!copy_image(h, v, &leaf))
		return PY_LOOK_FAILED;
	if (!leaf)
		return PY_LOOK_NONE;
	py_cost_look(cost, h->planned_look, h->image, h->n_copied);
	walk_heap_stack(h->walk, v->l, leaf, &callbacks, ret);
	if (!ret->n || ret->is_shortened)
		learn_callers(&looking);
	note_leaf(h, leaf);
	forget(h, v->now_ns);
	return ret->n ? PY_LOOK_STACK : PY_LOOK_LOST;
}
