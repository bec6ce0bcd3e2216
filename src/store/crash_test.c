/* SPDX-License-Identifier: MIT
 * 200 times: kill the writer with SIGKILL at a random moment. Every record whose flush returned
 * before must be there, in order and intact, and a cut-off end must be reported. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/err.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"

enum { KILLS = 200, PER_FLUSH = 700, MAX_DELAY_US = 8000 };

static _Atomic uint64_t *acknowledged; /* shared with the child: records whose flush returned */

static uint64_t mix(uint64_t i)
{
	i *= 0x9e3779b97f4a7c15u;
	return i ^ i >> 29;
}

static void write_until_killed(const char *path)
{
	struct writer_options o = { .overwrite = true, .segment_bytes = 200000 };
	struct writer *w;
	struct err e = ERR_INIT;
	char name[32];

	if (writer_open(&w, path, &o, &e) < 0)
		_exit(1);
	for (uint64_t i = 0;; i++) {
		snprintf(name, sizeof name, "region %u", (unsigned)(mix(i) % 5000));
		writer_add(w, RECORD_region,
			&(struct rec_region){
				.t_ns = i, .duration_ns = mix(i), .name = writer_string(w, name) });
		if (i % PER_FLUSH != PER_FLUSH - 1)
			continue;
		writer_flush(w);
		atomic_store(acknowledged, i + 1);
		writer_poll(w, 0);
	}
}

/* The number of records read; each must be the one the writer wrote at that place. */
static uint64_t check_records(struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_region);
	uint64_t i = 0;

	for (const struct rec_region *r; (r = record_next(&it)); i++) {
		char name[32];

		snprintf(name, sizeof name, "region %u", (unsigned)(mix(i) % 5000));
		assert_int_equal(r->t_ns, i);
		assert_int_equal(r->duration_ns, mix(i));
		assert_string_equal(tables_string(t, r->name), name);
	}
	record_iter_done(&it);
	return i;
}

static void killed_writers_lose_only_what_was_not_flushed(void **state)
{
	char path[] = "/tmp/leadline-crash-XXXXXX";
	unsigned cut_short = 0, with_segments = 0;

	(void)state;
	close(mkstemp(path));
	srand(7);
	acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int k = 0; k < KILLS; k++) {
		struct reader *r;
		struct tables *t;
		struct err e = ERR_INIT;
		uint64_t n_read;
		pid_t pid;

		atomic_store(acknowledged, 0);
		pid = fork();
		if (pid == 0)
			write_until_killed(path);
		nanosleep(&(struct timespec){ .tv_nsec = rand() % MAX_DELAY_US * 1000L }, NULL);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		if (reader_open(&r, path, &e) < 0) { /* killed before the file head was whole */
			assert_int_equal(atomic_load(acknowledged), 0);
			continue;
		}
		assert_int_equal(tables_load(&t, r, &e), 0);
		n_read = check_records(t);
		assert_true(n_read >= atomic_load(acknowledged));
		assert_int_equal(r->damage.n_bad_chunks, 0);
		assert_false(r->damage.has_index);
		assert_int_equal(tables_bad_references(t), 0);
		cut_short += r->damage.lost_bytes > 0;
		with_segments += r->n_segments > 1;
		tables_free(t);
		reader_close(r);
	}
	printf("%d kills: %u left a cut-off chunk, %u had several segments\n", KILLS, cut_short,
		with_segments);
	assert_true(with_segments > 0);
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writers_lose_only_what_was_not_flushed),
	};

	return cmocka_run_group_tests_name("crash", tests, NULL, NULL);
}
