/* SPDX-License-Identifier: MIT
 *
 * What the commands that record (`run`, `attach`, `time`, `top`) share: their options, the names of their
 * files, and where the report goes.
 *
 *	struct options {
 *		struct recorder_options shared;       first, so that the rows below fit
 *		…
 *	};
 *	static const struct opt table[] = { RECORDER_RATE, RECORDER_LIMIT, … };
 *
 *	recorder_open(&r, &o.shared, "train", pid, &e);
 *	program_run(&p, r.writer, &result, &e);        or, when that fails, recorder_discard(&r)
 *	recorder_end(self, &r, &o.shared, &result, &choice, note); */
#ifndef CMD_RECORDER_H
#define CMD_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "cmd/command.h"

struct buf;
struct err;
struct format;
struct program_result;
struct recording;
struct choice;
struct writer;
struct writer_options;

struct recorder_options {
	const char *output, *rate, *report, *json, *format, *sort;
	bool has_json, no_legend, no_source, force;
	bool append; /* to the file of `report` */
	uint64_t limit, duration_ns;
	int color;
};

#define RECORDER_FIELD(f) offsetof(struct recorder_options, f)
#define RECORDER_OUTPUT                                                                         \
	{                                                                                       \
		.letter = 'o', .name = "output", .kind = OPT_STRING, .value = "FILE",           \
		.help = "name the recording (default: NAME.lead); %p, %h, %r: pid, host, rank", \
		.offset = RECORDER_FIELD(output)                                                \
	}
#define RECORDER_FORCE OUTPUT_FORCE(RECORDER_FIELD(force))
#define RECORDER_RATE                                                             \
	{                                                                         \
		.letter = 'r', .name = "rate", .kind = OPT_STRING, .value = "HZ", \
		.help = "samples per second: 2000, 10k or max (default: 1000)",   \
		.offset = RECORDER_FIELD(rate)                                    \
	}
#define RECORDER_DURATION                                                                    \
	{                                                                                    \
		.letter = 'd', .name = "duration", .kind = OPT_DURATION, .value = "SECONDS", \
		.help = "stop recording after SECONDS (default: when the program exits)",    \
		.offset = RECORDER_FIELD(duration_ns)                                        \
	}
#define RECORDER_FORMAT                                                               \
	{                                                                             \
		.letter = 'f', .name = "format", .kind = OPT_STRING, .value = "NAME", \
		.help = "also write a file in another tool's format, as export does", \
		.offset = RECORDER_FIELD(format)                                      \
	}
#define RECORDER_SORT                                                                 \
	{                                                                             \
		.letter = 's', .name = "sort", .kind = OPT_STRING, .value = "KEY",    \
		.help = "sort functions by self, total, calls, name or a pstats key", \
		.offset = RECORDER_FIELD(sort)                                        \
	}
#define RECORDER_LIMIT                                                                          \
	{                                                                                       \
		.letter = 'n', .name = "limit", .kind = OPT_U64, .value = "N",                  \
		.help = "rows per table (default: 10; 0: all)", .offset = RECORDER_FIELD(limit) \
	}
#define RECORDER_JSON(words)                                                                 \
	{                                                                                    \
		.name = "json", .kind = OPT_STRING, .value = "FILE", .optional_value = true, \
		.help = words, .offset = RECORDER_FIELD(json),                               \
		.given_offset = RECORDER_FIELD(has_json)                                     \
	}
#define RECORDER_JSON_HELP                                                                    \
	"write JSON to FILE, or to stdout at the end (the program's own stdout then goes to " \
	"stderr)"
#define RECORDER_REPORT                                                \
	{                                                              \
		.name = "report", .kind = OPT_STRING, .value = "FILE", \
		.help = "write the report to FILE instead of stderr",  \
		.offset = RECORDER_FIELD(report)                       \
	}
#define RECORDER_NO_SOURCE                                           \
	{                                                            \
		.name = "no-source", .kind = OPT_FLAG,               \
		.help = "do not store source text in the recording", \
		.offset = RECORDER_FIELD(no_source)                  \
	}
#define RECORDER_COLOR                                                          \
	{                                                                       \
		.name = "color", .kind = OPT_CHOICE, .value = "WHEN",           \
		.help = "when to use colours", .offset = RECORDER_FIELD(color), \
		.choices = color_choices                                        \
	}
#define RECORDER_NO_LEGEND                                                        \
	{                                                                         \
		.name = "no-legend", .kind = OPT_FLAG, .help = "omit the legend", \
		.offset = RECORDER_FIELD(no_legend)                               \
	}

/* --rate: "2000", "10k", "max" (0); NULL is 1000. */
int recorder_rate(const char *text, double *ret_hz, struct err *e);

/* The bytes between two sampled allocations: "64k", "1M" (powers of 1024); NULL is 128k. option: its name, for errors. */
int recorder_period(const char *option, const char *text, uint64_t *ret_bytes, struct err *e);

/* JSON without a file takes stdout, and the program's output makes way for it. */
bool recorder_json_on_stdout(const struct recorder_options *o);

struct recorder {
	struct writer *writer;
	char path[4096];       /* of the recording */
	char other_path[4096]; /* of the other tool's file, "" none */
	/* where the file is that --force replaces, until something is recorded; "" none */
	char old_path[4096];
	const struct format *format; /* of it */
	bool is_short;               /* not all could be written */
	bool lacks_agent; /* nothing was traced for want of one; known once it was shown */
};

/* --report and --json (output_may_write), before the program begins: what it did must not be lost for a file that was there.
 * recorder_open asks by itself. */
int recorder_check_files(const struct recorder_options *o, struct err *e);
/* Creates the recording, which replaces a file with --force alone:
 *	without -o      STEM.lead, STEM.rank3.lead in a job with ranks; STEM.2.lead … when it is there
 *	-o NAME         NAME, with %p (pid), %h (host), %r (rank, 0 without one) and %% replaced
 *	-o NAME.folded, or --format with any NAME but *.lead
 *	                the other tool's file; the recording is NAME.lead beside it, numbered as above
 * A suffix or format that does not exist (yet) is ERR_USAGE. */
int recorder_open(struct recorder *r, const struct recorder_options *o, const char *stem, pid_t pid,
	struct err *e);
/* Of `time` and `top`, which keep a recording only where -o says so: NAME as above, and never another
 * tool's file. */
int recorder_open_named(struct recorder *r, const char *name, pid_t pid,
	const struct writer_options *w, struct err *e);
/* Finishes the file; says on stderr when not all of it could be written. With ret_fd it stays open. */
int recorder_close(struct recorder *r, int *ret_fd, struct err *e);
/* Nothing was recorded: no file stays behind. */
void recorder_discard(struct recorder *r);

/* The page for this output: colours and width of the terminal, none of them for --report FILE. */
struct output recorder_output(const struct recorder_options *o);
/* Writes the other tool's file that was asked for. */
int recorder_export(const struct recorder *r, struct recording *recording, struct err *e);
/* Sends both where the options say. */
int recorder_emit(const struct recorder_options *o, const struct buf *report,
	const struct buf *json, struct err *e);
/* The end of `run` and `attach`: finishes the file, reads it back, writes the other tool's file, shows functions
 * and lines and `note` (lines, or ""). What fails is told; the exit status, for who has no other. */
int recorder_end(const struct command *self, struct recorder *r, const struct recorder_options *o,
	const struct program_result *result, const struct choice *choice, const char *note);

/* What recordings of a program are called: its name without .py. */
void recorder_stem(const char *name, char *to, size_t size);
/* The name that a recording without -o would get now. */
void recorder_next(const char *stem, char *to, size_t size);
/* Copies the recording in `fd` to a file called so, or by a later number. */
int recorder_keep(int fd, const char *stem, char *to, size_t size, struct err *e);

#endif
