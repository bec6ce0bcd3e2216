/* SPDX-License-Identifier: MIT
 *
 * The preloaded library as a file, and LD_PRELOAD. Programs that outlive the session start others with the same environment, and the
 * loader complains about a file that is gone: so it does not lie in the session's directory but in the folder that stays (sys/private_base.h),
 * under a name made of its contents. */
#ifndef COLLECT_MEMORY_LIBRARY_H
#define COLLECT_MEMORY_LIBRARY_H

#include <stdbool.h>

struct err;

/* Whether this executable has one: it is built for x86-64. */
bool library_is_there(void);
/* Saves it where it is not yet and puts it first in LD_PRELOAD of this process, which the program inherits. */
int library_preload(struct err *e);

#endif
