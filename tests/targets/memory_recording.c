/* SPDX-License-Identifier: MIT
 * Writes tests/data/memory.lead: memory_recording FILE
 *
 * A program that never ran, whose allocations are known. It reads tables (40 blocks of 1 MiB, released half way), parses rows (many
 * small blocks, released at once), keeps a cache that grows (2 KiB each) and one that is replaced all the time; a second thread
 * and a worker process allocate, too. Allocations are sampled as the hooks do it, 64 KiB apart on average, with a fixed seed. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "store/writer.h"
#include "wire/records.h"

enum { STEPS = 100, KEPT = 64 };

static const double PERIOD = 65536;
static const uint64_t START_NS = 5000000000, STEP_NS = 20000000;
static const char TEXT[] =
	"import pandas\n\n\ndef read(path):\n    return bytearray(1 << 20)\n\n\n"
	"def parse(table):\n    return [row.split(b',') for row in table]\n\n\n"
	"class Cache:\n    def put(self, key, rows):\n        self.rows[key] = bytes(rows)\n\n"
	"    def refresh(self, key):\n        self.recent[key] = bytes(4096)\n\n\n"
	"def main():\n    for i in range(100):\n        parse(read(i))\n        cache.put(i, 2048)\n";

struct counts {
	uint64_t bytes, n, sampled;
};

struct program {
	struct writer *w;
	uint64_t now_ns, seed, next_address;
	uint32_t process[2], threads[3]; /* two of the first process, one of the second */
	struct counts counts[2];
};

static double draw(struct program *p)
{
	uint64_t z = p->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static uint32_t frame(
	struct program *p, uint32_t caller, const char *name, uint32_t first, uint64_t line)
{
	const char *file = first ? "/srv/app/cache.py" : "/usr/lib/python3.13/csv.py";
	uint32_t row = writer_row(p->w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_FOREIGN,
			.name = writer_string(p->w, name),
			.file = writer_string(p->w, file),
			.position = line,
			.first_line = first ? first : 80 });

	return writer_row(
		p->w, RECORD_stack, &(struct rec_stack){ .parent = caller, .frame = row });
}

static void write_event(struct program *p, int event, size_t thread, uint32_t stack,
	uint64_t address, uint64_t size)
{
	double chance = -expm1(-(double)size / PERIOD);

	writer_add(p->w, RECORD_memory,
		&(struct rec_memory){ .t_ns = p->now_ns++,
			.thread = p->threads[thread],
			.stack = stack,
			.event = (uint8_t)event,
			.address = address,
			.size_bytes = size,
			.domain = event == MEMORY_ALLOC
				? writer_string(p->w, size > 512 ? "malloc" : "object")
				: 0,
			.weight = event == MEMORY_ALLOC ? 1 / chance : 0 });
}

/* The address if it was sampled, else 0. */
static uint64_t allocate(struct program *p, size_t thread, uint32_t stack, uint64_t size)
{
	struct counts *c = &p->counts[thread == 2];

	p->next_address += (size + 15) / 16 * 16;
	c->bytes += size;
	c->n++;
	if (draw(p) >= -expm1(-(double)size / PERIOD))
		return 0;
	c->sampled++;
	write_event(p, MEMORY_ALLOC, thread, stack, p->next_address, size);
	return p->next_address;
}

static void release(struct program *p, size_t thread, uint64_t address)
{
	if (address)
		write_event(p, MEMORY_FREE, thread, 0, address, 0);
}

static void write_totals(struct program *p)
{
	for (size_t i = 0; i < 2; i++)
		writer_add(p->w, RECORD_memory_total,
			&(struct rec_memory_total){ .t_ns = p->now_ns,
				.process = p->process[i],
				.allocated_bytes = p->counts[i].bytes,
				.n_allocated = p->counts[i].n,
				.n_sampled = p->counts[i].sampled,
				.period_bytes = (uint64_t)PERIOD });
}

static void write_usage(struct program *p, uint64_t step)
{
	for (size_t i = 0; i < 2; i++)
		writer_add(p->w, RECORD_process_usage,
			&(struct rec_process_usage){ .t_ns = p->now_ns,
				.process = p->process[i],
				.user_ns = step * STEP_NS,
				.rss_bytes = (i ? 12 : 30 + (step < STEPS / 2 ? step : 25)) << 20,
				.pss_bytes = RECORD_UNKNOWN,
				.n_threads = i ? 1 : 2 });
}

static void run(struct program *p)
{
	uint32_t main_ = frame(p, 0, "main", 20, 22),
		 put = frame(p, frame(p, 0, "main", 20, 23), "Cache.put", 13, 14),
		 reading = frame(p, main_, "read", 4, 5), parsing = frame(p, main_, "parse", 8, 9),
		 library = frame(p, parsing, "reader.__next__", 0, 112),
		 refresh = frame(p, 0, "Cache.refresh", 16, 17);
	uint64_t tables[STEPS] = { 0 }, recent[KEPT] = { 0 };

	for (uint64_t i = 0; i < STEPS; i++) {
		p->now_ns = START_NS + i * STEP_NS;
		if (i < 40)
			tables[i] = allocate(p, 0, reading, 1 << 20);
		for (int k = 0; k < 200; k++)
			release(p, 0, allocate(p, 0, k % 2 ? parsing : library, 1024));
		for (int k = 0; k < 50; k++)
			allocate(p, 0, put, 2048);
		for (int k = 0; k < 20; k++) {
			size_t at = (i * 20 + (size_t)k) % KEPT;

			release(p, 1, recent[at]);
			recent[at] = allocate(p, 1, refresh, 4096);
		}
		if (i % 5 == 0)
			allocate(p, 2, reading, 100000);
		for (size_t k = 0; i == STEPS / 2 && k < STEPS; k++)
			release(p, 0, tables[k]);
		if (i % 4 == 0)
			write_usage(p, i);
		writer_add(p->w, RECORD_sample,
			&(struct rec_sample){ .t_ns = p->now_ns,
				.thread = p->threads[0],
				.stack = i % 3 ? library : reading,
				.state = SAMPLE_ON_CPU });
		write_totals(p);
	}
}

static void write_ends(struct program *p)
{
	for (size_t i = 0; i < 2; i++)
		writer_add(p->w, RECORD_process_end,
			&(struct rec_process_end){ .t_ns = p->now_ns + (i ? 0 : 1000000),
				.process = p->process[i],
				.source = END_REAPED,
				.user_ns = 1800000000,
				.own_user_ns = 1800000000,
				.max_rss_bytes = (uint64_t)(i ? 12 : 80) << 20 });
}

int main(int argc, char **argv)
{
	struct program p = { .now_ns = START_NS, .seed = 7, .next_address = 0x7f0000000000 };
	struct err e = ERR_INIT;

	if (argc != 2 || writer_open(&p.w, argv[1], NULL, &e) < 0)
		return 1;
	writer_meta_n(p.w, "argv", "python3\0cache.py", 17);
	writer_meta(p.w, "cpus_allowed", "2");
	for (uint32_t i = 0; i < 2; i++) {
		p.process[i] = writer_row(p.w, RECORD_process,
			&(struct rec_process){ .pid = 100 + i,
				.start_ns = 1 + i,
				.parent_pid = i ? 100 : 1,
				.command = writer_string(
					p.w, i ? "python3 -c worker" : "python3 cache.py") });
		writer_add(p.w, RECORD_life,
			&(struct rec_life){ .t_ns = START_NS, .process = p.process[i] });
	}
	for (uint32_t i = 0; i < 3; i++)
		p.threads[i] = writer_row(p.w, RECORD_thread,
			&(struct rec_thread){ .process = p.process[i == 2],
				.tid = i == 1 ? 110 : 100 + i / 2,
				.name = writer_string(p.w, i == 1 ? "refresher" : "") });
	writer_add(p.w, RECORD_source,
		&(struct rec_source){ .file = writer_string(p.w, "/srv/app/cache.py"),
			.text = { TEXT, strlen(TEXT) } });
	run(&p);
	write_ends(&p);
	return writer_close(p.w, &e) < 0;
}
