/* SPDX-License-Identifier: MIT
 *
 * What the Python package and `leadline host` say to each other (docs/HOST.md): requests are lines of
 * JSON, answers a line of words and bytes.
 *
 *	{"do": "ask", "argv": ["report", "--json", "@"]}\n
 *	ok 4711\n…                                           that many bytes follow
 *	error 2 31\nthere is no …                            with the exit status it would have been */
#ifndef CMD_HOST_REQUEST_H
#define CMD_HOST_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct buf;
struct err;

enum { HOST_LINE_BYTES = 8 << 20, HOST_WORDS = 256, HOST_REGIONS = 100000 };

struct host_region { /* a span that ended */
	uint64_t t_ns, duration_ns;
	uint32_t tid;
	const char *name;
};

struct host_request {
	struct arena arena;  /* holds all of it */
	const char *what;    /* "do"; "" when missing */
	const char *path;    /* NULL: none */
	const char *rate;    /* as of --rate; NULL: the default */
	const char *text;    /* of a source file */
	const char *name;    /* shown instead of the path */
	const char *exclude; /* as of --exclude; NULL: nothing */
	const char **argv;   /* ended by NULL */
	size_t n_words;
	struct host_region *regions;
	size_t n_regions;
	bool children;     /* record them, too */
	bool trace, lines; /* calls, lines; instead of samples */
};

/* One line, without its end. Keys that are not known are skipped. host_request_done accepts a failed one. */
int host_request_parse(struct host_request *r, const char *line, size_t n_bytes, struct err *e);
void host_request_done(struct host_request *r);

/* Takes the first whole line off `input`; 0 when there is none yet, ERR_BAD_FILE when it is too long. */
int host_request_next(struct buf *input, struct host_request *r, bool *ret_found, struct err *e);

/* Appends an answer. */
void host_answer(struct buf *out, const void *payload, size_t n_bytes);
void host_answer_error(struct buf *out, int status, const char *text);

#endif
