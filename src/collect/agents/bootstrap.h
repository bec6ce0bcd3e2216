/* SPDX-License-Identifier: MIT
 *
 * What a program needs to find in the directory of a session, and in its environment, before it starts:
 *
 *	agents/, bootstrap/	the agents and the folder PYTHONPATH names, which starts them
 *	lines			patterns, where lines are to be counted
 *	exclude			patterns of what is not traced, where there are some
 *	torch-full		where torch's own profiler shall be driven
 *	torch			where PyTorch's operators are to be collected
 *	package/leadline	the Python package, for programs whose environment has none
 *	regions			where that package, or an installed one, writes regions (regions_file.h)
 *	leadline		a link to this executable, for the package
 */
#ifndef COLLECT_AGENTS_BOOTSTRAP_H
#define COLLECT_AGENTS_BOOTSTRAP_H

#include <stdbool.h>
#include <stdint.h>

struct buf;
struct embedded_file;
struct err;

struct bootstrap_options {
	bool with_agents;    /* else the package alone */
	const char *lines;   /* patterns; NULL: none are counted */
	const char *exclude; /* patterns of what is not traced; NULL: all is */
	/* what torch's profiler shall do (bootstrap/torch_full.py); NULL: nothing */
	const char *torch_full;
	bool torch; /* operators of PyTorch */
};

/* Fills the directory and sets the environment of this process, which the program inherits: the directory must lie where others can
 * never make a name (sys/private_base.h), because descendants of the program keep it. */
int bootstrap_prepare(const char *dir, const struct bootstrap_options *o, struct err *e);

/* One file, with the folders on the way to it. */
int bootstrap_save(const char *dir, const struct embedded_file *f, struct err *e);

/* Appends a line for each kind of interpreter that found no agent; returns how many. */
unsigned bootstrap_missing(const char *dir, unsigned most, struct buf *out);

/* Interpreters that programs made beside their first one and in which nothing is traced. ret_processes: which had some. */
uint64_t bootstrap_interpreters(const char *dir, unsigned *ret_processes);

/* Appends why a limit of its own kept the agent out of a process, without a full stop or an end of line, for the first of them
 * that is found; returns how many there are. */
unsigned bootstrap_limited(const char *dir, uint64_t map_bytes, struct buf *out);

#endif
