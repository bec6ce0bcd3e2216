/* SPDX-License-Identifier: MIT
 * Reading the Firefox Profiler's files; see firefox.c. */
#ifndef FORMATS_FIREFOX_H
#define FORMATS_FIREFOX_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct foreign;
struct input;

/* firefox_read.c */
bool firefox_recognise(const char *head, size_t n);
int firefox_read(struct input *in, struct foreign *to, struct err *e);

#endif
