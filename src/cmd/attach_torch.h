/* SPDX-License-Identifier: MIT
 * leadline attach --torch: asks a running job of PyTorch for a trace of all its processes, and shows what is in it. */
#ifndef CMD_ATTACH_TORCH_H
#define CMD_ATTACH_TORCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct command;
struct output;

struct attach_torch {
	pid_t pid;
	const char *name;   /* of what it runs */
	const char *folder; /* for the traces; NULL: NAME.torch here */
	uint64_t length_ns; /* or */
	uint64_t n_steps;
	bool is_single;   /* without its children */
	size_t limit;     /* rows of the table; 0: all */
	bool has_json;    /* instead of the report; or */
	const char *json; /* in addition, into that file */
	int color;
};

/* Returns the exit status. */
int attach_torch(const struct command *self, const struct attach_torch *o);

#endif
