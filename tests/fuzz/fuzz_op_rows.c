/* SPDX-License-Identifier: MIT
 * A recording whose rows of operators hold anything: times, numbers, kinds and texts that no trace and no collector writes. What is read
 * from it, and all that is made of it, must not crash. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/record.h"
#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "look_at_ops.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

enum { ROWS = 300 };

struct bytes {
	const uint8_t *at, *end;
};

static uint64_t take(struct bytes *b, unsigned n)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < n && b->at < b->end; i++)
		value |= (uint64_t)*b->at++ << (8 * i);
	return value;
}

/* Mostly near each other, so that spans meet; now and then anything. */
static uint64_t take_time(struct bytes *b)
{
	return take(b, 1) & 7 ? take(b, 2) : take(b, 8);
}

static const char *const texts[] = { "aten::mm", "aten::conv2d", "aten::copy_", "aten::item",
	"aten::zeros", "aten::to", "ProfilerStep#1", "ProfilerStep#2", "Optimizer.step#SGD.step",
	"Optimizer.zero_grad#SGD.zero_grad",
	"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", "nn.Module: Linear_0",
	"train.py(3): step", "Torch-Compiled Region: 0/0", "dynamo_timed", "record_param_comms",
	"c10d::allreduce_", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "sm90_xmma_gemm_bf16",
	"void at::native::vectorized_elementwise_kernel<4>", "cudaLaunchKernel",
	"cudaStreamSynchronize", "cudaMalloc", "Memcpy HtoD (Pageable -> Device)",
	"autograd::engine::evaluate_function: AddmmBackward0", "AddmmBackward0",
	"[[64, 3, 8, 8], []]", "[[2, 3], [3, 4]]\0[\"\", \"[1, 1]\"]",
	"[[-1, 99999999999999999999], [", "" };

enum { TEXTS = sizeof texts / sizeof *texts };

static uint32_t take_text(struct bytes *b, struct writer *w)
{
	uint64_t which = take(b, 1);

	return which < 128 ? writer_string(w, texts[which % TEXTS]) : (uint32_t)take(b, 2);
}

static void add_span(struct bytes *b, struct writer *w)
{
	struct rec_op r = { .t_ns = take_time(b), .duration_ns = take_time(b) };

	r.thread = take(b, 1) == 255 ? (uint32_t)take(b, 4) : 0;
	r.track = take_text(b, w);
	r.name = take_text(b, w);
	r.category = (uint8_t)(take(b, 1) % 12);
	r.shapes = take_text(b, w);
	r.link = (uint32_t)take(b, 1);
	r.bytes = take(b, 8);
	r.correlation = take(b, 1);
	r.blocks_per_sm = (double)(int8_t)take(b, 1);
	r.occupancy = (double)(int8_t)take(b, 1);
	r.launch = take_text(b, w);
	r.form = take_text(b, w);
	r.sequence = take(b, 1);
	r.is_backward = (uint8_t)take(b, 1);
	r.code = (uint32_t)(take(b, 1) & 3);
	r.offset = (uint32_t)take(b, 2);
	writer_add(w, RECORD_op, &r);
}

static void add_memory(struct bytes *b, struct writer *w)
{
	struct rec_op_memory r = { .t_ns = take_time(b), .bytes = take_time(b) };

	r.track = take_text(b, w);
	r.total_bytes = take_time(b);
	r.reserved_bytes = take_time(b);
	r.address = take(b, 1);
	r.device_type = (uint8_t)take(b, 1);
	r.device = (uint16_t)take(b, 2);
	r.is_failure = (uint8_t)take(b, 1);
	writer_add(w, RECORD_op_memory, &r);
}

static void add_facts(struct bytes *b, struct writer *w)
{
	struct rec_op_trace r = { .zero_ns = take_time(b), .facts = (uint32_t)take(b, 4) };

	r.device_name = take_text(b, w);
	r.device_bytes = take_time(b);
	r.device_capability = (uint32_t)take(b, 1);
	r.n_devices = (uint32_t)take(b, 4);
	r.backend = take_text(b, w);
	r.rank = (uint32_t)take(b, 4);
	r.world_size = (uint32_t)take(b, 1);
	writer_add(w, RECORD_op_trace, &r);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	struct bytes b = { data, data + n };
	struct op_events x = { .keeps_all = true };
	struct err e = ERR_INIT;
	struct writer *w;
	struct reader *r;
	struct tables *t;
	int fd;

	if (writer_open(&w, NULL, NULL, &e) < 0)
		abort();
	add_facts(&b, w);
	for (int i = 0; i < ROWS && b.at < b.end; i++)
		take(&b, 1) < 230 ? add_span(&b, w) : add_memory(&b, w);
	if (writer_close_keep_fd(w, &fd, &e) < 0 || reader_open_fd(&r, fd, "x", &e) < 0 ||
		tables_load(&t, r, &e) < 0)
		abort();
	if (op_record_read(t, &x, &e) == 0)
		look_at_all_ops(&x);
	tables_free(t);
	reader_close(r);
	op_events_done(&x);
	return 0;
}
