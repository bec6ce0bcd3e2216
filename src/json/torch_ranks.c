/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "json/torch.h"

#include "analyze/torch/ranks.h"
#include "base/json_write.h"
#include "base/banned.h"

static void rank_json(const struct op_rank *x, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_i64(w, "rank", x->rank);
	json_kv_string(w, "file", x->path);
	json_kv_u64(w, "steps", x->n_steps);
	json_kv_double(w, "duration_s", x->seconds);
	json_kv_double(w, "computation_s", x->computation_s);
	json_kv_double(w, "overlap_s", x->overlap_s);
	json_kv_double(w, "communication_s", x->communication_s);
	json_kv_double(w, "other_s", x->other_s);
	json_kv_u64(w, "collectives", x->n_collectives);
	json_kv_double(w, "transfer_s", x->transfer_s);
	json_kv_double(w, "waiting_s", x->waiting_s);
	json_kv_u64(w, "times_last", x->n_last);
	json_kv_double(w, "others_waited_s", x->caused_s);
	json_object_end(w);
}

static void collective_json(const struct op_collective *c, struct json_writer *w)
{
	json_object_begin(w);
	json_kv_string(w, "name", c->name);
	json_kv_string(w, "group", c->group);
	json_kv_u64(w, "ranks", c->n_ranks);
	json_kv_u64(w, "calls", c->calls);
	json_kv_u64(w, "matched", c->n_matched);
	json_kv_double(w, "bytes", c->bytes);
	json_kv_double(w, "total_s", c->seconds);
	json_kv_double(w, "transfer_s", c->transfer_s);
	json_kv_double(w, "waiting_s", c->waiting_s);
	json_object_end(w);
}

void op_ranks_json(const struct op_ranks *r, struct json_writer *w)
{
	json_key(w, "distributed");
	json_object_begin(w);
	json_kv_u64(w, "world_size", r->world_size);
	json_kv_string(w, "backend", r->backend ? r->backend : "");
	json_key(w, "ranks");
	json_array_begin(w);
	for (size_t i = 0; i < r->v.n; i++)
		rank_json(&r->v.v[i], w);
	json_array_end(w);
	json_key(w, "straggler");
	if (r->straggler)
		json_i64(w, r->straggler->rank);
	else
		json_null(w);
	json_key(w, "collectives");
	json_array_begin(w);
	for (size_t i = 0; i < r->collectives.n; i++)
		collective_json(&r->collectives.v[i], w);
	json_array_end(w);
	json_key(w, "notes");
	json_array_begin(w);
	for (size_t i = 0; i < r->notes.n; i++)
		json_string(w, r->notes.v[i]);
	json_array_end(w);
	json_object_end(w);
}
