/* SPDX-License-Identifier: MIT
 *
 * What `report` prints of stored benchmark results: as `bench` prints what it has just measured. */
#ifndef CMD_RESULTS_REPORT_H
#define CMD_RESULTS_REPORT_H

#include <stdbool.h>

#include "cmd/command.h"

struct buf;
struct err;

int results_report(
	const char *path, bool json, struct output output, struct buf *out, struct err *e);

#endif
