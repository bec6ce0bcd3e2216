/* SPDX-License-Identifier: MIT
 * leadline run: starts a program under the sampler and prints where its time went when it ends. */
#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/units.h"
#include "cmd/auto_lines.h"
#include "cmd/build_agent.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "cmd/recorder.h"
#include "cmd/result.h"
#include "cmd/start.h"
#include "cmd/torch_full.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "wire/agent_options.h"
#include "base/banned.h"

struct options {
	struct recorder_options shared;
	const char *python, *module, *lines, *exclude, *trace_how, *counts, *budget, *torch, *pid,
		*memory_period;
	uint64_t min_duration_ns;
	bool trace, count, sample, args, has_torch, torch_daemon, gil, idle, memory;
	bool count_lines, count_opcodes; /* of counts */
	uint8_t budget_pct;
	uint64_t memory_period_bytes;
};

enum { SCRIPT_BYTES = 4 << 20 };

#define FIELD(f) offsetof(struct options, f)

#define RUN_MEMORY                                                                                  \
	{                                                                                           \
		.name = "memory", .kind = OPT_STRING, .value = "BYTES", .optional_value = true,     \
		.help = "also sample allocations, one per BYTES on average (default: 128k): which " \
			"code allocates, and what is alive at the peak",                            \
		.offset = FIELD(memory_period), .given_offset = FIELD(memory)                       \
	}

static const struct opt options_table[] = {
	RECORDER_OUTPUT,
	RECORDER_FORCE,
	RECORDER_RATE,
	RECORDER_DURATION,
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
	{ .name = "trace",
		.kind = OPT_STRING,
		.value = "timeline",
		.optional_value = true,
		.help = "count and time every call with an agent inside the program, instead of sampling; =timeline also keeps every call in order of time",
		.offset = FIELD(trace_how),
		.given_offset = FIELD(trace) },
	{ .name = "min-duration",
		.kind = OPT_DURATION,
		.value = "TIME",
		.help = "leave calls shorter than TIME out of the timeline",
		.offset = FIELD(min_duration_ns) },
	{ .name = "budget",
		.kind = OPT_STRING,
		.value = "SHARE",
		.help = "as --trace, but slow the program by at most SHARE, such as 10%: functions "
			"called too often are estimated, with ranges; all others stay exact (Python 3.12 and later)",
		.offset = FIELD(budget) },
	{ .name = "args",
		.kind = OPT_FLAG,
		.help = "as --trace, and show which functions are called with the same arguments again and again",
		.offset = FIELD(args) },
	{ .name = "count",
		.kind = OPT_STRING,
		.value = "WHAT",
		.optional_value = true,
		.help = "count every call without timing it, which costs less; =lines, =opcodes or "
			"both: count those too, in all code or in what --lines names",
		.offset = FIELD(counts),
		.given_offset = FIELD(count) },
	{ .name = "lines",
		.kind = OPT_STRING,
		.value = "WHAT",
		.help = "count and time every line of these functions: FUNCTION, MODULE, "
			"MODULE:CLASS.METHOD or FILE.py, with * and ?, separated by commas; auto: those that sampling finds hot",
		.offset = FIELD(lines) },
	{ .name = "exclude",
		.kind = OPT_STRING,
		.value = "WHAT",
		.help = "leave these files and functions out of --trace, --count or --budget: FILE.py, FUNCTION or paths, with * and ?, separated by commas",
		.offset = FIELD(exclude) },
	{ .name = "sample",
		.kind = OPT_FLAG,
		.help = "also sample, alongside --trace, --count or --lines",
		.offset = FIELD(sample) },
	{ .name = "torch",
		.kind = OPT_STRING,
		.value = "full",
		.optional_value = true,
		.help = "also record every PyTorch operator once the program imports torch; =full, "
			"=full:all or =full:WAIT,WARMUP,ACTIVE (steps): run torch's own profiler, with shapes, memory and stacks",
		.offset = FIELD(torch),
		.given_offset = FIELD(has_torch) },
	RUN_MEMORY,
	{ .name = "torch-daemon",
		.kind = OPT_FLAG,
		.help = "let leadline attach --torch ask the running program for traces",
		.offset = FIELD(torch_daemon) },
	{ .letter = 'p',
		.name = "pid",
		.kind = OPT_STRING,
		.value = "PID",
		.help = "record a running process: same as leadline attach, with its options",
		.offset = FIELD(pid) },
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
	RECORDER_FORMAT,
	RECORDER_SORT,
	RECORDER_LIMIT,
	RECORDER_JSON(RECORDER_JSON_HELP),
	RECORDER_REPORT,
	RECORDER_NO_SOURCE,
	RECORDER_COLOR,
	RECORDER_NO_LEGEND,
	PEERS_OF_RECORDERS,
	PEER_SUBPROCESSES,
};

/* ---- the command ----------------------------------------------------------------------------- */

/* Why there is less in the recording than the program did. */
static void note_early_end(const struct program_result *result, char *to, size_t size)
{
	char recorded[UNITS_TEXT], ran[UNITS_TEXT];

	to[0] = '\0';
	if (result->end == PROGRAM_INTERRUPTED || result->end == PROGRAM_DURATION)
		snprintf(to, size, "Recorded the first %s of %s: %s.\n",
			units_format(recorded, UNIT_SECONDS, (double)result->recorded_ns / 1e9),
			units_format(ran, UNIT_SECONDS, (double)result->wall_ns / 1e9),
			result->end == PROGRAM_DURATION ? "--duration" : "then it was interrupted");
}

/* --budget SHARE is --trace, too. */
static int parse_budget(struct options *o, struct err *e)
{
	uint64_t pct = 0;
	const char *at = o->budget ? o->budget : "";

	for (; *at >= '0' && *at <= '9' && pct < 1000; at++)
		pct = 10 * pct + (uint64_t)(*at - '0');
	if (!o->budget)
		return 0;
	if (pct < 1 || pct > 100 || (*at && strcmp(at, "%") != 0))
		return err_set(e, ERR_USAGE, "--budget expects a share from 1%% to 100%%, not '%s'",
			o->budget);
	if (o->trace_how || o->count || o->lines)
		return err_set(e, ERR_USAGE,
			"--budget cannot be combined with --trace=timeline, --count or --lines");
	o->budget_pct = (uint8_t)pct;
	o->trace = true;
	return 0;
}

/* --args is --trace, too, unless calls are only counted. */
static int parse_args(struct options *o, struct err *e)
{
	if (o->args && o->budget)
		return err_set(e, ERR_USAGE,
			"--args looks at every call, so it cannot be combined with --budget");
	o->trace |= o->args && !o->count;
	return 0;
}

/* The words of --count=WHAT. */
static int parse_counts(struct options *o, struct err *e)
{
	const struct {
		const char *word;
		bool *flag;
	} words[] = { { "calls", &o->count }, { "lines", &o->count_lines },
		{ "opcodes", &o->count_opcodes } };
	const char *at = o->counts ? o->counts : "";

	while (*at) {
		size_t n = strcspn(at, ","), i = 0;

		while (i < 3 && (strlen(words[i].word) != n || strncmp(at, words[i].word, n) != 0))
			i++;
		if (i == 3)
			return err_set(e, ERR_USAGE,
				"--count expects calls, lines or opcodes, separated by commas, not '%.*s'",
				(int)n, at);
		*words[i].flag = true;
		at += n + (at[n] == ',');
	}
	return 0;
}

/* Agents and the library that is preloaded for this are not used together. */
static int parse_memory(struct options *o, struct err *e)
{
	if (!o->memory)
		return 0;
	if (o->trace || o->count || o->lines || o->torch)
		return err_set(e, ERR_USAGE,
			"--memory works with sampling only: leave out --trace, --count, --lines, "
			"--args, --budget and --torch=full");
	return recorder_period("--memory", o->memory_period, &o->memory_period_bytes, e);
}

static bool is_auto(const struct options *o)
{
	return o->lines && strcmp(o->lines, "auto") == 0;
}

/* --torch alone: operators, but not torch's own profiler. */
static bool is_light(const struct options *o)
{
	return o->has_torch && !o->torch;
}

static unsigned wanted(const struct options *o)
{
	bool is_exact = o->trace || o->count || o->lines;

	return (is_light(o) ? COLLECT_OPS : 0) | (o->trace || o->count ? COLLECT_CALLS : 0) |
		(o->lines || o->count_lines || o->count_opcodes ? COLLECT_LINES : 0) |
		COLLECT_SAMPLES | (o->memory ? COLLECT_MEMORY : 0) |
		(is_exact || is_light(o) ? 0 : COLLECT_REGIONS);
}

static struct agent_options agent_options(const struct options *o)
{
	return (struct agent_options){
		.calls = o->trace  ? AGENT_CALLS_TIMED
			: o->count ? AGENT_CALLS_COUNTED
				   : AGENT_CALLS_NONE,
		.wants_timeline = o->trace_how != NULL,
		.timeline_min_ns = (uint32_t)o->min_duration_ns,
		.wants_args = o->args,
		.budget_pct = o->budget_pct,
		.wants_line_times = o->lines != NULL,
		.wants_line_hits = o->count_lines,
		.wants_opcodes = o->count_opcodes,
		.wants_torch = is_light(o),
		.memory_period_bytes = o->memory_period_bytes,
	};
}

/* Whether the script, the first word that is one, imports leadline: then it finds the package, installed or not. A program that
 * does not is sampled without anything being put into its way. */
static bool imports_leadline(char *const *argv)
{
	struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	bool found;

	while (*argv && !start_is_script(*argv))
		argv++;
	found = *argv && buf_load(&text, *argv, SCRIPT_BYTES, &ignored) == 0 &&
		start_imports(buf_str(&text), "leadline");
	buf_done(&text);
	return found;
}

static int check_timeline(const struct options *o, struct err *e)
{
	if (o->trace_how && strcmp(o->trace_how, "timeline") != 0)
		return err_set(e, ERR_USAGE, "--trace takes no value or =timeline, not '%s'",
			o->trace_how);
	if (o->min_duration_ns && !o->trace_how)
		return err_set(e, ERR_USAGE, "--min-duration needs --trace=timeline");
	if (o->min_duration_ns > UINT32_MAX)
		return err_set(e, ERR_USAGE, "--min-duration can be at most 4 s");
	return 0;
}

static int check_exclude(const struct options *o, struct err *e)
{
	if (o->exclude && !o->trace && !o->count)
		return err_set(e, ERR_USAGE, "--exclude needs --trace, --count or --budget");
	return 0;
}

/* They choose among samples. */
static int check_states(const struct options *o, struct err *e)
{
	if (o->gil && o->idle)
		return err_set(e, ERR_USAGE, "--gil and --idle cannot be combined");
	if ((o->gil || o->idle) && (o->trace || o->count || o->lines))
		return err_set(e, ERR_USAGE,
			"--%s counts samples: leave out --trace, --count, --lines, --args and --budget",
			o->gil ? "gil" : "idle");
	return 0;
}

static int check_sort(const struct options *o, struct err *e)
{
	struct row_order ignored;

	if (row_order_parse("--sort", o->shared.sort, o->trace, &ignored, e) == 0)
		return 0;
	e->code = ERR_USAGE;
	return -(int)e->code;
}

/* What is called too often can be switched off from 3.12 on. */
static int check_budget(const struct options *o, const char *program, struct err *e)
{
	char version[24];

	if (!o->budget || !build_agent_version(program, version) ||
		strncmp(version, "3.", 2) != 0 || strtol(version + 2, NULL, 10) >= 12)
		return 0;
	return err_set(e, ERR_USAGE,
		"--budget needs Python 3.12 or later, and this is %s: --trace traces every call",
		version);
}

/* Where only operators are wanted, samples are worth having without them. */
static int prepare_agent(const struct options *o, const char *program, struct err *e)
{
	if (!o->trace && !o->count && !o->lines && !is_light(o))
		return 0;
	if (build_agent_for(program, e) == 0)
		return 0;
	if (o->trace || o->count || o->lines)
		return -(int)e->code;
	output_line(STDERR_FILENO, "leadline: %s", e->text);
	*e = ERR_INIT;
	return 0;
}

static int run_and_show(const struct command *self, const struct options *o, char *const *argv,
	const char *stem, double rate_hz)
{
	struct choice choice = { .state = o->gil ? STACKS_GIL : STACKS_WALL, .idle = o->idle };
	const struct collector *chosen[COLLECTORS_MOST];
	struct program_options p = { .argv = argv,
		.collectors = chosen,
		.n_collectors = collectors_pick(wanted(o), chosen),
		.agent_options = agent_options(o),
		.is_standby = (o->trace || o->count || o->lines) && !o->sample && !is_auto(o),
		.wants_package = imports_leadline(argv),
		.lines = o->lines,
		.exclude = o->exclude,
		.rate_hz = rate_hz,
		.no_source = o->shared.no_source,
		.duration_ns = o->shared.duration_ns,
		.stdout_to_stderr = recorder_json_on_stdout(&o->shared) };
	struct program_result result;
	struct torch_full torch = { 0 };
	struct err e = ERR_INIT;
	struct recorder r;
	struct auto_lines chooser;
	struct buf notes = BUF_INIT;
	char note[200];
	int status;

	if ((o->torch && torch_full_begin(&torch, o->torch, &e) < 0) ||
		recorder_open(&r, &o->shared, stem, getpid(), &e) < 0) {
		torch_full_done(&torch);
		return command_fail(self, &e);
	}
	p.torch_full = o->torch ? buf_str(&torch.wish) : NULL;
	chooser = (struct auto_lines){ .path = r.path, .writer = r.writer };
	if (is_auto(o))
		p.hook = auto_lines_hook(&chooser);
	if (program_run(&p, r.writer, &result, &e) < 0) {
		recorder_discard(&r);
		torch_full_done(&torch);
		return command_fail(self, &e);
	}
	note_early_end(&result, note, sizeof note);
	buf_adds(&notes, note);
	if (is_auto(o))
		auto_lines_note(&chooser, &notes);
	if (o->torch)
		torch_full_join(&torch, r.writer, r.path, &notes);
	torch_full_done(&torch);
	recorder_end(self, &r, &o->shared, &result, &choice, buf_str(&notes));
	buf_done(&notes);
	status = program_exit_status(result.status);
	return status == 0 && r.lacks_agent && !is_light(o) ? 1 : status;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .shared.limit = 10 };
	struct err e = ERR_INIT;
	struct start start = { 0 };
	char stem[4096];
	double rate_hz = 0;
	size_t n = sizeof options_table / sizeof *options_table;
	int first, status;

	if (opts_parse(options_table, n, &o, start_our_words(options_table, n, argc, argv), argv,
		    true, &first, &e) < 0)
		return command_fail(self, &e);
	if (o.pid) { /* py-spy record --pid */
		argv[0] = (char *)command_attach.name;
		return command_attach.run(&command_attach, argc, argv);
	}
	start.python = o.python;
	start.module = o.module;
	if (first >= argc && !o.module)
		err_set(&e, ERR_USAGE, "which program? For example: leadline run script.py");
	else if (o.torch && (o.trace || o.count || o.lines || o.args || o.budget))
		err_set(&e, ERR_USAGE,
			"--torch=full works with sampling only: leave out --trace, --count, --lines, --args and --budget");
	else if (check_timeline(&o, &e) == 0 && parse_counts(&o, &e) == 0 &&
		parse_args(&o, &e) == 0 && parse_budget(&o, &e) == 0 && parse_memory(&o, &e) == 0 &&
		check_exclude(&o, &e) == 0 && check_states(&o, &e) == 0 &&
		recorder_rate(o.shared.rate, &rate_hz, &e) == 0 &&
		(!o.shared.sort || check_sort(&o, &e) == 0) &&
		start_make(&start, argv + first, &e) == 0 &&
		check_budget(&o, start.words.v[0], &e) == 0)
		prepare_agent(&o, start.words.v[0], &e);
	if (e.code) {
		start_done(&start);
		return command_fail(self, &e);
	}
	if (o.torch_daemon)
		setenv("KINETO_USE_DAEMON", "1", 1); /* which the program inherits */
	start_stem(&start, first < argc ? argv[first] : "", stem, sizeof stem);
	status = run_and_show(self, &o, start.words.v, stem, rate_hz);
	start_done(&start);
	return status;
}

const struct command command_run = {
	.group = "where",
	.name = "run",
	.alias = "record",
	.arguments = "[options] SCRIPT.py [ARGUMENT…] | -m MODULE … | -- CMD …",
	.summary = "Run a program under the sampler and show where its time went",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.runs_program = true,
	.examples = "  leadline run script.py\n"
		    "  leadline run --rate 10k -o fast.lead script.py --its-own-option\n"
		    "  leadline run --pid 1234             a running process, as attach\n"
		    "  leadline run -m timeit -n 5 'sorted(range(100000))'\n",
	.run = run,
};
