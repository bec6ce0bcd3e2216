/* SPDX-License-Identifier: MIT
 * See writer.h. Encoding is left to columns.c; what the bytes around it mean is in container.h. */
#include "store/writer.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/vec.h"
#include "store/columns.h"
#include "store/container.h"
#include "wire/name.h"
#include "base/banned.h"

enum {
	FLUSH_RECORDS = 1 << 15,
	FLUSH_BYTES = 1 << 20,        /* of contents of BYTES columns */
	SMALLEST_ZSTD = 64,           /* shorter payloads are stored plain: in a file, */
	SMALLEST_IN_MEMORY = 1 << 14, /* and in memory, where speed counts more until they add up */
	STEP_BYTES = 64,              /* of a key or text: one step of the budget */
	FLUSH_SHARE = 16,
	LEVEL_NUMBERS = 1, /* of zstd; beyond it numbers get hardly smaller */
	LEVEL_TEXTS = 3,
	INDEX_ROWS = 1 << 10, /* that are packed together */
};

static const uint64_t FLUSH_LEAST_NS = 1000000000, FLUSH_MOST_NS = 4000000000;

/* Records of one kind that wait for their chunk. BYTES values hold offsets into `contents` instead
 * of pointers until they are encoded, because the buffer moves. */
struct pending {
	const struct record_type *type;
	char *records; /* owned, FLUSH_RECORDS of type->size */
	size_t n;
	struct buf contents;
	uint32_t first_row;       /* tables: row number of records[0] */
	uint64_t oldest_ns;       /* clock of the last poll when records[0] came */
	uint64_t t_first, t_last; /* of the time column */
	struct intern rows;       /* tables: key bytes → row number - 1 */
	/* tables with columns beside the key: which of them say something, by row number - 1 */
	VEC(uint32_t) said;
	uint32_t n_new;     /* tables: rows that have no key here (writer_row_new) */
	size_t time_offset; /* of the TIME column, SIZE_MAX without one */
	bool has_contents;
	bool has_more; /* columns beside the key */
};

struct writer {
	int fd;
	bool in_memory;
	struct writer_options options;
	struct err error; /* the first failure; code 0 while all is well */
	struct writer_stats stats;
	uint64_t offset; /* end of the last whole chunk */
	uint32_t segment;
	uint64_t segment_offset, segment_start_ns;
	uint64_t start_ns;
	uint64_t now_ns; /* of the last poll */
	struct pending *pending[RECORD_MAX_];
	VEC(struct rec_index) index;           /* of the chunks since packed_index */
	struct buf packed_index;               /* chunks of it, ready to be written */
	uint64_t n_index_chunks, n_index_rows; /* in there */
	struct buf raw, packed, key;
	ZSTD_CCtx *zstd;
};

static uint64_t monotonic_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- bytes to the file ----------------------------------------------------------------------- */

static void fail(struct writer *w)
{
	int sys = errno;

	if (w->error.code)
		return;
	errno = sys;
	err_errno(&w->error, ERR_SYSTEM, "writing the recording");
	if (ftruncate(w->fd, (off_t)w->offset) < 0)
		err_note(&w->error, "and its last chunk is cut");
}

static void write_all(struct writer *w, struct iovec *io, int n)
{
	uint64_t total = 0;

	for (int i = 0; i < n; i++)
		total += io[i].iov_len;
	while (n > 0 && !w->error.code) {
		ssize_t put = writev(w->fd, io, n);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0) {
			fail(w);
			return;
		}
		for (; n > 0 && (size_t)put >= io->iov_len; io++, n--)
			put -= (ssize_t)io->iov_len;
		if (n > 0) {
			io->iov_base = (char *)io->iov_base + put;
			io->iov_len -= (size_t)put;
		}
	}
	if (!w->error.code) {
		w->offset += total;
		w->stats.n_bytes += total;
	}
}

static bool has_contents(const struct record_type *type)
{
	for (size_t i = 0; i < type->n_columns; i++)
		if (type->columns[i].type == COLUMN_bytes)
			return true;
	return false;
}

static const size_t width[] = {
	[COLUMN_u8] = 1, [COLUMN_u16] = 2, [COLUMN_u32] = 4, [COLUMN_u64] = 8, [COLUMN_f64] = 8
};

/* Which columns beside the key say something, as bits; of no record, those that may. */
static uint32_t more_said(const struct record_type *type, const char *record)
{
	static const char zeros[8];
	uint32_t said = 0;

	for (size_t i = 0; i < type->n_columns; i++) {
		const struct record_column *c = &type->columns[i];
		const char *value = record ? record + c->offset : NULL;

		if (!c->is_key &&
			(!value ||
				(c->type == COLUMN_bytes ? ((const rec_bytes *)value)->n > 0
							 : memcmp(value, zeros, width[c->type]))))
			said |= 1u << i;
	}
	return said;
}

static int level(const struct writer *w, const struct record_type *type)
{
	if (w->options.zstd_level)
		return w->options.zstd_level;
	return has_contents(type) ? LEVEL_TEXTS : LEVEL_NUMBERS;
}

static size_t compress(struct writer *w, const struct record_type *type)
{
	size_t bound = ZSTD_compressBound(w->raw.n);

	if (!w->zstd)
		w->zstd = ZSTD_createCCtx();
	return ZSTD_compressCCtx(w->zstd, buf_reserve(&w->packed, bound), bound, w->raw.data,
		w->raw.n, level(w, type));
}

/* A chunk as it stands in the file: its head, its payload (good until the next one is made) and what fills it up to eight bytes. */
struct packed_chunk {
	struct chunk_head head;
	struct iovec parts[3];
};

static struct packed_chunk pack_chunk(struct writer *w, const struct record_type *type,
	const void *records, size_t n, uint32_t first_row)
{
	static const char zeros[8];
	struct packed_chunk ret = { .head = { .magic = CHUNK_MAGIC,
					    .kind = (uint16_t)type->kind,
					    .segment = w->segment,
					    .n_records = (uint32_t)n,
					    .first_row = first_row } };
	struct chunk_head *head = &ret.head;
	const void *payload;

	buf_clear(&w->raw);
	buf_clear(&w->packed);
	columns_encode(type, records, n, &w->raw);
	head->raw_bytes = head->stored_bytes = (uint32_t)w->raw.n;
	payload = w->raw.data;
	if (w->raw.n >= (size_t)(w->in_memory ? SMALLEST_IN_MEMORY : SMALLEST_ZSTD)) {
		size_t got = compress(w, type);

		if (!ZSTD_isError(got) && got < w->raw.n) {
			head->codec = CODEC_ZSTD;
			head->stored_bytes = (uint32_t)got;
			payload = w->packed.data;
		}
	}
	head->payload_checksum = XXH3_64bits(payload, head->stored_bytes);
	head->head_checksum =
		(uint32_t)XXH3_64bits(head, offsetof(struct chunk_head, head_checksum));
	ret.parts[1] = (struct iovec){ (void *)payload, head->stored_bytes };
	ret.parts[2] = (struct iovec){ (void *)zeros, chunk_padding(head->stored_bytes) };
	return ret;
}

static void write_chunk(struct writer *w, const struct record_type *type, const void *records,
	size_t n, uint32_t first_row)
{
	struct packed_chunk chunk = pack_chunk(w, type, records, n, first_row);

	chunk.parts[0] = (struct iovec){ &chunk.head, sizeof chunk.head };
	write_all(w, chunk.parts, 3);
	if (w->error.code) {
		w->stats.dropped += n;
		return;
	}
	w->stats.n_chunks++;
	w->stats.n_records += n;
}

/* ---- the index -------------------------------------------------------------------------------- */

/* It is written last, and a recording of days has millions of rows: they are kept as they will stand in the file, a sixth of their
 * size. */
static void pack_index(struct writer *w)
{
	struct packed_chunk chunk;

	if (w->index.n == 0)
		return;
	chunk = pack_chunk(w, record_type_find(RECORD_index), w->index.v, w->index.n, 0);
	buf_add(&w->packed_index, &chunk.head, sizeof chunk.head);
	for (int i = 1; i < 3; i++)
		buf_add(&w->packed_index, chunk.parts[i].iov_base, chunk.parts[i].iov_len);
	w->n_index_chunks++;
	w->n_index_rows += w->index.n;
	w->index.n = 0;
}

static void index_add(struct writer *w, struct rec_index row)
{
	vec_push(&w->index, row);
	if (w->index.n == INDEX_ROWS)
		pack_index(w);
}

static void write_index(struct writer *w)
{
	struct trailer end = { .magic = TRAILER_MAGIC, .index_offset = w->offset };

	pack_index(w);
	write_all(w, &(struct iovec){ w->packed_index.data, w->packed_index.n }, 1);
	w->stats.n_chunks += w->n_index_chunks;
	w->stats.n_records += w->n_index_rows;
	end.n_index_chunks = w->n_index_chunks;
	end.checksum = XXH3_64bits(&end, offsetof(struct trailer, checksum));
	write_all(w, &(struct iovec){ &end, sizeof end }, 1);
}

/* ---- pending records ------------------------------------------------------------------------- */

static struct pending *pending_get(struct writer *w, enum record_kind kind)
{
	struct pending *p = w->pending[kind];

	if (p)
		return p;
	p = w->pending[kind] = xcalloc(1, sizeof *p);
	p->type = record_type_find(kind);
	assert(p->type);
	p->records = xmalloc(FLUSH_RECORDS * p->type->size);
	p->first_row = 1;
	p->time_offset = SIZE_MAX;
	for (size_t i = 0; i < p->type->n_columns; i++)
		if (p->type->columns[i].encoding == ENCODING_TIME)
			p->time_offset = p->type->columns[i].offset;
	p->has_contents = has_contents(p->type);
	p->has_more = p->type->role == RECORD_TABLE && more_said(p->type, NULL);
	return p;
}

static void pending_free(struct pending *p)
{
	if (!p)
		return;
	free(p->records);
	buf_done(&p->contents);
	intern_done(&p->rows);
	vec_done(&p->said);
	free(p);
}

/* Turns offsets into pointers, now that `contents` stays where it is. */
static void resolve_contents(struct pending *p)
{
	for (size_t c = 0; c < p->type->n_columns; c++) {
		char *at = p->records + p->type->columns[c].offset;

		if (p->type->columns[c].type != COLUMN_bytes)
			continue;
		for (size_t i = 0; i < p->n; i++, at += p->type->size) {
			rec_bytes *value = (rec_bytes *)at;

			value->p = p->contents.data + (uintptr_t)value->p;
		}
	}
}

static void flush_one(struct writer *w, struct pending *p)
{
	uint64_t offset = w->offset;

	if (!p || p->n == 0)
		return;
	if (p->has_contents)
		resolve_contents(p);
	write_chunk(w, p->type, p->records, p->n, p->type->role == RECORD_TABLE ? p->first_row : 0);
	if (!w->error.code)
		index_add(w,
			(struct rec_index){ .offset = offset,
				.kind = (uint16_t)p->type->kind,
				.segment = w->segment,
				.n_records = (uint32_t)p->n,
				.t_first_ns = p->t_first,
				.t_last_ns = p->t_last });
	p->first_row += (uint32_t)p->n;
	p->n = 0;
	p->t_first = p->t_last = 0;
	buf_clear(&p->contents);
}

/* Tables have the smallest ids and refer only to smaller ones, so this order never leaves a chunk
 * in the file whose references are not there yet. */
static void flush_tables(struct writer *w)
{
	for (int kind = 0; kind < RECORD_meta; kind++)
		flush_one(w, w->pending[kind]);
}

void writer_flush(struct writer *w)
{
	for (int kind = 0; kind < RECORD_MAX_; kind++)
		flush_one(w, w->pending[kind]);
}

/* Whether a row or record still fits; contents: bytes of its BYTES columns, or of a key that was looked up. */
static bool fits(struct writer *w, const struct pending *p, size_t contents, bool is_kept)
{
	struct budget *b = w->options.budget;

	if (!b)
		return true;
	budget_step(b, 1 + contents / STEP_BYTES);
	if (is_kept)
		budget_take(b, p->type->size + BUDGET_RECORD_BYTES + contents);
	if (!budget_is_kept(b) && !w->error.code)
		budget_error(b, &w->error);
	return budget_is_kept(b);
}

static size_t contents_of(const struct pending *p, const char *record)
{
	size_t n = 0;

	for (size_t i = 0; p->has_contents && i < p->type->n_columns; i++)
		if (p->type->columns[i].type == COLUMN_bytes)
			n += ((const rec_bytes *)(record + p->type->columns[i].offset))->n;
	return n;
}

static void append(struct writer *w, struct pending *p, const void *record)
{
	char *to = p->records + p->n * p->type->size;

	memcpy(to, record, p->type->size);
	if (p->n++ == 0)
		p->oldest_ns = w->now_ns;
	if (p->time_offset != SIZE_MAX) {
		uint64_t t;

		memcpy(&t, to + p->time_offset, sizeof t);
		if (p->t_first == 0 || t < p->t_first)
			p->t_first = t;
		if (t > p->t_last)
			p->t_last = t;
	}
	if (!p->has_contents)
		return;
	for (size_t i = 0; i < p->type->n_columns; i++) {
		rec_bytes *value = (rec_bytes *)(to + p->type->columns[i].offset);
		size_t start = p->contents.n;

		if (p->type->columns[i].type != COLUMN_bytes)
			continue;
		if (value->n > COLUMNS_MAX_VALUE)
			value->n = COLUMNS_MAX_VALUE;
		buf_add(&p->contents, value->p, value->n);
		value->p = (const void *)(uintptr_t)start;
	}
}

void writer_add(struct writer *w, enum record_kind kind, const void *record)
{
	struct pending *p = pending_get(w, kind);

	if (!fits(w, p, contents_of(p, record), true))
		return;
	append(w, p, record);
	if (p->n < FLUSH_RECORDS && p->contents.n < FLUSH_BYTES)
		return;
	if (p->type->role == RECORD_DATA)
		flush_tables(w);
	flush_one(w, p);
}

/* The key columns of a record as bytes, for interning. */
static void make_key(struct buf *key, const struct record_type *type, const char *record)
{
	buf_clear(key);
	for (size_t i = 0; i < type->n_columns; i++) {
		const struct record_column *c = &type->columns[i];

		if (!c->is_key)
			continue;
		if (c->type == COLUMN_bytes) {
			const rec_bytes *value = (const rec_bytes *)(record + c->offset);

			buf_add(key, &value->n, sizeof value->n);
			buf_add(key, value->p, value->n);
		} else {
			buf_add(key, record + c->offset, width[c->type]);
		}
	}
}

static void append_row(struct writer *w, struct pending *p, const void *record)
{
	/* A full table chunk must follow the tables it refers to, too. */
	if (p->n + 1 >= FLUSH_RECORDS || p->contents.n >= FLUSH_BYTES)
		flush_tables(w);
	append(w, p, record);
}

/* The row of w->key. */
static uint32_t add_key(struct writer *w, struct pending *p, const void *record, bool *ret_added)
{
	uint32_t row = intern_add(&p->rows, w->key.data, w->key.n, ret_added);

	if (!*ret_added)
		return row;
	if (p->has_more)
		vec_push(&p->said, more_said(p->type, record));
	if (fits(w, p, contents_of(p, record), true))
		append_row(w, p, record);
	return row;
}

static uint32_t add_row(struct writer *w, enum record_kind table, const void *record, bool is_again)
{
	struct pending *p = pending_get(w, table);
	uint32_t row, more;
	bool added;

	assert(p->type->role == RECORD_TABLE);
	if (w->options.budget && !budget_is_kept(w->options.budget))
		return 0;
	make_key(&w->key, p->type, record);
	if (!fits(w, p, w->key.n, false))
		return 0;
	row = add_key(w, p, record, &added);
	more = added || !p->has_more ? 0 : more_said(p->type, record) & ~p->said.v[row];
	if (more)
		p->said.v[row] |= more;
	if (more || (is_again && !added)) {
		/* a key that no other row has: readers go by the columns */
		buf_printf(&w->key, "again %zu", p->rows.items.n);
		row = add_key(w, p, record, &added);
	}
	return row + 1;
}

uint32_t writer_row_new(struct writer *w, enum record_kind table, const void *record)
{
	struct pending *p = pending_get(w, table);

	assert(p->type->role == RECORD_TABLE && !p->rows.items.n);
	if (!fits(w, p, 0, true))
		return 0;
	append_row(w, p, record);
	return ++p->n_new;
}

uint32_t writer_row(struct writer *w, enum record_kind table, const void *record)
{
	return add_row(w, table, record, false);
}

uint32_t writer_row_again(struct writer *w, enum record_kind table, const void *record)
{
	return add_row(w, table, record, true);
}

uint32_t writer_string_n(struct writer *w, const char *s, size_t n)
{
	return n ? writer_row(w, RECORD_string, &(struct rec_string){ .text = { s, (uint32_t)n } })
		 : 0;
}

uint32_t writer_string(struct writer *w, const char *s)
{
	return s ? writer_string_n(w, s, strlen(s)) : 0;
}

/* Bytes of the first n_chars characters. */
static size_t bytes_of(const char *s, size_t n, size_t n_chars)
{
	size_t at = 0;
	uint32_t c;

	while (at < n && n_chars--)
		at += text_decode(s + at, n - at, &c);
	return at;
}

static uint64_t hash_chars(uint64_t h, const char *s, size_t n)
{
	uint32_t c;

	for (size_t at = 0; at < n;) {
		at += text_decode(s + at, n - at, &c);
		h = name_hash_add(h, c);
	}
	return h;
}

static void add_cut(struct buf *to, const char *s, size_t n, size_t n_chars, size_t most)
{
	size_t head = bytes_of(s, n, NAME_ENDS),
	       tail = n_chars > NAME_ENDS ? bytes_of(s, n, n_chars - NAME_ENDS) : 0;
	uint64_t h = hash_chars(name_hash_begin(n_chars), s, head);
	char mark[NAME_MARK_BYTES];

	name_mark(hash_chars(h, s + tail, n - tail), mark);
	buf_add(to, s, bytes_of(s, n, most - NAME_MARK_CHARS));
	buf_add(to, mark, sizeof mark);
}

static uint32_t add_name(struct writer *w, const char *s, size_t n, size_t most)
{
	struct buf cut = BUF_INIT, text = BUF_INIT;
	size_t n_chars = 0;
	uint32_t row, c;

	if (n <= most && !(n && memchr(s, '\0', n))) /* nearly always */
		return writer_string_n(w, s, n);
	for (size_t at = 0; at < n; n_chars++)
		at += text_decode(s + at, n - at, &c);
	if (n_chars > most)
		add_cut(&cut, s, n, n_chars, most);
	else
		buf_add(&cut, s, n);
	for (size_t i = 0; i < cut.n; i++)
		if (cut.data[i])
			buf_addc(&text, cut.data[i]);
		else
			text_add_char(&text, 0x2400);
	row = writer_string_n(w, text.data, text.n);
	buf_done(&cut);
	buf_done(&text);
	return row;
}

uint32_t writer_name(struct writer *w, const char *s, size_t n)
{
	return add_name(w, s, n, NAME_CHARS_MOST);
}

uint32_t writer_path(struct writer *w, const char *s, size_t n)
{
	return add_name(w, s, n, NAME_PATH_MOST);
}

void writer_meta_n(struct writer *w, const char *key, const void *value, size_t n)
{
	writer_add(w, RECORD_meta,
		&(struct rec_meta){
			.key = writer_string(w, key), .value = { value, (uint32_t)n } });
}

void writer_meta(struct writer *w, const char *key, const char *value)
{
	writer_meta_n(w, key, value, strlen(value));
}

/* ---- segments -------------------------------------------------------------------------------- */

static size_t table_bytes(const struct writer *w)
{
	size_t sum = 0;

	for (int kind = 0; kind < RECORD_meta; kind++)
		if (w->pending[kind])
			sum += w->pending[kind]->rows.arena.used_bytes;
	return sum;
}

static void next_segment(struct writer *w)
{
	writer_flush(w);
	for (int kind = 0; kind < RECORD_meta; kind++) {
		if (!w->pending[kind])
			continue;
		intern_clear(&w->pending[kind]->rows);
		w->pending[kind]->said.n = 0;
		w->pending[kind]->first_row = 1;
		w->pending[kind]->n_new = 0;
	}
	w->segment++;
	w->segment_offset = w->offset;
	w->segment_start_ns = w->now_ns;
}

/* Each flush costs some hundred bytes of heads: what may be lost with it is a share of the recording, not more. */
static uint64_t flush_ns(const struct writer *w)
{
	uint64_t share = (w->now_ns - w->start_ns) / FLUSH_SHARE;

	if (w->options.flush_ns)
		return w->options.flush_ns;
	return share < FLUSH_LEAST_NS   ? FLUSH_LEAST_NS
		: share > FLUSH_MOST_NS ? FLUSH_MOST_NS
					: share;
}

static bool is_old(const struct writer *w, const struct pending *p)
{
	return p && p->n && w->now_ns - p->oldest_ns >= flush_ns(w);
}

void writer_poll(struct writer *w, uint64_t now_ns)
{
	bool any_old = false;

	w->now_ns = now_ns;
	if (now_ns - w->segment_start_ns >= w->options.segment_ns ||
		w->offset - w->segment_offset >= w->options.segment_bytes ||
		table_bytes(w) >= w->options.table_bytes) {
		next_segment(w);
		return;
	}
	for (int kind = RECORD_meta; kind < RECORD_MAX_ && !any_old; kind++)
		any_old = is_old(w, w->pending[kind]);
	if (any_old)
		writer_flush(w);
}

/* ---- open and close -------------------------------------------------------------------------- */

static void read_boot_id(char out[16])
{
	struct buf b = BUF_INIT;
	struct err ignored = ERR_INIT;
	size_t n = 0;

	memset(out, 0, 16);
	if (buf_load(&b, "/proc/sys/kernel/random/boot_id", 64, &ignored) == 0)
		for (size_t i = 0; i < b.n && n < 32; i++) {
			const char *hex = "0123456789abcdef", *at = strchr(hex, b.data[i]);

			if (!at || !b.data[i])
				continue;
			out[n / 2] = (char)(out[n / 2] << 4 | (at - hex));
			n++;
		}
	buf_done(&b);
}

static void write_file_head(struct writer *w)
{
	struct file_head head = { .magic = STORE_MAGIC,
		.major = STORE_MAJOR,
		.minor = STORE_MINOR,
		.monotonic_ns = w->now_ns };
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	head.realtime_ns = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
	read_boot_id(head.boot_id);
	head.checksum = XXH3_64bits(&head, offsetof(struct file_head, checksum));
	write_all(w, &(struct iovec){ &head, sizeof head }, 1);
}

static struct writer_options with_defaults(const struct writer_options *given)
{
	struct writer_options o = given ? *given : (struct writer_options){ 0 };

	if (!o.segment_ns)
		o.segment_ns = 60000000000u;
	if (!o.segment_bytes)
		o.segment_bytes = 64u << 20;
	if (!o.table_bytes)
		o.table_bytes = 128u << 20;
	return o;
}

static int create(const char *path, const struct writer_options *o, int *ret_fd, struct err *e)
{
	unsigned flags = OUTFILE_READ | (o->overwrite ? 0u : (unsigned)OUTFILE_NEW);

	if (outfile_open(path, flags, ret_fd, e) == 0)
		return 0;
	if (e->sys == EEXIST)
		return err_set(
			e, ERR_SYSTEM, "%s already exists; name another file or remove it", path);
	errno = e->sys;
	return e->sys ? err_errno(e, ERR_SYSTEM, "cannot create %s", path) : -(int)e->code;
}

static int create_in_memory(int *ret_fd, struct err *e)
{
	*ret_fd = memfd_create("leadline-recording", MFD_CLOEXEC);
	return *ret_fd < 0 ? err_errno(e, ERR_SYSTEM, "cannot create a recording in memory") : 0;
}

int writer_open(
	struct writer **ret, const char *path, const struct writer_options *options, struct err *e)
{
	struct writer_options o = with_defaults(options);
	struct writer *w;
	int fd;

	if ((path ? create(path, &o, &fd, e) : create_in_memory(&fd, e)) < 0)
		return -(int)e->code;
	w = xcalloc(1, sizeof *w);
	w->fd = fd;
	w->in_memory = !path;
	w->options = o;
	w->now_ns = w->start_ns = w->segment_start_ns = monotonic_ns();
	w->segment = 1;
	write_file_head(w);
	*ret = w;
	return 0;
}

int writer_close_keep_fd(struct writer *w, int *ret_fd, struct err *e)
{
	int status = 0;

	writer_flush(w);
	if (!w->error.code)
		write_index(w);
	if (w->error.code) {
		*e = w->error;
		status = -(int)e->code;
	}
	for (int kind = 0; kind < RECORD_MAX_; kind++)
		pending_free(w->pending[kind]);
	vec_done(&w->index);
	buf_done(&w->packed_index);
	buf_done(&w->raw);
	buf_done(&w->packed);
	buf_done(&w->key);
	ZSTD_freeCCtx(w->zstd);
	*ret_fd = w->fd;
	free(w);
	return status;
}

int writer_close(struct writer *w, struct err *e)
{
	int fd, status;

	if (!w)
		return 0;
	status = writer_close_keep_fd(w, &fd, e);
	if (close(fd) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "writing the recording");
	return status;
}

uint32_t writer_segment(const struct writer *w)
{
	return w->segment;
}

struct writer_stats writer_stats(const struct writer *w)
{
	return w->stats;
}

const struct err *writer_error(const struct writer *w)
{
	return w->error.code ? &w->error : NULL;
}

int writer_fd(const struct writer *w)
{
	return w->fd;
}
