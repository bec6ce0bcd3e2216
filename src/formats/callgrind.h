/* SPDX-License-Identifier: MIT
 * What callgrind.c and callgrind_read.c share. */
#ifndef FORMATS_CALLGRIND_H
#define FORMATS_CALLGRIND_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct foreign;
struct input;

/* A line of the head of our files: names and the command are as text_add_escaped writes them. */
#define CALLGRIND_ESCAPES "desc: Escapes: \\n \\t \\xNN \\uNNNN in names"

/* callgrind_read.c */
bool callgrind_recognise(const char *head, size_t n);
int callgrind_read(struct input *in, struct foreign *to, struct err *e);

#endif
