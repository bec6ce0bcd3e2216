/* SPDX-License-Identifier: MIT
 *
 * How fast a file of another tool becomes a recording in memory:
 *
 *	read_bench FILE
 *
 * prints CPU seconds, peak memory in bytes, the recording's bytes, its rows of stacks, and the bytes of the tree that `report` and
 * `view` work with (its tables, places and call paths), separated by blanks. */
#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "analyze/samples/flametree.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "formats/opened.h"
#include "store/reader.h"
#include "store/tables.h"
#include "wire/records.h"

/* "VmHWM: %ld" the most memory, "VmRSS: %ld" that of now. Of this program alone: what getrusage tells began before the exec. */
static long memory(const char *what)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, what, &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct opened o = { 0 };
	struct reader *r = NULL;
	struct tables *t = NULL;
	struct timespec cpu;
	struct stat st = { 0 };
	struct arena a = ARENA_INIT;
	long peak, before, tree;

	if (argc != 2 || format_open_any(argv[1], &o, &e) < 0 || opened_reader(&o, &r, &e) < 0) {
		fprintf(stderr, "read_bench: %s\n", argc == 2 ? e.text : "wants a file");
		return 1;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	peak = memory("VmHWM: %ld");
	fstat(r->fd, &st);
	malloc_trim(0);
	before = memory("VmRSS: %ld");
	if (tables_load(&t, r, &e) < 0)
		return 1;
	flametree_build(&a, stacks_build(&a, t, &(struct stacks_options){ 0 }), 0);
	malloc_trim(0);
	tree = memory("VmRSS: %ld") - before;
	printf("%.3f %ld %lld %zu %ld\n", (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9, peak,
		(long long)st.st_size, tables_count(t, RECORD_stack), tree);
	arena_done(&a);
	tables_free(t);
	opened_done(&o);
	return 0;
}
