/* SPDX-License-Identifier: MIT
 * See stack.h. */
#include "cpython/stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/xalloc.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum { READINGS = 32, VALUES_MOST = 1 << 16 };

/* ---- one frame ------------------------------------------------------------------------------- */

static bool is_code(struct objects *o, uint64_t address)
{
	const struct object_type *t = object_type(o, address);

	return t && object_is_static(t, "code");
}

static void parse_frame(const struct py_layout *l, const unsigned char *p, uint64_t address,
	struct stack_frame *ret)
{
	*ret = (struct stack_frame){ .address = address,
		.code = py_untagged(l, u64_at(p, l->frame_code)) };
	if (l->flags & PY_HEAP_FRAMES) {
		ret->lasti = i32_at(p, l->frame_lasti);
		if (l->flags & PY_LASTI_DOUBLED && ret->lasti > 0 && ret->lasti < INT32_MAX / 2)
			ret->lasti *= 2;
	} else {
		ret->instr = u64_at(p, l->frame_instr);
	}
	if (l->frame_tlbc_index != PY_NONE)
		ret->copy = (uint32_t)i32_at(p, l->frame_tlbc_index);
}

/* Frames that are no Python code: where C enters the interpreter. */
static bool is_boundary(const struct py_layout *l, const unsigned char *p)
{
	return l->frame_owner_boundary != PY_NONE && p[l->frame_owner] >= l->frame_owner_boundary;
}

/* Frames that are being set up, and the helper that the interpreter puts under an __init__ it calls
 * itself: their instruction lies before the first that counts. No traceback shows them. */
static bool is_incomplete(struct objects *o, const unsigned char *p, const struct stack_frame *f)
{
	const struct py_layout *l = o->l;
	uint64_t start = f->code + (l->code_adaptive != PY_NONE ? l->code_adaptive : 0);
	uint32_t first;

	if (l->code_firsttraceable == PY_NONE || p[l->frame_owner] == l->frame_owner_generator ||
		mem_read_u32(o->mem, f->code + l->code_firsttraceable, &first) < 0)
		return false;
	return f->instr - start < (uint64_t)first * 2;
}

static int find_leaf(struct objects *o, uint64_t thread, uint64_t *ret)
{
	const struct py_layout *l = o->l;
	uint64_t cframe;
	int failed;

	if (l->thread_frame != PY_NONE)
		return object_word(o, thread, l->thread_frame, ret);
	if (l->thread_current_frame != PY_NONE)
		return object_word(o, thread, l->thread_current_frame, ret);
	failed = object_word(o, thread, l->thread_cframe, &cframe);
	return failed ? failed : object_word(o, cframe, l->cframe_current_frame, ret);
}

/* One reading: how many frames, or -errno when the chain broke. */
static int64_t read_chain(struct objects *o, uint64_t thread, struct stack_frame *ret, size_t most)
{
	const struct py_layout *l = o->l;
	unsigned char p[PY_FRAME_BYTES_MAX];
	uint64_t at;
	size_t n = 0;
	int failed = find_leaf(o, thread, &at);

	for (size_t hops = 0; !failed && at && n < most; hops++) {
		if (hops == 2 * most || at % 8)
			return -ELOOP;
		failed = mem_read(o->mem, at, p, l->frame_localsplus);
		if (failed)
			break;
		/* A frame that ends has lost its link, or will. */
		if (l->flags & PY_HEAP_FRAMES && p[l->frame_state] != l->frame_state_executing)
			return -EAGAIN;
		if (!is_boundary(l, p)) {
			parse_frame(l, p, at, &ret[n]);
			if (!is_code(o, ret[n].code))
				return -EINVAL;
			n += !is_incomplete(o, p, &ret[n]);
		}
		at = u64_at(p, l->frame_previous);
	}
	return failed ? failed : (int64_t)n;
}

static bool is_same(const struct stack_frame *a, const struct stack_frame *b, bool is_leaf)
{
	return a->address == b->address && a->code == b->code &&
		(is_leaf || (a->instr == b->instr && a->lasti == b->lasti));
}

/* How many frames agree, from the root on. */
static size_t count_same(
	const struct stack_frame *a, size_t n_a, const struct stack_frame *b, size_t n_b)
{
	size_t n = 0;

	while (n < n_a && n < n_b && is_same(&a[n_a - 1 - n], &b[n_b - 1 - n], false))
		n++;
	return n;
}

static bool agree(const struct stack_frame *a, size_t n_a, const struct stack_frame *b, size_t n_b)
{
	return n_a == n_b && is_same(&a[0], &b[0], true) &&
		count_same(a + 1, n_a - 1, b + 1, n_b - 1) == n_a - 1;
}

struct reading {
	struct stack_frame *frames;
	size_t n;
};

/* Compares the newest reading with those before: whether it is *ret_state, and with how many frames. */
static size_t compare_readings(const struct reading *all, size_t n, enum stack_state *ret_state)
{
	const struct reading *newest = &all[n - 1];
	size_t best = 0;

	*ret_state = STACK_LOST;
	for (size_t i = 0; i + 1 < n; i++) {
		size_t same = count_same(newest->frames, newest->n, all[i].frames, all[i].n);

		if (agree(newest->frames, newest->n, all[i].frames, all[i].n)) {
			*ret_state = STACK_WHOLE;
			return newest->n;
		}
		if (same > best) {
			*ret_state = STACK_MOVING;
			best = same;
		}
	}
	return best;
}

enum stack_state stack_read(
	struct objects *o, uint64_t thread, struct stack_frame *ret, size_t most, size_t *ret_n)
{
	struct stack_frame *room = xcalloc(most, sizeof *room);
	enum stack_state state = STACK_LOST, found;
	struct reading all[READINGS];
	size_t n_readings = 0;

	*ret_n = 0;
	for (int i = 0; i < READINGS && state != STACK_WHOLE; i++) {
		int64_t n = read_chain(o, thread, room, most);
		size_t same;

		if (n == 0 && n_readings == 0) {
			state = STACK_EMPTY;
			break;
		}
		if (n <= 0)
			continue;
		all[n_readings].n = (size_t)n;
		all[n_readings].frames = xmalloc((size_t)n * sizeof *room);
		memcpy(all[n_readings++].frames, room, (size_t)n * sizeof *room);
		same = compare_readings(all, n_readings, &found);
		if (found == STACK_WHOLE || same > *ret_n) {
			memcpy(ret, room + ((size_t)n - same), same * sizeof *ret);
			*ret_n = same;
			state = found;
		}
	}
	for (size_t i = 0; i < n_readings; i++)
		free(all[i].frames);
	free(room);
	return state;
}

/* ---- coroutines ------------------------------------------------------------------------------ */

static bool is_coroutine(const struct object_type *t)
{
	return object_is_static(t, "coroutine") || object_is_static(t, "generator") ||
		object_is_static(t, "async_generator");
}

/* The topmost of the values that the suspended frame keeps, `below` that one; 0 when there is none. */
static uint64_t stack_top(
	struct objects *o, const unsigned char *p, uint64_t address, unsigned below)
{
	const struct py_layout *l = o->l;
	uint64_t top, first = address + l->frame_localsplus, value;

	if (l->frame_stackpointer != PY_NONE) {
		top = u64_at(p, l->frame_stackpointer);
	} else if (l->frame_stacktop != PY_NONE) {
		int32_t n = i32_at(p, l->frame_stacktop);

		top = n > 0 && n < VALUES_MOST ? first + (uint64_t)n * 8 : 0;
	} else {
		first = u64_at(p, l->frame_valuestack);
		top = l->frame_valuetop != PY_NONE
			? u64_at(p, l->frame_valuetop)
			: first + 8 * (uint64_t)(uint32_t)i32_at(p, l->frame_stackdepth);
	}
	top -= 8 * (uint64_t)(below + 1);
	if (top < first || top - first > VALUES_MOST * 8 || object_word(o, top, 0, &value) < 0)
		return 0;
	return py_untagged(l, value);
}

static enum coroutine_state state_of(const struct py_layout *l, unsigned char state)
{
	if (state == l->gen_state_created)
		return COROUTINE_CREATED;
	if (state == l->gen_state_executing)
		return COROUTINE_RUNNING;
	if (state == l->gen_state_suspended ||
		(l->gen_state_yield_from != PY_NONE && state == l->gen_state_yield_from))
		return COROUTINE_SUSPENDED;
	return COROUTINE_ENDED;
}

/* 3.8 … 3.10: the frame says whether it runs; the coroutine has none when it has ended. */
static enum coroutine_state heap_state(
	const struct py_layout *l, const unsigned char *p, const struct stack_frame *f)
{
	if (p[l->frame_state] == l->frame_state_executing)
		return COROUTINE_RUNNING;
	return f->lasti < 0 ? COROUTINE_CREATED : COROUTINE_SUSPENDED;
}

int stack_coroutine(struct objects *o, uint64_t coroutine, enum coroutine_state *ret_state,
	struct stack_frame *ret_frame, uint64_t *ret_awaits)
{
	const struct py_layout *l = o->l;
	const struct object_type *t = object_type(o, coroutine);
	unsigned char p[PY_FRAME_BYTES_MAX], state;
	uint64_t frame = coroutine + (l->gen_iframe != PY_NONE ? l->gen_iframe : 0);

	*ret_awaits = 0;
	if (!t || !is_coroutine(t))
		return -EINVAL;
	if (l->gen_frame != PY_NONE) {
		if (object_word(o, coroutine, l->gen_frame, &frame) < 0)
			return -EFAULT;
		*ret_state = COROUTINE_ENDED;
		if (!frame)
			return 0;
	} else {
		if (mem_read(o->mem, coroutine + l->gen_frame_state, &state, 1) < 0)
			return -EFAULT;
		*ret_state = state_of(l, state);
		if (*ret_state == COROUTINE_ENDED)
			return 0;
	}
	if (frame % 8 || mem_read(o->mem, frame, p, l->frame_localsplus) < 0)
		return -EFAULT;
	parse_frame(l, p, frame, ret_frame);
	if (!is_code(o, ret_frame->code))
		return -EINVAL;
	if (l->gen_frame != PY_NONE)
		*ret_state = heap_state(l, p, ret_frame);
	/* From 3.15 on the value to be sent lies above what is awaited. */
	if (*ret_state == COROUTINE_SUSPENDED)
		*ret_awaits = stack_top(o, p, frame, l->minor >= 15 ? 1 : 0);
	return 0;
}
