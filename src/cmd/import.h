/* SPDX-License-Identifier: MIT
 * `export FILE -o x.lead`: another tool's file as a recording. */
#ifndef CMD_IMPORT_H
#define CMD_IMPORT_H

struct err;
struct reader;

/* A trace of torch becomes its operators, with all it says; other files what format_load makes of them. */
int import_open(struct reader **ret, const char *path, struct err *e);
/* The same in a file, which is replaced. */
int import_save(const char *path, const char *to, struct err *e);

#endif
