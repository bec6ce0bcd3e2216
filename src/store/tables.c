/* SPDX-License-Identifier: MIT
 * See tables.h. Tables are merged in the order of their ids: a table refers only to those before it
 * or to earlier rows of itself, so one pass per table suffices. */
#include "store/tables.h"

#include <stdlib.h>
#include <stdbool.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/vec.h"
#include "base/banned.h"

enum { PAGE_ROWS = 4096 };

struct merged {
	const struct record_type *type;
	/* key bytes → global row - 1. Tables whose columns are all numbers and keys have none as long as all their rows are of
	 * one segment, in which the writer saw to it that no two are the same: most recordings have one segment, and
	 * stacks are their largest table. */
	struct intern keys;
	bool is_plain, has_keys;
	uint32_t first_segment; /* of the rows without keys */
	char *rows;             /* owned array of the struct */
	size_t n, capacity;
	/* segment, local row → global row: pages of PAGE_ROWS, 0 where there is none. Rows of a segment
	 * leave few gaps, so a page is found once and then used many times. */
	struct map page_index; /* segment << 32 | local row / PAGE_ROWS → index */
	VEC(uint32_t *) pages; /* owned */
	uint64_t last_key;     /* of the page found last */
	uint32_t *last_page;   /* NULL: none yet */
};

struct tables {
	struct reader *reader; /* borrowed */
	struct arena arena;    /* contents of BYTES columns */
	struct merged merged[RECORD_meta];
	size_t n_chunks; /* of the reader, merged so far */
	struct tables_memo memo;
};

static uint64_t page_key(uint32_t segment, uint32_t local)
{
	return (uint64_t)segment << 32 | local / PAGE_ROWS;
}

static uint32_t *find_page(struct merged *m, uint32_t segment, uint32_t local)
{
	uint64_t key = page_key(segment, local), index;

	if (m->last_page && m->last_key == key)
		return m->last_page;
	if (!map_find(&m->page_index, key, &index))
		return NULL;
	m->last_key = key;
	return m->last_page = m->pages.v[index];
}

static uint32_t resolve(struct tables *t, enum record_kind table, uint32_t segment, uint32_t local)
{
	uint32_t *page, global = 0;

	if (local == 0)
		return 0;
	page = find_page(&t->merged[table], segment, local);
	global = page ? page[local % PAGE_ROWS] : 0;
	return global;
}

/* Returns how many references lead nowhere. */
static uint32_t remap(
	struct tables *t, const struct record_type *type, uint32_t segment, char *record)
{
	uint32_t n_bad = 0;

	for (size_t i = 0; i < type->n_columns; i++) {
		uint32_t *reference = (uint32_t *)(record + type->columns[i].offset), local;

		if (!type->columns[i].refers_to)
			continue;
		local = *reference;
		*reference = resolve(t, type->columns[i].refers_to, segment, local);
		n_bad += local && !*reference;
	}
	return n_bad;
}

/* Of a chunk's rows; those of one that is read again count once. */
static void count_bad_references(struct tables *t, size_t chunk, uint32_t n)
{
	struct chunk *c = &t->reader->chunks[chunk];

	t->reader->damage.n_bad_references += n;
	t->reader->damage.n_bad_references -= c->n_bad_references;
	c->n_bad_references = n;
}

/* ---- merging --------------------------------------------------------------------------------- */

static size_t value_bytes(const struct record_column *c)
{
	static const size_t width[] = { [COLUMN_u8] = 1,
		[COLUMN_u16] = 2,
		[COLUMN_u32] = 4,
		[COLUMN_u64] = 8,
		[COLUMN_f64] = 8,
		[COLUMN_bytes] = sizeof(rec_bytes) };

	return width[c->type];
}

static void add_key(struct buf *key, const struct record_column *c, const char *value)
{
	const rec_bytes *bytes = (const rec_bytes *)value;

	if (c->type != COLUMN_bytes) {
		buf_add(key, value, value_bytes(c));
		return;
	}
	buf_add(key, &bytes->n, sizeof bytes->n);
	buf_add(key, bytes->p, bytes->n);
}

static bool says_something(const struct record_column *c, const char *value)
{
	static const char zeros[8];

	if (c->type == COLUMN_bytes)
		return ((const rec_bytes *)value)->n > 0;
	return memcmp(value, zeros, value_bytes(c)) != 0;
}

/* Copies a value into the merged row; contents move into the tables' arena, with a NUL behind. */
static void copy_value(struct tables *t, const struct record_column *c, char *to, const char *from)
{
	memcpy(to, from, value_bytes(c));
	if (c->type == COLUMN_bytes) {
		rec_bytes *value = (rec_bytes *)to;

		value->p = arena_strndup(&t->arena, value->p, value->n);
	}
}

static char *row_at(const struct merged *m, size_t index)
{
	return m->rows + index * m->type->size;
}

static void set_global(struct merged *m, uint32_t segment, uint32_t local, uint32_t global)
{
	uint32_t *page = find_page(m, segment, local);

	if (!page) {
		page = xcalloc(PAGE_ROWS, sizeof *page);
		map_put(&m->page_index, page_key(segment, local), m->pages.n);
		vec_push(&m->pages, page);
	}
	page[local % PAGE_ROWS] = global;
}

static void make_key(const struct merged *m, struct buf *key, const char *record)
{
	buf_clear(key);
	for (size_t i = 0; i < m->type->n_columns; i++)
		if (m->type->columns[i].is_key)
			add_key(key, &m->type->columns[i], record + m->type->columns[i].offset);
}

/* Keys of the rows that are there. A hostile file may have equal ones: the later ones keep their numbers. */
static void index_rows(struct merged *m, struct buf *key)
{
	for (size_t i = 0; i < m->n; i++) {
		bool added;

		make_key(m, key, row_at(m, i));
		intern_add(&m->keys, key->data, key->n, &added);
		if (!added) {
			buf_printf(key, "again %zu", i);
			intern_add(&m->keys, key->data, key->n, NULL);
		}
	}
	m->has_keys = true;
}

/* The row of a record's key, new or not. */
static uint32_t find_row(
	struct merged *m, struct buf *key, const char *record, uint32_t segment, bool *ret_added)
{
	if (m->is_plain && !m->has_keys && (!m->n || m->first_segment == segment)) {
		m->first_segment = segment;
		*ret_added = true;
		return (uint32_t)m->n;
	}
	if (!m->has_keys)
		index_rows(m, key);
	make_key(m, key, record);
	return intern_add(&m->keys, key->data, key->n, ret_added);
}

static void merge_record(struct tables *t, struct merged *m, struct buf *key, const char *record,
	uint32_t segment, uint32_t local)
{
	bool added;
	uint32_t row = find_row(m, key, record, segment, &added);

	if (added && row >= m->capacity) {
		m->capacity = m->capacity ? m->capacity * 2 : 64;
		m->rows = xrealloc(m->rows, m->capacity, m->type->size);
	}
	if (added) {
		memset(row_at(m, row), 0, m->type->size);
		m->n++;
	}
	for (size_t i = 0; i < m->type->n_columns; i++) {
		const struct record_column *c = &m->type->columns[i];

		if (added || (!c->is_key && says_something(c, record + c->offset)))
			copy_value(t, c, row_at(m, row) + c->offset, record + c->offset);
	}
	set_global(m, segment, local, row + 1);
}

/* What chunks may hold was looked at when the file was opened; rows may still be numbered so that each takes a page. */
static bool is_too_large(const struct tables *t)
{
	uint64_t used = t->arena.used_bytes;

	for (int kind = 0; kind < RECORD_meta; kind++) {
		const struct merged *m = &t->merged[kind];

		used += m->keys.arena.used_bytes + (m->type ? m->capacity * m->type->size : 0) +
			m->keys.items.n * 64 + m->pages.n * PAGE_ROWS * sizeof(uint32_t);
	}
	return !t->reader->is_own && used > t->reader->budget.most_bytes;
}

static int merge_table(struct tables *t, struct merged *m, struct err *e)
{
	struct buf key = BUF_INIT;
	struct err ignored = ERR_INIT; /* counted by the reader */
	bool too_large = false;

	for (size_t c = t->n_chunks; c < t->reader->n_chunks && !too_large; c++) {
		struct batch b = BATCH_INIT;
		uint32_t n_bad = 0;

		if (t->reader->chunks[c].kind != (uint32_t)m->type->kind ||
			reader_decode(t->reader, c, &b, &ignored) < 0)
			continue;
		for (size_t i = 0; i < b.n; i++) {
			char *record = (char *)b.records + i * m->type->size;

			n_bad += remap(t, m->type, b.segment, record);
			merge_record(t, m, &key, record, b.segment, b.first_row + (uint32_t)i);
		}
		count_bad_references(t, c, n_bad);
		batch_done(&b);
		too_large = is_too_large(t);
	}
	buf_done(&key);
	if (!too_large)
		return 0;
	t->reader->budget.bytes = t->reader->budget.most_bytes + 1;
	return budget_error(&t->reader->budget, e);
}

static void forget_memo(struct tables *t)
{
	if (t->memo.made)
		t->memo.free(t->memo.made);
	t->memo.made = NULL;
}

struct tables_memo *tables_memo(struct tables *t)
{
	return &t->memo;
}

int tables_refresh(struct tables *t, struct err *e)
{
	forget_memo(t);
	for (int kind = 0; kind < RECORD_meta; kind++)
		if (t->merged[kind].type && merge_table(t, &t->merged[kind], e) < 0)
			return -(int)e->code;
	t->n_chunks = t->reader->n_chunks;
	return 0;
}

void tables_settle(struct tables *t)
{
	for (int kind = 0; kind < RECORD_meta; kind++) {
		struct merged *m = &t->merged[kind];

		intern_done(&m->keys);
		m->has_keys = false; /* made again where rows come after all */
		m->first_segment = UINT32_MAX;
	}
}

static bool is_plain(const struct record_type *type)
{
	for (size_t i = 0; i < type->n_columns; i++)
		if (!type->columns[i].is_key || type->columns[i].type == COLUMN_bytes)
			return false;
	return true;
}

/* Files shown under another name (meta "file_name": path, NUL, name): strings that are their paths become those names. */
static void show_names(struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_meta);
	struct merged *strings = &t->merged[RECORD_string];
	struct intern paths = INTERN_INIT;
	VEC(rec_bytes) names = VEC_INIT; /* as paths */
	uint32_t at;
	bool added;

	for (const struct rec_meta *m; (m = record_next(&it));) {
		const char *p = m->value.p, *end = m->value.n ? memchr(p, '\0', m->value.n) : NULL;
		size_t n_path = end ? (size_t)(end - p) : 0, n = m->value.n - n_path - 1;

		if (!end || !n_path || strcmp(tables_string(t, m->key), "file_name") != 0)
			continue;
		intern_add(&paths, p, n_path, &added);
		if (added)
			vec_push(&names,
				((rec_bytes){ arena_strndup(&t->arena, end + 1, n), (uint32_t)n }));
	}
	record_iter_done(&it);
	for (size_t i = 0; names.n && i < strings->n; i++) {
		struct rec_string *s = (struct rec_string *)row_at(strings, i);

		if (intern_find(&paths, s->text.p, s->text.n, &at))
			s->text = names.v[at];
	}
	intern_done(&paths);
	vec_done(&names);
}

int tables_load(struct tables **ret, struct reader *r, struct err *e)
{
	struct tables *t = xcalloc(1, sizeof *t);

	t->reader = r;
	for (int kind = 0; kind < RECORD_meta; kind++) {
		t->merged[kind].type = record_type_find((unsigned)kind);
		t->merged[kind].is_plain = t->merged[kind].type && is_plain(t->merged[kind].type);
	}
	if (tables_refresh(t, e) < 0) {
		tables_free(t);
		return -(int)e->code;
	}
	show_names(t);
	*ret = t;
	return 0;
}

void tables_free(struct tables *t)
{
	if (!t)
		return;
	forget_memo(t);
	for (int kind = 0; kind < RECORD_meta; kind++) {
		intern_done(&t->merged[kind].keys);
		map_done(&t->merged[kind].page_index);
		vec_each (&t->merged[kind].pages, page)
			free(*page);
		vec_done(&t->merged[kind].pages);
		free(t->merged[kind].rows);
	}
	arena_done(&t->arena);
	free(t);
}

/* ---- looking up ------------------------------------------------------------------------------ */

size_t tables_count(const struct tables *t, enum record_kind table)
{
	return t->merged[table].n;
}

const void *tables_row(const struct tables *t, enum record_kind table, uint32_t row)
{
	const struct merged *m = &t->merged[table];

	return row >= 1 && row <= m->n ? row_at(m, row - 1) : NULL;
}

const char *tables_string(const struct tables *t, uint32_t row)
{
	const struct rec_string *s = tables_row(t, RECORD_string, row);

	return s ? s->text.p : "";
}

const struct rec_process *tables_process(const struct tables *t, uint32_t row)
{
	return tables_row(t, RECORD_process, row);
}

uint64_t tables_bad_references(const struct tables *t)
{
	return t->reader->damage.n_bad_references;
}

struct reader *tables_reader(const struct tables *t)
{
	return t->reader;
}

/* ---- iterating ------------------------------------------------------------------------------- */

struct record_iter record_iter(struct tables *t, enum record_kind kind)
{
	return (struct record_iter){ .tables = t, .kind = kind };
}

struct record_iter record_iter_from(struct tables *t, enum record_kind kind, size_t chunk)
{
	return (struct record_iter){ .tables = t, .kind = kind, .chunk = chunk };
}

static void remap_batch(struct record_iter *it)
{
	const struct record_type *type = record_type_find(it->kind);
	uint32_t n_bad = 0;

	for (size_t i = 0; i < it->batch.n; i++)
		n_bad += remap(it->tables, type, it->batch.segment,
			(char *)it->batch.records + i * type->size);
	count_bad_references(it->tables, it->chunk, n_bad);
}

static bool next_batch(struct record_iter *it)
{
	struct reader *r = it->tables->reader;
	struct err ignored = ERR_INIT; /* counted by the reader */

	batch_done(&it->batch);
	for (it->at = 0; it->chunk < r->n_chunks; it->chunk++) {
		if (r->chunks[it->chunk].kind != (uint32_t)it->kind ||
			reader_decode(r, it->chunk, &it->batch, &ignored) < 0)
			continue;
		if (it->batch.n) {
			remap_batch(it);
			it->chunk++;
			return true;
		}
		batch_done(&it->batch);
	}
	return false;
}

const void *record_next(struct record_iter *it)
{
	if (it->at >= it->batch.n && !next_batch(it))
		return NULL;
	return (char *)it->batch.records + it->at++ * record_type_find(it->kind)->size;
}

void record_iter_done(struct record_iter *it)
{
	batch_done(&it->batch);
}
