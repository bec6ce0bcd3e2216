/* SPDX-License-Identifier: MIT
 *
 * Writing a recording. One thread owns the writer; collectors hand it records.
 *
 *	struct writer *w;
 *	if (writer_open(&w, "x.lead", NULL, &e) < 0) …
 *	process = writer_row(w, RECORD_process, &(struct rec_process){ .pid = pid, … });
 *	writer_add(w, RECORD_process_usage, &usage);
 *	writer_poll(w, now_ns);                        between batches: flushes, starts segments
 *	writer_close(w, &e);
 *
 * Rows: tables (string, process, code, …) are interned by their key: writer_row returns the row
 * number, the same for the same key. Several collectors tell of the same thing, and not all of them know
 * as much: when a column beside the key is told for the first time the row is written once more,
 * under a number of its own, and readers merge the two. **Row numbers are valid only in the segment they were made
 * in**: keep them together with writer_segment() and make them anew when that changes. A segment
 * ends only inside writer_poll.
 *
 * Crash safety: a chunk is written by one system call after the tables it refers to; what was
 * written stays readable whatever happens to the process. Memory is bounded: pending records are
 * flushed at a fixed number or size, tables are forgotten at the end of each segment.
 *
 * A recording that is made of somebody's file has a budget (base/budget.h): rows and records that exceed it are an error
 * of the writer, as below, and are not kept.
 *
 * Errors: the first failure (disk full, say) is kept, the file is cut back to its last whole chunk,
 * later records are counted in `dropped` and forgotten, and writer_close returns the error. */
#ifndef STORE_WRITER_H
#define STORE_WRITER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "wire/records.h"

struct budget;
struct err;
struct writer;

struct writer_options {
	uint64_t segment_ns;    /* 0: 60 s */
	uint64_t segment_bytes; /* 0: 64 MiB in the file */
	uint64_t table_bytes;   /* 0: 128 MiB of rows held in memory */
	/* the age at which pending records are written; 0: 1 s, in a long recording up to 4 s */
	uint64_t flush_ns;
	int zstd_level;        /* 0: 1, and 3 for records that hold texts */
	bool overwrite;        /* else an existing file is an error */
	struct budget *budget; /* borrowed; what rows and records are taken from. NULL: none */
};

struct writer_stats {
	uint64_t n_records, n_chunks, n_bytes; /* written */
	uint64_t dropped;                      /* records lost after an error */
};

/* path NULL: an anonymous file in memory, reached through writer_fd. options may be NULL. */
int writer_open(
	struct writer **ret, const char *path, const struct writer_options *options, struct err *e);

uint32_t writer_segment(const struct writer *w);

void writer_add(struct writer *w, enum record_kind kind, const void *record);
uint32_t writer_row(struct writer *w, enum record_kind table, const void *record);
/* A row whose key the caller knows to be new: nothing is looked up and nothing kept. All rows of that table must be made so,
 * and no segment may end (writer_poll) meanwhile. */
uint32_t writer_row_new(struct writer *w, enum record_kind table, const void *record);
/* Writes a row once more where it is there already: a column beside its key has changed. */
uint32_t writer_row_again(struct writer *w, enum record_kind table, const void *record);
/* Rows of the string table; 0 for "" and NULL. */
uint32_t writer_string(struct writer *w, const char *s);
uint32_t writer_string_n(struct writer *w, const char *s, size_t n);
/* The same of a program's names and of its files': what is too long is cut as wire/name.h says, and NUL, at which texts end in C,
 * is U+2400. */
uint32_t writer_name(struct writer *w, const char *s, size_t n);
uint32_t writer_path(struct writer *w, const char *s, size_t n);
/* A meta record: what the recording says of itself. */
void writer_meta(struct writer *w, const char *key, const char *value);
void writer_meta_n(struct writer *w, const char *key, const void *value, size_t n);

void writer_poll(struct writer *w, uint64_t now_ns);
/* Writes all pending records now. */
void writer_flush(struct writer *w);

struct writer_stats writer_stats(const struct writer *w);
/* The first error, or NULL. Borrowed. */
const struct err *writer_error(const struct writer *w);
/* The file, for reading a recording in memory back; owned by the writer. */
int writer_fd(const struct writer *w);

/* Flushes, writes index and trailer, frees; accepts NULL. With keep_fd the descriptor stays open
 * and is the caller's. */
int writer_close(struct writer *w, struct err *e);
int writer_close_keep_fd(struct writer *w, int *ret_fd, struct err *e);

#endif
