/* SPDX-License-Identifier: MIT
 *
 * The tables of a whole recording, merged: rows with the same key in different segments become one
 * row with one global number (1 …; 0 = none), whatever number each segment gave it. Data records
 * are then read with their references already global:
 *
 *	struct tables *t;
 *	tables_load(&t, reader, &e);
 *	struct record_iter it = record_iter(t, RECORD_process_usage);
 *	for (const struct rec_process_usage *u; (u = record_next(&it));)
 *		printf("%s", tables_string(t, tables_process(t, u->process)->command));
 *	record_iter_done(&it);
 *	tables_free(t);
 *
 * References that lead nowhere (damage, hostile file) become 0 and are counted in bad_references.
*/
#ifndef STORE_TABLES_H
#define STORE_TABLES_H

#include <stddef.h>
#include <stdint.h>

#include "store/reader.h"
#include "wire/records.h"

struct err;
struct tables;

/* Reads every table chunk once. Damaged ones are counted in the reader's damage and skipped. */
int tables_load(struct tables **ret, struct reader *r, struct err *e);
void tables_free(struct tables *t);
/* Takes in what reader_refresh found. Global numbers and the texts of strings stay; pointers to rows do
 * not. */
int tables_refresh(struct tables *t, struct err *e);
/* For recordings that are not expected to grow: forgets what only tables_refresh needs, which makes up half of large tables. */
void tables_settle(struct tables *t);

/* What was made of all records, kept with them for whoever asks next: NULL at first. Freed with the tables, or when they grow. */
struct tables_memo {
	void *made;
	void (*free)(void *made);
};
struct tables_memo *tables_memo(struct tables *t);

size_t tables_count(const struct tables *t, enum record_kind table);
/* The row's struct, references global; NULL for 0 and for numbers that do not exist. */
const void *tables_row(const struct tables *t, enum record_kind table, uint32_t row);
/* Text of the string table, "" for 0. NUL-terminated; may hold control characters. */
const char *tables_string(const struct tables *t, uint32_t row);
const struct rec_process *tables_process(const struct tables *t, uint32_t row);

uint64_t tables_bad_references(const struct tables *t);
struct reader *tables_reader(const struct tables *t);

/* Iterates over all records of a kind in file order, one chunk in memory at a time. */
struct record_iter {
	struct tables *tables;
	enum record_kind kind;
	size_t chunk, at;
	struct batch batch;
};

struct record_iter record_iter(struct tables *t, enum record_kind kind);
/* The same without the reader's first `chunk` chunks. */
struct record_iter record_iter_from(struct tables *t, enum record_kind kind, size_t chunk);
/* The next record, valid until the next call; NULL at the end. Damaged chunks are skipped and
 * counted in the reader's damage. */
const void *record_next(struct record_iter *it);
void record_iter_done(struct record_iter *it);

#endif
