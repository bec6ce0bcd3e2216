/* SPDX-License-Identifier: MIT
 * See reader.h. The index is used when it is there and agrees with the chunk heads; otherwise the
 * file is scanned head by head, and after damage for the next head that checks. */
#include "store/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/err.h"
#include "base/vec.h"
#include "store/columns.h"
#include "store/container.h"
#include "base/banned.h"

/* ---- bytes ----------------------------------------------------------------------------------- */

static int read_at(const struct reader *r, uint64_t offset, void *to, size_t n, struct err *e)
{
	size_t done = 0;

	while (done < n) {
		ssize_t got = pread(r->fd, (char *)to + done, n - done, (off_t)(offset + done));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return err_errno(
				e, ERR_SYSTEM, "read at byte %llu", (unsigned long long)offset);
		if (got == 0)
			return err_set(e, ERR_BAD_FILE, "ends at byte %llu inside a chunk",
				(unsigned long long)(offset + done));
		done += (size_t)got;
	}
	return 0;
}

static bool head_is_valid(const struct chunk_head *h)
{
	return h->magic == CHUNK_MAGIC &&
		h->head_checksum ==
		(uint32_t)XXH3_64bits(h, offsetof(struct chunk_head, head_checksum)) &&
		h->stored_bytes <= COLUMNS_MAX_BYTES && h->raw_bytes <= COLUMNS_MAX_BYTES &&
		h->n_records <= COLUMNS_MAX_RECORDS;
}

static uint64_t chunk_end(uint64_t offset, const struct chunk_head *h)
{
	return offset + sizeof *h + h->stored_bytes + chunk_padding(h->stored_bytes);
}

/* ---- what the file is ------------------------------------------------------------------------ */

/* Names what a foreign file looks like, so that the message says more than "no". */
static const char *looks_like(const unsigned char *start, size_t n)
{
	static const struct {
		const char *magic;
		size_t n;
		const char *what;
	} known[] = {
		{ "\x1f\x8b", 2, "it is gzip data" },
		{ "\x28\xb5\x2f\xfd", 4, "it is zstd data" },
		{ "PK\x03\x04", 4, "it is a zip archive" },
		{ "\x7f"
		  "ELF",
			4, "it is an ELF program or library" },
		{ "SQLite format 3", 15, "it is an SQLite database" },
		{ "PERFILE2", 8, "it is a perf.data file" },
		{ "{", 1, "it looks like JSON" },
		{ "[", 1, "it looks like JSON" },
		{ "#!", 2, "it is a script" },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (n >= known[i].n && memcmp(start, known[i].magic, known[i].n) == 0)
			return known[i].what;
	return "it begins otherwise";
}

static int check_file_head(struct reader *r, struct err *e)
{
	struct file_head h = { 0 };
	size_t n = r->size_bytes < sizeof h ? (size_t)r->size_bytes : sizeof h;

	if (n == 0)
		return err_set(e, ERR_BAD_FILE, "the file is empty");
	if (read_at(r, 0, &h, n, e) < 0)
		return -(int)e->code;
	if (memcmp(h.magic, STORE_MAGIC, sizeof h.magic < n ? sizeof h.magic : n) != 0)
		return err_set(e, ERR_BAD_FILE, "not a leadline recording: %s",
			looks_like((const unsigned char *)&h, n));
	if (n < sizeof h)
		return err_set(e, ERR_BAD_FILE, "cut off after %zu bytes, inside the file head", n);
	if (h.major > STORE_MAJOR)
		return err_set(e, ERR_NEWER_FILE,
			"has format version %u.%u, this leadline reads up to %d.x", h.major,
			h.minor, STORE_MAJOR);
	if (h.checksum != XXH3_64bits(&h, offsetof(struct file_head, checksum)))
		return err_set(
			e, ERR_BAD_FILE, "the file head is damaged (bytes 0 to %zu)", sizeof h - 1);
	r->begun_realtime_ns = h.realtime_ns;
	r->begun_monotonic_ns = h.monotonic_ns;
	r->major = h.major;
	r->minor = h.minor;
	return 0;
}

/* ---- what it may cost ------------------------------------------------------------------------ */

/* Series of the host are summed up as they come; of all other records something may be held. */
static bool is_held(unsigned kind)
{
	return kind != RECORD_process_usage && kind != RECORD_thread_usage &&
		kind != RECORD_pressure;
}

static void charge(struct reader *r, const struct chunk_head *h)
{
	const struct record_type *type = record_type_find(h->kind);

	if (r->is_own || !type)
		return;
	budget_step(&r->budget, h->n_records);
	if (is_held(h->kind))
		budget_take(&r->budget,
			h->raw_bytes + (uint64_t)h->n_records * (type->size + BUDGET_RECORD_BYTES));
}

/* The index does not say how much its chunks hold: their heads do. Those that are damaged are not decoded either. */
static void charge_chunks(struct reader *r, const struct chunk *chunks, size_t n)
{
	struct err ignored = ERR_INIT;
	struct chunk_head h;

	for (size_t i = 0; i < n && !r->is_own && budget_is_kept(&r->budget); i++)
		if (read_at(r, chunks[i].offset, &h, sizeof h, &ignored) == 0 && head_is_valid(&h))
			charge(r, &h);
}

/* ---- the list of chunks: by index ------------------------------------------------------------ */

typedef VEC(struct chunk) chunk_vec;

static int decode_at(
	struct reader *r, uint64_t offset, struct batch *ret, uint64_t *ret_end, struct err *e);

/* Offsets must grow by at least a head, so a small file cannot claim many chunks. */
static int add_index_rows(const struct batch *b, uint64_t index_offset, chunk_vec *to)
{
	const struct rec_index *rows = b->records;

	for (size_t i = 0; i < b->n; i++) {
		uint64_t least = to->n ? to->v[to->n - 1].offset + sizeof(struct chunk_head)
				       : sizeof(struct file_head);

		if (rows[i].offset < least || rows[i].offset >= index_offset ||
			rows[i].offset % 8 || rows[i].n_records > COLUMNS_MAX_RECORDS)
			return -1;
		vec_push(to,
			(struct chunk){ .offset = rows[i].offset,
				.kind = rows[i].kind,
				.segment = rows[i].segment,
				.n_records = rows[i].n_records,
				.t_first_ns = rows[i].t_first_ns,
				.t_last_ns = rows[i].t_last_ns });
	}
	return 0;
}

/* 0 when the file ends in a trailer whose index can be read; nothing is reported otherwise, the
 * scan finds the chunks. */
static int load_index(struct reader *r, chunk_vec *to)
{
	struct trailer t;
	struct err ignored = ERR_INIT;
	uint64_t at;

	if (r->size_bytes < sizeof(struct file_head) + sizeof t ||
		read_at(r, r->size_bytes - sizeof t, &t, sizeof t, &ignored) < 0 ||
		memcmp(t.magic, TRAILER_MAGIC, sizeof t.magic) != 0 ||
		t.checksum != XXH3_64bits(&t, offsetof(struct trailer, checksum)) ||
		t.index_offset > r->size_bytes - sizeof t)
		return -1;
	at = t.index_offset;
	for (uint64_t i = 0; i < t.n_index_chunks; i++) {
		struct batch b = BATCH_INIT;
		int status = decode_at(r, at, &b, &at, &ignored);

		if (status == 0)
			status = b.kind == RECORD_index ? add_index_rows(&b, t.index_offset, to)
							: -1;
		batch_done(&b);
		if (status < 0)
			return -1;
	}
	return at == r->size_bytes - sizeof t ? 0 : -1;
}

/* ---- the list of chunks: by scanning --------------------------------------------------------- */

static void note_lost(struct reader *r, uint64_t from, uint64_t to)
{
	if (to <= from)
		return;
	if (r->damage.lost_bytes == 0)
		r->damage.first_lost_byte = from;
	r->damage.lost_bytes += to - from;
}

/* The next offset at or after `from` where a valid chunk head stands, or the end of the file. */
static uint64_t find_head(const struct reader *r, uint64_t from)
{
	enum { WINDOW = 1 << 16 };
	static const uint32_t magic = CHUNK_MAGIC;
	char window[WINDOW];
	struct err ignored = ERR_INIT;

	for (from = (from + 7) & ~7ull; from + sizeof(struct chunk_head) <= r->size_bytes;
		from += WINDOW) {
		uint64_t room = r->size_bytes - from;
		size_t n = room < WINDOW ? (size_t)room : WINDOW;

		if (read_at(r, from, window, n, &ignored) < 0)
			break;
		for (size_t at = 0; at + sizeof magic <= n; at += 8) {
			struct chunk_head h;

			if (memcmp(window + at, &magic, sizeof magic) == 0 &&
				from + at + sizeof h <= r->size_bytes &&
				read_at(r, from + at, &h, sizeof h, &ignored) == 0 &&
				head_is_valid(&h))
				return from + at;
		}
	}
	return r->size_bytes;
}

static bool is_trailer(const struct reader *r, uint64_t offset)
{
	char magic[8];
	struct err ignored = ERR_INIT;

	return r->size_bytes - offset == sizeof(struct trailer) &&
		read_at(r, offset, magic, sizeof magic, &ignored) == 0 &&
		memcmp(magic, TRAILER_MAGIC, sizeof magic) == 0;
}

/* From r->scanned_bytes on, which then is where the next scan goes on. A last chunk that is not whole
 * counts as lost until it is. */
static void scan(struct reader *r, chunk_vec *to)
{
	uint64_t at = r->scanned_bytes;
	struct err ignored = ERR_INIT;

	r->damage.lost_bytes -= r->unfinished_bytes;
	r->unfinished_bytes = 0;
	while (at < r->size_bytes && !is_trailer(r, at)) {
		struct chunk_head h;
		bool has_head = at + sizeof h <= r->size_bytes;
		bool fits = has_head && read_at(r, at, &h, sizeof h, &ignored) == 0 &&
			head_is_valid(&h);

		if (!has_head || (fits && chunk_end(at, &h) > r->size_bytes)) {
			r->unfinished_bytes = r->size_bytes - at;
			note_lost(r, at, r->size_bytes);
			break;
		}
		if (!fits) {
			uint64_t next = find_head(r, at + 8);

			note_lost(r, at, next);
			at = next;
			continue;
		}
		charge(r, &h);
		if (h.kind != RECORD_index)
			vec_push(to,
				(struct chunk){ .offset = at,
					.kind = h.kind,
					.segment = h.segment,
					.n_records = h.n_records });
		at = chunk_end(at, &h);
	}
	r->damage.has_end = at < r->size_bytes && is_trailer(r, at);
	r->scanned_bytes = at;
}

/* ---- decoding -------------------------------------------------------------------------------- */

static int unpack(struct reader *r, const struct chunk_head *h, struct arena *a, const void *stored,
	const void **ret_raw, struct err *e)
{
	void *raw;
	size_t got;

	if (h->codec == CODEC_PLAIN && h->stored_bytes == h->raw_bytes) {
		*ret_raw = stored;
		return 0;
	}
	if (h->codec != CODEC_ZSTD)
		return err_set(e, ERR_BAD_FILE, "unknown compression %u", h->codec);
	if (!r->zstd)
		r->zstd = ZSTD_createDCtx();
	raw = arena_alloc(a, h->raw_bytes);
	got = ZSTD_decompressDCtx(r->zstd, raw, h->raw_bytes, stored, h->stored_bytes);
	if (ZSTD_isError(got) || got != h->raw_bytes)
		return err_set(e, ERR_BAD_FILE, "does not decompress");
	*ret_raw = raw;
	return 0;
}

static int decode_payload(struct reader *r, uint64_t offset, const struct chunk_head *h,
	struct batch *b, struct err *e)
{
	const struct record_type *type = record_type_find(h->kind);
	void *stored = arena_alloc(&b->arena, h->stored_bytes);
	const void *raw = NULL;

	if (read_at(r, offset + sizeof *h, stored, h->stored_bytes, e) < 0)
		return -(int)e->code;
	if (h->payload_checksum != XXH3_64bits(stored, h->stored_bytes))
		return err_set(e, ERR_BAD_FILE, "the contents do not match their checksum");
	if (!type)
		return 0; /* a newer writer's: skipped */
	if (unpack(r, h, &b->arena, stored, &raw, e) < 0 ||
		columns_decode(type, raw, h->raw_bytes, h->n_records, &b->arena, &b->records, e) <
			0)
		return -(int)e->code;
	b->n = h->n_records;
	return 0;
}

static int decode_at(
	struct reader *r, uint64_t offset, struct batch *ret, uint64_t *ret_end, struct err *e)
{
	struct batch b = BATCH_INIT;
	struct chunk_head h;

	if (read_at(r, offset, &h, sizeof h, e) < 0)
		return err_note(e, "chunk at byte %llu", (unsigned long long)offset);
	if (!head_is_valid(&h) || chunk_end(offset, &h) > r->size_bytes) {
		err_set(e, ERR_BAD_FILE, "the chunk head is damaged");
		return err_note(e, "chunk at byte %llu", (unsigned long long)offset);
	}
	b.kind = h.kind;
	b.segment = h.segment;
	b.first_row = h.first_row;
	if (decode_payload(r, offset, &h, &b, e) < 0) {
		batch_done(&b);
		return err_note(e, "chunk at byte %llu", (unsigned long long)offset);
	}
	*ret_end = chunk_end(offset, &h);
	*ret = b;
	return 0;
}

/* A chunk that is bad stays so, and counts once however often it is asked for. */
static void judge(struct reader *r, struct chunk *c, bool is_fine)
{
	if (!is_fine && c->state != CHUNK_BAD) {
		if (!r->damage.n_bad_chunks)
			r->damage.first_bad_kind = c->kind;
		r->damage.n_bad_chunks++;
	}
	c->state = is_fine ? CHUNK_FINE : CHUNK_BAD;
}

int reader_decode(struct reader *r, size_t chunk, struct batch *ret, struct err *e)
{
	struct chunk *c = &r->chunks[chunk];
	struct batch b = BATCH_INIT;
	uint64_t end;
	int status = decode_at(r, c->offset, &b, &end, e);

	if (status == 0 && ((uint32_t)b.kind != c->kind || b.segment != c->segment))
		status = err_set(e, ERR_BAD_FILE, "chunk at byte %llu: is not what the index says",
			(unsigned long long)c->offset);
	judge(r, c, status == 0);
	if (status < 0)
		batch_done(&b);
	else
		*ret = b;
	return status;
}

/* Whether a chunk is what the list says and its bytes are those that were written. */
static bool is_intact(struct reader *r, const struct chunk *c)
{
	struct arena a = ARENA_INIT;
	struct err ignored = ERR_INIT;
	struct chunk_head h;
	bool is = read_at(r, c->offset, &h, sizeof h, &ignored) == 0 && head_is_valid(&h) &&
		chunk_end(c->offset, &h) <= r->size_bytes && h.kind == c->kind &&
		h.segment == c->segment;

	if (is) {
		void *stored = arena_alloc(&a, h.stored_bytes);

		is = read_at(r, c->offset + sizeof h, stored, h.stored_bytes, &ignored) == 0 &&
			h.payload_checksum == XXH3_64bits(stored, h.stored_bytes);
	}
	arena_done(&a);
	return is;
}

void reader_check(struct reader *r)
{
	for (size_t i = 0; i < r->n_chunks; i++)
		if (r->chunks[i].state == CHUNK_UNREAD)
			judge(r, &r->chunks[i], is_intact(r, &r->chunks[i]));
}

void batch_done(struct batch *b)
{
	arena_done(&b->arena);
	*b = BATCH_INIT;
}

/* ---- open and close -------------------------------------------------------------------------- */

static void take_chunks(struct reader *r, struct chunk *chunks, size_t n, size_t capacity)
{
	for (size_t i = r->n_chunks; i < n; i++)
		if (chunks[i].segment > r->n_segments)
			r->n_segments = chunks[i].segment;
	r->chunks = chunks;
	r->n_chunks = r->damage.n_chunks = n;
	r->chunks_capacity = capacity;
}

static int open_checked(struct reader *r, struct err *e)
{
	chunk_vec chunks = VEC_INIT;
	struct stat st;

	if (fstat(r->fd, &st) < 0)
		return err_errno(e, ERR_SYSTEM, "stat");
	if (!S_ISREG(st.st_mode))
		return err_set(e, ERR_BAD_FILE, "not a regular file");
	r->size_bytes = (uint64_t)st.st_size;
	r->budget = budget_for(r->size_bytes);
	if (check_file_head(r, e) < 0)
		return -(int)e->code;
	r->damage.has_index = r->damage.has_end = load_index(r, &chunks) == 0;
	if (r->damage.has_index) {
		charge_chunks(r, chunks.v, chunks.n);
	} else {
		vec_clear(&chunks);
		r->scanned_bytes = sizeof(struct file_head);
		scan(r, &chunks);
	}
	take_chunks(r, chunks.v, chunks.n, chunks.capacity);
	return budget_is_kept(&r->budget) ? 0 : budget_error(&r->budget, e);
}

int reader_refresh(struct reader *r, struct err *e)
{
	chunk_vec chunks = { .v = r->chunks, .n = r->n_chunks, .capacity = r->chunks_capacity };
	struct stat st;

	if (r->damage.has_index)
		return 0;
	if (fstat(r->fd, &st) < 0)
		return err_errno(e, ERR_SYSTEM, "stat");
	if ((uint64_t)st.st_size < r->scanned_bytes)
		return err_set(e, ERR_BAD_FILE, "the file has become shorter");
	r->size_bytes = (uint64_t)st.st_size;
	budget_grow(&r->budget, r->size_bytes);
	scan(r, &chunks);
	take_chunks(r, chunks.v, chunks.n, chunks.capacity);
	return budget_is_kept(&r->budget) ? 0 : budget_error(&r->budget, e);
}

static int open_as(struct reader **ret, int fd, const char *name, bool is_own, struct err *e)
{
	struct reader *r = xcalloc(1, sizeof *r);

	r->fd = fd;
	r->is_own = is_own;
	if (open_checked(r, e) < 0) {
		reader_close(r);
		return err_note(e, "%s", name);
	}
	*ret = r;
	return 0;
}

int reader_open_fd(struct reader **ret, int fd, const char *name, struct err *e)
{
	return open_as(ret, fd, name, false, e);
}

int reader_open_own(struct reader **ret, int fd, const char *name, struct err *e)
{
	return open_as(ret, fd, name, true, e);
}

int reader_open(struct reader **ret, const char *path, struct err *e)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a FIFO must not hang us */

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	return reader_open_fd(ret, fd, path, e);
}

void reader_close(struct reader *r)
{
	if (!r)
		return;
	close(r->fd);
	free(r->chunks);
	ZSTD_freeDCtx(r->zstd);
	free(r);
}
