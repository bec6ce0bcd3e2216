/* SPDX-License-Identifier: MIT
 * See stacks_rig.h. */
#include "analyze/samples/stacks_rig.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/records.h"

static const uint64_t START_NS = 5000000000, MS = 1000000;

uint64_t rig_ns(uint64_t ms)
{
	return START_NS + ms * 1000000;
}

void rig_begin(struct rig *m)
{
	struct err e = ERR_INIT;

	*m = (struct rig){ 0 };
	assert_int_equal(writer_open(&m->w, NULL, NULL, &e), 0);
	m->process = writer_row(m->w, RECORD_process, &(struct rec_process){ .pid = 10 });
	for (uint32_t i = 0; i < RIG_THREADS; i++)
		m->threads[i] = writer_row(m->w, RECORD_thread,
			&(struct rec_thread){ .process = m->process, .tid = 10 + i });
}

/* Each function begins at a line of its own. A row is asked for once per name: tests write thousands of samples. */
static uint32_t code(struct rig *m, char function)
{
	const char letter[] = { function, '\0' }, *name = m->names[(unsigned char)function],
		   *file = m->files[(unsigned char)function];
	__auto_type known = &m->codes[(unsigned char)function];

	if (known->row && known->name == name && known->file == file)
		return known->row;
	known->name = name;
	known->file = file;
	known->row = writer_row(m->w, RECORD_code,
		&(struct rec_code){ .file = writer_string(m->w, file ? file : "x.py"),
			.qualname = writer_string(m->w, name ? name : letter),
			.first_line = (uint32_t)function });
	return known->row;
}

static uint32_t push(struct rig *m, uint32_t callers, const struct rec_frame *frame)
{
	return writer_row(m->w, RECORD_stack,
		&(struct rec_stack){
			.parent = callers, .frame = writer_row(m->w, RECORD_frame, frame) });
}

void rig_sample_ns(struct rig *m, uint64_t ns, size_t thread, const char *chain, int bits)
{
	struct rec_sample r = {
		.t_ns = START_NS + ns, .thread = m->threads[thread], .state = (uint16_t)bits
	};

	for (; chain[0] != '!' && chain[1]; chain++)
		r.stack = push(m, r.stack,
			&(struct rec_frame){ .tag = FRAME_PY, .code = code(m, *chain) });
	if (*chain == '!') {
		r.stack = push(m, r.stack,
			&(struct rec_frame){
				.tag = FRAME_SYNTH, .name = writer_string(m->w, "[cut]") });
		r.state |= SAMPLE_SHORTENED;
	} else {
		r.leaf_code = code(m, *chain);
	}
	writer_add(m->w, RECORD_sample, &r);
}

void rig_sample(struct rig *m, uint64_t ms, size_t thread, const char *chain, int bits)
{
	rig_sample_ns(m, ms * MS, thread, chain, bits);
}

void rig_bare_sample(struct rig *m, uint64_t ms, size_t thread, const char *name, int bits)
{
	struct rec_frame frame = { .tag = FRAME_SYNTH, .name = writer_string(m->w, name) };

	writer_add(m->w, RECORD_sample,
		&(struct rec_sample){ .t_ns = rig_ns(ms),
			.thread = m->threads[thread],
			.stack = push(m, 0, &frame),
			.state = (uint16_t)bits });
}

void rig_node(struct rig *m, size_t thread, char function, struct rec_node n)
{
	const char *name = m->names[(unsigned char)function];

	n.thread = m->threads[thread];
	if (name && *name == '<' && strchr(name, ' '))
		n.builtin = writer_string(m->w, name);
	else
		n.code = code(m, function);
	writer_add(m->w, RECORD_node, &n);
}

static void mark(struct rig *m, struct rec_thread_mark r)
{
	r.t_ns = START_NS + r.t_ns * MS;
	r.bound_ns = START_NS + r.bound_ns * MS;
	writer_add(m->w, RECORD_thread_mark, &r);
}

void rig_came(struct rig *m, uint64_t ms, size_t thread, uint64_t bound_ms, bool is_exact)
{
	mark(m, (struct rec_thread_mark){ ms, m->threads[thread], MARK_CAME, bound_ms, is_exact });
}

void rig_gone(struct rig *m, uint64_t ms, size_t thread, uint64_t bound_ms, bool is_exact)
{
	mark(m, (struct rec_thread_mark){ ms, m->threads[thread], MARK_GONE, bound_ms, is_exact });
}

void rig_late(struct rig *m, uint64_t since_ms, uint64_t ms, bool was_stopped)
{
	writer_add(m->w, RECORD_late,
		&(struct rec_late){ START_NS + ms * MS, START_NS + since_ms * MS, was_stopped });
}

void rig_account(struct rig *m, uint64_t ms, uint64_t cpu_ms)
{
	writer_add(m->w, RECORD_account,
		&(struct rec_account){ .t_ns = START_NS + ms * MS,
			.process = m->process,
			.cpu_ns = cpu_ms * MS,
			.n_made = RECORD_UNKNOWN,
			.n_seen = RECORD_UNKNOWN,
			.n_forked = RECORD_UNKNOWN });
}

void rig_usage(struct rig *m, uint64_t ms, size_t thread, uint64_t cpu_ms, uint64_t queue_ms)
{
	uint32_t row = writer_row(m->w, RECORD_thread,
		&(struct rec_thread){
			.process = m->process, .tid = 10 + (uint32_t)thread, .start_ns = 1 });

	writer_add(m->w, RECORD_thread_usage,
		&(struct rec_thread_usage){ .t_ns = START_NS + ms * MS,
			.thread = row,
			.cpu_ns = cpu_ms * MS,
			.queue_ns = queue_ms * MS });
}

void rig_lose(struct rig *m, const char *what, uint64_t count)
{
	writer_add(m->w, RECORD_loss,
		&(struct rec_loss){
			.t_ns = START_NS, .what = writer_string(m->w, what), .count = count });
}

void rig_end_process(struct rig *m, uint64_t ms, int status)
{
	writer_add(m->w, RECORD_process_end,
		&(struct rec_process_end){ .t_ns = START_NS + ms * MS,
			.process = m->process,
			.source = END_REAPED,
			.status = (uint32_t)status });
}

void rig_finish(struct rig *m)
{
	struct err e = ERR_INIT;
	int fd;

	assert_int_equal(writer_close_keep_fd(m->w, &fd, &e), 0);
	assert_int_equal(reader_open_fd(&m->reader, fd, "made", &e), 0);
	assert_int_equal(tables_load(&m->tables, m->reader, &e), 0);
}

const struct profile *rig_profile_of(struct rig *m, struct stacks_options o)
{
	m->stacks = stacks_build(&m->arena, m->tables, &o);
	return profile_build(&m->arena, m->stacks);
}

void rig_done(struct rig *m)
{
	tables_free(m->tables);
	reader_close(m->reader);
	arena_done(&m->arena);
}
