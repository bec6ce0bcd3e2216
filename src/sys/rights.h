/* SPDX-License-Identifier: MIT
 *
 * What a process may do with files: its user, groups, and the capabilities that get past both. A name that came out of a
 * program is looked up with the program's rights, never with ours (sys/reach.h).
 *
 *	struct rights r = RIGHTS_NONE;
 *
 *	rights_read(&r, pid);
 *	rights_lower(&r, pid);		later: what it has given up since, it has given up for good
 *	rights_done(&r);
 */
#ifndef SYS_RIGHTS_H
#define SYS_RIGHTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct rights {
	bool is_known; /* else nothing may be done with them */
	uid_t uid;     /* for files, as the next */
	gid_t gid;
	VEC(gid_t) groups; /* beside gid */
	/* effective; bits of linux/capability.h, of those that concern files */
	uint64_t capabilities;
};

#define RIGHTS_NONE ((struct rights){ 0 })

/* Of a process as it is now; not known where it has ended. */
void rights_read(struct rights *r, pid_t pid);
/* Takes them from the text of /proc/PID/status; false for what is none. */
bool rights_parse(const char *text, struct rights *ret);
/* Ours. */
void rights_own(struct rights *r);
/* Of a user alone, without further groups. */
void rights_user(struct rights *r, uid_t uid, gid_t gid);
/* A process that was root's, or had capabilities, and has them no more. Never gives it more than it had. */
void rights_lower(struct rights *r, pid_t pid);
void rights_done(struct rights *r);

/* Whether we can reach files that somebody with these rights cannot. */
bool rights_are_less(const struct rights *r);

struct rights_change {
	const struct rights *to; /* borrowed */
	bool has_groups;         /* ours are those already */
	uint64_t capabilities;
};

/* Before a child is made that is to have them; false: they are not known. */
bool rights_prepare(struct rights_change *c, const struct rights *to);
/* In that child: it has these rights from now on, and no way back. Allocates nothing. False: it must end. */
bool rights_become(const struct rights_change *c);

#endif
