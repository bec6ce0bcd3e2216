/* SPDX-License-Identifier: MIT
 * Bytes into a file, for fuzz targets whose subject takes the name of one. */
#ifndef FUZZ_SAVE_H
#define FUZZ_SAVE_H

#include <stdlib.h>

#include "base/buf.h"
#include "base/err.h"

static inline void save(const char *path, const void *data, size_t n)
{
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;

	buf_add(&text, data, n);
	if (buf_save(&text, path, &e) < 0)
		abort();
	buf_done(&text);
}

#endif
