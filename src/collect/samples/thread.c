/* SPDX-License-Identifier: MIT
 * See thread.h. */
#include "collect/samples/thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/xalloc.h"
#include "collect/samples/code.h"
#include "collect/samples/heap.h"
#include "cpython/mem.h"
#include "base/banned.h"

enum {
	CHUNK_MOST = 4 << 20,
	MORE = 1024, /* bytes beyond the top of the last look that are copied with it */
	REACH_LOOKS = 1024,
	USUAL_LOOKS = 64,
	ASK_SAVES = 1024, /* bytes that asking for the top first must save, to be worth a call */
	AHEAD_MORE = 256, /* after a look that had expected too little … */
	AHEAD_LESS = 8,   /* … and after each that had not: so one in 32 does */
	AHEAD_LESS_LATER =
		2, /* from 3.14 on, one in 128: there what grew beyond is more often cut */
	AHEAD_LEAST = 256,
};

/* Frames outside that were not needed for so long, or in so many looks. */
static const uint64_t FORGET_NS = 200000000;
static const uint64_t FORGET_LOOKS = 64;

struct fields { /* a stretch of the thread state */
	uint32_t from, end;
};

struct looking { /* for the walker's callbacks */
	struct py_thread *t;
	const struct py_view *v;
};

/* ---- chunks ---------------------------------------------------------------------------------- */

static void set_chunk(struct py_thread *t, size_t i, uint64_t address, uint64_t size)
{
	struct walk_chunk *c = &t->chunks[i];

	if (size > t->capacity[i]) {
		c->bytes = xrealloc((void *)c->bytes, size, 1);
		t->capacity[i] = size;
	}
	c->address = address;
	c->n = 0;
	c->size = size;
}

static size_t chunk_index(const struct py_thread *t, uint64_t address)
{
	size_t i = 0;

	while (i < t->n_chunks && t->chunks[i].address != address)
		i++;
	return i;
}

/* Takes up the chain of chunks that ends at `newest`: those known already stay as they are, with the
 * bytes that were copied; those above, newest first in memory, are added. */
static void follow_chunks(const struct py_view *v, struct py_thread *t, uint64_t newest)
{
	const struct py_layout *l = v->l;
	uint64_t address[WALK_CHUNKS], size[WALK_CHUNKS];
	size_t n = 0, known = t->n_chunks;

	for (uint64_t at = newest; at && n < WALK_CHUNKS; n++) {
		unsigned char head[64];

		known = chunk_index(t, at);
		if (known < t->n_chunks)
			break;
		if (l->chunk_data > sizeof head || mem_read(v->mem, at, head, l->chunk_data) < 0)
			break;
		address[n] = at;
		size[n] = u64_at(head, l->chunk_size);
		if (size[n] < l->chunk_data || size[n] > CHUNK_MOST)
			break;
		at = u64_at(head, l->chunk_previous);
	}
	t->n_chunks = known < t->n_chunks ? known + 1 : 0;
	for (size_t i = n; i-- > 0 && t->n_chunks < WALK_CHUNKS;)
		set_chunk(t, t->n_chunks++, address[i], size[i]);
}

/* ---- one image ------------------------------------------------------------------------------- */

enum { SEGMENTS_MOST = WALK_CHUNKS + PY_THREAD_OUTSIDE + PY_THREAD_CFRAMES + PY_VIEW_ALONG + 4 };

struct segments {
	struct iovec local[SEGMENTS_MOST], remote[SEGMENTS_MOST];
	size_t n, bytes;
};

static void add_segment(struct segments *s, void *to, uint64_t from, size_t n)
{
	s->local[s->n] = (struct iovec){ to, n };
	s->remote[s->n] = (struct iovec){ (void *)(uintptr_t)from, n };
	s->n++;
	s->bytes += n;
}

static void add_chunk(struct segments *s, struct py_thread *t, size_t i, size_t n)
{
	add_segment(s, (void *)t->chunks[i].bytes, t->chunks[i].address, n);
	t->chunks[i].n = n;
}

/* Bytes of chunk i up to `top` and `more`, all of it when top lies elsewhere. */
static size_t bytes_up_to(const struct py_thread *t, size_t i, uint64_t top, size_t more)
{
	uint64_t address = t->chunks[i].address, size = t->chunks[i].size;
	uint64_t used = top > address && top - address <= size ? top - address : size;

	return used + more < size ? used + more : size;
}

/* By both readings of the top. */
static size_t bytes_in_use(const struct py_thread *t, size_t i)
{
	uint64_t before = t->top_before - t->chunks[i].address;
	size_t n = bytes_up_to(t, i, t->top_after, 0);

	return before <= t->chunks[i].size && before > n ? before : n;
}

static uint32_t running_at(const struct py_layout *l)
{
	return l->thread_current_frame != PY_NONE ? l->thread_current_frame : l->thread_cframe;
}

/* Where the fields of the thread state lie that a look needs: newest chunk, top, what runs, its number. */
static struct fields fields_of(const struct py_layout *l)
{
	uint32_t at[] = { l->thread_datastack_chunk, l->thread_datastack_top, running_at(l),
		l->thread_number };
	struct fields f = { .from = at[0], .end = at[0] + 8 };

	for (size_t i = 1; i < sizeof at / sizeof *at; i++) {
		if (at[i] == PY_NONE)
			continue;
		f.from = at[i] < f.from ? at[i] : f.from;
		f.end = at[i] + 8 > f.end ? at[i] + 8 : f.end;
	}
	return f;
}

static uint64_t field(const struct py_thread *t, const struct py_layout *l, uint32_t offset)
{
	return u64_at(t->fields, offset - fields_of(l).from);
}

/* Whether the top lies in the newest chunk. */
static bool is_in_newest(const struct py_thread *t, uint64_t top)
{
	size_t newest = t->n_chunks - 1;

	return top > t->chunks[newest].address &&
		top - t->chunks[newest].address <= t->chunks[newest].size;
}

/* Asks where the stack ends, if that spares many bytes above its end from being copied. */
static void ask_top(const struct py_view *v, struct py_thread *t)
{
	uint64_t top;

	t->is_asked = t->n_chunks && t->reach > t->usual + t->ahead + ASK_SAVES &&
		mem_read_u64(v->mem, t->address + v->l->thread_datastack_top, &top) == 0 &&
		is_in_newest(t, top);
	if (t->is_asked)
		t->top_after = top;
}

/* Bytes of the newest chunk to be copied: what is in use as far as is known and a little more, and, unless the
 * top was just asked for, what was in use lately, should the stack have grown. */
static size_t bytes_at_once(const struct py_thread *t)
{
	size_t newest = t->n_chunks - 1,
	       n = bytes_up_to(t, newest, t->top_after, t->is_asked ? t->ahead : MORE);

	if (!t->is_asked && t->reach > n)
		n = t->reach < t->chunks[newest].size ? t->reach : t->chunks[newest].size;
	return n;
}

/* Where no mark tells which frame runs, a frame without code has returned, and that alone ends the stack: then the top is
 * read after the frames only. Each call and each return writes it; reading it takes its cache line from the thread, whose next
 * call then waits at that store, with all stores behind it, the new frame's among them. Frames read meanwhile would look as if
 * their callers ran: 39 % instead of 15 % of the time of a function that calls short ones (decision 0057). */
static bool reads_top_before(const struct py_layout *l)
{
	return l->frame_stacktop != PY_NONE;
}

/* What must be there comes first: the call stops at the first hole. Close together stands what belongs
 * together: the part of the newest chunk that was in use, where it ends, which frame runs. */
static void plan(const struct py_view *v, struct py_thread *t, struct segments *s)
{
	const struct py_layout *l = v->l;
	struct fields f = fields_of(l);

	for (size_t i = 0; i + 1 < t->n_chunks; i++)
		add_chunk(s, t, i, t->chunks[i].size);
	if (reads_top_before(l))
		add_segment(s, &t->top_before, t->address + l->thread_datastack_top, 8);
	if (t->n_chunks)
		add_chunk(s, t, t->n_chunks - 1, bytes_at_once(t));
	add_segment(s, t->fields, t->address + f.from, f.end - f.from);
}

/* Copies what the image lacks: the stack grew more than it did lately, or into a new chunk. */
static bool complete(const struct py_view *v, struct py_thread *t)
{
	uint64_t newest = field(t, v->l, v->l->thread_datastack_chunk);
	struct segments s = { .n = 0 };

	if (newest != (t->n_chunks ? t->chunks[t->n_chunks - 1].address : 0)) {
		follow_chunks(v, t, newest);
		/* A new chunk is copied late as a whole, an older one was copied early as a whole. */
		t->n_at_once = t->n_chunks ? t->chunks[t->n_chunks - 1].n : 0;
	}
	for (size_t i = 0; i < t->n_chunks; i++) {
		struct walk_chunk *c = &t->chunks[i];
		size_t need = bytes_in_use(t, i);

		if (need <= c->n || s.n == SEGMENTS_MOST)
			continue;
		add_segment(&s, (char *)c->bytes + c->n, c->address + c->n, need - c->n);
		c->n = need;
	}
	return s.n == 0 || mem_readv(v->mem, s.local, s.remote, s.n) == (ssize_t)s.bytes;
}

/* How far the newest chunk was in use lately, at most (forgotten slowly) and on average; and whether as much
 * as was copied at once was enough. */
static void note_use(const struct py_layout *l, struct py_thread *t)
{
	size_t in_use = t->n_chunks ? bytes_in_use(t, t->n_chunks - 1) : 0;

	t->reach -= t->reach / REACH_LOOKS;
	if (in_use + MORE > t->reach)
		t->reach = in_use + MORE;
	t->usual += in_use / USUAL_LOOKS - t->usual / USUAL_LOOKS;
	if (t->is_asked && in_use > t->n_at_once)
		t->ahead += AHEAD_MORE;
	else if (t->ahead > AHEAD_LEAST)
		t->ahead -= l->flags & PY_STACKREF_TAGGED ? AHEAD_LESS_LATER : AHEAD_LESS;
}

/* false when the thread or its chunks could not be read. */
static bool copy_image(const struct py_view *v, struct py_thread *t)
{
	const struct py_layout *l = v->l;
	struct segments s = { .n = 0 };
	size_t must, n_cframes = 0;
	uint64_t asked, last_top = 0;
	ssize_t copied;

	ask_top(v, t);
	plan(v, t, &s);
	t->n_at_once = t->n_chunks ? t->chunks[t->n_chunks - 1].n : 0;
	must = s.bytes;
	for (; n_cframes < PY_THREAD_CFRAMES && t->cframes[n_cframes].address; n_cframes++)
		add_segment(&s, t->cframes[n_cframes].bytes, t->cframes[n_cframes].address,
			l->cframe_sizeof);
	for (size_t i = 0; i < t->n_outside; i++)
		add_segment(&s, t->outside[i].bytes, t->outside[i].address, l->frame_localsplus);
	for (size_t i = 0; i < v->n_along && !v->is_along_fresh; i++)
		add_segment(&s, v->along_to[i].iov_base, (uintptr_t)v->along_from[i].iov_base,
			v->along_to[i].iov_len);
	if (!reads_top_before(l)) /* once more, since a thread whose top moves runs */
		add_segment(&s, &last_top, t->address + l->thread_datastack_top, 8);
	copied = mem_readv(v->mem, s.local, s.remote, s.n);
	if (copied < (ssize_t)must)
		return false;
	if (t->number && field(t, l, l->thread_number) != t->number)
		return false;
	t->has_moved = t->is_asked && reads_top_before(l) && t->top_before != t->top_after;
	if (copied < (ssize_t)s.bytes && v->n_along && !v->is_along_fresh) /* a hole before them */
		mem_readv(v->mem, v->along_to, v->along_from, v->n_along);
	for (size_t i = 0; i < n_cframes; i++) {
		must += l->cframe_sizeof;
		t->cframes[i].is_copied = (size_t)copied >= must;
	}
	for (size_t i = 0; i < t->n_outside; i++) {
		must += l->frame_localsplus;
		t->outside[i].is_copied = (size_t)copied >= must;
	}
	asked = t->top_after;
	t->top_after = field(t, l, l->thread_datastack_top);
	if (!reads_top_before(l))
		t->top_before = t->is_asked ? asked : t->top_after;
	t->has_moved |= t->top_before != t->top_after || (last_top && last_top != t->top_after);
	if (!complete(v, t))
		return false;
	note_use(l, t);
	if (t->n_chunks)
		py_cost_look(&t->cost, t->chunks[t->n_chunks - 1].address,
			t->chunks[t->n_chunks - 1].bytes, t->n_at_once);
	return true;
}

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	const struct looking *looking = ctx;

	return py_codes_find(looking->v->codes, address);
}

static uint64_t find_copy(void *ctx, uint64_t code, uint32_t index, uint64_t instr)
{
	const struct looking *looking = ctx;

	return py_codes_copy(looking->v->codes, code, index, instr);
}

static struct py_outside *oldest(struct py_thread *t)
{
	struct py_outside *found = &t->outside[0];

	for (size_t i = 1; i < t->n_outside; i++)
		if (t->outside[i].used_ns < found->used_ns)
			found = &t->outside[i];
	return found;
}

/* From the image, or read now and copied along from the next look on. */
static const unsigned char *find_outside(void *ctx, uint64_t address)
{
	const struct looking *looking = ctx;
	const struct py_view *v = looking->v;
	struct py_thread *t = looking->t;
	struct py_outside *o = NULL;

	for (size_t i = 0; i < t->n_outside && !o; i++)
		if (t->outside[i].address == address)
			o = &t->outside[i];
	if (!o) {
		o = t->n_outside < PY_THREAD_OUTSIDE ? &t->outside[t->n_outside++] : oldest(t);
		*o = (struct py_outside){ .address = address };
	}
	if (!o->is_copied && mem_read(v->mem, address, o->bytes, v->l->frame_localsplus) < 0)
		return NULL;
	o->is_copied = true;
	o->used_ns = v->now_ns;
	o->used_look = t->look;
	return o->bytes;
}

static void forget_unused(struct py_thread *t, uint64_t now_ns)
{
	for (size_t i = t->n_outside; i-- > 0;)
		if (now_ns - t->outside[i].used_ns > FORGET_NS ||
			t->look - t->outside[i].used_look > FORGET_LOOKS)
			t->outside[i] = t->outside[--t->n_outside];
}

/* From the image, or read now and copied along from the next look on. */
static const struct py_cframe *cframe_get(
	const struct py_view *v, struct py_thread *t, uint64_t address)
{
	uint32_t size = v->l->cframe_sizeof;
	struct py_cframe *newest = &t->cframes[0];

	for (int i = 0; i < PY_THREAD_CFRAMES; i++)
		if (t->cframes[i].address == address && t->cframes[i].is_copied)
			return &t->cframes[i];
	if (!address || size > sizeof newest->bytes)
		return NULL;
	if (newest->address != address)
		memmove(newest + 1, newest, (PY_THREAD_CFRAMES - 1) * sizeof *newest);
	newest->address = address;
	newest->is_copied = mem_read(v->mem, address, newest->bytes, size) == 0;
	return newest->is_copied ? newest : NULL;
}

/* The running frame's address: in the thread state, or (3.11, 3.12) behind a pointer to the C stack. */
static uint64_t current_frame(const struct py_view *v, struct py_thread *t)
{
	const struct py_cframe *found;

	if (v->l->thread_current_frame != PY_NONE)
		return field(t, v->l, v->l->thread_current_frame);
	found = cframe_get(v, t, field(t, v->l, v->l->thread_cframe));
	return found ? u64_at(found->bytes, v->l->cframe_current_frame) : 0;
}

/* ---- the look -------------------------------------------------------------------------------- */

void py_thread_init(
	struct py_thread *t, const struct py_view *v, uint64_t address, const unsigned char *bytes)
{
	*t = (struct py_thread){ .address = address, .ahead = AHEAD_LEAST };
	if (v->l->flags & PY_HEAP_FRAMES) {
		t->heap = py_heap_new(v->l, address);
		return;
	}
	t->top_after = u64_at(bytes, v->l->thread_datastack_top);
	follow_chunks(v, t, u64_at(bytes, v->l->thread_datastack_chunk));
}

void py_thread_done(struct py_thread *t)
{
	py_heap_free(t->heap);
	py_cost_done(&t->cost);
	for (size_t i = 0; i < WALK_CHUNKS; i++)
		free((void *)t->chunks[i].bytes);
}

/* By both readings no frame is on the data stack. */
static bool is_empty(const struct py_layout *l, const struct py_thread *t)
{
	uint64_t first = t->n_chunks ? t->chunks[0].address + l->chunk_data + 8 : 0;

	return !t->n_chunks ||
		(t->n_chunks == 1 && t->top_before <= first && t->top_after <= first);
}

/* A chunk that is not there any more (a greenlet has chunks of its own, and takes them along when it ends) must not cost the look: then
 * the chunks are looked for anew. */
static bool copy_anyhow(const struct py_view *v, struct py_thread *t)
{
	if (copy_image(v, t))
		return true;
	if (t->n_chunks) {
		t->n_chunks = 0;
		if (copy_image(v, t))
			return true;
	}
	t->n_chunks = 0;
	return false;
}

enum py_look py_thread_look(struct py_thread *t, const struct py_view *v, struct walk *ret)
{
	struct looking looking = { .t = t, .v = v };
	struct walk_callbacks callbacks = {
		.code = find_code, .outside = find_outside, .ctx = &looking, .copy = find_copy
	};
	struct walk_image image = { .chunks = t->chunks };
	struct fields f = fields_of(v->l);

	if (t->heap)
		return py_heap_look(t->heap, v, &t->cost, ret);
	t->look++;
	for (size_t i = 0; i < t->n_outside; i++)
		t->outside[i].is_copied = false;
	if (f.end - f.from > sizeof t->fields || !copy_anyhow(v, t))
		return PY_LOOK_FAILED;
	image.top_before = t->top_before;
	image.top_after = t->top_after;
	image.n_at_once = t->n_at_once;
	image.n_chunks = t->n_chunks;
	image.current = current_frame(v, t);
	walk_stack(v->l, &image, &callbacks, ret);
	/* The same image with what was just learned: a freed code object's address is used again. */
	while (ret->is_shortened && ret->n &&
		py_codes_check(v->codes, ret->frames[ret->n - 1].code))
		walk_stack(v->l, &image, &callbacks, ret);
	forget_unused(t, v->now_ns);
	if (ret->n || ret->is_shortened)
		return PY_LOOK_STACK;
	return image.current && !is_empty(v->l, t) ? PY_LOOK_LOST : PY_LOOK_NONE;
}
