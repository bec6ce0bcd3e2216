/* SPDX-License-Identifier: MIT
 *
 * The names that a program gave its threads: threading._active of one interpreter, by the threads'
 * idents (thread_id of the thread state). */
#ifndef CPYTHON_NAMES_H
#define CPYTHON_NAMES_H

#include <stdint.h>

struct objects;

/* An entry of sys.modules: 0 or -errno. */
int names_module(struct objects *o, uint64_t interp, const char *module, uint64_t *ret_module);

typedef void name_visitor(void *ctx, uint64_t ident, const char *name);

/* 0, or -errno when nothing is known (threading was not imported, which is usual). */
int names_each(struct objects *o, uint64_t interp, name_visitor *visit, void *ctx);

#endif
