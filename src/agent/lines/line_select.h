/* SPDX-License-Identifier: MIT
 *
 * Which functions a user means: patterns matched against what is known of a code object. Without
 * Python, so that it can be tested by itself.
 *
 *	step                  functions of that name, methods too
 *	Model.step            that method; "Model.*" all of the class
 *	shop.orders           every function of a module, or of the modules of a package
 *	shop.orders:total     one function of a module; the script may be named by its file or __main__
 *	shop.orders.total     the same
 *	orders.py, part_?.py  every function of the files
 *	orders.py:total       one function of a file
 *
 * * ? [ ] stand for what they do in a shell. A function inside another one is outer.inner. A name
 * without module or file does not mean functions of the interpreter's own library or of installed
 * packages. */
#ifndef AGENT_LINES_LINE_SELECT_H
#define AGENT_LINES_LINE_SELECT_H

#include <stdbool.h>
#include <stdint.h>

enum {
	SELECT_PATTERNS_MAX = 64,
	SELECT_TEXT_MAX = 4096, /* of all patterns together */
};

struct line_select_pattern {
	const char *where; /* module or file; NULL: anywhere */
	const char *what;  /* function; NULL: all */
	bool is_file;      /* `where` is one */
	uint32_t n_found;  /* code objects it chose */
};

struct line_select {
	struct line_select_pattern patterns[SELECT_PATTERNS_MAX];
	uint32_t n;
	char text[SELECT_TEXT_MAX]; /* what the patterns point into */
};

struct line_select_subject {
	const char *file;
	const char *module; /* __name__ of its globals; "" when not known */
	const char *name;   /* qualified as far as is known */
	bool is_library;    /* belongs to the interpreter or to an installed package */
};

#pragma GCC visibility push(hidden)

/* Patterns, separated by commas or ends of lines. False when there are too many or they are too long: those that fit are
 * taken. */
bool leadline_select_init(struct line_select *s, const char *text);

/* The patterns that mean it, a bit each from the first on, and counts them as having found something; 0: none does. */
uint64_t leadline_select_match(struct line_select *s, const struct line_select_subject *subject);

/* Whether a function whose own name (after the last dot) is this could be meant: asked before its
 * qualified name is looked for where the interpreter does not tell it. */
bool leadline_select_may_mean(const struct line_select *s, const char *name);

#pragma GCC visibility pop

#endif
