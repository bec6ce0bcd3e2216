/* SPDX-License-Identifier: MIT
 * The row of registry.c for callgrind's files; see callgrind.c. */
#ifndef FORMATS_CALLGRIND_H
#define FORMATS_CALLGRIND_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct foreign;
struct input;

extern const struct format format_callgrind;

/* callgrind_read.c */
bool callgrind_recognise(const char *head, size_t n);
int callgrind_read(struct input *in, struct foreign *to, struct err *e);

#endif
