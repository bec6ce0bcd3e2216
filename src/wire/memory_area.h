/* SPDX-License-Identifier: MIT
 *
 * What the preloaded library (src/agent/memory) and the tool (collect/memory) agree on beyond the session: the records in the
 * rings, and what lies in the sparse area of a process.
 *
 *	struct memory_area      at its beginning: counters of threads, and the code objects that stacks name
 *	struct memory_code …    one for each of those, handed out behind it
 *
 * A counter belongs to one thread at a time, which alone writes it; one whose thread has ended is taken over by another and
 * goes on counting, so the sum over all of them is what the process has allocated. A code object is told before the first
 * record that names it, and never changes: frames refer to it by its place in the table. All stamps are CLOCK_MONOTONIC. */
#ifndef WIRE_MEMORY_AREA_H
#define WIRE_MEMORY_AREA_H

#include <stdatomic.h>
#include <stdint.h>

#define MEMORY_ENV        "LEADLINE_MEMORY" /* names the session's directory */
#define MEMORY_AREA_MAGIC 0x79726f6d656d6c6cu

enum {
	MEMORY_COUNTERS = 1024, /* the last one is shared by threads that find none of their own */
	MEMORY_CODES = 1 << 16, /* places; a power of two */
	MEMORY_FRAMES_MOST = 500, /* of one stack; callers beyond are cut off */
	MEMORY_NAME_BYTES = 16,   /* of a thread, with its NUL */
	MEMORY_PIECES = 4,        /* of a code object: file, name, line table, instructions' head */
	MEMORY_PIECE_BYTES = 256 << 10,
};

enum memory_record {
	MEMORY_RECORD_ALLOC = 1, /* struct memory_alloc, then frames, or the thread's name */
	MEMORY_RECORD_FREE,      /* struct memory_free */
};

enum memory_domain {
	MEMORY_RAW, /* CPython's three, in the order of PyMemAllocatorDomain */
	MEMORY_MEM,
	MEMORY_OBJECT,
	MEMORY_MALLOC,
	MEMORY_MMAP,
	MEMORY_DOMAINS
};

/* What is known of the Python code that allocates. */
enum memory_where {
	MEMORY_FRAMES,     /* n_frames of them follow, leaf first */
	MEMORY_STARTING,   /* the interpreter has none yet */
	MEMORY_NO_PYTHON,  /* a thread that runs no Python; its name follows */
	MEMORY_UNREADABLE, /* the interpreter's memory is not laid out as expected */
	MEMORY_WHERES
};

struct memory_frame {
	uint32_t code;   /* place in the table + 1; 0: not known, there was no room for it */
	uint32_t offset; /* of the instruction, bytes */
};

struct memory_alloc {
	uint64_t t_ns; /* after it was allocated */
	uint64_t address, size_bytes;
	int32_t tid;
	uint8_t domain, where; /* enum memory_domain, enum memory_where */
	uint8_t is_cut;        /* callers beyond MEMORY_FRAMES_MOST are missing */
	uint8_t reserved;
	uint32_t n_frames;
	uint32_t reserved_too;
};

struct memory_free {
	uint64_t t_ns; /* before it was released */
	uint64_t address;
	int32_t tid;
	uint32_t reserved;
};

/* One thread's; each on lines of its own. */
struct memory_counter {
	_Alignas(64) uint64_t allocated_bytes;
	uint64_t n_allocated;
	uint64_t next_bytes; /* the allocation that takes allocated_bytes past this is sampled */
	uint64_t random;     /* state of its generator */
	_Atomic uint64_t n_sampled, n_dropped, n_frees_dropped;
	_Atomic uint32_t owner; /* tid; 0: free */
};

/* One place of the table: `key` names the object, `at` is where its struct memory_code lies in the sparse area. */
struct memory_place {
	_Atomic uint64_t key; /* 0: free */
	_Atomic uint64_t at;  /* 0: not told yet */
};

struct memory_area {
	uint64_t magic; /* written last */
	uint64_t period_bytes;
	_Atomic uint32_t n_counters; /* ever in use */
	struct memory_counter counters[MEMORY_COUNTERS];
	struct memory_place codes[MEMORY_CODES];
};

/* Copies of the interpreter's memory: the code object's head, then the pieces, one after the other. */
struct memory_code {
	uint32_t n_bytes; /* of all that follows this struct */
	uint32_t n_head;  /* of the object itself, from its address on */
	struct {
		uint64_t address;
		uint32_t n_bytes; /* 0: none */
		uint32_t reserved;
	} pieces[MEMORY_PIECES];
};

#endif
