/* SPDX-License-Identifier: MIT
 * Reading Chrome's trace events; see chrome.c. */
#ifndef FORMATS_CHROME_H
#define FORMATS_CHROME_H

#include <stdbool.h>
#include <stddef.h>

struct err;
struct foreign;
struct input;
struct op_events;

/* chrome_read.c */
bool chrome_recognise(const char *head, size_t n);
/* Whether what was read is whole, as far as it must be. */
int chrome_check(const struct op_events *x, struct err *e);
int chrome_read(struct input *in, struct foreign *to, struct err *e);

#endif
