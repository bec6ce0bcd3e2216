/* SPDX-License-Identifier: MIT
 * Prints what exact tracing recorded, for tests that know better: nodes RECORDING
 *
 * One JSON object: meta (key → value), losses (what → count) and nodes, the last state of each: id, parent, pid, tid,
 * file, line, name, calls, resumes, recursive, and times in ns; and lines, every state of each as it was written:
 * tid, file, row, first line and name of the function, line, hits, and times in ns; instructions likewise, hits by code unit. */
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_write.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/tables.h"

typedef VEC(struct rec_node) node_list;

static void load_nodes(struct tables *t, node_list *ret)
{
	struct record_iter it = record_iter(t, RECORD_node);
	struct map places = MAP_INIT;
	uint64_t at;

	for (const struct rec_node *n; (n = record_next(&it));)
		if (map_find(&places, n->id, &at)) {
			ret->v[at] = *n;
		} else {
			map_put(&places, n->id, ret->n);
			vec_push(ret, *n);
		}
	record_iter_done(&it);
	map_done(&places);
}

static void put_node(struct json_writer *j, struct tables *t, const struct rec_node *n)
{
	const struct rec_thread *thread = tables_row(t, RECORD_thread, n->thread);
	const struct rec_process *process = thread ? tables_process(t, thread->process) : NULL;
	const struct rec_code *code = tables_row(t, RECORD_code, n->code);

	json_object_begin(j);
	json_kv_u64(j, "id", n->id);
	json_kv_u64(j, "parent", n->parent);
	json_kv_u64(j, "pid", process ? process->pid : 0);
	json_kv_u64(j, "tid", thread ? thread->tid : 0);
	json_kv_string(j, "file", code ? tables_string(t, code->file) : "");
	json_kv_u64(j, "line", code ? code->first_line : 0);
	json_kv_string(
		j, "name", code ? tables_string(t, code->qualname) : tables_string(t, n->builtin));
	json_kv_u64(j, "calls", n->calls);
	json_kv_u64(j, "resumes", n->resumes);
	json_kv_u64(j, "recursive", n->recursive_calls);
	json_kv_u64(j, "inclusive_ns", n->inclusive_ns);
	json_kv_u64(j, "self_ns", n->self_ns);
	json_kv_u64(j, "awaited_ns", n->awaited_ns);
	json_kv_u64(j, "min_ns", n->min_ns);
	json_kv_u64(j, "max_ns", n->max_ns);
	json_object_end(j);
}

static void put_lines(struct json_writer *j, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_line_count);

	json_key(j, "lines");
	json_array_begin(j);
	for (const struct rec_line_count *l; (l = record_next(&it));) {
		const struct rec_thread *thread = tables_row(t, RECORD_thread, l->thread);
		const struct rec_code *code = tables_row(t, RECORD_code, l->code);

		json_object_begin(j);
		json_kv_u64(j, "tid", thread ? thread->tid : 0);
		json_kv_string(j, "file", code ? tables_string(t, code->file) : "");
		json_kv_u64(j, "code", l->code);
		json_kv_u64(j, "first_line", code ? code->first_line : 0);
		json_kv_string(j, "name", code ? tables_string(t, code->qualname) : "");
		json_kv_u64(j, "line", l->line);
		json_kv_u64(j, "hits", l->hits);
		json_kv_u64(j, "total_ns", l->total_ns);
		json_kv_u64(j, "own_ns", l->own_ns);
		json_kv_u64(j, "max_ns", l->max_ns);
		json_object_end(j);
	}
	json_array_end(j);
	record_iter_done(&it);
}

/* A varint each; the last state of each thread and function counts. */
static void put_hits(struct json_writer *j, rec_bytes hits)
{
	const unsigned char *p = hits.p;
	uint64_t value = 0;
	unsigned shift = 0;

	json_key(j, "hits");
	json_array_begin(j);
	for (uint32_t i = 0; i < hits.n; i++) {
		value |= (uint64_t)(p[i] & 127) << shift;
		shift += 7;
		if (p[i] < 128) {
			json_u64(j, value);
			value = shift = 0;
		}
	}
	json_array_end(j);
}

static void put_instructions(struct json_writer *j, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_instruction_count);

	json_key(j, "instructions");
	json_array_begin(j);
	for (const struct rec_instruction_count *r; (r = record_next(&it));) {
		const struct rec_thread *thread = tables_row(t, RECORD_thread, r->thread);
		const struct rec_code *code = tables_row(t, RECORD_code, r->code);

		json_object_begin(j);
		json_kv_u64(j, "tid", thread ? thread->tid : 0);
		json_kv_string(j, "file", code ? tables_string(t, code->file) : "");
		json_kv_u64(j, "code", r->code);
		json_kv_u64(j, "first_line", code ? code->first_line : 0);
		json_kv_string(j, "name", code ? tables_string(t, code->qualname) : "");
		json_kv_u64(j, "code_bytes", code ? code->n_code_bytes : 0);
		json_kv_u64(j, "derived", r->is_derived);
		put_hits(j, r->hits);
		json_object_end(j);
	}
	json_array_end(j);
	record_iter_done(&it);
}

static void put_budget(struct json_writer *j, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_budget);

	json_key(j, "budget");
	json_array_begin(j);
	for (const struct rec_budget *r; (r = record_next(&it));) {
		const struct rec_code *code = tables_row(t, RECORD_code, r->code);

		json_object_begin(j);
		json_kv_string(j, "name", tables_string(t, code ? code->qualname : r->builtin));
		json_kv_u64(j, "off_ns", r->off_ns);
		json_kv_u64(j, "n_windows", r->n_windows);
		json_kv_u64(j, "window_ns", r->window_ns);
		json_kv_u64(j, "window_cost_ns", r->window_cost_ns);
		json_kv_u64(j, "outside_cost_ns", r->outside_cost_ns);
		json_kv_u64(j, "calls", r->calls);
		json_kv_u64(j, "gap_ns", r->gap_ns);
		json_kv_u64(j, "counted", r->counted);
		json_kv_u64(j, "blind_ns", r->blind_ns);
		json_kv_u64(j, "self_ns", r->self_ns);
		json_kv_u64(j, "others_self_ns", r->others_self_ns);
		json_kv_u64(j, "wall_ns", r->wall_ns);
		json_object_end(j);
	}
	json_array_end(j);
	record_iter_done(&it);
}

static void put_meta(struct json_writer *j, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_meta);

	json_key(j, "meta");
	json_object_begin(j);
	for (const struct rec_meta *m; (m = record_next(&it));) {
		json_key(j, tables_string(t, m->key));
		json_string_n(j, m->value.p, m->value.n);
	}
	json_object_end(j);
	record_iter_done(&it);
}

static void put_losses(struct json_writer *j, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_loss);

	json_key(j, "losses");
	json_array_begin(j);
	for (const struct rec_loss *l; (l = record_next(&it));) {
		json_object_begin(j);
		json_kv_string(j, "what", tables_string(t, l->what));
		json_kv_u64(j, "count", l->count);
		json_object_end(j);
	}
	json_array_end(j);
	record_iter_done(&it);
}

int main(int argc, char **argv)
{
	node_list nodes = VEC_INIT;
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	struct json_writer j;
	struct reader *r;
	struct tables *t;

	if (argc != 2 || reader_open(&r, argv[1], &e) < 0 || tables_load(&t, r, &e) < 0) {
		fprintf(stderr, "nodes: %s\n", argc == 2 ? e.text : "which recording?");
		return 2;
	}
	load_nodes(t, &nodes);
	json_init(&j, &out, false);
	json_object_begin(&j);
	put_meta(&j, t);
	put_losses(&j, t);
	put_lines(&j, t);
	put_instructions(&j, t);
	put_budget(&j, t);
	json_key(&j, "nodes");
	json_array_begin(&j);
	vec_each (&nodes, n)
		put_node(&j, t, n);
	json_array_end(&j);
	json_object_end(&j);
	fwrite(out.data, 1, out.n, stdout);
	buf_done(&out);
	vec_done(&nodes);
	tables_free(t);
	reader_close(r);
	return 0;
}
