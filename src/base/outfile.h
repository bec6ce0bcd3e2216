/* SPDX-License-Identifier: MIT
 *
 * Files that users get: recordings, exports, pages, reports, traces. They hold what a program did, so
 *
 * - a new file is its owner's alone (0600, whatever the umask), and under sudo belongs to the user who called it;
 * - a file that is there already is written over in place, and keeps its mode and owner;
 * - in a folder where everyone may write, no link that a stranger put there is followed, and in a sticky one (/tmp) no file of a
 *   stranger's is written into.
 *
 * Standard output, pipes and descriptors by their names (/dev/stdout, /dev/fd/3) work as ever. */
#ifndef BASE_OUTFILE_H
#define BASE_OUTFILE_H

struct buf;
struct err;

enum outfile_flags {
	OUTFILE_NEW = 1 << 0,    /* only if there is none: else ERR_SYSTEM with sys EEXIST */
	OUTFILE_READ = 1 << 1,   /* to be read as well */
	OUTFILE_APPEND = 1 << 2, /* what is in it stays, and is written behind */
};

/* To be written, empty unless appended to. The text of the error names the file. */
int outfile_open(const char *path, unsigned flags, int *ret_fd, struct err *e);
/* A whole file. */
int outfile_save(const struct buf *b, const char *path, struct err *e);
/* Behind what a file holds, which is made where there is none. */
int outfile_append(const struct buf *b, const char *path, struct err *e);
/* One without a name, to be written and read, in $TMPDIR, else /var/tmp or /tmp; the descriptor, or -1 with errno. */
int outfile_unnamed(void);
/* A folder of ours (0700); 0, or -1 with errno: EEXIST where there is one, or something else. */
int outfile_make_folder(const char *path);

#endif
