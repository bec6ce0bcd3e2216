/* SPDX-License-Identifier: MIT
 * See hash.h. */
#include "base/hash.h"

#include <sys/random.h>
#include <time.h>
#include <unistd.h>

#include "base/banned.h"

uint64_t hash_seed;

/* Before main: tables may be made by then, and none may outlive its seed. */
__attribute__((constructor)) static void draw_seed(void)
{
	struct timespec t = { 0 };

	if (getrandom(&hash_seed, sizeof hash_seed, GRND_NONBLOCK) == (ssize_t)sizeof hash_seed)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	hash_seed = hash_u64((uint64_t)t.tv_nsec ^ (uint64_t)getpid() << 32);
}
