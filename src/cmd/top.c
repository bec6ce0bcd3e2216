/* SPDX-License-Identifier: MIT
 * leadline top: what a program is doing now. Records as `run` and `attach` do, into a file without a name
 * that the screen (top_screen) reads as it grows; at the end it can be kept. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/recorder.h"
#include "cmd/start.h"
#include "cmd/target.h"
#include "cmd/terminal.h"
#include "cmd/top_pick.h"
#include "cmd/top_screen.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "store/writer.h"
#include "sys/lookup.h"
#include "sys/private_dir.h"
#include "base/banned.h"

enum {
	FLUSH_MS = 250,    /* how old what the screen shows may be */
	OUTPUT_LINES = 20, /* of a program of ours, shown at the end */
	OUTPUT_BYTES = 1 << 16,
};

struct options {
	const char *output, *rate, *python, *module, *pid;
	bool gil, force;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'o',
		.name = "output",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "keep the recording in FILE; %p, %h, %r: pid, host, rank",
		.offset = FIELD(output) },
	OUTPUT_FORCE(FIELD(force)),
	{ .letter = 'r',
		.name = "rate",
		.kind = OPT_STRING,
		.value = "HZ",
		.help = "samples per second: 2000, 10k or max (default: 1000)",
		.offset = FIELD(rate) },
	{ .letter = 'p',
		.name = "pid",
		.kind = OPT_STRING,
		.value = "PID",
		.help = "the process to watch, instead of an argument",
		.offset = FIELD(pid) },
	{ .letter = 'g',
		.name = "gil",
		.kind = OPT_FLAG,
		.help = "start with time holding the GIL (key g)",
		.offset = FIELD(gil) },
	{ .letter = 'm',
		.name = "module",
		.kind = OPT_STRING,
		.value = "MODULE",
		.help = "run a module, as python -m does",
		.offset = FIELD(module) },
	{ .name = "python",
		.kind = OPT_STRING,
		.value = "EXE",
		.help = "interpreter for a script or module",
		.offset = FIELD(python) },
	PEERS_OF_STACKS,
	PEER_SUBPROCESSES,
};

struct live_run {
	const struct options *o;
	struct program_options program;
	struct recorder recording;
	struct terminal terminal;
	struct top_screen *screen; /* NULL until the program runs */
	struct err screen_error;
	int stop;       /* eventfd */
	int output;     /* what a program of ours writes; -1 */
	int streams[3]; /* our own, while they are the program's; -1: not changed */
	char stem[LOOKUP_NAME], name[4096]; /* what the recording would be called */
};

/* ---- files without a name -------------------------------------------------------------------- */

static const char *temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : access("/var/tmp", W_OK) == 0 ? "/var/tmp" : "/tmp";
}

static int open_unnamed(struct writer **ret, struct writer_options *w, struct err *e)
{
	int fd = open(temporary_folder(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), status;
	char path[64];

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", temporary_folder());
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	w->overwrite = true;
	status = writer_open(ret, path, w, e);
	close(fd);
	return status;
}

/* Where files without a name cannot be had: it has one for a moment. */
static int open_in_own_folder(struct writer **ret, struct writer_options *w, struct err *e)
{
	struct private_dir folder;
	char path[PRIVATE_BASE_PATH + 16];
	int status;

	if (private_dir_make(&folder, PRIVATE_LARGE, sizeof folder.path, e) < 0)
		return -(int)e->code;
	snprintf(path, sizeof path, "%s/top.lead", folder.path);
	status = writer_open(ret, path, w, e);
	private_dir_remove(&folder);
	return status;
}

/* The recording: on disk, since it may become long; in memory where there is no room to write. */
static int open_recording(struct live_run *r, struct err *e)
{
	struct writer_options w = { .flush_ns = FLUSH_MS * 1000000ull, .overwrite = r->o->force };
	struct err ignored = ERR_INIT;

	if (r->o->output)
		return recorder_open_named(&r->recording, r->o->output,
			r->program.pid ? r->program.pid : getpid(), &w, e);
	if (open_unnamed(&r->recording.writer, &w, &ignored) < 0 &&
		open_in_own_folder(&r->recording.writer, &w, &ignored) < 0)
		return writer_open(&r->recording.writer, NULL, &w, e);
	return 0;
}

static int open_output(void)
{
	int fd = open(temporary_folder(), O_TMPFILE | O_RDWR | O_APPEND | O_CLOEXEC, 0600);

	return fd >= 0 ? fd : memfd_create("leadline-output", MFD_CLOEXEC);
}

/* A program of ours gets a file for its output and, where that was the keyboard, no input: the screen and
 * the keys are taken. */
static int lend_streams(struct live_run *r, struct err *e)
{
	int nothing = isatty(STDIN_FILENO) ? open("/dev/null", O_RDONLY | O_CLOEXEC) : -1;

	r->output = open_output();
	if (r->output < 0)
		return err_errno(e, ERR_SYSTEM, "cannot keep the program's output");
	fflush(NULL);
	for (int fd = 0; fd < 3; fd++) {
		int to = fd == STDIN_FILENO ? nothing : r->output;

		if (to < 0)
			continue;
		r->streams[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10);
		dup2(to, fd);
	}
	if (nothing >= 0)
		close(nothing);
	return 0;
}

static void take_streams_back(struct live_run *r)
{
	for (int fd = 0; fd < 3; fd++) {
		if (r->streams[fd] < 0)
			continue;
		dup2(r->streams[fd], fd);
		close(r->streams[fd]);
		r->streams[fd] = -1;
	}
}

/* ---- in the recorder's loop ------------------------------------------------------------------ */

/* The first call comes when the program runs: only then the screen is taken. */
static bool on_call(void *ctx, uint64_t now_ns)
{
	struct live_run *r = ctx;
	struct top_screen_options o = { .terminal = &r->terminal,
		.recording = writer_fd(r->recording.writer),
		.stop = r->stop,
		.output = r->output,
		.save_name = r->name,
		.is_named = r->o->output != NULL,
		.rate_hz = r->program.rate_hz,
		.gil = r->o->gil };
	uint64_t unused;

	(void)now_ns;
	if (!r->screen)
		return top_screen_start(&r->screen, &o, &r->screen_error) == 0;
	return read(r->stop, &unused, sizeof unused) < 0;
}

/* A new size is the screen's; whoever ends us means us, not the program. */
static bool on_signal(void *ctx, int signal)
{
	struct live_run *r = ctx;
	bool ends = signal == SIGTERM || signal == SIGHUP || signal == SIGINT || signal == SIGQUIT;

	if (!r->screen || (signal != SIGWINCH && !ends))
		return false;
	top_screen_tell(r->screen, ends ? TOP_TELL_LEAVE : TOP_TELL_SIZE);
	return true;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* The last lines the program wrote, made safe to print. */
static void add_output(const struct live_run *r, struct buf *out)
{
	off_t size = lseek(r->output, 0, SEEK_END),
	      from = size > OUTPUT_BYTES ? size - OUTPUT_BYTES : 0;
	struct buf all = BUF_INIT;
	ssize_t got = pread(r->output, buf_reserve(&all, OUTPUT_BYTES), OUTPUT_BYTES, from);
	const char *end, *at;
	int n = 0;

	buf_advance(&all, got > 0 ? (size_t)got : 0);
	end = at = buf_str(&all) + all.n;
	for (; at > buf_str(&all);
		at--) /* from the end, up to the newline before the first of them */
		if (at[-1] == '\n' && at < end && ++n == OUTPUT_LINES)
			break;
	if (at < end)
		buf_printf(out, "The program wrote%s:\n",
			from || at > buf_str(&all) ? ", at the end" : "");
	while (at < end) {
		size_t length = strcspn(at, "\n");

		buf_adds(out, "  ");
		text_add_printable(out, at, length);
		buf_addc(out, '\n');
		at += length + 1;
	}
	buf_done(&all);
}

/* What stays on the normal screen: the program's words, the last screen, and what there is to know. */
static int conclude(const struct command *self, struct live_run *r,
	const struct program_result *result, struct top_screen_result *left, int recording)
{
	const char *name = r->o->output ? r->recording.path : left->wants_save ? r->name : NULL;
	struct err e = ERR_INIT;
	struct buf text = BUF_INIT;
	int status = 0;

	if (r->output >= 0)
		add_output(r, &text);
	buf_add(&text, left->last.data, left->last.n);
	if (r->output >= 0 && !result->has_ended)
		buf_printf(&text, "leadline: process %d keeps running\n", (int)result->pid);
	if (!r->o->output && left->wants_save)
		status = recorder_keep(recording, r->stem, r->name, sizeof r->name, &e);
	if (name && status == 0)
		text_add_line(&text, "Recording: %s   more: leadline report %s", name, name);
	output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status < 0 ? command_fail(self, &e) : 0;
}

static int record(const struct command *self, struct live_run *r)
{
	struct program_hook hook = {
		.call = on_call, .on_signal = on_signal, .ctx = r, .fd = r->stop
	};
	struct program_result result = { 0 };
	struct top_screen_result left = { 0 };
	struct err e = ERR_INIT, closing = ERR_INIT;
	int fd, status;

	recorder_next(r->stem, r->name, sizeof r->name);
	if (open_recording(r, &e) < 0 || (r->program.argv && lend_streams(r, &e) < 0))
		return command_fail(self, &e);
	r->program.hook = &hook;
	status = r->program.argv ? program_run(&r->program, r->recording.writer, &result, &e)
				 : program_follow(&r->program, r->recording.writer, &result, &e);
	writer_close_keep_fd(r->recording.writer, &fd, &closing);
	if (r->screen) {
		top_screen_tell(r->screen, TOP_TELL_OVER);
		top_screen_finish(r->screen, &left);
	}
	take_streams_back(r);
	if (status == 0 && !r->screen)
		e = r->screen_error;
	if (status < 0 || !r->screen) {
		if (*r->recording.path)
			unlink(r->recording.path);
		status = command_fail(self, &e);
	} else {
		status = conclude(self, r, &result, &left, fd);
		if (closing.code && status == 0)
			status = command_fail(self, &closing);
	}
	close(fd);
	buf_done(&left.last);
	return status;
}

/* ---- what to look at ------------------------------------------------------------------------- */

static int find_process(struct live_run *r, const char *word, struct err *e)
{
	struct lookup_process p = { 0 };

	if (word ? target_find(word, true, &r->program.pid, e) < 0
		 : top_pick(&r->terminal, &r->program.pid, e) < 0)
		return e->code == ERR_NO_PROCESS && word && (*word < '0' || *word > '9')
			? err_set(e, ERR_NO_PROCESS,
				  "there is no process called '%s'; to start a program: leadline top -- %s",
				  word, word)
			: -(int)e->code;
	if (!r->program.pid)
		return 0;
	if (target_check(r->program.pid, true, e) < 0)
		return -(int)e->code;
	if (!lookup_pid(r->program.pid, &p))
		return err_set(e, ERR_NO_PROCESS, "process %d has ended", (int)r->program.pid);
	recorder_stem(p.name, r->stem, sizeof r->stem);
	return 0;
}

/* One word is a running process unless it is a script that is there; after -- it is a program. */
static bool is_program(const struct options *o, int argc, char **argv, int first)
{
	return o->module || (first > 0 && first <= argc && strcmp(argv[first - 1], "--") == 0) ||
		argc - first > 1 ||
		(first < argc && start_is_script(argv[first]) && access(argv[first], F_OK) == 0);
}

static int run_in_terminal(
	const struct command *self, struct live_run *r, int argc, char **argv, int first)
{
	struct start start = { .python = r->o->python, .module = r->o->module };
	struct err e = ERR_INIT;
	int status;

	if (r->o->pid && (first < argc || r->o->module)) {
		err_set(&e, ERR_USAGE, "--pid and a program cannot be combined");
	} else if (is_program(r->o, argc, argv, first)) {
		if (first >= argc && !r->o->module)
			err_set(&e, ERR_USAGE, "which program? For example: leadline top -- CMD");
		else if (start_make(&start, argv + first, &e) == 0)
			start_stem(
				&start, first < argc ? argv[first] : "", r->stem, sizeof r->stem);
		r->program.argv = start.words.v;
	} else {
		find_process(r, first < argc ? argv[first] : r->o->pid, &e);
	}
	if (e.code)
		status = command_fail(self, &e);
	else
		status = r->program.argv || r->program.pid ? record(self, r) : 0;
	start_done(&start);
	return status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct live_run r = { .o = &o, .output = -1, .streams = { -1, -1, -1 } };
	const struct collector *sampling[COLLECTORS_MOST];
	struct err e = ERR_INIT;
	size_t n = sizeof options_table / sizeof *options_table;
	int first = 0, status;

	if (opts_parse(options_table, n, &o, start_our_words(options_table, n, argc, argv), argv,
		    true, &first, &e) < 0 ||
		recorder_rate(o.rate, &r.program.rate_hz, &e) < 0 ||
		terminal_open(&r.terminal, &e) < 0)
		return command_fail(self, &e);
	r.program.collectors = sampling;
	r.program.n_collectors = collectors_pick(COLLECT_SAMPLES, sampling);
	r.stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	status = run_in_terminal(self, &r, argc, argv, first);
	terminal_close(&r.terminal);
	close(r.stop);
	if (r.output >= 0)
		close(r.output);
	return status;
}

const struct command command_top = {
	.group = "where",
	.name = "top",
	.arguments = "[options] [PID | NAME | SCRIPT.py … | -- CMD …]",
	.summary = "Watch live where a program spends its time",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples =
		"  leadline top                        choose from the running Python processes\n"
		"  leadline top 1234\n"
		"  leadline top examples/sort.py       start it\n"
		"  leadline top -- python3 -m http.server\n",
	.run = run,
};
