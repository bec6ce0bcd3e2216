/* SPDX-License-Identifier: MIT
 * Operators as an agent tells them, in the order of rings that are read one after the other, and as a broken one might. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "collect/agents/tick_map.h"
#include "collect/torch/operators.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/ops.h"
#include "wire/records.h"

struct granule {
	struct trace_granule head;
	struct op_block block;
	struct op_row rows[OP_BLOCK_ROWS];
	unsigned char rest[TRACE_GRANULE_BYTES - sizeof(struct trace_granule) -
		sizeof(struct op_block) - OP_BLOCK_ROWS * sizeof(struct op_row)];
};

_Static_assert(sizeof(struct granule) == TRACE_GRANULE_BYTES, "a block fits its granule");

static struct granule granule(uint64_t sequence, uint64_t n)
{
	struct granule g = { .head = { .magic = TRACE_GRANULE_MAGIC, .kind = TRACE_GRANULE_OPS },
		.block = { .sequence = sequence, .n = n, .number = 1, .tid = 77 } };

	for (uint64_t i = 0; i < n && i < OP_BLOCK_ROWS; i++)
		g.rows[i] = (struct op_row){
			.start = 1000 * sequence + 10 * i, .ticks = 5, .name = 1, .place = 1
		};
	return g;
}

static bool add_block(struct trace_ops *o, const struct granule *g)
{
	return trace_ops_add(
		o, TRACE_RECORD_OPS, &g->block, sizeof g->block + g->block.n * sizeof *g->rows);
}

static bool add_name(struct trace_ops *o, uint32_t number, const char *text)
{
	struct {
		struct op_name head;
		char text[64];
	} r = { .head.number = number };

	memcpy(r.text, text, strlen(text));
	return trace_ops_add(o, TRACE_RECORD_OP_NAME, &r, sizeof r.head + strlen(text));
}

struct rig {
	struct writer *w;
	struct trace_ops ops;
	struct tick_map clock;
	struct trace_ops_target to;
};

static struct rig rig(void)
{
	struct rig r = { .clock.mode = CLOCK_MODE_MONOTONIC };
	struct err e = ERR_INIT;

	assert_int_equal(writer_open(&r.w, NULL, NULL, &e), 0);
	r.to = (struct trace_ops_target){ .writer = r.w, .interpreter = "cpython 3.11.2" };
	r.to.process = writer_row(r.w, RECORD_process, &(struct rec_process){ .pid = 42 });
	return r;
}

struct seen {
	unsigned n, n_regions, n_with_code, n_nameless;
	uint64_t first_ns, duration_ns;
	char name[32];
};

/* What was written; the rig is used up. */
static struct seen finish(struct rig *r)
{
	struct err e = ERR_INIT;
	struct seen seen = { .first_ns = UINT64_MAX };
	struct record_iter it;
	struct reader *reader;
	struct tables *t;
	int fd;

	r->to.clock = &r->clock;
	trace_ops_write_all(&r->ops, &r->to);
	assert_int_equal(writer_close_keep_fd(r->w, &fd, &e), 0);
	assert_int_equal(reader_open_fd(&reader, fd, "memory", &e), 0);
	assert_int_equal(tables_load(&t, reader, &e), 0);
	it = record_iter(t, RECORD_op);
	for (const struct rec_op *op; (op = record_next(&it));) {
		const char *name = tables_string(t, op->name);

		seen.n++;
		seen.n_regions += op->category == OP_ANNOTATION;
		seen.n_with_code += op->code != 0 && op->offset == 12;
		seen.n_nameless += strcmp(name, "(without a name)") == 0;
		seen.first_ns = op->t_ns < seen.first_ns ? op->t_ns : seen.first_ns;
		seen.duration_ns = op->duration_ns;
		strncpy(seen.name, name, sizeof seen.name - 1);
	}
	record_iter_done(&it);
	tables_free(t);
	reader_close(reader);
	trace_ops_done(&r->ops);
	return seen;
}

static void add_place(struct trace_ops *o)
{
	struct {
		struct op_code head;
		char text[10];
	} code = { .head = { .number = 3,
			   .first_line = 9,
			   .n_file = 4,
			   .n_qualname = 2,
			   .n_code = 40 },
		.text = "a.pyfn" };

	assert_true(trace_ops_add(o, TRACE_RECORD_OP_CODE, &code, sizeof code.head + 6));
	assert_true(trace_ops_add(o, TRACE_RECORD_OP_PLACE,
		&(struct op_place){ .number = 1, .code = 3, .offset = 12 },
		sizeof(struct op_place)));
}

/* The ring with the block is read before the one with the name. */
static void a_block_waits_for_what_it_refers_to(void **state)
{
	struct rig r = rig();
	struct granule g = granule(1, 3);
	struct seen seen;

	(void)state;
	r.to.clock = &r.clock;
	g.rows[2].place |= OP_IS_REGION;
	assert_true(add_block(&r.ops, &g));
	trace_ops_write(&r.ops, &r.to);
	assert_int_equal(r.ops.n_ops, 0);
	assert_true(add_name(&r.ops, 1, "aten::mm"));
	add_place(&r.ops);
	trace_ops_write(&r.ops, &r.to);
	assert_int_equal(r.ops.n_ops, 3);
	seen = finish(&r);
	assert_int_equal(seen.n, 3);
	assert_int_equal(seen.n_regions, 1);
	assert_int_equal(seen.n_with_code, 3);
	assert_int_equal(seen.first_ns, 1000);
	assert_int_equal(seen.duration_ns, 5);
	assert_string_equal(seen.name, "aten::mm");
}

/* What a process left behind is taken unless it was sent. */
static void what_was_not_sent_is_found(void **state)
{
	struct rig r = rig();
	struct granule sent = granule(1, OP_BLOCK_ROWS), area[2] = { granule(2, 7), granule(1, 5) };
	struct buf bytes = BUF_INIT;

	(void)state;
	area[1].block.number = 2;
	area[1].block.n_lost = 4;
	assert_true(add_name(&r.ops, 1, "aten::mm"));
	assert_true(add_block(&r.ops, &sent));
	buf_add(&bytes, area, sizeof area);
	trace_ops_rest(&r.ops, &bytes);
	buf_clear(&bytes);
	area[0].block.sequence = 1;       /* sent already */
	area[1].block.n = UINT64_MAX / 3; /* nonsense */
	area[1].block.sequence = 9;
	buf_add(&bytes, area, sizeof area);
	trace_ops_rest(&r.ops, &bytes);
	assert_int_equal(r.ops.n_lost, 4);
	assert_int_equal(finish(&r).n, OP_BLOCK_ROWS + 12);
	buf_done(&bytes);
}

static void nonsense_is_not_believed(void **state)
{
	struct rig r = rig();
	struct granule g = granule(1, 2);
	struct op_code code = { .number = 1, .n_file = UINT32_MAX, .n_qualname = 2 };
	struct seen seen;

	(void)state;
	g.rows[0].name = 99;
	g.rows[1].name = UINT32_MAX;
	g.rows[0].place = g.rows[1].place = 0x7fffffff;
	assert_true(add_block(&r.ops, &g));
	g.block.n = 3; /* more than its bytes */
	assert_false(trace_ops_add(&r.ops, TRACE_RECORD_OPS, &g.block, sizeof g.block + 48));
	assert_false(trace_ops_add(&r.ops, TRACE_RECORD_OPS, &g.block, 3));
	assert_false(trace_ops_add(&r.ops, TRACE_RECORD_OP_CODE, &code, sizeof code));
	assert_false(add_name(&r.ops, 0, "x"));
	assert_false(add_name(&r.ops, OP_NAMES_MOST + 1, "x"));
	assert_true(add_name(&r.ops, 5, "x"));
	assert_false(add_name(&r.ops, 5, "again"));
	assert_false(trace_ops_add(&r.ops, TRACE_RECORD_OP_PLACE,
		&(struct op_place){ .number = 0, .code = 1 }, sizeof(struct op_place)));
	assert_false(trace_ops_add(&r.ops, TRACE_RECORD_NOTE, "x", 1));
	seen = finish(&r);
	assert_int_equal(seen.n, 2);
	assert_int_equal(seen.n_nameless, 2);
	assert_int_equal(seen.n_with_code, 0);
}

static void the_state_of_torch_is_kept(void **state)
{
	struct trace_ops o = { 0 };
	struct {
		struct op_torch head;
		char text[400];
	} r = { .head = { .state = OP_TORCH_ON, .n_threads_unseen = 2 }, .text = "2.13.0" };

	(void)state;
	assert_true(trace_ops_add(&o, TRACE_RECORD_TORCH, &r, sizeof r.head + 6));
	assert_string_equal(o.version, "2.13.0");
	assert_int_equal(o.n_threads_unseen, 2);
	assert_true(trace_ops_add(&o, TRACE_RECORD_OP_COST, &(struct op_cost){ .ns = 700 }, 8));
	assert_int_equal(o.cost_ns, 700);
	assert_false(
		trace_ops_add(&o, TRACE_RECORD_OP_COST, &(struct op_cost){ .ns = UINT32_MAX }, 8));
	assert_false(trace_ops_add(&o, TRACE_RECORD_OP_COST, &(struct op_cost){ .ns = 1 }, 4));
	assert_int_equal(o.cost_ns, 700);
	r.head.state = OP_TORCH_CANNOT;
	memset(r.text, 'x', sizeof r.text);
	assert_true(trace_ops_add(&o, TRACE_RECORD_TORCH, &r, sizeof r));
	assert_int_equal(strlen(o.cannot), sizeof o.cannot - 1);
	r.head.state = 9;
	assert_false(trace_ops_add(&o, TRACE_RECORD_TORCH, &r, sizeof r));
	assert_true(trace_ops_add(&o, TRACE_RECORD_OP_GAP, &(struct op_gap){ 5, 100 }, 16));
	assert_int_equal(o.n_gaps, 1);
	assert_int_equal(o.gap_ticks, 100);
	assert_true(trace_ops_add(&o, TRACE_RECORD_OP_COMPILED, "{\"breaks\": []}", 14));
	assert_string_equal(buf_str(&o.compiled), "{\"breaks\": []}");
	assert_false(trace_ops_add(&o, TRACE_RECORD_OP_COMPILED, "{\"breaks\": [", 12));
	assert_int_equal(o.compiled.n, 0);
	trace_ops_done(&o);
}

static bool add_module(
	struct trace_ops *o, uint32_t number, uint32_t parent, const char *class, const char *path)
{
	struct {
		struct op_module head;
		char text[64];
	} r = { .head = { .number = number,
			.parent = parent,
			.n_class = (uint32_t)strlen(class),
			.n_path = (uint32_t)strlen(path) } };

	memcpy(r.text, class, strlen(class));
	memcpy(r.text + strlen(class), path, strlen(path));
	return trace_ops_add(
		o, TRACE_RECORD_OP_MODULE, &r, sizeof r.head + strlen(class) + strlen(path));
}

static void modules_are_kept_as_they_were_told_last(void **state)
{
	struct trace_ops o = { 0 };
	struct op_module odd = { .number = 1, .n_class = UINT32_MAX, .n_path = 1 };

	(void)state;
	assert_true(add_module(&o, 2, 0, "Linear", ""));
	assert_true(add_module(&o, 2, 1, "Linear", "layers.0"));
	assert_string_equal(o.modules.v[2].path, "layers.0");
	assert_int_equal(o.modules.v[2].parent, 1);
	assert_false(add_module(&o, 0, 0, "Linear", ""));
	assert_false(add_module(&o, OP_MODULES_MOST + 1, 0, "Linear", ""));
	assert_false(add_module(&o, 3, OP_MODULES_MOST + 1, "Linear", ""));
	assert_false(trace_ops_add(&o, TRACE_RECORD_OP_MODULE, &odd, sizeof odd));
	assert_false(trace_ops_add(&o, TRACE_RECORD_OP_MODULE, &odd, 4));
	trace_ops_done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_block_waits_for_what_it_refers_to),
		cmocka_unit_test(what_was_not_sent_is_found),
		cmocka_unit_test(nonsense_is_not_believed),
		cmocka_unit_test(the_state_of_torch_is_kept),
		cmocka_unit_test(modules_are_kept_as_they_were_told_last),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
