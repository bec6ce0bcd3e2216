/* SPDX-License-Identifier: MIT
 * See dump.h. */
#include "json/dump.h"

#include "analyze/samples/snapshots.h"
#include "base/json_write.h"
#include "base/banned.h"

static void write_place(struct json_writer *w, const char *key, int32_t value)
{
	json_key(w, key);
	if (value < 0)
		json_null(w);
	else
		json_i64(w, value);
}

static void write_frame(struct json_writer *w, const struct snapshot_frame *f)
{
	static const char *const kinds[] = {
		[LOCAL_ARGUMENT] = "argument", [LOCAL_PLAIN] = "local", [LOCAL_FREE] = "outer"
	};

	json_object_begin(w);
	json_kv_string(w, "function", f->function);
	json_kv_string(w, "file", f->file);
	write_place(w, "line", f->at.line);
	write_place(w, "end_line", f->at.end_line);
	write_place(w, "column", f->at.column);
	write_place(w, "end_column", f->at.end_column);
	json_kv_string(w, "source", f->source);
	json_key(w, "locals");
	json_array_begin(w);
	for (size_t i = 0; i < f->n_locals; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", f->locals[i].name);
		json_kv_string(w, "kind", kinds[f->locals[i].kind]);
		json_kv_string(w, "value", f->locals[i].value);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

static void write_stack(struct json_writer *w, const struct snapshot_stack *s)
{
	static const char *const states[] = { [STACK_WHOLE] = "whole",
		[STACK_MOVING] = "cut",
		[STACK_EMPTY] = "empty",
		[STACK_LOST] = "lost" };

	json_kv_string(w, "stack", states[s->state]);
	json_key(w, "frames");
	json_array_begin(w);
	for (size_t i = 0; i < s->n; i++)
		write_frame(w, &s->frames[i]);
	json_array_end(w);
}

static void write_thread(struct json_writer *w, const struct snapshot_thread *t)
{
	char state[2] = { t->run_state, '\0' };

	json_object_begin(w);
	json_kv_i64(w, "tid", t->tid);
	json_kv_u64(w, "ident", t->ident);
	json_kv_string(w, "name", t->name);
	json_kv_i64(w, "interpreter", t->interpreter);
	json_kv_string(w, "state", t->run_state ? state : NULL);
	json_kv_bool(w, "on_cpu", t->run_state == 'R');
	json_kv_bool(w, "holds_gil", t->holds_gil);
	json_kv_bool(w, "waits_for_gil", t->waits_for_gil);
	json_kv_bool(w, "in_gc", t->is_collecting);
	json_key(w, "task");
	if (t->task == SIZE_MAX)
		json_null(w);
	else
		json_u64(w, t->task);
	write_stack(w, &t->stack);
	json_object_end(w);
}

static void write_task(struct json_writer *w, const struct snapshot_task *t)
{
	static const char *const states[] = { [COROUTINE_CREATED] = "created",
		[COROUTINE_SUSPENDED] = "waiting",
		[COROUTINE_RUNNING] = "running",
		[COROUTINE_ENDED] = "done" };

	json_object_begin(w);
	json_kv_string(w, "name", t->name);
	json_kv_string(w, "state", states[t->state]);
	json_kv_string(w, "waits_for", *t->waits_for ? t->waits_for : NULL);
	json_key(w, "awaited_by");
	json_array_begin(w);
	for (size_t i = 0; i < t->n_awaiters; i++)
		json_u64(w, t->awaiters[i]);
	json_array_end(w);
	write_stack(w, &t->stack);
	json_object_end(w);
}

static void write_process(struct json_writer *w, const struct snapshot *p)
{
	json_object_begin(w);
	json_kv_i64(w, "pid", p->pid);
	json_kv_string(w, "command", p->command);
	json_kv_string(w, "interpreter", p->interpreter);
	json_kv_string(w, "rank", *p->rank ? p->rank : NULL);
	if (p->core) {
		json_kv_string(w, "core", p->core);
		json_kv_i64(w, "signal", p->signal);
	}
	json_kv_u64(w, "interpreters", p->n_interpreters);
	json_key(w, "threads");
	json_array_begin(w);
	for (size_t i = 0; i < p->n_threads; i++)
		write_thread(w, &p->threads[i]);
	json_array_end(w);
	json_key(w, "tasks");
	json_array_begin(w);
	for (size_t i = 0; i < p->n_tasks; i++)
		write_task(w, &p->tasks[i]);
	json_array_end(w);
	json_object_end(w);
}

void dump_json(const struct snapshots *s, const char *const *failures, size_t n_failures,
	struct json_writer *w)
{
	json_key(w, "processes");
	json_array_begin(w);
	for (size_t i = 0; i < s->n; i++)
		write_process(w, s->v[i]);
	json_array_end(w);
	json_key(w, "groups"); /* threads with the same stack */
	json_array_begin(w);
	for (size_t i = 0; i < s->n_groups; i++) {
		json_object_begin(w);
		json_kv_bool(w, "main", s->groups[i].is_main);
		json_key(w, "threads");
		json_array_begin(w);
		for (size_t k = 0; k < s->groups[i].n; k++) {
			json_object_begin(w);
			json_kv_u64(w, "process", s->groups[i].members[k].process);
			json_kv_u64(w, "thread", s->groups[i].members[k].thread);
			json_object_end(w);
		}
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "failures");
	json_array_begin(w);
	for (size_t i = 0; i < n_failures; i++)
		json_string(w, failures[i]);
	json_array_end(w);
}
