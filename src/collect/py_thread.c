/* SPDX-License-Identifier: MIT
 * See py_thread.h. */
#include "collect/py_thread.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/xalloc.h"
#include "collect/py_code.h"
#include "cpython/mem.h"
#include "base/banned.h"

enum {
	CHUNK_MOST = 4 << 20,
	HOT_MORE = 1024, /* bytes beyond the top of the last look that are copied with it */
};

static const uint64_t FORGET_NS = 200000000; /* frames outside that were not needed for so long */

struct looking { /* for the walker's callbacks */
	struct py_thread *t;
	const struct py_view *v;
};

static uint64_t u64_at(const unsigned char *p, uint32_t offset)
{
	uint64_t v;

	memcpy(&v, p + offset, 8);
	return v;
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static void set_chunk(struct py_thread *t, size_t i, uint64_t address, uint64_t size)
{
	struct walk_chunk *c = &t->chunks[i];

	if (size > t->capacity[i]) {
		c->bytes = xrealloc((void *)c->bytes, size, 1);
		t->capacity[i] = size;
	}
	c->address = address;
	c->n = size;
}

/* Finds the chain of chunks anew, newest first in memory, root first in our list. */
static void find_chunks(const struct py_view *v, struct py_thread *t, uint64_t newest)
{
	const struct py_layout *l = v->l;
	uint64_t address[WALK_CHUNKS], size[WALK_CHUNKS];
	size_t n = 0;

	for (uint64_t at = newest; at && n < WALK_CHUNKS; n++) {
		unsigned char head[64];

		if (l->chunk_data > sizeof head || mem_read(v->mem, at, head, l->chunk_data) < 0)
			break;
		address[n] = at;
		size[n] = u64_at(head, l->chunk_size);
		if (size[n] < l->chunk_data || size[n] > CHUNK_MOST)
			break;
		at = u64_at(head, l->chunk_previous);
	}
	t->n_chunks = n;
	for (size_t i = 0; i < n; i++)
		set_chunk(t, i, address[n - 1 - i], size[n - 1 - i]);
}

/* ---- one image ------------------------------------------------------------------------------- */

enum { SEGMENTS_MOST = WALK_CHUNKS + PY_THREAD_OUTSIDE + PY_THREAD_CFRAMES + 4 };

struct segments {
	struct iovec local[SEGMENTS_MOST], remote[SEGMENTS_MOST];
	size_t n;
};

static void add_segment(struct segments *s, void *to, uint64_t from, size_t n)
{
	s->local[s->n] = (struct iovec){ to, n };
	s->remote[s->n] = (struct iovec){ (void *)(uintptr_t)from, n };
	s->n++;
}

/* Bytes of the newest chunk that were in use at the last look, and some more. */
static size_t hot_bytes(const struct py_view *v, const struct py_thread *t)
{
	const struct walk_chunk *c = &t->chunks[t->n_chunks - 1];
	uint64_t top = u64_at(t->after, v->l->thread_datastack_top);
	uint64_t used = top > c->address && top - c->address <= c->n ? top - c->address : c->n;

	return used + HOT_MORE < c->n ? used + HOT_MORE : c->n;
}

/* Copies everything in one call, and what belongs together close together: the used part of the newest
 * chunk, the thread state, the frames outside. The rest of the chunk, mostly dead, comes last. The call
 * stops at the first hole, so what may be unmapped by now comes after what must be there; then the rest
 * is read by a call of its own. false when the thread or its chunks could not be read. */
static bool copy_image(const struct py_view *v, struct py_thread *t)
{
	const struct py_layout *l = v->l;
	struct walk_chunk *newest = t->n_chunks ? &t->chunks[t->n_chunks - 1] : NULL;
	size_t hot = newest ? hot_bytes(v, t) : 0, must = 0, n_cframes = 0, all, at;
	struct segments s = { .n = 0 };
	ssize_t copied;

	for (size_t i = 0; i + 1 < t->n_chunks; i++)
		add_segment(&s, (void *)t->chunks[i].bytes, t->chunks[i].address, t->chunks[i].n);
	add_segment(&s, t->before, t->address, l->thread_sizeof);
	if (newest)
		add_segment(&s, (void *)newest->bytes, newest->address, hot);
	add_segment(&s, t->after, t->address, l->thread_sizeof);
	for (size_t i = 0; i < s.n; i++)
		must += s.local[i].iov_len;
	for (int i = 0; i < PY_THREAD_CFRAMES && t->cframes[i].address; i++, n_cframes++)
		add_segment(&s, t->cframes[i].bytes, t->cframes[i].address, l->cframe_sizeof);
	for (size_t i = 0; i < t->n_outside; i++)
		add_segment(&s, t->outside[i].bytes, t->outside[i].address, l->frame_localsplus);
	all = must + t->n_outside * l->frame_localsplus;
	if (n_cframes)
		all += n_cframes * l->cframe_sizeof;
	if (newest && hot < newest->n) {
		add_segment(
			&s, (char *)newest->bytes + hot, newest->address + hot, newest->n - hot);
		all += newest->n - hot;
	}
	copied = mem_readv(v->mem, s.local, s.remote, s.n);
	if (copied < (ssize_t)must)
		return false;
	if (copied < (ssize_t)all && newest && hot < newest->n &&
		mem_read(v->mem, newest->address + hot, (char *)newest->bytes + hot,
			newest->n - hot) < 0)
		return false;
	at = must;
	for (size_t i = 0; i < n_cframes; i++) {
		at += l->cframe_sizeof;
		t->cframes[i].is_copied = (size_t)copied >= at;
	}
	for (size_t i = 0; i < t->n_outside; i++) {
		at += l->frame_localsplus;
		t->outside[i].is_copied = (size_t)copied >= at;
	}
	return true;
}

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	const struct looking *looking = ctx;

	return py_codes_find(looking->v->codes, address);
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
	return o->bytes;
}

static void forget_unused(struct py_thread *t, uint64_t now_ns)
{
	for (size_t i = t->n_outside; i-- > 0;)
		if (now_ns - t->outside[i].used_ns > FORGET_NS)
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
	const struct py_layout *l = v->l;
	const struct py_cframe *found;
	uint64_t cframe;

	if (l->thread_current_frame != PY_NONE)
		return u64_at(t->after, l->thread_current_frame);
	cframe = u64_at(t->after, l->thread_cframe);
	found = cframe_get(v, t, cframe);
	return found ? u64_at(found->bytes, l->cframe_current_frame) : 0;
}

/* ---- the look -------------------------------------------------------------------------------- */

void py_thread_init(
	struct py_thread *t, const struct py_view *v, uint64_t address, const unsigned char *bytes)
{
	*t = (struct py_thread){ .address = address };
	find_chunks(v, t, u64_at(bytes, v->l->thread_datastack_chunk));
}

void py_thread_done(struct py_thread *t)
{
	for (size_t i = 0; i < WALK_CHUNKS; i++)
		free((void *)t->chunks[i].bytes);
}

enum py_look py_thread_look(struct py_thread *t, const struct py_view *v, struct walk *ret)
{
	struct looking looking = { .t = t, .v = v };
	struct walk_callbacks callbacks = {
		.code = find_code, .outside = find_outside, .ctx = &looking
	};
	struct walk_image image = {
		.thread_before = t->before, .thread_after = t->after, .chunks = t->chunks
	};
	uint64_t newest;

	for (size_t i = 0; i < t->n_outside; i++)
		t->outside[i].is_copied = false;
	if (!copy_image(v, t)) {
		t->n_chunks = 0;
		return PY_LOOK_FAILED;
	}
	newest = u64_at(t->after, v->l->thread_datastack_chunk);
	image.n_chunks = t->n_chunks;
	image.current = current_frame(v, t);
	walk_stack(v->l, &image, &callbacks, ret);
	if (newest != (t->n_chunks ? t->chunks[t->n_chunks - 1].address : 0))
		find_chunks(v, t, newest); /* for the next look */
	forget_unused(t, v->now_ns);
	if (ret->n || ret->is_shortened)
		return PY_LOOK_STACK;
	return image.current && image.n_chunks ? PY_LOOK_LOST : PY_LOOK_NONE;
}
