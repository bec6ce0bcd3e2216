/* SPDX-License-Identifier: MIT
 *
 * What torch.compile and torch.jit did in a PyTorch trace: how long they compiled what, in which of dynamo's stages, and how often code that
 * torch.compile made ran.
 *
 * A compilation is the outermost span of dynamo's ("dynamo", "entire_frame_compile", "… (dynamo_timed)"); its number "2/1" is that of the
 * frame (a function, or what is left of it after a graph break) and how often that was compiled before. Code that runs is
 * "Torch-Compiled Region: 2/1"; one that begins within another goes on after a graph break. Why a graph broke or was compiled again
 * is not in a trace of torch's, but in what leadline asks of torch in the program (compile_log.h). How long the code would
 * take without being compiled, nobody knows. What torch.jit compiled is told by leadline's own spans, "torch.jit.script (compile)". */
#ifndef ANALYZE_TORCH_COMPILE_H
#define ANALYZE_TORCH_COMPILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct arena;
struct op_events;
struct op_compile_log_frame;

enum op_stage {
	OP_STAGE_TRACING,  /* Python's instructions become a graph */
	OP_STAGE_GUARDS,   /* what must hold for the code to be used again */
	OP_STAGE_AUTOGRAD, /* AOTAutograd */
	OP_STAGE_INDUCTOR,
	OP_STAGE_COMPILER, /* of C++ or Triton, and loading what it made */
	OP_STAGE_CACHE,    /* from an earlier process */
	OP_STAGE_OTHER,
	OP_N_STAGES
};

extern const char *const op_stage_names[OP_N_STAGES];

struct op_compilation {
	const char *id;       /* "2/1"; "torch.jit.script"; "": not known */
	double at_s, seconds; /* since profiling began */
	bool is_backward;     /* of what autograd calls, when it is first called */
	bool is_again;        /* the frame had been compiled before */
	bool is_tuning;       /* kernels are measured to choose one, when they are first used */
	bool is_script;       /* by torch.jit */
	bool is_cached;       /* what it needed had been compiled by an earlier process */
	double stages_s[OP_N_STAGES]; /* together its seconds */
	/* why the code there was did not do; "": not known, or it is the first */
	const char *reason;
};

struct op_frame {
	const char *id;     /* "2"; "": not known */
	const char *within; /* the frame whose graph broke before it; "": none */
	uint64_t n_compiled, n_calls;
	double compile_s;
	double first_s;                          /* the first call, without compiling; NAN: none */
	double later_s;                          /* the median of the others; NAN: none */
	const struct op_compile_log_frame *told; /* its function; NULL: not known */
	double equal_calls; /* how many later calls take as long as compiling did; NAN: not known */
};

struct op_break {          /* of a graph */
	const char *where; /* "train.py: f, line 8" */
	uint64_t n_times;
};

struct op_compile {
	const struct op_compilation *v; /* in the order of time */
	size_t n;
	const struct op_frame *frames; /* in the order of their first calls */
	size_t n_frames;
	double seconds, stages_s[OP_N_STAGES]; /* of all compilations */
	double span_s;                         /* of the trace */
	uint64_t n_again, n_cached, n_backward, n_tuning, n_scripts;
	double scripts_s;              /* of seconds, by torch.jit */
	uint64_t n_calls, n_breaks;    /* of compiled code; of those, after a graph break */
	const struct op_break *breaks; /* where the trace tells it (with_stack=True) */
	size_t n_places;
	const struct op_compile_log *told; /* what torch.compile says of itself */
	double triton_s;                   /* kernels on the device that inductor wrote */
};

const struct op_compile *op_compile_build(struct arena *a, struct op_events *x);

/* By name: a span of compiling. */
bool op_is_compile(const char *name);

#endif
