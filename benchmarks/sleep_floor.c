/* SPDX-License-Identifier: MIT
 * What looking a thousand times a second costs on this machine before anything is looked at: prints, as shares of a
 * core, the CPU time of sleeping, and of sleeping and one copy of a page of a busy process.    sleep_floor SECONDS */
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HZ = 1000, PAGE = 4096 };

static char page[PAGE];

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double share(double seconds, pid_t pid, bool is_copying)
{
	struct iovec local = { page, PAGE }, remote = { page, PAGE };
	double cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID), begun = seconds_of(CLOCK_MONOTONIC);
	struct timespec next;

	clock_gettime(CLOCK_MONOTONIC, &next);
	for (int i = 0; i < seconds * HZ; i++) {
		next.tv_nsec += 1000000000 / HZ;
		if (next.tv_nsec >= 1000000000) {
			next.tv_nsec -= 1000000000;
			next.tv_sec++;
		}
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
		if (is_copying)
			process_vm_readv(pid, &local, 1, &remote, 1, 0);
	}
	return (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu) / (seconds_of(CLOCK_MONOTONIC) - begun);
}

int main(int argc, char **argv)
{
	double seconds = argc > 1 ? strtod(argv[1], NULL) : 2;
	volatile char *written = page;
	pid_t pid = fork();

	if (pid < 0)
		return 1;
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			for (int i = 0; i < PAGE; i += 64)
				written[i]++;
	}
	printf("%.4f %.4f\n", share(seconds, pid, false), share(seconds, pid, true));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
