/* SPDX-License-Identifier: MIT
 *
 * What the tracing agent (src/agent) and the tool (collect/agents/trace.c) agree on beyond the session and
 * its options (agent_options.h): the records in the rings, and how counters lie in the sparse area of a process.
 *
 * The sparse area is an array of granules of TRACE_GRANULE_BYTES, each with a head of its own and full of
 * items of one kind. A granule belongs to one thread of the target, which alone writes it; when that has ended, another may
 * go on with it (`thread` is the same then, `tid` that of the first). The tool copies it at any time by whole 8-byte words (session_snapshot). A granule without the magic is none, or none yet:
 * whatever else takes memory from the area (line counters) takes whole granules, by tree_area.
 *
 *	struct trace_granule                  64 bytes
 *	struct trace_node × TRACE_NODES       the calling contexts of its thread (TRACE_GRANULE_NODES)
 *
 * An item is named by its place: granule × TRACE_REF_STRIDE + index + 1, so 0 is none. A node is made after
 * its parent, by the same thread, so a parent's reference is always lower: no loops.
 *
 * Times are in the session's clock. A node's `self` grows at each event of its thread, so at any instant the
 * sum over a thread's nodes is the thread's life up to its last event; what is called a node's inclusive
 * time is the sum over its subtree and stands nowhere. Functions are numbered from 1 in each process and
 * told by records in the rings before a node refers to them. */
#ifndef WIRE_TRACE_H
#define WIRE_TRACE_H

#include <stdint.h>

/* ---- records in the rings -------------------------------------------------------------------- */
enum trace_record {
	TRACE_RECORD_CODE = 1,   /* struct trace_code; its bytes follow as parts, in order */
	TRACE_RECORD_CODE_BYTES, /* struct trace_part, then a piece of those bytes */
	TRACE_RECORD_BUILTIN,    /* struct trace_builtin, then its name */
	TRACE_RECORD_NOTE,       /* text for the user: what could not be done */
	TRACE_RECORD_COST,       /* struct trace_cost */
	TRACE_RECORD_LINES,      /* struct line_block (line_area.h): where lines are counted */
	TRACE_RECORD_LINES_NEAR, /* uint32_t pattern, then text: what a pattern that chose nothing may have meant */
	TRACE_RECORD_EVENTS = 32, /* struct event_block and its bytes (events.h) */
	TRACE_RECORD_OPCODES, /* struct opcode_block (line_area.h): where instructions are counted */
	TRACE_RECORD_OPS = 48, /* struct op_block and its rows; op_area.h, as all that follow */
	TRACE_RECORD_OP_NAME,
	TRACE_RECORD_OP_CODE,
	TRACE_RECORD_OP_PLACE,
	TRACE_RECORD_OP_GAP,
	TRACE_RECORD_TORCH,
	TRACE_RECORD_OP_COMPILED,
	TRACE_RECORD_OP_COST,
	TRACE_RECORD_OP_MODULE,
};

/* A Python function. The parts hold file, qualified name, line table, instructions (as compiled, not as
 * specialised), table of exception handlers and words (columns of a code record), one after the other. */
struct trace_code {
	uint32_t function, first_line;
	uint32_t n_file, n_qualname, n_linetable, n_code, n_handlers, n_words; /* bytes */
};

enum { TRACE_PART_BYTES = 16 << 10 }; /* at most, of each */

struct trace_part {
	uint32_t function, offset; /* in all of its bytes */
};

struct trace_builtin {
	uint32_t function, reserved;
};

/* What the hooks themselves cost in this process, in the session's clock × 256, measured at start. The part
 * between a call's two stamps is in the callee's time, the rest in the caller's. */
struct trace_cost {
	uint64_t call_inside, call_outside;       /* of one call of a Python function */
	uint64_t builtin_inside, builtin_outside; /* of one call of a C function */
	uint64_t resume_inside,
		resume_outside;   /* of one resumption, and the suspension that ends it */
	uint64_t other_outside;   /* of calling anything else: classes, objects with __call__ */
	uint64_t pace;            /* the CPU's when it was measured, in ticks of the clock */
	uint64_t error_permille;  /* by how much of it a cost may be off */
	uint64_t slower_permille; /* how long Python code without calls takes, untraced: 1000 */
	uint64_t c_function,
		c_method; /* of a C function that is a module's, and of one that is a type's */
};

/* How the hooks' cost grows with the pace, both as parts of what they were when measured: a little more than it, as the hooks'
 * many stores share more with the core's other thread than the piece of work that tells the pace. x^1.15, nearly. */
static inline double trace_cost_growth(double pace)
{
	return pace * (1 + 0.3 * (pace - 1) / (pace + 1));
}

/* ---- the sparse area ------------------------------------------------------------------------- */
#define TRACE_GRANULE_MAGIC 0x6772616eu

enum {
	TRACE_GRANULE_BYTES = 4096,
	TRACE_REF_STRIDE = 64, /* references per granule */
	TRACE_BUCKETS =
		30, /* of a histogram: bucket b counts durations of [2^b, 2^(b+1)) × TRACE_BUCKET_NS */
	TRACE_BUCKET_NS = 4, /* no call that is timed takes less */
	TRACE_BUCKET_LOG2 = 2,
};

enum trace_granule_kind {
	TRACE_GRANULE_NODES = 1,
	TRACE_GRANULE_LINES =
		2, /* counters of lines (line_area.h); n: granules, of which only the first has a head */
	TRACE_GRANULE_EVENTS = 8, /* the block a thread fills just now (events.h); n is 0 */
	TRACE_GRANULE_BUDGET = 4, /* functions that are off (budget_area.h) */
	TRACE_GRANULE_ARGS = 16,  /* what a function was called with (args_area.h) */
	TRACE_GRANULE_OPS = 32,   /* operators a thread has not sent yet (op_area.h) */
};

struct trace_granule {
	uint32_t magic;  /* written last */
	uint32_t kind;   /* enum trace_granule_kind */
	uint32_t thread; /* number of its thread in the process, from 1 */
	int32_t tid;
	uint64_t start; /* when the thread was first seen, in the session's clock */
	uint32_t n;     /* items in use */
	/* Of the thread, written into its first granule of nodes only. */
	uint32_t n_threads;      /* that have counted here, one after the other */
	uint64_t n_resynced;     /* times the stack had to be found again: frames ended unseen */
	uint64_t n_folded;       /* calling contexts without a node of their own: no room */
	uint64_t n_paces, paces; /* how often the CPU's pace was measured, and the sum, in ticks */
};

/* One calling context. The first node of a thread stands for the thread itself: its function is 0 and its
 * self time is what was spent outside Python functions. */
struct trace_node {
	uint32_t function, parent; /* parent: reference, 0 for the thread's first */
	uint64_t calls;
	uint64_t resumes; /* of generators and coroutines that were suspended */
	/* of calls: entered from below itself, because contexts were folded */
	uint64_t recursive_calls;
	uint64_t self;
	uint64_t awaited; /* between suspension and resumption */
	uint64_t not_min; /* complement of the shortest call; 0: none was complete */
	uint64_t max;
	uint64_t cost; /* part of self that events took, in the session's clock × 256 */
	uint32_t histogram[TRACE_BUCKETS]; /* stops at UINT32_MAX */
};

enum {
	TRACE_NODES =
		(TRACE_GRANULE_BYTES - sizeof(struct trace_granule)) / sizeof(struct trace_node)
};

_Static_assert(sizeof(struct trace_granule) == 64, "head of a granule");
_Static_assert(sizeof(struct trace_node) == 192, "node");
_Static_assert((int)TRACE_NODES <= (int)TRACE_REF_STRIDE, "references fit");

#endif
