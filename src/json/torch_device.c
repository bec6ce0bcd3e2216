/* SPDX-License-Identifier: MIT
 * See torch.h. */
#include "json/torch.h"

#include "analyze/torch/events.h"
#include "analyze/torch/kernels.h"
#include "analyze/torch/streams.h"
#include "base/json_write.h"
#include "base/banned.h"

static void launch_json(const struct op_launch *launch, struct json_writer *w)
{
	const uint32_t *const dimensions[] = { launch->grid, launch->block };

	for (size_t i = 0; i < 2; i++) {
		json_key(w, i ? "block" : "grid");
		json_array_begin(w);
		for (size_t k = 0; k < 3; k++)
			json_u64(w, dimensions[i][k]);
		json_array_end(w);
	}
	json_kv_u64(w, "registers", launch->registers);
	json_kv_u64(w, "shared_bytes", launch->shared_bytes);
}

void op_kernels_json(const struct op_kernels *kernels, size_t limit, struct json_writer *w)
{
	json_key(w, "kernels");
	json_array_begin(w);
	for (size_t i = 0; i < kernels->n && i < limit; i++) {
		const struct op_kernel_row *r = &kernels->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", r->name);
		json_kv_string(w, "operator", r->owner);
		json_kv_double(w, "total_s", r->seconds);
		json_kv_u64(w, "times", r->n_times);
		json_kv_double(w, "min_s", r->min_s);
		json_kv_double(w, "max_s", r->max_s);
		json_kv_double(w, "blocks_per_sm", r->blocks_per_sm);
		json_kv_double(w, "occupancy_share", r->occupancy);
		json_kv_bool(w, "tensor_cores", r->uses_tensor_cores);
		if (r->launch)
			launch_json(r->launch, w);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "kernel_sums");
	json_object_begin(w);
	json_kv_double(w, "kernel_s", kernels->kernel_s);
	json_kv_double(w, "tensor_core_s", kernels->tensor_core_s);
	json_kv_double(w, "blocks_per_sm", kernels->blocks_per_sm);
	json_kv_double(w, "occupancy_share", kernels->occupancy);
	json_object_end(w);
}

void op_streams_json(const struct op_streams *streams, struct json_writer *w)
{
	json_key(w, "streams");
	json_array_begin(w);
	for (size_t i = 0; i < streams->n; i++) {
		const struct op_stream *s = &streams->v[i];

		json_object_begin(w);
		json_kv_string(w, "device", s->device);
		json_kv_string(w, "stream", s->stream);
		json_kv_u64(w, "events", s->n_events);
		json_kv_double(w, "span_s", s->span_s);
		json_kv_double(w, "busy_s", s->busy_s);
		json_kv_double(w, "host_wait_s", s->host_wait_s);
		json_kv_double(w, "kernel_wait_s", s->kernel_wait_s);
		json_kv_double(w, "other_s", s->other_s);
		json_kv_double(w, "mean_queue", s->mean_queue);
		json_kv_u64(w, "longest_queue", s->longest_queue);
		json_kv_double(w, "empty_share", s->empty_share);
		json_key(w, "queue");
		json_array_begin(w);
		for (size_t k = 0; k < OP_CURVE; k++)
			json_u64(w, (uint64_t)s->queue[k]);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "launches");
	json_object_begin(w);
	json_kv_u64(w, "launches", streams->n_launches);
	json_kv_u64(w, "short", streams->n_short);
	json_kv_u64(w, "slow", streams->n_slow);
	json_kv_u64(w, "late", streams->n_late);
	json_kv_double(w, "median_launch_s", streams->median_launch_s);
	json_kv_double(w, "p99_launch_s", streams->p99_launch_s);
	json_kv_double(w, "max_launch_s", streams->max_launch_s);
	json_kv_double(w, "median_delay_s", streams->median_delay_s);
	json_kv_double(w, "p99_delay_s", streams->p99_delay_s);
	json_kv_double(w, "max_delay_s", streams->max_delay_s);
	json_key(w, "slowest");
	json_array_begin(w);
	for (size_t i = 0; i < streams->n_slowest; i++) {
		json_object_begin(w);
		json_kv_string(w, "call", streams->slowest[i].call);
		json_kv_string(w, "operator", streams->slowest[i].operator_name);
		json_kv_string(w, "launched", streams->slowest[i].launched);
		json_kv_double(w, "at_s", streams->slowest[i].at_s);
		json_kv_double(w, "duration_s", streams->slowest[i].seconds);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}
