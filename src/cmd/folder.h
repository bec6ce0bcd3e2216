/* SPDX-License-Identifier: MIT
 * What a user means who names a folder: the recordings and the traces of torch in it. */
#ifndef CMD_FOLDER_H
#define CMD_FOLDER_H

#include <stdbool.h>
#include <stddef.h>

struct arena;
struct err;

struct folder {
	const char **v; /* paths, by name */
	size_t n;
	size_t n_older; /* left out: of the same worker there is a later one */
};

bool folder_is(const char *path);

/* *.lead, *.pt.trace.json and *.pt.trace.json.gz; where there are none of these *.json and *.json.gz. With newest, of each worker
 * that torch's trace handler names the last one ("host_7.1700000000.pt.trace.json"). None at all is ERR_NO_FILE. */
int folder_list(struct arena *a, const char *path, bool newest, struct folder *ret, struct err *e);

#endif
