/* SPDX-License-Identifier: MIT
 *
 * Whether a recording is whole, and if not, in words. The reader counts here what it cannot read, the tables what refers to
 * it; whoever shows a recording asks here, so that all of them tell the same:
 *
 *	char text[DAMAGE_TEXT];
 *
 *	reader_check(r);
 *	if (damage_describe(&r->damage, text))
 *		fprintf(stderr, "leadline: %s: %s\n", path, text);
 *
 * Figures of a recording with damage lack what it held. What a recording does not hold may have been lost, so the reason for
 * that (an option not given) must not be guessed while damage_is_loss. */
#ifndef STORE_DAMAGE_H
#define STORE_DAMAGE_H

#include <stdbool.h>
#include <stdint.h>

enum { DAMAGE_TEXT = 320 };

struct damage {
	bool has_index; /* false: chunks were found by scanning */
	bool has_end; /* the trailer is there; false: the recorder did not finish, or the end was cut off */
	uint64_t lost_bytes;      /* not part of any chunk */
	uint64_t first_lost_byte; /* offset of the first of them */
	uint64_t n_chunks;        /* that are known of */
	/* Whose contents failed their checksum or did not decode, each counted once: of all chunks after reader_check, else
	 * of those that were asked for. */
	uint64_t n_bad_chunks;
	uint32_t first_bad_kind;   /* enum record_kind, of the first that was found */
	uint64_t n_bad_references; /* of the rows read so far: to rows that are not there */
};

/* Something is missing, so figures may be too small and names unknown. A damaged index alone is none: the scan found all. */
bool damage_is_loss(const struct damage *d);

/* One line without an end, "" when the recording is whole. Returns whether there is something to tell. */
bool damage_describe(const struct damage *d, char ret[static DAMAGE_TEXT]);

#endif
