/* SPDX-License-Identifier: MIT
 * Values in the columns of `op` and `op_trace` records; append only. */
#ifndef WIRE_OPS_H
#define WIRE_OPS_H

enum op_category {
	OP_CPU,        /* an operator */
	OP_ANNOTATION, /* a region the program has named, a step, an optimizer's mark */
	OP_PYTHON,     /* a Python function */
	OP_RUNTIME,    /* a call of the device's runtime or driver, on the CPU */
	OP_OVERHEAD,   /* the profiler's own, on the CPU */
	OP_KERNEL,     /* from here on: on the device */
	OP_COPY,
	OP_SET,
	OP_DEVICE_ANNOTATION, /* what an annotation spans on the device */
	OP_N_CATEGORIES
};

enum op_fact {                 /* what a trace says of itself */
	OP_FACT_ZERO = 1 << 0, /* it tells when profiling began */
	OP_FACT_MEMORY = 1 << 1,
	OP_FACT_FLOPS = 1 << 2,
	OP_FACT_STACK = 1 << 3,
	OP_FACT_SHAPES = 1 << 4,
	OP_FACT_HOST = 1 << 5,
	OP_FACT_BASE = 1 << 6,
	OP_FACT_CALL_FROM = 1 << 7,
	OP_FACT_PYTHON = 1 << 8,
	OP_FACT_DEVICE = 1 << 9,
	OP_FACT_ARRAY = 1 << 10, /* no object around the events */
	OP_FACT_CUT = 1 << 11,   /* the file ended before its events did */
};

#endif
