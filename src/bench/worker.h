/* SPDX-License-Identifier: MIT
 * The text of worker.py, which runs inside the interpreter that is measured. */
#ifndef BENCH_WORKER_H
#define BENCH_WORKER_H

#include <stddef.h>

extern const unsigned char bench_worker[];
extern const size_t n_bench_worker;

#endif
