/* SPDX-License-Identifier: MIT
 * Writer, reader and merged tables together: round trip, segments, damage of every kind. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <xxhash.h>
#include <cmocka.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "store/columns.h"
#include "store/container.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"
#include "wire/name.h"

enum { N_SAMPLES = 3000 };

static char path[64];

static int make_path(void **state)
{
	(void)state;
	snprintf(path, sizeof path, "/tmp/leadline-store-%d.lead", getpid());
	unlink(path);
	return 0;
}

static int remove_path(void **state)
{
	(void)state;
	unlink(path);
	return 0;
}

/* Samples in `segments` segments whose tables are filled in another order in each, so that equal
 * rows have different numbers. Sample i is in function i % 7, with parent function i % 3. */
static void write_recording(const char *to, unsigned segments)
{
	struct writer_options o = { .segment_ns = 1000 };
	struct writer *w;
	struct err e = ERR_INIT;
	uint64_t now = 1u << 30;

	assert_int_equal(writer_open(&w, to, &o, &e), 0);
	writer_poll(w, now);
	writer_meta(w, "command", "python3 x.py");
	for (unsigned i = 0; i < N_SAMPLES; i++) {
		char name[16];
		uint32_t code[2], frame, stack, process, thread;

		if (i && i % (N_SAMPLES / segments) == 0) {
			now += 2000;
			writer_poll(w, now);
		}
		process = writer_row(w, RECORD_process,
			&(struct rec_process){ .boot = writer_string(w, "boot"),
				.pid = 10 + i % 2,
				.start_ns = 99 });
		thread = writer_row(
			w, RECORD_thread, &(struct rec_thread){ .process = process, .tid = 11 });
		for (int k = 0; k < 2; k++) {
			snprintf(name, sizeof name, "f%u", k ? i % 3 : i % 7);
			code[k] = writer_row(w, RECORD_code,
				&(struct rec_code){ .file = writer_string(w, "x.py"),
					.qualname = writer_string(w, name),
					.first_line = 1,
					.linetable = { "\1\2\3", 3 } });
		}
		frame = writer_row(
			w, RECORD_frame, &(struct rec_frame){ .tag = FRAME_PY, .code = code[1] });
		stack = writer_row(w, RECORD_stack, &(struct rec_stack){ .frame = frame });
		writer_add(w, RECORD_sample,
			&(struct rec_sample){ .t_ns = i,
				.thread = thread,
				.stack = stack,
				.leaf_code = code[0],
				.leaf_offset = i % 64 });
	}
	assert_int_equal(writer_close(w, &e), 0);
}

static const char *code_name(const struct tables *t, uint32_t row)
{
	const struct rec_code *c = tables_row(t, RECORD_code, row);

	return c ? tables_string(t, c->qualname) : "";
}

/* The number of samples that can be read; each that is read must be right or say that it does not
 * know (a lost table row reads as ""). */
static size_t check_samples(struct tables *t, bool all_names)
{
	struct record_iter it = record_iter(t, RECORD_sample);
	size_t n = 0;

	for (const struct rec_sample *s; (s = record_next(&it)); n++) {
		const struct rec_stack *stack = tables_row(t, RECORD_stack, s->stack);
		const struct rec_frame *frame =
			stack ? tables_row(t, RECORD_frame, stack->frame) : NULL;
		const char *leaf = code_name(t, s->leaf_code),
			   *caller = frame ? code_name(t, frame->code) : "";
		char want[16];

		assert_int_equal(s->leaf_offset, s->t_ns % 64);
		snprintf(want, sizeof want, "f%u", (unsigned)(s->t_ns % 7));
		if (all_names || *leaf)
			assert_string_equal(leaf, want);
		snprintf(want, sizeof want, "f%u", (unsigned)(s->t_ns % 3));
		if (all_names || *caller)
			assert_string_equal(caller, want);
	}
	record_iter_done(&it);
	return n;
}

static void a_recording_reads_back(void **state)
{
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	struct record_iter it;
	const struct rec_meta *m;

	(void)state;
	write_recording(path, 1);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_true(r->damage.has_index);
	assert_int_equal(r->damage.lost_bytes, 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	assert_int_equal(tables_count(t, RECORD_process), 2);
	assert_int_equal(tables_count(t, RECORD_thread), 2);
	assert_int_equal(tables_count(t, RECORD_code), 7);
	assert_int_equal(check_samples(t, true), N_SAMPLES);
	it = record_iter(t, RECORD_meta);
	m = record_next(&it);
	assert_string_equal(tables_string(t, m->key), "command");
	assert_memory_equal(m->value.p, "python3 x.py", m->value.n);
	assert_null(record_next(&it));
	record_iter_done(&it);
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].kind == RECORD_sample)
			assert_int_equal(r->chunks[i].t_last_ns, N_SAMPLES - 1);
	tables_free(t);
	reader_close(r);
}

static void segments_are_merged_by_key(void **state)
{
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;

	(void)state;
	write_recording(path, 10);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_int_equal(r->n_segments, 11); /* one more was begun before the first record */
	assert_int_equal(tables_load(&t, r, &e), 0);
	assert_int_equal(tables_count(t, RECORD_process), 2);
	assert_int_equal(tables_count(t, RECORD_code), 7);
	assert_int_equal(tables_count(t, RECORD_stack), 3);
	assert_int_equal(check_samples(t, true), N_SAMPLES);
	assert_int_equal(tables_bad_references(t), 0);
	tables_free(t);
	reader_close(r);
}

/* The index of so many chunks is packed in several parts on the way. */
static void a_recording_of_thousands_of_chunks_has_its_index(void **state)
{
	enum { N = 5000 };
	struct writer_options o = { .segment_ns = 1000 };
	struct writer *w;
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	struct record_iter it;
	uint64_t next = 0;

	(void)state;
	assert_int_equal(writer_open(&w, path, &o, &e), 0);
	for (unsigned i = 0; i < N; i++) {
		writer_add(w, RECORD_sample, &(struct rec_sample){ .t_ns = i });
		writer_flush(w);
	}
	assert_int_equal(writer_close(w, &e), 0);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_true(r->damage.has_index);
	assert_int_equal(r->damage.lost_bytes, 0);
	assert_int_equal(r->n_chunks, N);
	for (size_t i = 0; i < r->n_chunks; i++)
		assert_int_equal(r->chunks[i].t_last_ns, i);
	assert_int_equal(tables_load(&t, r, &e), 0);
	it = record_iter(t, RECORD_sample);
	for (const struct rec_sample *s; (s = record_next(&it)); next++)
		assert_int_equal(s->t_ns, next);
	record_iter_done(&it);
	assert_int_equal(next, N);
	tables_free(t);
	reader_close(r);
}

static void a_recording_without_its_index_is_scanned(void **state)
{
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	struct stat st;

	(void)state;
	write_recording(path, 5);
	stat(path, &st);
	assert_int_equal(truncate(path, st.st_size - (off_t)sizeof(struct trailer)), 0);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_false(r->damage.has_index);
	assert_int_equal(r->damage.lost_bytes, 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	assert_int_equal(check_samples(t, true), N_SAMPLES);
	tables_free(t);
	reader_close(r);
}

static void load_bytes(struct buf *b)
{
	struct err e = ERR_INIT;

	buf_clear(b);
	assert_int_equal(buf_load(b, path, 1 << 24, &e), 0);
}

static void every_truncation_is_survived(void **state)
{
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	size_t refused = 0, least = N_SAMPLES;

	(void)state;
	write_recording(path, 5);
	load_bytes(&b);
	for (size_t n = b.n; n-- > 0;) {
		struct reader *r;
		struct tables *t;
		size_t got;

		assert_int_equal(truncate(path, (off_t)n), 0);
		if (reader_open(&r, path, &e) < 0) {
			assert_int_equal(e.code, ERR_BAD_FILE);
			refused++;
			continue;
		}
		assert_int_equal(tables_load(&t, r, &e), 0);
		got = check_samples(t, true);
		assert_true(got <= least); /* shorter never holds more */
		least = got;
		tables_free(t);
		reader_close(r);
	}
	assert_int_equal(refused, sizeof(struct file_head));
	assert_int_equal(least, 0);
	buf_done(&b);
}

static void read_all_chunks(struct reader *r)
{
	struct err e = ERR_INIT;

	for (size_t i = 0; i < r->n_chunks; i++) {
		struct batch b = BATCH_INIT;

		reader_decode(r, i, &b, &e);
		batch_done(&b);
	}
}

static void every_flipped_byte_is_survived_and_noticed(void **state)
{
	struct buf b = BUF_INIT;
	struct err e = ERR_INIT;
	size_t unnoticed = 0, n_chunks = 0;

	(void)state;
	write_recording(path, 2);
	load_bytes(&b);
	for (size_t at = 0; at < b.n; at++) {
		struct reader *r;
		struct tables *t;
		char before = b.data[at];

		b.data[at] ^= 0x5a;
		assert_int_equal(buf_save(&b, path, &e), 0);
		b.data[at] = before;
		if (reader_open(&r, path, &e) < 0)
			continue;
		assert_int_equal(tables_load(&t, r, &e), 0);
		check_samples(t, false);
		read_all_chunks(r);
		unnoticed += r->damage.has_index && !r->damage.n_bad_chunks;
		n_chunks = r->n_chunks > n_chunks ? r->n_chunks : n_chunks;
		tables_free(t);
		reader_close(r);
	}
	assert_true(unnoticed <= 7 * n_chunks); /* only padding between chunks */
	buf_done(&b);
}

/* Each counted once, also those that nobody asked for, and told in words. */
static void damage_is_told(void **state)
{
	char text[DAMAGE_TEXT];
	struct err e = ERR_INIT;
	struct buf b = BUF_INIT;
	struct reader *r;
	struct tables *t;

	(void)state;
	write_recording(path, 2);
	load_bytes(&b);
	assert_int_equal(reader_open(&r, path, &e), 0);
	reader_check(r);
	assert_false(damage_describe(&r->damage, text));
	assert_string_equal(text, "");
	for (size_t i = 0; i < 2; i++)
		b.data[r->chunks[i].offset + sizeof(struct chunk_head)] ^= 1;
	reader_close(r);
	assert_int_equal(buf_save(&b, path, &e), 0);
	assert_int_equal(reader_open(&r, path, &e), 0);
	reader_check(r);
	reader_check(r);
	assert_int_equal(r->damage.n_bad_chunks, 2);
	assert_int_equal(tables_load(&t, r, &e), 0);
	read_all_chunks(r);
	read_all_chunks(r);
	assert_int_equal(r->damage.n_bad_chunks, 2);
	assert_true(damage_is_loss(&r->damage));
	assert_true(damage_describe(&r->damage, text));
	assert_non_null(strstr(text, "damaged: 2 of "));
	tables_free(t);
	reader_close(r);
	buf_done(&b);
}

static void long_names_are_cut_and_stay_apart(void **state)
{
	const struct writer_options o = { .overwrite = true };
	struct err e = ERR_INIT;
	struct buf name = BUF_INIT;
	struct writer *w;
	struct reader *r;
	struct tables *t;
	uint32_t rows[4];

	(void)state;
	buf_fill(&name, 'x', 100000);
	assert_int_equal(writer_open(&w, path, &o, &e), 0);
	rows[0] = writer_name(w, name.data, name.n);
	name.data[name.n - 1] = 'y';
	rows[1] = writer_name(w, name.data, name.n);
	rows[2] = writer_name(w, name.data, 500);
	rows[3] = writer_name(w, "a\0b", 3);
	assert_int_equal(writer_close(w, &e), 0);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	for (size_t i = 0; i < 2; i++) {
		const char *cut = tables_string(t, rows[i]);

		assert_int_equal(strlen(cut), 500 - NAME_MARK_CHARS + NAME_MARK_BYTES);
		assert_memory_equal(cut + 491, "\xe2\x80\xa6", 3);
	}
	assert_string_not_equal(tables_string(t, rows[0]), tables_string(t, rows[1]));
	assert_int_equal(strlen(tables_string(t, rows[2])), 500);
	assert_string_equal(tables_string(t, rows[3]),
		"a\xe2\x90\x80"
		"b");
	tables_free(t);
	reader_close(r);
	buf_done(&name);
}

static void assert_refused(const void *bytes, size_t n, enum err_code code, const char *words)
{
	struct buf b = { .data = (char *)(uintptr_t)bytes, .n = n };
	struct err e = ERR_INIT;
	struct reader *r;

	assert_int_equal(buf_save(&b, path, &e), 0);
	assert_true(reader_open(&r, path, &e) < 0);
	assert_int_equal(e.code, code);
	assert_non_null(strstr(e.text, words));
	assert_non_null(strstr(e.text, path));
}

static void foreign_files_get_one_clear_line(void **state)
{
	struct file_head head = { .magic = STORE_MAGIC, .major = STORE_MAJOR + 1 };
	struct err e = ERR_INIT;
	struct reader *r;

	(void)state;
	assert_refused("", 0, ERR_BAD_FILE, "empty");
	assert_refused("{\"a\":1}", 7, ERR_BAD_FILE, "looks like JSON");
	assert_refused("\x1f\x8b\x08", 3, ERR_BAD_FILE, "gzip");
	assert_refused("some text", 9, ERR_BAD_FILE, "not a leadline recording");
	assert_refused(STORE_MAGIC, 8, ERR_BAD_FILE, "cut off");
	assert_refused(&head, sizeof head, ERR_NEWER_FILE, "version 2.0");
	head.major = STORE_MAJOR;
	assert_refused(&head, sizeof head, ERR_BAD_FILE, "file head is damaged");
	assert_true(reader_open(&r, "/nonexistent.lead", &e) < 0);
	assert_int_equal(e.code, ERR_NO_FILE);
	assert_true(reader_open(&r, "/tmp", &e) < 0);
	assert_int_equal(e.code, ERR_BAD_FILE);
	unlink(path);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_true(reader_open(&r, path, &e) < 0); /* and does not hang */
	assert_int_equal(e.code, ERR_BAD_FILE);
}

static void an_existing_file_is_not_overwritten(void **state)
{
	struct err e = ERR_INIT;
	struct writer *w;

	(void)state;
	write_recording(path, 1);
	assert_true(writer_open(&w, path, NULL, &e) < 0);
	assert_non_null(strstr(e.text, "already exists"));
}

/* The child may write 64 KiB per file, as if the disk were full: what it wrote before stays good.
 */
static void a_full_disk_keeps_what_is_there(void **state)
{
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	struct record_iter it;
	uint64_t n = 0;
	int status;
	pid_t pid = fork();

	(void)state;
	if (pid == 0) {
		struct writer *w;

		signal(SIGXFSZ, SIG_IGN);
		setrlimit(RLIMIT_FSIZE, &(struct rlimit){ 65536, 65536 });
		if (writer_open(&w, path, NULL, &e) < 0)
			_exit(1);
		for (uint64_t i = 0; i < 1000000; i++)
			writer_add(w, RECORD_region,
				&(struct rec_region){
					.t_ns = i, .duration_ns = i * 0x9e3779b97f4a7c15u });
		if (!writer_error(w) || writer_stats(w).dropped == 0)
			_exit(2);
		_exit(writer_close(w, &e) < 0 && strstr(e.text, "File too large") ? 0 : 3);
	}
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_int_equal(r->damage.lost_bytes, 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	it = record_iter(t, RECORD_region);
	for (const struct rec_region *x; (x = record_next(&it)); n++)
		assert_int_equal(x->duration_ns, n * 0x9e3779b97f4a7c15u);
	record_iter_done(&it);
	tables_free(t);
	reader_close(r);
}

/* An index that calls a chunk by another kind must not make us read one struct as another. */
static void a_lying_index_is_caught(void **state)
{
	struct reader *r;
	struct batch b = BATCH_INIT;
	struct err e = ERR_INIT;

	(void)state;
	write_recording(path, 1);
	assert_int_equal(reader_open(&r, path, &e), 0);
	for (size_t i = 0; i < r->n_chunks; i++) {
		r->chunks[i].kind =
			r->chunks[i].kind == RECORD_sample ? RECORD_node : RECORD_sample;
		assert_true(reader_decode(r, i, &b, &e) < 0);
		assert_non_null(strstr(e.text, "not what the index says"));
	}
	reader_close(r);
}

static void a_recording_in_memory(void **state)
{
	struct writer *w;
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_int_equal(writer_open(&w, NULL, NULL, &e), 0);
	writer_meta(w, "k", "v");
	assert_int_equal(writer_close_keep_fd(w, &fd, &e), 0);
	assert_int_equal(reader_open_fd(&r, fd, "memory", &e), 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	assert_int_equal(tables_count(t, RECORD_string), 1);
	tables_free(t);
	reader_close(r);
}

/* A million equal records pack into a few kilobytes. */
static int write_equal_records(struct budget *budget, struct err *e)
{
	struct writer_options o = { .budget = budget };
	struct writer *w;
	int fd = -1;

	assert_int_equal(writer_open(&w, NULL, &o, e), 0);
	for (int i = 0; i < 1 << 20; i++)
		writer_add(w, RECORD_loss, &(struct rec_loss){ .count = 1 });
	return writer_close_keep_fd(w, &fd, e) < 0 ? -1 : fd;
}

static void records_that_no_file_of_its_size_has_are_refused(void **state)
{
	struct err e = ERR_INIT;
	struct reader *r = NULL;
	int fd = write_equal_records(NULL, &e);

	(void)state;
	assert_true(fd >= 0 && lseek(fd, 0, SEEK_END) < 100000);
	assert_int_equal(reader_open_fd(&r, dup(fd), "x", &e), -(int)ERR_BAD_FILE);
	assert_non_null(strstr(e.text, "exhaust memory"));
	assert_null(r);
	/* Whoever wrote it may read it. */
	assert_int_equal(reader_open_own(&r, fd, "x", &e), 0);
	reader_close(r);
}

static void a_recording_made_of_a_file_has_that_file_s_budget(void **state)
{
	struct budget small = budget_for(1000), large = budget_for(1 << 20);
	struct err e = ERR_INIT;
	int fd;

	(void)state;
	assert_int_equal(write_equal_records(&small, &e), -1);
	assert_int_equal(e.code, ERR_BAD_FILE);
	fd = write_equal_records(&large, &e);
	assert_true(fd >= 0);
	close(fd);
}

static void a_row_written_again_is_the_same_row_with_more_said(void **state)
{
	struct writer *w;
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	uint32_t first, again;

	(void)state;
	assert_int_equal(writer_open(&w, path, NULL, &e), 0);
	first = writer_row(w, RECORD_thread, &(struct rec_thread){ .tid = 11 });
	again = writer_row_again(w, RECORD_thread,
		&(struct rec_thread){ .tid = 11, .name = writer_string(w, "worker") });
	assert_int_not_equal(first, again);
	writer_add(w, RECORD_sample, &(struct rec_sample){ .t_ns = 1, .thread = first });
	writer_add(w, RECORD_sample, &(struct rec_sample){ .t_ns = 2, .thread = again });
	assert_int_equal(writer_close(w, &e), 0);
	assert_int_equal(reader_open(&r, path, &e), 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	assert_int_equal(tables_count(t, RECORD_thread), 1);
	assert_string_equal(
		tables_string(
			t, ((const struct rec_thread *)tables_row(t, RECORD_thread, 1))->name),
		"worker");
	{
		struct record_iter it = record_iter(t, RECORD_sample);

		for (const struct rec_sample *x; (x = record_next(&it));)
			assert_int_equal(x->thread, 1);
		record_iter_done(&it);
	}
	tables_free(t);
	reader_close(r);
}

/* Whoever tells of a thing first may know least of it. */
static void what_a_later_row_says_more_is_kept(void **state)
{
	struct rec_code r = { .first_line = 7, .n_code_bytes = 2 };
	const struct rec_code *merged;
	uint32_t first, more;
	struct writer *w;
	struct reader *rd;
	struct tables *t;
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(writer_open(&w, path, NULL, &e), 0);
	r.interpreter = writer_string(w, "cpython 3.13.0");
	first = writer_row(w, RECORD_code, &r);
	r.code_bytes = (rec_bytes){ "ab", 2 };
	more = writer_row(w, RECORD_code, &r);
	assert_int_not_equal(first, more);
	assert_int_equal(writer_row(w, RECORD_code, &r), first); /* nothing is new */
	r.code_bytes = (rec_bytes){ 0 };
	assert_int_equal(writer_row(w, RECORD_code, &r), first);
	r.words = (rec_bytes){ "word", 4 };
	assert_true(writer_row(w, RECORD_code, &r) > more);
	assert_int_equal(writer_close(w, &e), 0);
	assert_int_equal(reader_open(&rd, path, &e), 0);
	assert_int_equal(tables_load(&t, rd, &e), 0);
	assert_int_equal(tables_count(t, RECORD_code), 1);
	merged = tables_row(t, RECORD_code, 1);
	assert_int_equal(merged->code_bytes.n, 2);
	assert_int_equal(merged->words.n, 4);
	assert_string_equal(tables_string(t, merged->interpreter), "cpython 3.13.0");
	tables_free(t);
	reader_close(rd);
}

/* The file grows by odd amounts, so that it ends inside heads, payloads and the index too. */
static void a_growing_recording_is_followed(void **state)
{
	struct buf whole = BUF_INIT;
	struct reader *r;
	struct tables *t;
	struct err e = ERR_INIT;
	size_t n = 0, at = sizeof(struct file_head), seen = 0;
	int fd;

	(void)state;
	write_recording(path, 3);
	assert_int_equal(buf_load(&whole, path, 1 << 24, &e), 0);
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
	assert_int_equal(write(fd, whole.data, at), at);
	assert_int_equal(reader_open_fd(&r, dup(fd), path, &e), 0);
	assert_int_equal(tables_load(&t, r, &e), 0);
	while (at < whole.n) {
		size_t step = whole.n - at < 61 ? whole.n - at : 61;
		struct record_iter it;

		assert_int_equal(write(fd, whole.data + at, step), step);
		at += step;
		assert_int_equal(reader_refresh(r, &e), 0);
		assert_int_equal(tables_refresh(t, &e), 0);
		if (at % 2) /* it grows after all */
			tables_settle(t);
		it = record_iter_from(t, RECORD_sample, seen);
		for (const struct rec_sample *s; (s = record_next(&it)); n++)
			assert_int_equal(s->t_ns, n);
		record_iter_done(&it);
		seen = r->n_chunks;
	}
	assert_int_equal(n, N_SAMPLES);
	assert_int_equal(r->damage.lost_bytes, 0);
	assert_int_equal(tables_bad_references(t), 0);
	assert_int_equal(check_samples(t, true), N_SAMPLES);
	assert_int_equal(ftruncate(fd, 100), 0);
	assert_true(reader_refresh(r, &e) < 0);
	tables_free(t);
	reader_close(r);
	close(fd);
	buf_done(&whole);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, make_path, remove_path)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(damage_is_told),
		TEST(long_names_are_cut_and_stay_apart),
		TEST(a_recording_reads_back),
		TEST(a_growing_recording_is_followed),
		TEST(records_that_no_file_of_its_size_has_are_refused),
		TEST(a_recording_made_of_a_file_has_that_file_s_budget),
		TEST(a_row_written_again_is_the_same_row_with_more_said),
		TEST(what_a_later_row_says_more_is_kept),
		TEST(segments_are_merged_by_key),
		TEST(a_recording_of_thousands_of_chunks_has_its_index),
		TEST(a_recording_without_its_index_is_scanned),
		TEST(every_truncation_is_survived),
		TEST(every_flipped_byte_is_survived_and_noticed),
		TEST(foreign_files_get_one_clear_line),
		TEST(an_existing_file_is_not_overwritten),
		TEST(a_full_disk_keeps_what_is_there),
		TEST(a_lying_index_is_caught),
		TEST(a_recording_in_memory),
	};

	return cmocka_run_group_tests_name("store", tests, NULL, NULL);
}
