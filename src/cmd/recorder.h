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
	bool has_json, no_legend, no_source;
	uint64_t limit, duration_ns;
	int color;
};

#define RECORDER_FIELD(f) offsetof(struct recorder_options, f)
#define RECORDER_OUTPUT                                                                     \
	{                                                                                   \
		'o', "output", OPT_STRING, "FILE", false,                                   \
			"name the recording (else NAME.lead); %p, %h, %r: pid, host, rank", \
			RECORDER_FIELD(output), SIZE_MAX, NULL                              \
	}
#define RECORDER_RATE                                                                             \
	{                                                                                         \
		'r', "rate", OPT_STRING, "HZ", false,                                             \
			"samples per second: 2000, 10k or max (else 1000)", RECORDER_FIELD(rate), \
			SIZE_MAX, NULL                                                            \
	}
#define RECORDER_DURATION                                                                          \
	{                                                                                          \
		'd', "duration", OPT_DURATION, "SECONDS", false,                                   \
			"record so long (else to the end)", RECORDER_FIELD(duration_ns), SIZE_MAX, \
			NULL                                                                       \
	}
#define RECORDER_FORMAT                                                                           \
	{                                                                                         \
		'f', "format", OPT_STRING, "NAME", false,                                         \
			"also write another tool's file, as export does", RECORDER_FIELD(format), \
			SIZE_MAX, NULL                                                            \
	}
#define RECORDER_SORT                                                                      \
	{                                                                                  \
		's', "sort", OPT_STRING, "KEY", false,                                     \
			"order functions by self, total, calls, name or a key of pstats'", \
			RECORDER_FIELD(sort), SIZE_MAX, NULL                               \
	}
#define RECORDER_LIMIT                                                                     \
	{                                                                                  \
		'n', "limit", OPT_U64, "N", false, "rows of each table (else 10; 0: all)", \
			RECORDER_FIELD(limit), SIZE_MAX, NULL                              \
	}
#define RECORDER_JSON(help)                                                      \
	{                                                                        \
		0, "json", OPT_STRING, "FILE", true, help, RECORDER_FIELD(json), \
			RECORDER_FIELD(has_json), NULL                           \
	}
#define RECORDER_JSON_HELP                                                              \
	"write JSON to FILE, or last on stdout (the program's own stdout then goes to " \
	"stderr)"
#define RECORDER_REPORT                                                                       \
	{                                                                                     \
		0, "report", OPT_STRING, "FILE", false,                                       \
			"write the report to FILE instead of stderr", RECORDER_FIELD(report), \
			SIZE_MAX, NULL                                                        \
	}
#define RECORDER_NO_SOURCE                                                     \
	{                                                                      \
		0, "no-source", OPT_FLAG, NULL, false,                         \
			"leave the text of source files out of the recording", \
			RECORDER_FIELD(no_source), SIZE_MAX, NULL              \
	}
#define RECORDER_COLOR                                                        \
	{                                                                     \
		0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", \
			RECORDER_FIELD(color), SIZE_MAX, color_choices        \
	}
#define RECORDER_NO_LEGEND                                                                 \
	{                                                                                  \
		0, "no-legend", OPT_FLAG, NULL, false, "leave out the line that explains", \
			RECORDER_FIELD(no_legend), SIZE_MAX, NULL                          \
	}

/* --rate: "2000", "10k", "max" (0); NULL is 1000. */
int recorder_rate(const char *text, double *ret_hz, struct err *e);

/* JSON without a file takes stdout, and the program's output makes way for it. */
bool recorder_json_on_stdout(const struct recorder_options *o);

struct recorder {
	struct writer *writer;
	char path[4096];             /* of the recording */
	char other_path[4096];       /* of the other tool's file, "" none */
	const struct format *format; /* of it */
	bool is_short;               /* not all could be written */
};

/* Creates the recording, which never replaces a file:
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
