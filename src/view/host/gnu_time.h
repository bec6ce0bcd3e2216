/* SPDX-License-Identifier: MIT
 *
 * What a run used, as GNU time prints it (time -f FORMAT, time -v): the same sequences, the same words. Figures are those of
 * analyze/host/usage, cut to hundredths as GNU time cuts them.
 *
 *	%C command   %x exit status   %e %E elapsed   %U %S user, system   %P CPU
 *	%M largest process, KB   %F %R faults, major and minor   %w %c switches, voluntary and not   %I %O blocks of 512 bytes
 *	%Z page size   %D %K %X %p %t %W %k %r %s what Linux does not count: 0, as GNU time prints
 *	\n \t \\; anything else is printed with a question mark before it */
#ifndef VIEW_HOST_GNU_TIME_H
#define VIEW_HOST_GNU_TIME_H

#include <stdbool.h>

struct buf;
struct usage;

/* The format that -v stands for. */
extern const char gnu_time_verbose[];

/* Ends with a line end. tell_end: first a line of a command that failed or was killed. What is not known is "?". */
void gnu_time_print(const struct usage *u, const char *format, bool tell_end, struct buf *out);

#endif
