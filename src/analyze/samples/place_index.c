/* SPDX-License-Identifier: MIT
 * See place_index.h. */
#include "analyze/samples/place_index.h"

#include "analyze/samples/stacks.h"
#include "wire/records.h"
#include "base/banned.h"

struct key {
	uint32_t stack, leaf_code, leaf_offset, thread_row, is_off_cpu;
};

static struct key key_of(const struct stacks *s, size_t place)
{
	const struct stack_place *p = &s->v[place];

	return (struct key){ p->stack, p->leaf_code, p->leaf_offset, s->threads[p->thread].row,
		p->is_off_cpu };
}

static bool find(const struct place_index *p, const struct key *key, size_t *ret)
{
	uint32_t id;

	if (!intern_find(&p->keys, key, sizeof *key, &id))
		return false;
	*ret = id;
	return true;
}

void place_index_init(struct place_index *p, const struct stacks *s, const struct stacks_options *o,
	uint64_t zero_ns)
{
	*p = (struct place_index){ .s = s, .o = o, .from_ns = zero_ns, .to_ns = UINT64_MAX };
	if (o)
		p->from_ns += (uint64_t)(o->from_s * 1e9);
	if (o && o->to_s > 0)
		p->to_ns = zero_ns + (uint64_t)(o->to_s * 1e9);
	for (size_t i = 0; i < s->n; i++) {
		struct key key = key_of(s, i);

		intern_add(&p->keys, &key, sizeof key, NULL);
	}
}

bool place_index_of_sample(const struct place_index *p, const struct rec_sample *x, double on_cpu,
	size_t *ret, double *ret_part)
{
	struct key key = { x->stack, x->leaf_code, x->leaf_offset, x->thread,
		!(x->state & (SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL)) };

	*ret_part = stacks_part(p->o->state, x, on_cpu);
	return x->t_ns >= p->from_ns && x->t_ns <= p->to_ns && stacks_is_within(p->o, x->t_ns) &&
		*ret_part > 0 && find(p, &key, ret);
}

bool place_index_of_weight(const struct place_index *p, const struct rec_weight *x, size_t *ret)
{
	struct key key = { x->stack, 0, 0, x->thread, 0 };

	return x->t_ns >= p->from_ns && x->t_ns <= p->to_ns && find(p, &key, ret);
}

bool place_index_of_place(
	const struct place_index *p, const struct stacks *from, size_t place, size_t *ret)
{
	struct key key = key_of(from, place);

	return find(p, &key, ret);
}

void place_index_done(struct place_index *p)
{
	intern_done(&p->keys);
}
