/* SPDX-License-Identifier: MIT
 * The modules of a model as a tree, in the terminal and as JSON. */
#ifndef VIEW_OP_MODULES_H
#define VIEW_OP_MODULES_H

struct buf;
struct json_writer;
struct op_modules;
struct ops_view;

void op_modules_print(const struct op_modules *modules, const struct ops_view *v, struct buf *out);
/* A key and its value in an object that is open. */
void op_modules_json(
	const struct op_modules *modules, const struct ops_view *v, struct json_writer *w);

#endif
