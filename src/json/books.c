/* SPDX-License-Identifier: MIT
 * See books.h. */
#include "json/books.h"

#include "analyze/samples/books.h"
#include "base/json_write.h"
#include "base/banned.h"

static void write_book(const struct book *b, struct json_writer *w)
{
	json_key(w, "cpu");
	json_object_begin(w);
	json_kv_double(w, "kernel_s", b->cpu.kernel_s);
	json_kv_double(w, "sampled_s", b->cpu.sampled_s);
	json_kv_double(w, "late_s", b->cpu.late_s);
	json_kv_double(w, "without_python_s", b->cpu.without_python_s);
	json_kv_double(w, "not_seen_s", b->cpu.not_seen_s);
	json_object_end(w);
	json_key(w, "wall");
	json_object_begin(w);
	json_kv_double(w, "threads_s", b->wall.threads_s);
	json_kv_double(w, "sampled_s", b->wall.sampled_s);
	json_kv_double(w, "no_python_s", b->wall.no_python_s);
	json_kv_double(w, "starting_s", b->wall.starting_s);
	json_kv_double(w, "ending_s", b->wall.ending_s);
	json_kv_double(w, "stopped_s", b->wall.stopped_s);
	json_kv_double(w, "late_s", b->wall.late_s);
	json_object_end(w);
	json_kv_double(w, "threads_not_seen", b->threads_not_seen);
	json_kv_double(w, "threads_beyond", b->threads_beyond);
	json_kv_string(w, "evidence", books_evidences[b->evidence]);
	json_kv_bool(w, "is_balanced", books_balance(b));
}

static void write_natives(const struct books *b, struct json_writer *w)
{
	json_key(w, "threads_without_python");
	json_array_begin(w);
	for (size_t i = 0; b && i < b->n_native; i++) {
		json_object_begin(w);
		json_kv_string(w, "name", b->native[i].name);
		json_kv_u64(w, "threads", b->native[i].n);
		json_kv_double(w, "cpu_s", b->native[i].cpu_s);
		json_object_end(w);
	}
	json_array_end(w);
}

void books_json(const struct books *b, struct json_writer *w)
{
	json_key(w, "books");
	if (!b) {
		json_null(w);
		return;
	}
	json_object_begin(w);
	write_book(&b->sum, w);
	json_kv_double(w, "unseen_processes_s", b->unseen_processes_s);
	json_key(w, "processes");
	json_array_begin(w);
	for (size_t i = 0; i < b->n; i++) {
		json_object_begin(w);
		json_kv_u64(w, "pid", b->v[i].pid);
		write_book(&b->v[i], w);
		json_object_end(w);
	}
	json_array_end(w);
	write_natives(b, w);
	json_object_end(w);
}
