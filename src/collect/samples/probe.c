/* SPDX-License-Identifier: MIT
 * See probe.h. */
#include "collect/samples/probe.h"

#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/xalloc.h"
#include "collect/samples/bytecode.h"
#include "collect/samples/code.h"
#include "cpython/mem.h"
#include "cpython/object.h"
#include "cpython/walk.h"
#include "wire/py_layout.h"
#include "base/banned.h"

enum {
	COPIES = 64,
	FIRST = 16, /* of them: when none of these stands on the instruction, the rest is not made */
	PER_CALL = 4,
	NEEDED =
		20, /* of these must stand on the instruction: then by chance alone, with another object in the
			slot whenever they do not, all show the same one in less than 1 of 1000 */
	AGAIN = 8,               /* copies after the objects were read */
	FRAME_BYTES_MOST = 2048, /* larger ones are left alone */
	HABITS = 256,
	OFTEN = 16, /* tries at one instruction, then it waits longer and longer */
};

static const uint64_t TYPES_NS = 2000000000; /* what is known of types is forgotten so often */

/* Between two tries at one instruction that was tried often already, at least and at most. */
static const uint64_t PAUSE_LEAST_NS = 50000000, PAUSE_MOST_NS = 2000000000;

struct habit { /* how often an instruction was tried */
	uint64_t instr;
	uint32_t n;
	uint64_t next_ns, pause_ns;
};

struct py_probes {
	struct habit habits[HABITS]; /* by address, the newest */
	const struct py_layout *l;
	const struct mem *mem;
	struct objects objects;
	uint64_t types_ns;
	uint64_t random;
	unsigned char image[COPIES][FRAME_BYTES_MOST];
};

struct site { /* where a thread stands */
	uint64_t frame, code;
	uint64_t instr; /* as the frame has it while it stands there */
	const struct py_bytecode *bytecode;
	const struct instruction *at;
	struct operands operands;
	uint32_t n_bytes; /* of a copy */
};

struct slots {
	uint32_t n_seen; /* copies that stand on the instruction … */
	size_t last;     /* … and the last of them */
	uint64_t value[OPERANDS_SLOTS];
	bool changed[OPERANDS_SLOTS];
};

static bool find_site(
	const struct py_probes *p, struct py_codes *codes, const struct walk *w, struct site *ret)
{
	const struct walk_frame *leaf = &w->frames[w->n - 1];
	const struct walk_code *code = py_codes_find(codes, leaf->code);

	*ret = (struct site){ .frame = w->leaf, .code = leaf->code };
	ret->bytecode = code ? py_codes_bytecode(codes, leaf->code) : NULL;
	if (!ret->bytecode)
		return false;
	ret->at = bytecode_running(&ret->bytecode->code, leaf->offset);
	if (!ret->at || !operands_find(ret->bytecode->opcodes, ret->at, &ret->operands))
		return false;
	if (p->l->frame_instr != PY_NONE)
		ret->instr = w->instr;
	else
		ret->instr = p->l->flags & PY_LASTI_DOUBLED ? leaf->offset / 2 : leaf->offset;
	ret->n_bytes = ret->bytecode->stack_at + 8 * (ret->operands.first + ret->operands.n);
	return ret->n_bytes <= FRAME_BYTES_MOST;
}

/* Whether the frame runs this instruction, and the stack is as deep as the code says where that can be seen. */
static bool stands_there(const struct py_layout *l, const struct site *s, const unsigned char *p)
{
	uint64_t top = s->frame + s->bytecode->stack_at;

	if (py_untagged(l, u64_at(p, l->frame_code)) != s->code)
		return false;
	if (l->frame_instr == PY_NONE)
		return (uint64_t)i32_at(p, l->frame_lasti) == s->instr &&
			p[l->frame_state] == l->frame_state_executing &&
			u64_at(p, l->frame_valuestack) == top;
	if (u64_at(p, l->frame_instr) != s->instr)
		return false;
	if (l->frame_stacktop != PY_NONE)
		return i32_at(p, l->frame_stacktop) == -1;
	return u64_at(p, l->frame_stackpointer) == top + 8 * (uint64_t)(uint32_t)s->at->depth;
}

/* Up to some hundred nanoseconds. */
static void pause_a_little(struct py_probes *p)
{
	p->random = p->random * 6364136223846793005u + 1442695040888963407u;
	for (uint64_t n = p->random >> 55; n; n--)
		__asm__ volatile("" ::: "memory");
}

/* A few per call, and not at even distances: short loops of the program fall into step with what is even. */
static bool copy_frame(struct py_probes *p, const struct site *s, size_t from, size_t n)
{
	struct iovec local[PER_CALL], remote[PER_CALL];

	for (size_t at = from; at < n; at += PER_CALL) {
		for (size_t i = 0; i < PER_CALL; i++) {
			local[i] = (struct iovec){ p->image[at + i], s->n_bytes };
			remote[i] = (struct iovec){ (void *)(uintptr_t)s->frame, s->n_bytes };
		}
		if (mem_readv(p->mem, local, remote, PER_CALL) != (ssize_t)(PER_CALL * s->n_bytes))
			return false;
		pause_a_little(p);
	}
	return true;
}

/* What the copies from `first` on that stand on the instruction agree on. */
static void compare_copies(
	const struct py_probes *p, const struct site *s, size_t first, size_t n, struct slots *ret)
{
	uint32_t from = s->bytecode->stack_at + 8 * s->operands.first;

	for (size_t i = first; i < n; i++) {
		if (!stands_there(p->l, s, p->image[i]))
			continue;
		for (uint32_t k = 0; k < s->operands.n; k++) {
			uint64_t value = u64_at(p->image[i], from + 8 * k);

			if (!ret->n_seen)
				ret->value[k] = value;
			else if (ret->value[k] != value)
				ret->changed[k] = true;
		}
		ret->n_seen++;
		ret->last = i;
	}
}

/* Objects that are certainly not called: the slot held something else. */
static bool cannot_be_called(struct objects *o, uint64_t address)
{
	const uint64_t data = TYPE_LONG_SUBCLASS | TYPE_LIST_SUBCLASS | TYPE_TUPLE_SUBCLASS |
		TYPE_BYTES_SUBCLASS | TYPE_UNICODE_SUBCLASS | TYPE_DICT_SUBCLASS;
	const struct object_type *t = object_type(o, address);

	return !t || (object_is(t, data) && !object_is(t, TYPE_HEAPTYPE)) ||
		object_is_static(t, "float") || object_is_static(t, "NoneType");
}

static bool describe(struct py_probes *p, const struct site *s, const struct operand *x,
	uint64_t value, struct description *ret)
{
	uint64_t address = py_untagged(p->l, value);
	bool is_named;

	if (p->l->flags & PY_STACKREF_TAGGED && (value & 3) == 3)
		return false; /* an int that the reference itself carries */
	if (x->number || s->operands.kind != OPERANDS_CALL)
		return describe_object(&p->objects, address, ret);
	if (cannot_be_called(&p->objects, address))
		return false;
	is_named = describe_callee(&p->objects, address, ret); /* some have no name */
	return *ret->type && (is_named || x->slot > 0);
}

/* Whether the first slot may hold the result already. A thread that stands still, because another one has its CPU, may
 * do so just there. */
static bool is_first_sure(
	const struct py_probes *p, const struct site *s, const struct slots *slots)
{
	uint32_t local;

	switch (operands_origin(
		s->bytecode->opcodes, &s->bytecode->code, s->at, &s->operands, &local)) {
	case ORIGIN_NULL:
		return !py_untagged(p->l, slots->value[0]);
	case ORIGIN_LOCAL:
		return 8 * (uint64_t)local + p->l->frame_localsplus < s->bytecode->stack_at &&
			py_untagged(p->l,
				u64_at(p->image[slots->last],
					p->l->frame_localsplus + 8 * local)) ==
			py_untagged(p->l, slots->value[0]);
	case ORIGIN_UNKNOWN:
		break;
	}
	/* A callee proves itself; of the others many looks at a thread that moves must agree. */
	return s->operands.kind == OPERANDS_CALL || slots->n_seen < COPIES;
}

static size_t find_operands(const struct py_probes *p, const struct site *s,
	const struct slots *slots, struct operand ret[OPERANDS_MOST])
{
	enum slot_state states[OPERANDS_SLOTS];

	for (uint32_t k = 0; k < s->operands.n; k++)
		states[k] = slots->changed[k]                 ? SLOT_UNKNOWN
			: !py_untagged(p->l, slots->value[k]) ? SLOT_NULL
							      : SLOT_OBJECT;
	return operands_name(s->bytecode->opcodes, s->at, &s->operands, states, ret);
}

static enum py_probed describe_operands(
	struct py_probes *p, const struct site *s, struct slots *slots, struct py_probe *ret)
{
	struct operand operands[OPERANDS_MOST];
	struct slots again;
	size_t n;

	if (!slots->changed[0] && !is_first_sure(p, s, slots))
		slots->changed[0] = true;
	n = find_operands(p, s, slots, operands);
	ret->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (slots->changed[operands[i].slot])
			continue;
		if (!describe(p, s, &operands[i], slots->value[operands[i].slot],
			    &ret->v[ret->n].what))
			return PY_PROBE_DROPPED;
		ret->v[ret->n++].number = operands[i].number;
	}
	again = *slots;
	if (!ret->n || !copy_frame(p, s, 0, AGAIN))
		return PY_PROBE_DROPPED;
	compare_copies(p, s, 0, AGAIN, &again);
	if (again.n_seen == slots->n_seen ||
		memcmp(again.changed, slots->changed, sizeof again.changed) != 0)
		return PY_PROBE_DROPPED;
	return PY_PROBE_TAKEN;
}

/* Whether it is this instruction's turn: what was seen often tells little that is new. */
static bool is_due(struct py_probes *p, const struct site *s, uint64_t now_ns)
{
	uint64_t key = s->code + s->at->offset;
	struct habit *h = &p->habits[(key * 0x9e3779b97f4a7c15u) >> 56];

	if (h->instr != key)
		*h = (struct habit){ .instr = key };
	if (now_ns < h->next_ns)
		return false;
	if (++h->n % OFTEN == 0)
		h->pause_ns = h->pause_ns ? 2 * h->pause_ns : PAUSE_LEAST_NS;
	if (h->pause_ns > PAUSE_MOST_NS)
		h->pause_ns = PAUSE_MOST_NS;
	h->next_ns = now_ns + h->pause_ns;
	return true;
}

enum py_probed py_probe_take(struct py_probes *p, struct py_codes *codes, const struct walk *w,
	uint64_t now_ns, struct py_probe *ret)
{
	struct slots slots = { 0 };
	struct site s;

	if (!w->n || !find_site(p, codes, w, &s) || !is_due(p, &s, now_ns))
		return PY_PROBE_NONE;
	if (now_ns >= p->types_ns) {
		objects_done(&p->objects);
		objects_init(&p->objects, p->mem, p->l);
		p->types_ns = now_ns + TYPES_NS;
	}
	if (!copy_frame(p, &s, 0, FIRST))
		return PY_PROBE_DROPPED;
	compare_copies(p, &s, 0, FIRST, &slots);
	if (!slots.n_seen || !copy_frame(p, &s, FIRST, COPIES))
		return PY_PROBE_DROPPED;
	compare_copies(p, &s, FIRST, COPIES, &slots);
	return slots.n_seen < NEEDED ? PY_PROBE_DROPPED : describe_operands(p, &s, &slots, ret);
}

struct py_probes *py_probes_new(const struct py_layout *l, const struct mem *m)
{
	struct py_probes *p = xcalloc(1, sizeof *p);

	p->l = l;
	p->mem = m;
	objects_init(&p->objects, m, l);
	return p;
}

void py_probes_free(struct py_probes *p)
{
	if (!p)
		return;
	objects_done(&p->objects);
	free(p);
}
