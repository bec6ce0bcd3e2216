/* SPDX-License-Identifier: MIT
 * Names as Graphviz' language has them; see dot.c. */
#ifndef FORMATS_DOT_H
#define FORMATS_DOT_H

struct buf;
struct stack_function;

/* "module:line:name", as gprof2dot calls functions of Python: also for the call graph in SVG. */
void dot_name(struct buf *out, const struct stack_function *f);

#endif
