/* SPDX-License-Identifier: MIT
 *
 * A process that claims to be Python: it defines _PyRuntime and fills it, and goes on changing it,
 * with what must not mislead a reader.
 *
 *	fake_python random SEED       random bytes
 *	fake_python pointers SEED     random pointers into itself, so that every one can be followed
 *	fake_python cookie HEX SEED   the beginning of _Py_DebugOffsets of that version, then pointers
 *	fake_python zero HEX          no offsets, and a Py_Version that says so
 *
 * Prints "ready" and runs until it is killed. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORDS = 65536, REWRITTEN = 64 };

uint64_t _PyRuntime[WORDS];
unsigned long Py_Version;

static uint64_t state;

static uint64_t next_random(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static uint64_t next_word(int want_pointers)
{
	return want_pointers ? (uint64_t)(uintptr_t)&_PyRuntime[next_random() % WORDS]
			     : next_random();
}

int main(int argc, char **argv)
{
	const char *mode = argc > 2 ? argv[1] : "";
	int want_pointers = strcmp(mode, "random") != 0;
	size_t first = 0;

	state = 0x9e3779b97f4a7c15u * (strtoull(argc > 2 ? argv[argc - 1] : "1", NULL, 0) | 1);
	if (strcmp(mode, "cookie") == 0) {
		memcpy(_PyRuntime, "xdebugpy", 8);
		_PyRuntime[1] = strtoull(argv[2], NULL, 16);
		first = 3;
	}
	if (strcmp(mode, "zero") == 0)
		Py_Version = strtoul(argv[2], NULL, 16);
	else
		for (size_t i = first; i < WORDS; i++)
			_PyRuntime[i] = next_word(want_pointers);
	puts("ready");
	fflush(stdout);
	for (;;) {
		usleep(100);
		for (int i = 0; i < REWRITTEN && strcmp(mode, "zero") != 0; i++)
			_PyRuntime[first + next_random() % (WORDS - first)] =
				next_word(want_pointers);
	}
}
