/* SPDX-License-Identifier: MIT
 *
 * The events of a PyTorch trace in compact columns: operators, annotations, Python functions, runtime calls, kernels
 * and copies, with names, threads and shapes interned. Filled by formats/torch/trace, read by ops and what follows it.
 *
 * 32 bytes an event, so that some millions of them fit where their JSON would not. */
#ifndef ANALYZE_TORCH_EVENTS_H
#define ANALYZE_TORCH_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/torch/collected.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "store/damage.h"
#include "wire/ops.h"

struct op_event {
	int64_t start_ns, duration_ns; /* since the file's own zero */
	uint32_t name;                 /* in names */
	/* operators: their number; others: that of the operator they belong to, 0: none */
	uint32_t link;
	/* operators: their shapes + 1; on the device and in the runtime: correlation */
	uint32_t detail;
	uint16_t track; /* in tracks */
	uint8_t category;
	uint8_t is_backward; /* an operator of autograd's: its sequence number is of one that ran before, in the thread that torch numbers so */
};

struct op_sequence { /* operators that autograd has numbered: one forward and those backward that belong to it */
	uint32_t event, number;
};

struct op_device {            /* what a kernel or a copy says of itself; 0 and NAN: nothing */
	uint32_t correlation; /* of its launch; 0: none */
	uint32_t launch;      /* in launches + 1; 0: not known */
	uint64_t bytes;
	float blocks_per_sm, occupancy; /* estimates of the profiler; occupancy in % */
};

struct op_launch { /* with what a kernel was launched */
	uint32_t grid[3], block[3], registers, shared_bytes;
};

/* More than any machine has, and little enough that sums of them are numbers. */
#define OP_BYTES_MOST (INT64_C(1) << 44)

struct op_memory { /* an allocation, or with negative bytes a release */
	int64_t t_ns, bytes;
	uint64_t total_bytes;             /* allocated then on that device; 0: not known */
	uint64_t reserved_bytes, address; /* 0: not known */
	uint16_t track;
	int16_t device;      /* its number; -1 for the CPU */
	uint8_t device_type; /* 0 CPU, 1 CUDA … as torch numbers them */
	uint8_t is_failure;  /* memory ran out */
};

struct op_written {  /* an event as its file has it: event_template.h; all 0: it is of no file */
	uint64_t at; /* in numbers: where its own begin */
	uint32_t n;
	uint32_t form; /* in texts */
};

struct op_mark { /* an event that is no span: a flow, a counter, a thread's name … */
	int64_t t_ns;
	uint64_t link; /* a flow's number */
	struct op_written written;
};

struct op_other { /* an event that is none of torch's, and that stacks are made of */
	int64_t start_ns, end_ns; /* X: both; B, E: when it begins or ends */
	uint32_t name, file;      /* in others.texts; M: the name of its thread */
	uint32_t line;            /* 0: not known */
	uint32_t track;           /* in others.tracks */
	uint32_t after;           /* of v: how many stand before it in the file */
	char phase;               /* X, B or E as Chrome's trace events have it; M: thread_name */
};

struct op_others {
	VEC(struct op_other) v; /* in the file's order */
	struct intern texts;    /* 0 is "" */
	struct intern tracks;   /* as op_events has them */
	uint64_t n_spans;       /* X and B */
	uint64_t n_foreign;     /* of them: those of other tools, not what torch says of itself */
};

struct op_flaw {          /* where a file first is not what it should be */
	uint64_t at_byte; /* gzip undone */
	const char *what; /* NULL: it is all right */
};

#define OP_COMPILED_KEY "leadline_compile" /* the property that `compiled` is read from */
#define OP_LINES_KEY    "leadline_lines"   /* the one that lines.h reads */
#define OP_SOURCE_KEY   "Called from" /* the argument of an event that `sources` is read from */

/* What a recording tells beside its operators; times as theirs. */
struct op_told_step { /* a step, by leadline.torch.step() */
	int64_t start_ns, end_ns;
	uint32_t pid;
};

struct op_aside { /* by samples of a main thread: it imported, or saved something */
	int64_t start_ns, end_ns;
	uint32_t pid;
	bool is_saving;
};

struct op_process {
	uint32_t pid;
	int rank;                 /* in its job; -1: not known */
	int64_t start_ns, end_ns; /* of its life, as far as the recording saw it; 0: not known */
};

struct op_property {  /* what a file says beside its events */
	uint32_t key; /* in texts, as value, which is JSON */
	uint32_t value;
};

struct op_wait {
	uint32_t event;
	int64_t ns; /* its thread was ready to run, and others ran (waited.h) */
};

struct op_events {
	VEC(struct op_event) v; /* in the file's order */
	/* as v, or shorter: the line of Python that asked for it or called it, in names + 1; 0: not known */
	VEC(uint32_t) sources;
	/* likewise, of a recording: the module of the model it ran in, "nn.Module: Linear_0" in names + 1; 0: none, or not known */
	VEC(uint32_t) modules;
	VEC(struct op_memory) memory;
	VEC(struct op_device) device;
	VEC(struct op_sequence) sequences; /* by event */
	VEC(struct op_wait) waited;        /* by event; of a recording */
	struct intern launches;            /* each a struct op_launch */
	/* shapes: as written; of products and convolutions then NUL, a convolution's arguments, NUL, the types; tracks: pid, NUL, tid */
	struct intern names, shapes, tracks;
	int64_t zero_ns; /* when profiling began; else the first event */
	bool has_zero;
	/* What the file says of itself. */
	bool has_memory, has_flops, has_stack, has_shapes, has_host, has_base, has_call_from,
		has_python;
	bool has_device;            /* a device was profiled */
	bool is_kineto;             /* the file is Kineto's, though it may hold no event */
	bool is_array;              /* no object around the events: the writer without Kineto */
	char device_name[64];       /* of the first one; "": not known */
	uint64_t device_bytes;      /* its memory; 0: not known */
	unsigned device_capability; /* major; 0: not known */
	unsigned n_devices;
	char backend[16];    /* of a distributed job, "nccl"; "": not known */
	int rank;            /* in it; -1: not known */
	unsigned world_size; /* its ranks; 0: not known */
	unsigned py_minor;   /* of the interpreter, where the process is named after it; else 0 */
	uint64_t n_skipped;  /* events of other kinds: flows, counters, marks */
	uint64_t n_lost, n_repaired; /* events that could not be read, or only after a repair */
	bool is_cut;                 /* the file ends before its events do */
	struct op_flaw flaw;     /* the first of them; of other tools' files no other is forgiven */
	struct op_others others; /* of a file */
	struct budget budget;    /* of a file: what may still be made of it */
	char damage[DAMAGE_TEXT];      /* what is missing of a recording; "" nothing */
	struct op_collected collected; /* of a recording */
	VEC(struct op_told_step) told; /* of a recording, as the next two; in the order of time */
	VEC(struct op_aside) asides;
	VEC(struct op_process) processes;
	/* what torch.compile says of itself: JSON, compile_log.h; or empty */
	struct buf compiled;
	/* "nn.Module: Linear_0" → where it is in the model, "layers.3.qkv"; both in names */
	struct map module_paths;
	/* of `modules`: the one that has it and calls it; both in names */
	struct map module_parents;
	int64_t base_ns; /* of a file: when its times begin, since the epoch; 0: it does not say */
	/* of a file that is being read: the value of OP_LINES_KEY, then empty again */
	struct buf lines;

	/* Whoever writes a trace again sets this before it is read; otherwise what follows stays empty. */
	bool keeps_all;
	VEC(struct op_written) v_written;      /* as v */
	VEC(struct op_written) memory_written; /* as memory */
	VEC(struct op_mark) marks;
	VEC(struct op_property) properties;
	struct intern texts; /* 0 is "" */
	struct buf numbers;
};

void op_events_done(struct op_events *x);

/* What was lost, in words; "" nothing. Otherwise nobody can say why something is not there. */
const char *op_events_missing(const struct op_events *x);

/* Where no file says when profiling began: the first event. */
void op_events_find_zero(struct op_events *x);

static inline bool op_is_device(const struct op_event *x)
{
	return x->category >= OP_KERNEL;
}

/* How a kernel was launched; NULL: not known. */
const struct op_launch *op_events_launch(const struct op_events *x, const struct op_event *e);

const char *op_events_name(const struct op_events *x, uint32_t name);

#endif
