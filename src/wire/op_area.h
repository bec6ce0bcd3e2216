/* SPDX-License-Identifier: MIT
 *
 * Operators of PyTorch, as the agent hands them on: one row for each that has ended, in blocks of its thread's.
 *
 * A thread fills a block in the sparse area (a granule of TRACE_GRANULE_OPS: a head, then struct op_block), sends it as
 * TRACE_RECORD_OPS when it is full, and begins the next in the same place. What a process had not sent when it ended is
 * still there; `sequence` tells what was sent already. A block belongs to one thread at a time and goes to another when
 * that has ended.
 *
 * Names, places and modules are numbered from 1 in each process and told by records. They may come by another thread's ring, so
 * a block can be read before what it refers to: by the next drain of all rings that is there. */
#ifndef WIRE_OP_AREA_H
#define WIRE_OP_AREA_H

#include <stdint.h>

#include "wire/trace.h"

enum {
	OP_NAME_BYTES = 1024,      /* at most, of one name */
	OP_NAMES_MOST = 1 << 20,   /* further ones share number OP_NAMES_MOST */
	OP_PLACES_MOST = 1 << 20,  /* further ones are 0: not known */
	OP_MODULES_MOST = 1 << 16, /* further ones are 0: not known */
	OP_COMPILED_BYTES = 48
		<< 10, /* at most, of TRACE_RECORD_OP_COMPILED: what torch.compile did and why, JSON (analyze/torch/compile_log.h) */
	OP_TEXT_BYTES = 16 << 10, /* at most, of a place's file, name and line table each */
};

struct op_row {
	uint64_t start, ticks; /* the session's clock */
	uint32_t name;
	uint32_t place; /* the line of Python that asked for it; 0: none; with OP_IS_REGION */
};

/* In a place: the program has named this one, by record_function. */
#define OP_IS_REGION 0x80000000u

struct op_block {
	uint64_t sequence; /* of this block, from 1 */
	uint64_t n_lost;   /* rows of earlier ones that nobody took */
	uint64_t n;        /* rows in use */
	uint32_t number;   /* of the block in its process, from 1 */
	int32_t tid;
};

enum {
	OP_BLOCK_ROWS =
		(TRACE_GRANULE_BYTES - sizeof(struct trace_granule) - sizeof(struct op_block)) /
		sizeof(struct op_row)
};

/* TRACE_RECORD_OP_NAME; the text follows. */
struct op_name {
	uint32_t number, reserved;
};

/* TRACE_RECORD_OP_CODE; file, qualified name and line table follow, one after the other. */
struct op_code {
	uint32_t number, first_line;
	uint32_t n_file, n_qualname, n_linetable,
		n_code; /* bytes; n_code: of instructions, which do not follow */
};

/* TRACE_RECORD_OP_PLACE: an instruction, in a module. */
struct op_place {
	uint32_t number, code, offset; /* bytes */
	uint32_t module;               /* of the model, that runs there; 0: none, or not known */
};

/* TRACE_RECORD_OP_MODULE: a module of the model, numbered from 1 in each process; its class and where it is in the model ("layers.3.qkv") follow. It
 * is told when it is first seen, by its class alone, and again once more is known. */
struct op_module {
	uint32_t number;
	uint32_t parent;          /* the module that has it and calls it; 0: none, or not known */
	uint32_t n_class, n_path; /* bytes */
};

/* TRACE_RECORD_TORCH: what became of collecting in this process; its text follows. */
enum op_torch_state {
	OP_TORCH_ON = 1, /* text: torch's version */
	OP_TORCH_CANNOT, /* text: why not */
};

struct op_torch {
	uint32_t state, n_threads_unseen; /* Python threads that ran before torch was imported */
};

/* TRACE_RECORD_OP_COST: what collecting one operator costs the thread that runs it, measured in this process. */
struct op_cost {
	uint32_t ns, reserved;
};

/* TRACE_RECORD_OP_GAP: a thread's operators were not seen, because the program's own profiler was on. */
struct op_gap {
	uint64_t start, ticks;
};

#endif
