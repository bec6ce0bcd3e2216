/* SPDX-License-Identifier: MIT
 * See walk.h. */
#include "cpython/walk.h"

#include <string.h>

#include "wire/py_layout.h"
#include "cpython/mem.h"
#include "base/banned.h"

struct frame { /* as it stands in memory */
	uint64_t address;
	uint64_t code, previous, instr;
	/* of the instructions, free-threaded from 3.14 on; 0: the code object's own */
	uint32_t copy;
	bool is_executing; /* up to 3.13 */
	bool has_returned; /* from 3.14 on */
	unsigned owner;
	bool is_entry; /* 3.11 */
	bool can_call; /* it has begun to run its body */
};

struct walker {
	const struct py_layout *l;
	const struct walk_image *image;
	const struct walk_callbacks *c;
	struct walk *out;
	uint64_t top[2];     /* of the data stack, before and after */
	size_t top_chunk[2]; /* where that lies; n_chunks: in one that was not copied */
	size_t chunk;        /* the one walked */
	bool is_too_long;    /* leads_back gave up: more than WALK_HOPS frames outside */
	/* Generator frames between the last frame on the data stack and the one looked at, leaf first. */
	struct frame between[WALK_HOPS];
	size_t n_between;
	uint64_t generator;       /* the last one taken, 0: none */
	uint64_t generator_instr; /* where that stands */
	size_t n_up_to_generator; /* frames taken until then, with it */
};

/* Whether the running frame is marked as executing. */
static bool has_mark(const struct py_layout *l)
{
	return l->frame_stacktop != PY_NONE;
}

static void frame_parse(
	const struct py_layout *l, const unsigned char *p, uint64_t address, struct frame *ret)
{
	int32_t stacktop;

	*ret = (struct frame){ .address = address,
		.code = py_untagged(l, u64_at(p, l->frame_code)),
		.previous = u64_at(p, l->frame_previous),
		.instr = u64_at(p, l->frame_instr),
		.owner = p[l->frame_owner],
		.is_entry = l->frame_is_entry != PY_NONE && p[l->frame_is_entry] };
	if (l->frame_tlbc_index != PY_NONE)
		ret->copy = (uint32_t)i32_at(p, l->frame_tlbc_index);
	if (has_mark(l)) {
		memcpy(&stacktop, p + l->frame_stacktop, 4);
		ret->is_executing = stacktop == -1;
	} else {
		ret->has_returned = ret->code == 0;
	}
}

static const unsigned char *bytes_in(const struct walk_chunk *c, uint64_t address, size_t n)
{
	if (address < c->address || address - c->address > c->n ||
		n > c->n - (address - c->address))
		return NULL;
	return c->bytes + (address - c->address);
}

/* Whether a frame there is on the data stack, copied or not. */
static bool is_in_chunks(const struct walk_image *image, uint64_t address)
{
	for (size_t i = 0; i < image->n_chunks; i++)
		if (address >= image->chunks[i].address &&
			address - image->chunks[i].address < image->chunks[i].size)
			return true;
	return false;
}

/* 0 while the frame is being set up: its instruction still is another frame's, or lies before its own. */
static uint32_t offset_of(
	const struct walker *w, const struct frame *f, const struct walk_code *code)
{
	uint64_t begin = code->code_address, offset;

	if (f->copy && w->c->copy)
		begin = w->c->copy(w->c->ctx, f->code, f->copy, f->instr);
	offset = f->instr - begin;

	return offset < code->n_code_bytes ? (uint32_t)offset : 0;
}

static bool push(struct walker *w, const struct frame *f, const struct walk_code *code)
{
	if (w->out->n == WALK_DEPTH)
		return false;
	w->out->frames[w->out->n++] = (struct walk_frame){ f->code, offset_of(w, f, code) };
	w->out->leaf = f->address;
	w->out->instr = f->instr;
	return true;
}

static bool is_boundary(const struct py_layout *l, unsigned owner)
{
	return l->frame_owner_boundary != PY_NONE && owner >= l->frame_owner_boundary;
}

/* Whether `previous` of a frame leads back to the frame at `to` (0: the root), over frames outside the
 * data stack. Generator frames on the way are kept in `between`; *ret_through_c says that a C-level eval
 * lies between, so that the caller may look as if it executed. */
static bool leads_back(struct walker *w, uint64_t previous, uint64_t to, bool *ret_through_c)
{
	w->n_between = 0;
	*ret_through_c = false;
	for (int hops = 0; previous != to; hops++) {
		const unsigned char *p;
		struct frame f;

		if (previous == 0 || is_in_chunks(w->image, previous))
			return false;
		w->is_too_long = hops == WALK_HOPS;
		if (w->is_too_long)
			return false;
		p = w->c->outside(w->c->ctx, previous);
		if (!p)
			return false;
		frame_parse(w->l, p, previous, &f);
		if (is_boundary(w->l, f.owner))
			*ret_through_c = true;
		else if (f.owner == w->l->frame_owner_generator)
			w->between[w->n_between++] = f;
		else
			return false;
		if (f.is_entry)
			*ret_through_c = true;
		previous = f.previous;
	}
	return true;
}

static void note_generator(struct walker *w, const struct frame *f)
{
	struct walk *out = w->out;

	w->generator = f->address;
	w->generator_instr = f->instr;
	w->n_up_to_generator = out->n;
	if (out->n_generators < WALK_GENERATORS)
		out->generators[out->n_generators++] = f->address;
}

static bool push_between(struct walker *w)
{
	while (w->n_between) {
		const struct frame *f = &w->between[--w->n_between];
		const struct walk_code *code = w->c->code(w->c->ctx, f->code);

		if (!code || !push(w, f, code))
			return false;
		note_generator(w, f);
	}
	return true;
}

/* Chunks lie anywhere, so addresses in different ones say nothing about their order. */
static size_t chunk_of_top(const struct walk_image *image, uint64_t top)
{
	for (size_t i = 0; i < image->n_chunks; i++)
		if (top > image->chunks[i].address &&
			top - image->chunks[i].address <= image->chunks[i].n)
			return i;
	return top ? image->n_chunks : 0;
}

/* By one reading of the top. A chunk that is not the newest notes where its last frame ends. */
static bool is_above(const struct walker *w, uint64_t address, int reading)
{
	const struct walk_chunk *c = &w->image->chunks[w->chunk];

	if (w->chunk == w->top_chunk[reading])
		return address >= w->top[reading];
	if (w->chunk > w->top_chunk[reading] || c->n < w->l->chunk_data)
		return true;
	return address >= c->address + w->l->chunk_data + 8 * u64_at(c->bytes, w->l->chunk_top);
}

/* Dead frames stay in memory behind the top, linked as when they lived. A frame above both readings of
 * the top is dead; between them it may have been either. */
static bool is_above_top(const struct walker *w, uint64_t address)
{
	return is_above(w, address, 0) && is_above(w, address, 1);
}

/* A frame that is there by one reading and not by the other came or went while the image was copied:
 * what lies behind it says nothing. */
static bool is_changing(const struct walker *w, uint64_t address)
{
	return is_above(w, address, 0) || is_above(w, address, 1);
}

/* Room was taken for a frame that is not linked yet, and for no more than one: the caller is busy
 * calling. With more behind it the stack goes on where it cannot be followed. */
static bool is_being_made(const struct walker *w, uint64_t address)
{
	const uint64_t one = w->l->frame_localsplus + 32 * 8; /* with the usual number of locals */

	for (int i = 0; i < 2; i++)
		if (w->chunk != w->top_chunk[i] || w->top[i] > address + one)
			return false;
	return true;
}

/* Copied after both readings of the top: what lies above them came later than its caller was seen. */
static bool is_late(const struct walker *w, uint64_t address)
{
	const struct walk_image *image = w->image;

	return w->chunk + 1 == image->n_chunks &&
		address - image->chunks[w->chunk].address >= image->n_at_once;
}

/* Not while it is being set up, nor when it has returned. */
static bool can_call(const struct frame *f, const struct walk_code *code, uint32_t offset)
{
	uint32_t unit = offset / 2;

	if (offset <= code->n_setup_bytes)
		return false;
	return f->is_executing || !code->returns || !(code->returns[unit / 64] >> unit % 64 & 1);
}

enum step { STEP_TAKEN, STEP_END, STEP_CUT };

/* Takes the frame at `address` if it is the live callee of *last; *last and *ret_next move on. */
static enum step step(struct walker *w, uint64_t address, struct frame *last, uint64_t *ret_next)
{
	const unsigned char *p =
		bytes_in(&w->image->chunks[w->chunk], address, w->l->frame_localsplus);
	const struct walk_code *code;
	size_t n = w->out->n, n_generators = w->out->n_generators;
	bool through_c;
	struct frame f;

	w->is_too_long = false;
	if (!p)
		return is_above_top(w, address) ? STEP_END : STEP_CUT;
	frame_parse(w->l, p, address, &f);
	if (f.has_returned)
		return is_late(w, address) && !is_changing(w, address) ? STEP_CUT : STEP_END;
	if (last->address && !last->can_call && is_changing(w, address))
		return STEP_END;
	if (f.owner != w->l->frame_owner_thread ||
		!leads_back(w, f.previous, last->address, &through_c))
		return is_above_top(w, address) ||
				(!w->is_too_long &&
					(last->is_executing || is_changing(w, last->address) ||
						is_being_made(w, address)))
			? STEP_END
			: STEP_CUT;
	through_c |= f.is_entry || last->address == 0;
	if (last->is_executing && !through_c && w->n_between == 0)
		return STEP_END; /* left over from a call that returned */
	if (has_mark(w->l) && is_above_top(w, address) &&
		(last->is_executing || !f.is_executing || is_late(w, address)))
		return STEP_END;
	code = w->c->code(w->c->ctx, f.code);
	if (!code)
		return STEP_CUT;
	if (!push_between(w) || !push(w, &f, code)) {
		w->out->n = n;
		w->out->n_generators = n_generators;
		return STEP_CUT;
	}
	f.can_call = can_call(&f, code, w->out->frames[w->out->n - 1].offset);
	*last = f;
	*ret_next = address + code->frame_bytes;
	return STEP_TAKEN;
}

/* A running generator lies outside the data stack, where only the interpreter's own pointer leads: it
 * is the leaf when its links lead back to the last frame taken, or when it was taken and what it called
 * has returned. Otherwise a last frame that does not execute is not the leaf either. */
static void take_generator(struct walker *w, const struct frame *last)
{
	const struct walk_code *code;
	const unsigned char *p;
	bool through_c, is_generator;
	struct frame f;

	if (!w->image->current || is_in_chunks(w->image, w->image->current))
		return;
	if (w->image->current == w->generator && !last->is_executing) {
		w->out->n = w->n_up_to_generator;
		w->out->leaf = w->generator;
		w->out->instr = w->generator_instr;
		w->out->is_shortened = false;
		return;
	}
	w->is_too_long = false;
	p = w->c->outside(w->c->ctx, w->image->current);
	if (p)
		frame_parse(w->l, p, w->image->current, &f);
	if (p && is_boundary(w->l, f.owner))
		return; /* entering or leaving C: no Python code of its own */
	is_generator = p && f.owner == w->l->frame_owner_generator;
	if (!is_generator || !leads_back(w, f.previous, last->address, &through_c)) {
		/* Without a mark: it was running, and has yielded since. */
		bool may_end = has_mark(w->l) ? last->is_executing : is_generator;

		w->out->is_shortened |= w->out->n && (!may_end || w->is_too_long);
		return;
	}
	code = w->c->code(w->c->ctx, f.code);
	w->out->is_shortened = !code || !push_between(w) || !push(w, &f, code);
	if (!w->out->is_shortened)
		note_generator(w, &f);
}

/* Where the first frame of a chunk lies: the root's begins one word late. */
static uint64_t first_in_chunk(const struct walker *w)
{
	return w->image->chunks[w->chunk].address + w->l->chunk_data + (w->chunk == 0 ? 8 : 0);
}

/* Whether the stack may go on in a later chunk than the one walked. */
static bool has_more(const struct walker *w, const struct frame *last)
{
	return !last->is_executing || w->top_chunk[0] > w->chunk || w->top_chunk[1] > w->chunk;
}

/* Whether its end lies in a chunk newer than those that were copied. */
static bool is_end_missing(const struct walker *w, const struct frame *last)
{
	bool before = w->top_chunk[0] == w->image->n_chunks,
	     after = w->top_chunk[1] == w->image->n_chunks;

	return last->is_executing ? before && after : before || after;
}

void walk_stack(const struct py_layout *l, const struct walk_image *image,
	const struct walk_callbacks *c, struct walk *ret)
{
	struct walker w = { .l = l,
		.image = image,
		.c = c,
		.out = ret,
		.top = { image->top_before, image->top_after } };
	struct frame last = { 0 };
	bool is_cut = false;
	uint64_t at;

	ret->n = ret->n_generators = 0;
	ret->is_shortened = false;
	if (image->n_chunks == 0)
		return;
	for (int i = 0; i < 2; i++)
		w.top_chunk[i] = chunk_of_top(image, w.top[i]);
	for (at = first_in_chunk(&w);;) {
		enum step s = step(&w, at, &last, &at);

		is_cut = s == STEP_CUT || (is_cut && s != STEP_TAKEN);
		if (s == STEP_TAKEN)
			continue;
		/* A frame that does not fit the rest of a chunk begins the next one. */
		if (w.chunk + 1 == image->n_chunks || !has_more(&w, &last))
			break;
		w.chunk++;
		at = first_in_chunk(&w);
	}
	ret->is_shortened = is_cut || is_end_missing(&w, &last);
	take_generator(&w, &last);
}
