/* SPDX-License-Identifier: MIT
 *
 * How fast a file of another tool becomes a recording in memory:
 *
 *	read_bench FILE
 *
 * prints CPU seconds, peak memory in bytes, the recording's bytes and its rows of stacks, separated by blanks. */
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>

#include "base/err.h"
#include "formats/format.h"
#include "store/reader.h"
#include "store/tables.h"
#include "wire/records.h"

/* Of this program alone: what getrusage tells began before the exec. */
static long peak_bytes(void)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[200];
	long kib = 0;

	while (f && fgets(line, sizeof line, f))
		if (sscanf(line, "VmHWM: %ld", &kib) == 1)
			break;
	if (f)
		fclose(f);
	return kib * 1024;
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct reader *r = NULL;
	struct tables *t = NULL;
	struct timespec cpu;
	struct stat st = { 0 };
	long peak;

	if (argc != 2 || format_open(&r, argv[1], &e) < 0) {
		fprintf(stderr, "read_bench: %s\n", argc == 2 ? e.text : "wants a file");
		return 1;
	}
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
	peak = peak_bytes();
	fstat(r->fd, &st);
	if (tables_load(&t, r, &e) < 0)
		return 1;
	printf("%.3f %ld %lld %zu\n", (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9, peak,
		(long long)st.st_size, tables_count(t, RECORD_stack));
	tables_free(t);
	reader_close(r);
	return 0;
}
