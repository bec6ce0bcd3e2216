/* SPDX-License-Identifier: MIT
 *
 * How fast the recording is written and opened, on samples that vary as real ones do: jittered
 * times, several threads, stacks drawn with a long tail, leaf offsets that move.
 *
 *	store_bench [records] [megabytes of the large recording]
 *
 * Everything written is read back and compared. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "store/reader.h"
#include "store/tables.h"
#include "store/writer.h"

enum { N_STACKS = 4000, N_CODES = 400, N_THREADS = 8 };

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* A number below n, small ones far more often: stacks of a program have a long tail. */
static uint32_t skewed(uint32_t n)
{
	double u = (double)(next_random() >> 11) / (double)(1ull << 53);

	return (uint32_t)(u * u * u * (double)n);
}

static void generate(struct rec_sample *s, size_t n)
{
	uint64_t t = 1000000000000u;
	uint32_t thread = 1, stack = 1;

	for (size_t i = 0; i < n; i++) {
		t += 500000 + next_random() % 1000000; /* 1 kHz, randomised by half an interval */
		thread = next_random() % 4 ? 1 : 1 + (uint32_t)(next_random() % N_THREADS);
		stack = next_random() % 3 ? 1 + skewed(N_STACKS) : stack;
		s[i] = (struct rec_sample){ .t_ns = t,
			.thread = thread,
			.stack = stack,
			.leaf_code = 1 + (stack * 7 + skewed(4)) % N_CODES,
			.leaf_offset = 2 * (skewed(200)),
			.state = (uint16_t)(thread == 1 ? 3 : 0) };
	}
}

static void add_tables(struct writer *w)
{
	char name[64];

	for (uint32_t i = 0; i < N_CODES; i++) {
		snprintf(name, sizeof name, "module_%u.function_%u", i / 20, i);
		writer_row(w, RECORD_code,
			&(struct rec_code){ .file = writer_string(w, "program.py"),
				.qualname = writer_string(w, name),
				.first_line = i * 10 });
		writer_row(w, RECORD_frame, &(struct rec_frame){ .code = i + 1 });
	}
	for (uint32_t i = 0; i < N_THREADS; i++)
		writer_row(w, RECORD_thread, &(struct rec_thread){ .tid = 100 + i });
	for (uint32_t i = 0; i < N_STACKS; i++)
		writer_row(w, RECORD_stack,
			&(struct rec_stack){ .parent = i / 3, .frame = 1 + i * 31 % N_CODES });
}

static void die(const struct err *e)
{
	fprintf(stderr, "store_bench: %s\n", e->text);
	exit(1);
}

static void write_samples(const char *path, const struct rec_sample *s, size_t n, size_t times)
{
	struct writer_options o = { .overwrite = true };
	struct writer *w;
	struct err e = ERR_INIT;
	uint32_t segment = 0;

	if (writer_open(&w, path, &o, &e) < 0)
		die(&e);
	for (size_t k = 0; k < times; k++)
		for (size_t i = 0; i < n; i++) {
			if (i % 4096 == 0) {
				writer_poll(w, 1);
				if (segment != writer_segment(w))
					add_tables(w);
				segment = writer_segment(w);
			}
			writer_add(w, RECORD_sample, &s[i]);
		}
	if (writer_close(w, &e) < 0)
		die(&e);
}

/* References are global after reading; here they were the same in every segment. */
static size_t read_and_compare(const char *path, const struct rec_sample *s, size_t n)
{
	struct reader *r = NULL;
	struct tables *t = NULL;
	struct err e = ERR_INIT;
	struct record_iter it;
	size_t i = 0;

	if (reader_open(&r, path, &e) < 0 || tables_load(&t, r, &e) < 0)
		die(&e);
	it = record_iter(t, RECORD_sample);
	for (const struct rec_sample *x; (x = record_next(&it)); i++) {
		const struct rec_sample *want = &s[i % n];

		if (x->t_ns != want->t_ns || x->thread != want->thread || x->stack != want->stack ||
			x->leaf_code != want->leaf_code || x->leaf_offset != want->leaf_offset ||
			x->state != want->state) {
			fprintf(stderr, "store_bench: sample %zu differs\n", i);
			exit(1);
		}
	}
	record_iter_done(&it);
	tables_free(t);
	reader_close(r);
	return i;
}

static uint64_t count_samples(const struct reader *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].kind == RECORD_sample)
			n += r->chunks[i].n_records;
	return n;
}

static void time_open(const char *path, const char *what)
{
	struct reader *r;
	struct err e = ERR_INIT;
	double start = now_s();

	if (reader_open(&r, path, &e) < 0)
		die(&e);
	printf("open, %s: %.2f ms to the summary (%llu samples in %zu chunks, %.0f MB)\n", what,
		(now_s() - start) * 1e3, (unsigned long long)count_samples(r), r->n_chunks,
		(double)r->size_bytes / 1e6);
	reader_close(r);
}

int main(int argc, char **argv)
{
	size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 4000000;
	double large_mb = argc > 2 ? strtod(argv[2], NULL) : 1000;
	struct rec_sample *s = xcalloc(n, sizeof *s);
	char path[64];
	struct stat st;
	struct rusage before, after;
	double start, took;
	size_t times;

	snprintf(path, sizeof path, "store_bench.%d.lead", (int)getpid());
	generate(s, n);
	write_samples(path, s, n < 100000 ? n : 100000, 1); /* warm */
	start = now_s();
	write_samples(path, s, n, 1);
	took = now_s() - start;
	stat(path, &st);
	printf("write: %.1f M records/s on one core, %.2f bytes per record\n",
		(double)n / took / 1e6, (double)st.st_size / (double)n);
	start = now_s();
	if (read_and_compare(path, s, n) != n)
		return 1;
	printf("read and compare: %.1f M records/s\n", (double)n / (now_s() - start) / 1e6);
	times = (size_t)(large_mb * 1e6 / (double)st.st_size) + 1;
	getrusage(RUSAGE_SELF, &before);
	write_samples(path, s, n, times);
	getrusage(RUSAGE_SELF, &after);
	printf("memory: writing %zu times as much raised the peak by %ld KiB\n", times,
		after.ru_maxrss - before.ru_maxrss);
	time_open(path, "with index");
	stat(path, &st);
	if (truncate(path, st.st_size - 32) < 0)
		return 1;
	time_open(path, "index lost, scanned");
	unlink(path);
	free(s);
	return 0;
}
