/* SPDX-License-Identifier: MIT
 * A thread that Python does not know, which calls into it now and then: between two calls it lives on, its thread state does not. */
#include <pthread.h>
#include <stdint.h>
#include <time.h>

struct calls {
	void (*callback)(void);
	int64_t pause_ns;
	int count;
	pthread_t thread;
};

static struct calls calls;

static void *call_in(void *arg)
{
	struct calls *own = arg;
	struct timespec pause = { .tv_sec = own->pause_ns / 1000000000,
		.tv_nsec = own->pause_ns % 1000000000 };

	for (int i = 0; i < own->count; i++) {
		nanosleep(&pause, NULL);
		own->callback();
	}
	return NULL;
}

int calls_start(void (*callback)(void), int64_t pause_ns, int count)
{
	calls = (struct calls){ .callback = callback, .pause_ns = pause_ns, .count = count };
	return pthread_create(&calls.thread, NULL, call_in, &calls);
}

int calls_wait(void)
{
	return pthread_join(calls.thread, NULL);
}
