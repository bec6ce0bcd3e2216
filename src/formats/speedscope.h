/* SPDX-License-Identifier: MIT
 * Reading speedscope's files; see speedscope.c. */
#ifndef FORMATS_SPEEDSCOPE_H
#define FORMATS_SPEEDSCOPE_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct foreign;
struct input;

/* speedscope_read.c */
bool speedscope_recognise(const char *head, size_t n);
int speedscope_read(struct input *in, struct foreign *to, struct err *e);

#endif
