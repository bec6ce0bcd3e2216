/* SPDX-License-Identifier: MIT
 *
 * Reading a recording: a list of chunks, each decoded on demand, so memory does not depend on the
 * length of the file. The file is read with pread, never mapped: a file that shrinks under us is an
 * error, not a SIGBUS.
 *
 *	struct reader *r;
 *	if (reader_open(&r, path, &e) < 0) …
 *	for (size_t i = 0; i < r->n_chunks; i++) {
 *		struct batch b = BATCH_INIT;
 *		if (r->chunks[i].kind == RECORD_sample && reader_decode(r, i, &b, &e) == 0)
 *			use(b.records, b.n);
 *		batch_done(&b);
 *	}
 *	reader_close(r);
 *
 * Row numbers in a batch are those of its segment; tables.h makes them global.
 *
 * A recording is untrusted input. What its chunks say they hold is taken from a budget that follows the file's size
 * (base/budget.h) before any of them is decoded; a file that exceeds it is refused. Damage is not an error of reader_open as long as the file begins
 * like a recording: what can be read is, and `damage` (damage.h) says what cannot. */
#ifndef STORE_READER_H
#define STORE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/budget.h"
#include "store/damage.h"
#include "wire/records.h"

struct err;

struct chunk {
	uint64_t offset; /* of the head */
	uint32_t kind;   /* enum record_kind, or a number this version does not know */
	uint32_t segment;
	uint32_t n_records;
	uint64_t t_first_ns, t_last_ns; /* 0 where unknown (no index, or no time column) */
	enum chunk_state { CHUNK_UNREAD, CHUNK_FINE, CHUNK_BAD } state;
	uint32_t n_bad_references; /* of its rows, counted when tables.h read them last */
};

struct reader {
	int fd; /* owned */
	uint64_t size_bytes;
	uint64_t begun_realtime_ns, begun_monotonic_ns;
	unsigned major, minor;
	struct chunk *chunks; /* owned, in file order, without the index's own */
	size_t n_chunks, chunks_capacity;
	uint64_t scanned_bytes;    /* where the scan goes on when the file has grown */
	uint64_t unfinished_bytes; /* of a last chunk that is not whole; part of lost_bytes */
	uint32_t n_segments;       /* highest number seen */
	struct damage damage;
	struct budget budget;
	bool is_own; /* this process wrote it: no budget */
	void *zstd;  /* owned decompression context, NULL until needed */
};

struct batch {
	enum record_kind kind;
	uint32_t segment, first_row;
	size_t n;
	void *records;      /* array of the kind's struct */
	struct arena arena; /* holds all of it */
};

#define BATCH_INIT ((struct batch){ 0 })

int reader_open(struct reader **ret, const char *path, struct err *e);
/* Takes the descriptor, also on failure. `name` is for messages. */
int reader_open_fd(struct reader **ret, int fd, const char *name, struct err *e);
/* The same for a recording that this process has written, or writes: whatever it is made of had a budget of its own. */
int reader_open_own(struct reader **ret, int fd, const char *name, struct err *e);
void reader_close(struct reader *r);

/* Follows a recording that is being written: appends the chunks that are whole by now. Those known
 * already keep their numbers. Nothing is left to do for a finished one. */
int reader_refresh(struct reader *r, struct err *e);

/* Decodes one chunk. An error means that this chunk is lost (counted); others can still be read.
 * Chunks of unknown kinds give n = 0. */
int reader_decode(struct reader *r, size_t chunk, struct batch *ret, struct err *e);
void batch_done(struct batch *b);

/* Looks at all chunks that nobody has decoded so far, so that `damage` is of the whole file and not of what was asked for.
 * Costs a read of them; nothing is unpacked. */
void reader_check(struct reader *r);

#endif
