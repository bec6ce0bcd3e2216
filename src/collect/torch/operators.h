/* SPDX-License-Identifier: MIT
 *
 * Operators of PyTorch as one process's agent tells them (wire/op_area.h), from records that may lie, into `op` records.
 *
 *	trace_ops_add(&o, kind, data, n_bytes);		a record of the ring; false: nonsense
 *	trace_ops_write(&o, &to);			after all rings were drained: what was there the time before
 *	trace_ops_rest(&o, &area);			of an ended process: what it had not sent
 *	trace_ops_write_all(&o, &to);			… and all that is left
 *	trace_ops_done(&o); */
#ifndef COLLECT_TORCH_OPERATORS_H
#define COLLECT_TORCH_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "base/vec.h"
#include "wire/op_area.h"

struct sources;
struct tick_map;
struct writer;

enum { TRACE_OPS_BYTES_MOST = 256 << 20 }; /* of names and code objects; more are not believed */

struct trace_op_name {
	char *text;            /* owned; NULL: not told */
	uint32_t row, segment; /* of the string table */
};

struct trace_op_code {
	struct op_code head; /* number 0: not told */
	char *texts;         /* owned: file, name, line table */
	uint32_t row, segment;
};

struct trace_op_module {
	char *class, *path; /* owned; NULL: not told */
	uint32_t parent;
	uint32_t segment; /* that it was written to; 0: it is to be written again */
};

struct trace_op_thread {
	uint64_t n, first_ns, last_ns; /* operators; the first one's begin, the last one's end */
};

struct trace_ops {
	VEC(struct trace_op_name) names; /* by number, as the next three */
	VEC(struct trace_op_code) codes;
	VEC(struct op_place) places;
	VEC(struct trace_op_module) modules;
	struct buf blocks; /* that were read, one after the other */
	size_t n_old;      /* bytes of those read before the last drain began */
	struct map sent;   /* number of a block → sequence of the last that was read */
	struct map lost;   /* number of a block → its n_lost */
	uint64_t n_bytes;  /* of names and code objects */
	uint64_t n_ops, n_lost;
	uint64_t n_gaps, gap_ticks;
	char version[40]; /* of torch; "": it was not imported, or cannot be asked */
	char cannot[304]; /* why not */
	uint32_t n_threads_unseen;
	uint32_t cost_ns; /* of one operator to its thread; 0: not known */
	VEC(struct trace_op_thread) threads;
	struct map thread_at; /* tid → in threads */
	struct buf compiled;  /* what torch.compile did: JSON, or empty */
};

/* Where operators go. */
struct trace_ops_target {
	struct writer *writer;
	uint32_t process; /* its row */
	const char *interpreter;
	struct sources *sources; /* may be NULL */
	unsigned source_process;
	const struct tick_map *clock; /* up to now */
};

bool trace_ops_is_own(uint16_t kind);
bool trace_ops_add(struct trace_ops *o, uint16_t kind, const void *data, size_t n_bytes);
void trace_ops_rest(struct trace_ops *o, const struct buf *area);
void trace_ops_write(struct trace_ops *o, const struct trace_ops_target *to);
void trace_ops_write_all(struct trace_ops *o, const struct trace_ops_target *to);
/* By how much collecting slowed the thread that ran most operators, from its first to its last; UNITS_UNKNOWN. */
double trace_ops_slowdown(const struct trace_ops *o);
void trace_ops_done(struct trace_ops *o);

#endif
