/* SPDX-License-Identifier: MIT
 *
 * Instructions, and how often they were executed, as JSON. */
#ifndef JSON_BYTECODE_H
#define JSON_BYTECODE_H

#include <stddef.h>

struct disassembly;
struct json_writer;
struct opcode_counts;

/* "bytecode" */
void bytecode_json(const struct disassembly *d, size_t n, struct json_writer *w);
/* "opcodes" */
void opcodes_json(const struct opcode_counts *c, struct json_writer *w);

#endif
