/* SPDX-License-Identifier: MIT
 * See threads.h. */
#include "json/threads.h"

#include <stdlib.h>

#include "analyze/code/frames.h"
#include "analyze/samples/crash_stacks.h"
#include "analyze/samples/paths.h"
#include "analyze/samples/stacks.h"
#include "analyze/samples/tasks.h"
#include "analyze/selection.h"
#include "base/json_write.h"
#include "base/units.h"
#include "base/xalloc.h"
#include "json/values.h"
#include "base/banned.h"

void threads_json(const struct stacks *s, struct json_writer *w)
{
	json_key(w, "threads");
	json_array_begin(w);
	for (size_t i = 0; i < s->n_threads; i++) {
		const struct stack_thread *t = &s->threads[i];

		json_object_begin(w);
		json_kv_u64(w, "number", i + 1);
		json_kv_string(w, "name", *t->name ? t->name : NULL);
		json_kv_u64(w, "tid", t->tid);
		json_kv_u64(w, "pid", t->pid);
		json_kv_u64(w, "samples", t->n_samples);
		json_kv_double(w, "value", t->value);
		json_kv_double(w, "all", t->all);
		json_kv_double(w, "on_cpu_s", t->cpu_s);
		json_kv_double(w, "runnable_s", t->runnable_s);
		json_kv_double(w, "gil_s", t->gil_s);
		json_kv_double(w, "waiting_s", s->is_foreign ? UNITS_UNKNOWN : t->waiting_s);
		json_kv_bool(w, "is_idle", t->is_idle);
		json_kv_string(w, "mostly_in", frames_function(s->frames, t->top_leaf)->name);
		json_object_end(w);
	}
	json_array_end(w);
}

static void state_json(const char *name, double seconds, struct json_writer *w)
{
	json_array_begin(w);
	json_string(w, name);
	short_json(seconds, w);
	json_array_end(w);
}

void states_json(struct selection *s, struct json_writer *w)
{
	struct state_sums sums = selection_states(s);

	json_key(w, "states");
	json_array_begin(w);
	for (size_t k = STRIP_RUNNING; sums.is_known && k < STRIP_STATES_; k++)
		state_json(strip_states[k], sums.s[k], w);
	if (sums.runnable_s > 0)
		state_json("runnable", sums.runnable_s, w);
	json_array_end(w);
}

void idle_json(const struct stacks *s, struct json_writer *w)
{
	json_key(w, "idle");
	json_object_begin(w);
	json_kv_u64(w, "threads", s->n_idle_threads);
	json_kv_u64(w, "samples_left_out", s->n_folded);
	json_kv_double(w, "value_left_out", s->folded);
	json_object_end(w);
}

void imports_json(const struct stacks *s, struct json_writer *w)
{
	const struct imports *x = &s->paths->imports;

	json_key(w, "imports");
	json_object_begin(w);
	json_kv_double(w, "value", x->value * (1 - s->lost_share));
	json_kv_u64(w, "samples", x->n_samples);
	json_key(w, "packages");
	json_array_begin(w);
	for (size_t i = 0; i < x->n_packages; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", x->packages[i].name);
		json_kv_double(w, "value", x->packages[i].value * (1 - s->lost_share));
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

static void coroutine_json(uint32_t function, const struct stacks *s, struct json_writer *w)
{
	if (function == TASK_UNKNOWN)
		json_null(w);
	else
		json_string(w, frames_function(s->frames, function)->name);
}

static void task_group_json(
	const struct task_group *x, const struct stacks *s, struct json_writer *w)
{
	const struct stack_function *f =
		x->coroutine == TASK_UNKNOWN ? NULL : frames_function(s->frames, x->coroutine);

	json_object_begin(w);
	json_kv_string(w, "name", x->name);
	json_key(w, "coroutine");
	coroutine_json(x->coroutine, s, w);
	json_kv_string(w, "file", f ? f->file : "");
	json_kv_u64(w, "line", f ? f->first_line : 0);
	json_kv_u64(w, "tasks", x->n_tasks);
	json_kv_u64(w, "samples", x->n_samples);
	json_kv_double(w, "total_s", x->seconds);
	json_kv_double(w, "on_cpu_s", x->cpu_s);
	json_kv_double(w, "least_s", x->least_s);
	json_kv_double(w, "median_s", x->median_s);
	json_kv_double(w, "most_s", x->most_s);
	json_kv_string(w, "mostly_in", frames_function(s->frames, x->top_leaf)->name);
	json_object_end(w);
}

void tasks_json(const struct tasks *t, const struct stacks *s, struct json_writer *w)
{
	json_key(w, "tasks");
	json_array_begin(w);
	for (size_t i = 0; i < t->n; i++) {
		const struct task *x = &t->v[i];

		json_object_begin(w);
		json_kv_string(w, "name", x->name);
		json_kv_double(w, "total_s", x->seconds);
		json_kv_double(w, "on_cpu_s", x->cpu_s);
		json_kv_u64(w, "samples", x->n_samples);
		json_kv_string(w, "mostly_in", frames_function(s->frames, x->top_leaf)->name);
		json_key(w, "coroutine");
		coroutine_json(x->coroutine, s, w);
		json_object_end(w);
	}
	json_array_end(w);
	json_key(w, "task_groups");
	json_array_begin(w);
	for (size_t i = 0; i < t->n_groups; i++)
		task_group_json(&t->groups[i], s, w);
	json_array_end(w);
	json_kv_double(w, "outside_tasks_s", t->other_s);
}

static void ending_thread_json(const struct crash_thread *x, const struct stacks *s,
	struct stack_frame *frames, struct json_writer *w)
{
	const struct stack_thread *t = &s->threads[x->thread];
	size_t n = stacks_last_frames(s, x->thread, frames);

	json_object_begin(w);
	json_kv_string(w, "name", *t->name ? t->name : NULL);
	json_kv_u64(w, "tid", t->tid);
	json_kv_double(w, "age_s", x->age_s);
	json_key(w, "frames");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", frames[i].name);
		json_kv_string(w, "file", frames[i].file);
		json_kv_i64(w, "line", frames[i].line);
		json_object_end(w);
	}
	json_array_end(w);
	json_object_end(w);
}

void crashes_json(
	const struct crash_stacks *e, size_t n, const struct stacks *s, struct json_writer *w)
{
	struct stack_frame *frames = xcalloc(STACKS_DEPTH, sizeof *frames);

	json_key(w, "killed");
	json_array_begin(w);
	for (size_t i = 0; i < n; i++) {
		json_object_begin(w);
		json_kv_u64(w, "pid", e[i].pid);
		json_kv_i64(w, "signal", e[i].signal);
		json_key(w, "threads");
		json_array_begin(w);
		for (size_t k = 0; k < e[i].n_threads; k++)
			ending_thread_json(&e[i].threads[k], s, frames, w);
		json_array_end(w);
		json_object_end(w);
	}
	json_array_end(w);
	free(frames);
}
