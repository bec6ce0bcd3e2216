/* SPDX-License-Identifier: MIT
 *
 * `run --lines=auto`: the sampler watches the program for a moment, then the functions that took most of it are named to the agents,
 * and their lines are counted from then on. The program runs once; until the choice is made no hook is in it.
 *
 *	struct auto_lines a = { .path = recording, .writer = writer };
 *	p.hook = auto_lines_hook(&a);
 *	program_run(&p, …);
 *	auto_lines_note(&a, &text);	what was chosen, and when
 */
#ifndef CMD_AUTO_LINES_H
#define CMD_AUTO_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "collect/program.h"

struct writer;

struct auto_lines {
	const char *path;      /* of the recording, which grows; borrowed */
	struct writer *writer; /* borrowed */
	uint64_t begun_ns, chosen_ns;
	struct buf names; /* of what was chosen, for the user */
	struct program_hook hook;
};

const struct program_hook *auto_lines_hook(struct auto_lines *a);
/* Appends a line; ends `a`. */
void auto_lines_note(struct auto_lines *a, struct buf *out);

#endif
