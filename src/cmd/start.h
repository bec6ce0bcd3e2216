/* SPDX-License-Identifier: MIT
 * What `run` and `top` start: a script or module gets its interpreter, other commands stay as they are. */
#ifndef CMD_START_H
#define CMD_START_H

#include <stdbool.h>
#include <stddef.h>

#include "base/vec.h"

struct err;
struct opt;

struct start {
	const char *python, *module; /* options, may be NULL */
	VEC(char *) words;           /* the command, ended by NULL; borrows the operands */
	char interpreter[4096];      /* the first of them, where one was chosen */
};

/* As for Python, what stands behind -m MODULE is the module's own. Returns how many words are ours. */
int start_our_words(const struct opt *options, size_t n_options, int argc, char **argv);

/* A SCRIPT.py, or a file named with a / that is not executable. */
bool start_is_script(const char *name);
/* Whether Python source imports that module, as far as its lines tell: no statement over several, and none in a comment. */
bool start_imports(const char *source, const char *module);
/* Fills words; the choice of an interpreter is printed. `operands` end with NULL. */
int start_make(struct start *s, char **operands, struct err *e);
void start_done(struct start *s);

/* What a recording of it is called: the module, or the script or program without folder and .py. */
void start_stem(const struct start *s, const char *first, char *to, size_t size);

#endif
