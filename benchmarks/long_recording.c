/* SPDX-License-Identifier: MIT
 *
 * Writes a recording as long trainings make them, to measure how fast it opens:
 *
 *	long_recording FILE [samples] [stacks]
 *
 * By default ten minutes at 1 kHz: 600 000 samples of one busy and three waiting threads, 3 000 stacks of
 * 30 to 60 frames over 2 000 functions, leaves that move from instruction to instruction. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "store/writer.h"
#include "wire/records.h"

enum {
	N_CODES = 2000,
	N_FILES = 150,
	N_UNITS = 200,
	N_LEAVES = 12,
	OWN_FRAMES = 14,
	N_THREADS = 4,
	DEPTH_LEAST = 30,
	DEPTH_MOST = 60
};

static uint64_t seed = 88172645463325252u;

static uint64_t next_random(void)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	return seed ^= seed << 17;
}

/* A number below n, small ones far more often. */
static uint32_t skewed(uint32_t n)
{
	double u = (double)(next_random() >> 11) / (double)(1ull << 53);

	return (uint32_t)(u * u * u * (double)n);
}

struct rows { /* of one segment */
	uint32_t segment, process, threads[N_THREADS], codes[N_CODES];
	uint32_t *stacks; /* callers of each stack */
};

struct plan {
	size_t n_stacks;
	uint16_t (*functions)[DEPTH_MOST];
	unsigned char *depth;
};

/* Form 11 of 3.11's tables: the next line, two columns; one entry per two code units. */
static size_t make_linetable(unsigned char *to)
{
	size_t n = 0;

	for (int i = 0; i < N_UNITS / 2; i++) {
		to[n++] = 0x80 | 11 << 3 | 1;
		to[n++] = 8;
		to[n++] = (unsigned char)(20 + i % 50);
	}
	return n;
}

static uint32_t make_code(struct writer *w, unsigned i, const unsigned char *table, size_t n)
{
	char file[120], name[60];

	snprintf(file, sizeof file, "/opt/venv/lib/python3.12/site-packages/package%u/module%u.py",
		i % 20, i % N_FILES);
	snprintf(name, sizeof name, "Class%u.method_%u", i % 300, i);
	return writer_row(w, RECORD_code,
		&(struct rec_code){ .file = writer_string(w, file),
			.qualname = writer_string(w, name),
			.first_line = 10 + i,
			.n_code_bytes = N_UNITS * 2,
			.linetable = { table, (uint32_t)n },
			.interpreter = writer_string(w, "cpython 3.12.3 x86_64") });
}

static void make_rows(struct writer *w, struct rows *r, const struct plan *p)
{
	unsigned char table[N_UNITS * 2];
	size_t n = make_linetable(table);

	r->segment = writer_segment(w);
	r->process = writer_row(w, RECORD_process,
		&(struct rec_process){ .pid = 100,
			.start_ns = 1,
			.command = writer_string(w, "python train.py") });
	for (uint32_t i = 0; i < N_THREADS; i++)
		r->threads[i] = writer_row(w, RECORD_thread,
			&(struct rec_thread){ .process = r->process, .tid = 100 + i });
	for (unsigned i = 0; i < N_CODES; i++)
		r->codes[i] = make_code(w, i, table, n);
	memset(r->stacks, 0, p->n_stacks * sizeof *r->stacks);
}

static uint32_t caller_stack(struct writer *w, struct rows *r, const struct plan *p, size_t stack)
{
	if (r->stacks[stack])
		return r->stacks[stack];
	for (unsigned i = 0; i + 1 < p->depth[stack]; i++) {
		uint32_t f = p->functions[stack][i];

		r->stacks[stack] = writer_row(w, RECORD_stack,
			&(struct rec_stack){ .parent = r->stacks[stack],
				.frame = writer_row(w, RECORD_frame,
					&(struct rec_frame){ .tag = FRAME_PY,
						.code = r->codes[f],
						.position = (f + i) % N_UNITS * 2 }) });
	}
	return r->stacks[stack];
}

/* A stack shares all but its last frames with one before it: seven rows of the stack table per distinct
 * stack, as counted in a recording of examples/vae_lists.py (807 stacks, 5528 rows, 41 frames deep). */
static void make_plan(struct plan *p)
{
	for (size_t s = 0; s < p->n_stacks; s++) {
		size_t like = s ? skewed((uint32_t)s) : 0;
		unsigned own = 1 + (unsigned)(next_random() % OWN_FRAMES), depth;

		depth = (unsigned)(DEPTH_LEAST + next_random() % (DEPTH_MOST - DEPTH_LEAST + 1));
		if (s && p->depth[like] + own > depth + OWN_FRAMES)
			depth = p->depth[like];
		p->depth[s] = (unsigned char)depth;
		for (unsigned i = 0; i < depth; i++)
			p->functions[s][i] = s && i + own < depth && i < p->depth[like]
				? p->functions[like][i]
				: (uint16_t)skewed(N_CODES);
	}
}

static void write_samples(struct writer *w, const struct plan *p, size_t n)
{
	struct rows r = { .stacks = calloc(p->n_stacks, sizeof *r.stacks) };
	uint64_t t = 1000000000000u;
	size_t stack = 0;

	if (!r.stacks)
		abort();
	for (size_t i = 0; i < n; i++) {
		unsigned thread = i % 20 == 19 ? 1 + i / 20 % 3 : 0; /* waiting ones at 20 Hz */

		t += 500000 + next_random() % 1000000;
		stack = thread ? thread : next_random() % 3 ? skewed((uint32_t)p->n_stacks) : stack;
		if (r.segment != writer_segment(w) || !r.process)
			make_rows(w, &r, p);
		writer_add(w, RECORD_sample,
			&(struct rec_sample){ .t_ns = t,
				.thread = r.threads[thread],
				.stack = caller_stack(w, &r, p, stack),
				.leaf_code = r.codes[p->functions[stack][p->depth[stack] - 1]],
				.leaf_offset = thread ? 10 : skewed(N_LEAVES) * 4,
				.state = thread ? 0 : SAMPLE_ON_CPU | SAMPLE_HOLDS_GIL });
		if (i % 64 == 0)
			writer_poll(w, t);
	}
	writer_add(w, RECORD_life,
		&(struct rec_life){
			.t_ns = 1000000000000u, .process = r.process, .event = LIFE_START });
	free(r.stacks);
}

int main(int argc, char **argv)
{
	size_t n = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 600000;
	struct plan p = { .n_stacks = argc > 3 ? (size_t)strtoul(argv[3], NULL, 10) : 3000 };
	struct err e = ERR_INIT;
	struct writer *w;

	if (argc < 2 || !n || !p.n_stacks) {
		fprintf(stderr, "usage: long_recording FILE [samples] [stacks]\n");
		return 2;
	}
	p.functions = calloc(p.n_stacks, sizeof *p.functions);
	p.depth = calloc(p.n_stacks, 1);
	if (!p.functions || !p.depth || writer_open(&w, argv[1], NULL, &e) < 0) {
		fprintf(stderr, "long_recording: %s\n", e.text);
		return 1;
	}
	make_plan(&p);
	writer_meta_n(w, "argv", "python\0train.py", 16);
	writer_meta(w, "wall_s", "600");
	writer_meta(w, "engine", "sample/remote");
	write_samples(w, &p, n);
	free(p.functions);
	free(p.depth);
	return writer_close(w, &e) < 0;
}
