/* SPDX-License-Identifier: MIT
 *
 * Files of other tools: one file per format, one row in formats.def. A row may read, write, or both.
 *
 * Writing goes through a sink (sink.h), which holds a bounded piece of the file at a time.
 *
 * Reading turns a file into a recording in memory, so that every command and every analysis takes it as it
 * is: format_load opens it as it opens a recording. A reader gets the file's bytes through an input
 * (input.h; gzip is undone there) and writes records through a `struct foreign` (foreign.h), which is a
 * store/writer with the few rows such files need. What a file does not say is not written, and shows as
 * unknown. The rules of what is written:
 *
 *   - meta "format" (the row's name; foreign_begin), meta "unit" of the values and, where the file has a word
 *     for it, "measure". analyze/origin.h reads them.
 *   - values of stacks are `weight` records: value in whole ns, bytes or counts, as "unit" says; `samples` is
 *     how many samples it stands for, 0 where it was measured exactly; t_ns is the file's own time from its
 *     zero on, or 0 in all of them.
 *   - frames are FOREIGN (name, file, line, first line of the function), as far as the file has them.
 *   - a format with several values per stack writes one of them (the one its own tool would show) and names
 *     the others in meta "format_note".
 *   - exact call counts (pstats) are `node` records and the like, written with foreign->w.
 *
 * A file is hostile: lengths are checked, loops bounded, memory and steps taken from the input's budget (base/budget.h), which
 * rows, records and unpacked bytes are taken from by themselves; what else a reader holds it takes with foreign_hold. An
 * error is ERR_BAD_FILE with the byte or line at which the file makes no sense. Nothing is read in part
 * without saying so. */
#ifndef FORMATS_FORMAT_H
#define FORMATS_FORMAT_H

#include <stdbool.h>
#include <stddef.h>

#include "analyze/samples/callgraph.h"

struct buf;
struct choice;
struct err;
struct foreign;
struct input;
struct reader;
struct recording;
struct selection;
struct sink;

enum {
	FORMAT_HEAD = 4096, /* bytes recognise sees, at most */
	/* That are written of all stacks together, where each is written whole (stacks_options.frames_most): a recursion
	 * of depth 10 000 would be gigabytes. */
	FORMAT_FRAMES = 4000000,
};

/* What of a recording a file of it can be made of; what has no meaning for it is refused. */
enum format_choice {
	FORMAT_OF_STACKS, /* whatever can be chosen; a filter keeps stacks with a function that matches */
	FORMAT_OF_ROWS,  /* likewise; a filter keeps rows, as in a report */
	FORMAT_OF_LINES, /* threads and processes; a filter keeps rows */
	FORMAT_OF_ALL,   /* nothing: it is of the whole recording */
};

struct format {
	const char *name, *summary;
	const char *alias; /* another tool's name for it, or NULL */
	/* of file names, the one we give first; where two formats have one that fits, the longer counts */
	const char *suffixes[4];

	/* Whether a file that begins so (gzip undone) may be of this format: asked in the order of
	 * formats.def, the first yes counts. NULL: cannot be read. */
	bool (*recognise)(const char *head, size_t n);
	int (*read)(struct input *in, struct foreign *to, struct err *e);

	bool takes_ops;    /* it is made of operators (analyze/torch/record.h), not of stacks */
	bool takes_totals; /* it can be made of who called whom, without stacks (pstats files) */
	enum format_choice choice;
	bool is_graph; /* format_options say how it looks */
	/* Writes all of what was selected; the caller looks after the sink's own errors. NULL: cannot be written. */
	int (*write)(struct selection *s, struct sink *out, struct err *e);
};

/* How pictures of the call graph look; gprof2dot's words. */
struct format_options {
	struct callgraph_options graph;
	const char *colormap; /* a name of theme.h */
	bool by_selftime;     /* colour by self, not by total */
	double skew;          /* of colours; 1: even */
	const char *filter;   /* of rows (analyze/code/pattern.h); NULL: all */
	/* what is missing of the recording, for a comment; NULL or "": nothing */
	const char *damage;
};

extern const struct format_options format_defaults;

#define FORMAT(name) extern const struct format format_##name;
#include "formats/formats.def"
#undef FORMAT

extern const struct format *const formats[];
extern const size_t n_formats;

/* Appends the names of those that can be written: "collapsed, pprof". */
void formats_list(struct buf *out);

const struct format *format_find(const char *name); /* NULL when there is none */
/* By the end of a file's name; NULL when none fits, or only ones that cannot be written. */
const struct format *format_for_path(const char *path);

/* The door for files: opens a recording, a trace of torch.profiler, or a file of any format that can be read; everything else is
 * asked of the recording (analyze/recording.h). */
int format_load(struct recording **ret, const char *path, struct err *e);
/* Reads bytes that are of this format: for tests and fuzzers. Takes the descriptor. */
int format_read_fd(
	const struct format *f, int fd, const char *name, struct reader **ret, struct err *e);

/* ERR_USAGE: what was chosen has no meaning for the format; before anything is opened. */
int format_accepts(
	const struct format *f, const struct choice *c, const char *filter, struct err *e);
/* What of a recording is to be written. filter: NULL in it: none; formats of rows get it as an option (format_options). Borrowed.
 * ERR_USAGE: as above, or nothing that it is made of is there; else as recording_select. */
int format_select(const struct format *f, struct recording *r, const struct choice *c,
	const char *const *filter, struct selection **ret, struct err *e);
/* Writes to a file (created or replaced) or to a descriptor. */
int format_save(const struct format *f, struct selection *s, const struct format_options *o,
	const char *path, struct err *e);
int format_write_fd(const struct format *f, struct selection *s, const struct format_options *o,
	int fd, struct err *e);

#endif
