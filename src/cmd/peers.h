/* SPDX-License-Identifier: MIT
 *
 * Options that other profilers have, and hands type here: what is so anyway is taken without a word, the rest is answered with
 * what to type instead. They are rows of the commands' tables like any other, but no part of their help; the page
 * docs/man/leadline.1.md lists them. What we have under the same name (--pid, --gil, --idle …) is an option of ours. */
#ifndef CMD_PEERS_H
#define CMD_PEERS_H

#include "base/opts.h"

#define PEER(its_name, its_kind, words)                                                   \
	{                                                                                 \
		.name = its_name, .kind = its_kind, .optional_value = true, .help = words \
	}

/* Whatever looks at the stacks of a program: run, attach, top, dump. */
#define PEERS_OF_STACKS                                                                         \
	PEER("native", OPT_NOT_BUILT,                                                           \
		"C stacks are not recorded yet: C code counts for the Python line that called " \
		"it; use py-spy record --native, or perf record -g"),                           \
		PEER("nonblocking", OPT_ANYWAY, "the program is never stopped")

/* Whatever records them: run, attach. */
#define PEERS_OF_RECORDERS                                                                        \
	PEERS_OF_STACKS, PEER("interval", OPT_INSTEAD, "use --rate: 1000 is every ms"),           \
		PEER("threads", OPT_INSTEAD,                                                      \
			"every recording has threads: leadline report --threads FILE"),           \
		PEER("function", OPT_INSTEAD,                                                     \
			"reports show functions and lines; for functions alone: leadline report " \
			"--functions FILE"),                                                      \
		PEER("nolineno", OPT_INSTEAD,                                                     \
			"reports show functions and lines; for functions alone: leadline report " \
			"--functions FILE"),                                                      \
		PEER("full-filenames", OPT_ANYWAY, "every recording has them")

/* The children of what is started, or watched. */
#define PEER_SUBPROCESSES PEER("subprocesses", OPT_ANYWAY, "children are always part of it")

/* Whatever shows a recording: report, export. */
#define PEERS_OF_RECORDINGS PEER("gil", OPT_INSTEAD, "use --state gil")

/* Whatever starts its program and has no other way: lines, time. */
#define PEER_PID                                                                                   \
	PEER("pid", OPT_INSTEAD,                                                                   \
		"this command starts its program; to record a running one: leadline attach --pid " \
		"PID")

#endif
