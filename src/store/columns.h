/* SPDX-License-Identifier: MIT
 *
 * The column codec: an array of one kind of record to bytes and back. Columns are stored one after
 * the other because neighbours in a column resemble each other: small differences, equal threads.
 *
 *	u32  number of streams     (one per column; a BYTES column has two: lengths, then contents)
 *	u32  bytes, for each stream
 *	     the streams
 *
 * All integers little endian. Encodings: see records.def. Decoding trusts nothing: every length is
 * checked, each stream must hold exactly one value per record, and the memory used is bounded by
 * COLUMNS_MAX_RECORDS times the struct's size. */
#ifndef STORE_COLUMNS_H
#define STORE_COLUMNS_H

#include <stddef.h>

struct arena;
struct buf;
struct err;
struct record_type;

enum {
	COLUMNS_MAX_RECORDS = 1 << 16,
	COLUMNS_MAX_BYTES = 32 << 20, /* of one encoded batch */
	COLUMNS_MAX_VALUE = 16 << 20, /* of one value in a BYTES column */
};

/* Appends the encoding of n records (n <= COLUMNS_MAX_RECORDS) to out. */
void columns_encode(const struct record_type *type, const void *records, size_t n, struct buf *out);

/* Decodes into an array of the record's struct, in `to`. BYTES values point into `raw`. Columns the
 * writer did not have are 0; columns we do not know are skipped. */
int columns_decode(const struct record_type *type, const void *raw, size_t raw_bytes, size_t n,
	struct arena *to, void **ret_records, struct err *e);

#endif
