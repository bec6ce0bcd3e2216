/* SPDX-License-Identifier: MIT
 * A program with a planted character, for the verdict tests: storm WHAT SECONDS [FOLDER]
 *   faults  maps, touches and unmaps memory      fsync   writes 4 KiB and syncs, again and again
 *   direct  reads with O_DIRECT at random places  forks   N short children (SECONDS is the number)
 *   busy    computes for SECONDS of CPU time */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double clock_s(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double now_s(void)
{
	return clock_s(CLOCK_MONOTONIC);
}

static void faults(void)
{
	size_t n = 16 << 20;
	char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	madvise(p, n, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i += 4096)
		p[i] = 1;
	munmap(p, n);
}

static void busy(void)
{
	volatile uint64_t x = 1;

	for (int i = 0; i < 1000000; i++)
		x = x * 6364136223846793005u + 1;
}

static int open_file(const char *folder, int flags)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof path, "%s/storm.%d", folder, (int)getpid());
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | flags, 0600);
	if (fd < 0) {
		perror(path);
		exit(1);
	}
	unlink(path);
	return fd;
}

static void fsync_loop(const char *folder, double end)
{
	int fd = open_file(folder, 0);
	char block[4096] = { 1 };

	for (off_t at = 0; now_s() < end; at = (at + 4096) & ((64 << 20) - 1))
		if (pwrite(fd, block, sizeof block, at) < 0 || fsync(fd) < 0)
			exit(1);
}

static void direct_loop(const char *folder, double seconds)
{
	enum { BLOCK = 256 << 10, BLOCKS = 256 };
	int fd = open_file(folder, O_DIRECT);
	char *block = aligned_alloc(4096, BLOCK);
	unsigned seed = 1;
	double end;

	memset(block, 1, BLOCK);
	for (int i = 0; i < BLOCKS; i++)
		if (pwrite(fd, block, BLOCK, (off_t)i * BLOCK) < 0)
			exit(1);
	fsync(fd);
	for (end = now_s() + seconds; now_s() < end;)
		if (pread(fd, block, BLOCK, (off_t)(rand_r(&seed) % BLOCKS) * BLOCK) < 0)
			exit(1);
}

static void forks(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();

		if (pid == 0)
			_exit(0);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "", *folder = argc > 3 ? argv[3] : "/tmp";
	double seconds = argc > 2 ? strtod(argv[2], NULL) : 1, end = now_s() + seconds;

	if (strcmp(what, "fsync") == 0)
		fsync_loop(folder, end);
	else if (strcmp(what, "direct") == 0)
		direct_loop(folder, seconds);
	else if (strcmp(what, "forks") == 0)
		forks((int)seconds);
	else if (strcmp(what, "faults") == 0)
		while (now_s() < end)
			faults();
	else if (strcmp(what, "busy") == 0)
		while (clock_s(CLOCK_PROCESS_CPUTIME_ID) < seconds)
			busy();
	else
		return 2;
	return 0;
}
