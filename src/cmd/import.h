/* SPDX-License-Identifier: MIT
 * `export FILE -o x.lead`: another tool's file as a recording. */
#ifndef CMD_IMPORT_H
#define CMD_IMPORT_H

struct err;

/* A trace of torch becomes its operators, with all it says; other files what `report` reads them as. to is replaced. */
int import_save(const char *path, const char *to, struct err *e);

#endif
