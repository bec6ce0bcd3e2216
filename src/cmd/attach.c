/* SPDX-License-Identifier: MIT
 * leadline attach: records a program that runs already, and shows where its time went. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "cmd/attach_torch.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/recorder.h"
#include "cmd/result.h"
#include "cmd/target.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "sys/lookup.h"
#include "base/banned.h"

struct options {
	struct recorder_options shared;
	const char *pid;
	bool is_single, is_tree, gil, idle;
	bool torch, has_seconds;
	uint64_t n_steps, seconds_ns;
};

#define SECOND_NS UINT64_C(1000000000)
#define MOST_NS   (600 * SECOND_NS)

enum { STEPS_MOST = 100000 };

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	RECORDER_DURATION,
	RECORDER_OUTPUT,
	RECORDER_FORCE,
	RECORDER_RATE,
	{ .letter = 'p',
		.name = "pid",
		.kind = OPT_STRING,
		.value = "PID",
		.help = "the process to record, instead of an argument",
		.offset = FIELD(pid) },
	{ .name = "single",
		.kind = OPT_FLAG,
		.help = "record only that process, not its children",
		.offset = FIELD(is_single) },
	{ .name = "tree",
		.kind = OPT_FLAG,
		.help = "record its children too (default)",
		.offset = FIELD(is_tree) },
	{ .letter = 's',
		.name = "subprocesses",
		.kind = OPT_FLAG,
		.help = "same as --tree",
		.offset = FIELD(is_tree) },
	{ .letter = 'g',
		.name = "gil",
		.kind = OPT_FLAG,
		.help = "count only samples of threads holding the GIL",
		.offset = FIELD(gil) },
	{ .letter = 'i',
		.name = "idle",
		.kind = OPT_FLAG,
		.help = "also count idle threads, which only wait for work",
		.offset = FIELD(idle) },
	{ .name = "torch",
		.kind = OPT_FLAG,
		.help = "instead, ask every process of a PyTorch job for a trace and show it (see leadline help env); -o names the folder for the traces",
		.offset = FIELD(torch) },
	{ .name = "seconds",
		.kind = OPT_DURATION,
		.value = "TIME",
		.help = "with --torch: trace for TIME, all processes at once (default: 1 s)",
		.offset = FIELD(seconds_ns),
		.given_offset = FIELD(has_seconds) },
	{ .name = "steps",
		.kind = OPT_U64,
		.value = "N",
		.help = "with --torch: trace N optimizer steps instead",
		.offset = FIELD(n_steps) },
	RECORDER_FORMAT,
	RECORDER_LIMIT,
	RECORDER_JSON("write JSON to FILE, or to stdout in place of the report"),
	RECORDER_REPORT,
	RECORDER_NO_SOURCE,
	RECORDER_COLOR,
	RECORDER_NO_LEGEND,
	PEERS_OF_RECORDERS,
};

/* What the user may want to know before the report comes. */
static void tell_start(const struct options *o, pid_t pid, const char *name)
{
	char seconds[UNITS_TEXT];

	if (!isatty(STDERR_FILENO))
		return;
	if (o->shared.duration_ns)
		output_line(STDERR_FILENO,
			"leadline: recording %d (%s) for %s; Ctrl-C stops it earlier", (int)pid,
			name,
			units_format(seconds, UNIT_SECONDS, (double)o->shared.duration_ns / 1e9));
	else
		output_line(STDERR_FILENO, "leadline: recording %d (%s); Ctrl-C stops it", (int)pid,
			name);
}

static int follow_and_show(const struct command *self, const struct options *o,
	const struct lookup_process *target, double rate_hz)
{
	const struct collector *sampling[COLLECTORS_MOST];
	struct program_options p = { .pid = target->pid,
		.collectors = sampling,
		.n_collectors = collectors_pick(COLLECT_SAMPLES, sampling),
		.rate_hz = rate_hz,
		.no_source = o->shared.no_source,
		.duration_ns = o->shared.duration_ns,
		.is_single = o->is_single };
	struct choice choice = { .state = o->gil ? STACKS_GIL : STACKS_WALL, .idle = o->idle };
	struct err e = ERR_INIT;
	struct program_result result;
	struct recorder r;
	char stem[LOOKUP_NAME];

	recorder_stem(target->name, stem, sizeof stem);
	if (recorder_open(&r, &o->shared, stem, target->pid, &e) < 0)
		return command_fail(self, &e);
	tell_start(o, target->pid, target->name);
	if (program_follow(&p, r.writer, &result, &e) < 0) {
		recorder_discard(&r);
		return command_fail(self, &e);
	}
	return recorder_end(self, &r, &o->shared, &result, &choice, "");
}

/* Most options are of the sampler, and say nothing of a trace. */
static int check_torch(const struct options *o, struct err *e)
{
	const struct recorder_options *s = &o->shared;

	if (recorder_check_files(s, e) < 0)
		return -(int)e->code;
	if (!o->torch)
		return o->n_steps || o->has_seconds
			? err_set(e, ERR_USAGE, "--steps and --seconds need --torch")
			: 0;
	if (o->n_steps && o->has_seconds)
		return err_set(e, ERR_USAGE, "--steps and --seconds cannot be combined");
	if (o->has_seconds && (o->seconds_ns < 1000000 || o->seconds_ns > MOST_NS))
		return err_set(e, ERR_USAGE, "--seconds must be between 1 ms and 10 min");
	if (o->n_steps > STEPS_MOST)
		return err_set(e, ERR_USAGE, "--steps can be at most %d", STEPS_MOST);
	if (s->rate || s->duration_ns || s->format || s->report || o->gil || o->idle)
		return err_set(e, ERR_USAGE,
			"only --seconds, --steps, -o, --limit, --json, --single and --color work with --torch");
	return 0;
}

static int ask_torch(
	const struct command *self, const struct options *o, const struct lookup_process *target)
{
	return attach_torch(self,
		&(struct attach_torch){ .pid = target->pid,
			.name = target->name,
			.folder = o->shared.output,
			.length_ns = o->has_seconds ? o->seconds_ns : SECOND_NS,
			.n_steps = o->n_steps,
			.is_single = o->is_single,
			.limit = o->shared.limit,
			.has_json = o->shared.has_json,
			.json = o->shared.json,
			.color = o->shared.color });
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .shared.limit = 10 };
	struct lookup_process target = { 0 };
	struct err e = ERR_INIT;
	const char *word;
	double rate_hz = 0;
	int first = 0;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	word = o.pid ? o.pid : argc > first ? argv[first] : NULL;
	if (!word || argc - first != (o.pid ? 0 : 1))
		err_set(&e, ERR_USAGE,
			word ? "name one process at a time"
			     : "which process? For example: leadline attach 1234");
	else if (o.is_single && o.is_tree)
		err_set(&e, ERR_USAGE, "--single and --tree cannot be combined");
	else if (o.gil && o.idle)
		err_set(&e, ERR_USAGE, "--gil and --idle cannot be combined");
	else if (check_torch(&o, &e) == 0 && recorder_rate(o.shared.rate, &rate_hz, &e) == 0 &&
		target_find(word, !o.is_single, &target.pid, &e) == 0 &&
		(o.torch || target_check(target.pid, !o.is_single, &e) == 0) &&
		!lookup_pid(target.pid, &target))
		err_set(&e, ERR_NO_PROCESS, "process %d has ended", (int)target.pid);
	if (e.code)
		return command_fail(self, &e);
	return o.torch ? ask_torch(self, &o, &target) : follow_and_show(self, &o, &target, rate_hz);
}

const struct command command_attach = {
	.group = "where",
	.name = "attach",
	.arguments = "[options] PID|NAME",
	.summary = "Record a running program and show where its time goes",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline attach 1234                until Ctrl-C or until it exits\n"
		    "  leadline attach -d 10 train.py      ten seconds of the process running it\n"
		    "  leadline attach --single --rate 10k -o hot.lead 1234\n"
		    "  leadline attach --torch --steps 3 torchrun   operators of all ranks\n",
	.run = run,
};
