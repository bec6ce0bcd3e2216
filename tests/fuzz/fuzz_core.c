/* SPDX-License-Identifier: MIT
 * Fuzz target: core files. The input is one; addresses to read are taken from its own words. The seed is a core
 * file as core_test.c makes it. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/core.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static int fd = -1;
	static char path[64];
	struct err e = ERR_INIT;
	unsigned char bytes[256];
	uint64_t address;
	struct core c;

	if (fd < 0) {
		fd = memfd_create("core", MFD_CLOEXEC);
		snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	}
	if (ftruncate(fd, 0) < 0 || pwrite(fd, data, n, 0) != (ssize_t)n ||
		core_open(&c, path, "/nonexistent", &e) < 0)
		return 0;
	for (size_t at = 0; at + 8 <= n && at < 1024; at += 8) {
		memcpy(&address, data + at, 8);
		core_read(&c, address, bytes, sizeof bytes);
	}
	core_close(&c);
	return 0;
}
