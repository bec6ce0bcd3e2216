/* SPDX-License-Identifier: MIT
 *
 * Terminal and JSON pages of analyze/host/usage and analyze/host/bound: what `leadline time` and `report`
 * print of a run. */
#ifndef VIEW_HOST_USAGE_H
#define VIEW_HOST_USAGE_H

#include <stdbool.h>
#include <stddef.h>

struct bound;
struct buf;
struct usage;

struct usage_view {
	size_t width;
	bool colour;
	bool tree;   /* one line per process */
	bool legend; /* the line that explains */
};

void usage_print(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out);
/* Resident memory alone, all processes together: how much at most, and over time. */
void usage_print_memory(const struct usage *u, const struct usage_view *v, struct buf *out);
/* Only the first lines: what ran, the verdict and its rule. */
void usage_print_head(
	const struct usage *u, const struct bound *b, const struct usage_view *v, struct buf *out);
/* The verdict in words, and the rule it follows from, with its numbers. */
void usage_add_verdict(const struct bound *b, struct buf *out);
void usage_add_rule(const struct usage *u, const struct bound *b, struct buf *out);
/* POSIX `time -p`: real, user and sys in seconds. */
void usage_print_posix(const struct usage *u, struct buf *out);

#endif
