/* SPDX-License-Identifier: MIT
 *
 * The recording a reader of another tool's file makes (formats/format.h says what belongs into it). All rows are of
 * one segment, so their numbers stay valid until the end.
 *
 *	foreign_unit(to, FOREIGN_NS, "cpu");
 *	thread = foreign_thread(to, 0, 1, "main");
 *	stack = foreign_stack(to, 0, foreign_frame(to, "main", "a.py", 12, 10));
 *	foreign_weight(to, thread, stack, t_ns, 1, 10000000); */
#ifndef STORE_FOREIGN_H
#define STORE_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/trie.h"

struct budget;
struct err;
struct writer;

struct foreign {
	struct writer *w;      /* for records that have no function here */
	struct budget *budget; /* borrowed: the file's */
	uint64_t n_weights;
	struct trie stacks;           /* nodes are rows, keys frames */
	struct foreign_frame *frames; /* owned: those asked for lately */
};

enum foreign_unit { FOREIGN_NS, FOREIGN_BYTES, FOREIGN_COUNT };

/* An empty recording in memory, with the format's name; returns 0 or what failed. */
int foreign_begin(struct foreign *to, const char *format, struct budget *budget, struct err *e);
/* False: the file has exceeded its budget, and what is made from now on is forgotten. Readers that hold the whole file ask
 * from time to time; the bytes of others end by themselves. */
bool foreign_goes_on(const struct foreign *to);
/* For what a reader holds of the file beside rows and records. */
void foreign_hold(struct foreign *to, size_t n_bytes);

/* What it holds besides the writer. */
void foreign_done(struct foreign *to);

/* Of all values; measure: the file's own word for it, or "". */
void foreign_unit(struct foreign *to, enum foreign_unit unit, const char *measure);
/* What a reader of the report should know of the file: a clause without a full stop. */
void foreign_note(struct foreign *to, const char *note);
/* The program's command line, where the file has it. */
void foreign_command(struct foreign *to, const char *command);

uint32_t foreign_thread(struct foreign *to, uint32_t pid, uint32_t tid, const char *name);
/* Texts need no NUL: their lengths count. line, first_line: 0 unknown. */
uint32_t foreign_frame_n(struct foreign *to, const char *name, size_t name_n, const char *file,
	size_t file_n, uint64_t line, uint32_t first_line);
uint32_t foreign_frame(
	struct foreign *to, const char *name, const char *file, uint64_t line, uint32_t first_line);
/* parent: 0 for a root. */
uint32_t foreign_stack(struct foreign *to, uint32_t parent, uint32_t frame);
void foreign_weight(struct foreign *to, uint32_t thread, uint32_t stack, uint64_t t_ns,
	uint64_t samples, uint64_t value);

/* A figure in the unit of the recording; what is negative, not a number or beyond 2^63 becomes 0 or that. */
uint64_t foreign_value(double value);

#endif
