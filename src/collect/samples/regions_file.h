/* SPDX-License-Identifier: MIT
 *
 * Regions (`with leadline.region("load"):`) of a program that `run` started. Its Python package appends a line to the file
 * `regions` in the session's directory when one ends, with a single write, so that a killed program loses none:
 *
 *	PID START-NS TID BEGIN-NS DURATION-NS NAME
 *
 * START-NS is when the process began (after boot), BEGIN-NS is CLOCK_MONOTONIC. The file is the program's to write: what is not such a
 * line is skipped and counted. */
#ifndef COLLECT_SAMPLES_REGIONS_FILE_H
#define COLLECT_SAMPLES_REGIONS_FILE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

struct err;
struct writer;

struct regions_file {
	int fd;           /* -1: none */
	uint64_t at;      /* read up to here */
	struct buf text;  /* of a line whose end is not there yet */
	uint64_t n_lines; /* taken */
	uint64_t n_bad;
};

#define REGIONS_FILE_INIT ((struct regions_file){ .fd = -1 })

/* Creates it in the session's directory. */
int regions_file_open(struct regions_file *r, const char *dir, struct err *e);
/* What was added since the last time, a bounded piece at a time; true: there may be more. */
bool regions_file_take(struct regions_file *r, struct writer *w);
void regions_file_done(struct regions_file *r);

#endif
