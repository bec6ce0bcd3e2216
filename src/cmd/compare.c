/* SPDX-License-Identifier: MIT
 * leadline compare: decides whether B is faster than A. Who A and B are is here; how they are run is bench/compare.c, and
 * what follows from it analyze/stats/verdict.c. */
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/progress.h"
#include "bench/bench.h"
#include "bench/compare.h"
#include "bench/environment.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/bench_counts.h"
#include "cmd/explain.h"
#include "cmd/results_compare.h"
#include "cmd/revisions.h"
#include "cmd/same_output.h"
#include "cmd/subject.h"
#include "formats/codec/blockfile.h"
#include "json/comparison.h"
#include "json/values.h"
#include "view/bench/verdict.h"
#include "view/bench/counts.h"
#include "base/banned.h"

struct options {
	struct subject_options subject;
	struct opt_list commands, revisions;
	const char *json, *build, *equivalence, *gate, *judge, *explain, *unit, *count;
	uint64_t time_ns, blocks, rounds;
	bool has_json, has_explain, no_control, force, same_output, has_count;
	int format, color;
};

#define FIELD(f) offsetof(struct options, f)

static const char *const formats[] = { "text", "markdown", "github", NULL };
enum { FORMAT_TEXT };

static const struct opt options_table[] = {
	{ .letter = 'c',
		.name = "command",
		.kind = OPT_LIST,
		.value = "CMD",
		.help = "a shell command; give two: A, then B",
		.offset = FIELD(commands) },
	{ .name = "rev",
		.kind = OPT_LIST,
		.value = "REV",
		.help = "a git revision; give two, and one command to run in a checkout of each",
		.offset = FIELD(revisions) },
	{ .name = "build",
		.kind = OPT_STRING,
		.value = "CMD",
		.help = "shell command to run first in each checkout",
		.offset = FIELD(build) },
	{ .name = "time",
		.kind = OPT_DURATION,
		.value = "SECONDS",
		.help = "time to spend at most, roughly (default: 60)",
		.offset = FIELD(time_ns) },
	{ .name = "blocks",
		.kind = OPT_U64,
		.value = "N",
		.help = "run exactly N blocks",
		.offset = FIELD(blocks) },
	{ .name = "rounds",
		.kind = OPT_U64,
		.value = "N",
		.help = "runs of each side per block, of which the fastest counts (default: as many as fit into half a second, at most 9)",
		.offset = FIELD(rounds) },
	{ .name = "equivalence",
		.kind = OPT_STRING,
		.value = "PERCENT",
		.help = "largest difference that does not matter (default: 1%)",
		.offset = FIELD(equivalence) },
	{ .name = "fail-if-slower",
		.kind = OPT_STRING,
		.value = "PERCENT",
		.help = "exit with status 1 when B is slower than A by more than this, 3 when undecided; with --count: when B runs more bytecodes",
		.offset = FIELD(gate) },
	{ .name = "explain",
		.kind = OPT_STRING,
		.value = "PREFIX",
		.optional_value = true,
		.help = "record each side once more and show which functions make the difference; =PREFIX keeps PREFIX.a.lead and PREFIX.b.lead",
		.offset = FIELD(explain),
		.given_offset = FIELD(has_explain) },
	{ .name = "no-control",
		.kind = OPT_FLAG,
		.help = "do not compare A with itself",
		.offset = FIELD(no_control) },
	{ .name = "judge",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "run nothing: judge the blocks of an earlier --json (-: standard input)",
		.offset = FIELD(judge) },
	{ .name = "same-output",
		.kind = OPT_FLAG,
		.help = "first check that both print the same, or return equal results",
		.offset = FIELD(same_output) },
	{ .name = "count",
		.kind = OPT_STRING,
		.value = "instructions",
		.optional_value = true,
		.help = "count instead of timing: exact differences in calls, lines and bytecodes; =instructions: also CPU instructions",
		.offset = FIELD(count),
		.given_offset = FIELD(has_count) },
	{ .name = "unit",
		.kind = OPT_STRING,
		.value = "NAME",
		.help = "for two recordings: compare their regions of this name, or their PyTorch steps (step)",
		.offset = FIELD(unit) },
	{ .name = "force",
		.kind = OPT_FLAG,
		.help = "judge stored results even of different machines or versions, and overwrite existing files",
		.offset = FIELD(force) },
	SUBJECT_OPTIONS,
	{ .name = "json",
		.kind = OPT_STRING,
		.value = "FILE",
		.optional_value = true,
		.help = "write JSON to FILE, or in place of the report",
		.offset = FIELD(json),
		.given_offset = FIELD(has_json) },
	{ .name = "format",
		.kind = OPT_CHOICE,
		.value = "NAME",
		.help = "format of the report, for a terminal or a pull request",
		.offset = FIELD(format),
		.choices = formats },
	{ .name = "color",
		.kind = OPT_CHOICE,
		.value = "WHEN",
		.help = "when to use colours",
		.offset = FIELD(color),
		.choices = color_choices },
};

enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

/* "3%" or "3": a share of 0.03. */
static int parse_percent(const char *text, const char *option, double *ret, struct err *e)
{
	char *end = NULL;
	double value = text ? strtod(text, &end) : 0;

	if (!text)
		return 0;
	if (end == text || (*end && strcmp(end, "%") != 0) || !(value >= 0 && value < 1000))
		return err_set(e, ERR_USAGE, "%s expects a percentage such as 3%%, not '%s'",
			option, text);
	*ret = value / 100;
	return 0;
}

enum { ROUNDS_MOST = 1000 };

static const double batch_s = 0.01;

/* One side. Its first process, which does not count, finds out how long a loop takes. */
struct side {
	struct subject subject;
	struct arena *arena;
	const struct side *other;
	double loop_s;   /* of a loop, or the last run of a command; 0: not yet known */
	struct buf said; /* stderr of the last run of a command */
};

/* Loops of a batch. Two that take about as long get as many: a longer batch is disturbed more often, and that alone would
 * make a difference on a busy machine. */
static uint64_t loops_of(const struct side *s)
{
	double longer = s->loop_s;

	if (!(s->loop_s > 0))
		return 0;
	if (s->other->loop_s > 0 && s->other->loop_s < 2 * s->loop_s &&
		s->loop_s < 2 * s->other->loop_s)
		longer = fmax(s->loop_s, s->other->loop_s);
	return longer < batch_s ? (uint64_t)ceil(batch_s / longer) : 1;
}

static int time_statement(struct side *s, uint64_t seed, double *ret_s, struct err *e)
{
	struct statement_plan plan = { .loops = loops_of(s),
		.batches = 8,
		.least_batches = 1,
		.batch_s = batch_s,
		.budget_s = 0.1 };
	struct statement_notes notes = { 0 };
	struct series_process p;

	if (statement_measure(&s->subject.statement, &plan, seed, s->arena, &p, &notes, e) < 0)
		return -(int)e->code;
	*ret_s = series_process_time(&p);
	if (!(s->loop_s > 0))
		s->loop_s = *ret_s;
	return 0;
}

static int time_side(void *ctx, uint64_t seed, double *ret_s, struct err *e)
{
	struct side *s = ctx;
	const struct commandline *c = &s->subject.command;
	struct child_result r;

	if (!s->subject.is_command)
		return time_statement(s, seed, ret_s, e);
	if (commandline_run(c, seed, &r, &s->said, e) < 0)
		return -(int)e->code;
	if (r.status && !c->ignore_failure)
		return err_set(e, ERR_MEASURED, "'%s' exited with status %d; -i measures it anyway",
			c->name, r.status);
	*ret_s = s->loop_s = r.wall_s;
	return 0;
}

static int wrong_number(struct err *e, size_t n)
{
	return err_set(e, ERR_USAGE,
		"compare takes two things, not %zu; for example: leadline compare 'sum(x)' 'fsum(x)', or -c CMD -c CMD",
		n);
}

/* The shell is in the times of both: subtracting it would make noise of short commands, and its start is noise itself. */
static int parse_commands(
	const struct options *o, struct side sides[2], struct arena *a, struct err *e)
{
	if (o->commands.n != 2)
		return wrong_number(e, o->commands.n);
	for (int i = 0; i < 2; i++)
		if (subject_parse_command(
			    &sides[i].subject, &o->subject, o->commands.v[i], 0, a, e) < 0)
			return -(int)e->code;
	return 0;
}

/* Two words, or one for two interpreters. */
static int parse_words(const struct options *o, char **words, int n, struct side sides[2],
	struct arena *a, struct err *e)
{
	bool two_pythons = o->subject.python.n == 2;

	if (n != (two_pythons ? 1 : 2))
		return wrong_number(e, (size_t)n);
	for (int i = 0; i < 2; i++) {
		const char *python = two_pythons ? o->subject.python.v[i] : NULL;

		if (subject_parse(&sides[i].subject, &o->subject, words[two_pythons ? 0 : i],
			    python, a, e) < 0)
			return -(int)e->code;
		if (two_pythons)
			sides[i].subject.name = arena_printf(a, "%s: %s", python, words[0]);
	}
	return 0;
}

/* One command in two checkouts. */
static int parse_revisions(const struct options *o, const struct revisions *r, char **words, int n,
	struct side sides[2], struct arena *a, struct err *e)
{
	if (n != 1 && o->commands.n != 1)
		return err_set(
			e, ERR_USAGE, "--rev REV --rev REV needs one command to run in both");
	for (int i = 0; i < 2; i++) {
		const char *text = n ? words[0] : o->commands.v[0];

		if (subject_parse_command(&sides[i].subject, &o->subject, text, 0, a, e) < 0)
			return -(int)e->code;
		sides[i].subject.command.folder = r->folders[i];
		sides[i].subject.name = arena_printf(a, "%s: %s", o->revisions.v[i], text);
		sides[i].subject.command.name = sides[i].subject.name;
	}
	return 0;
}

static int parse_sides(const struct options *o, struct revisions *r, char **words, int n,
	struct side sides[2], struct arena *a, struct err *e)
{
	if (o->revisions.n && revisions_open(r, &o->revisions, o->build, e) < 0)
		return -(int)e->code;
	if (o->revisions.n)
		return parse_revisions(o, r, words, n, sides, a, e);
	return o->commands.n ? parse_commands(o, sides, a, e)
			     : parse_words(o, words, n, sides, a, e);
}

struct shown {
	struct progress progress;
	double time_s;
	size_t blocks;
};

static void on_block(void *ctx, size_t n_blocks, double elapsed_s)
{
	struct shown *s = ctx;
	double share = s->blocks ? (double)n_blocks / (double)s->blocks : elapsed_s / s->time_s;

	progress_set(&s->progress, (uint64_t)(1000 * fmin(1, share)));
}

static int emit(const struct options *o, const struct verdict_view *v, struct err *e)
{
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct json_writer w;
	int status = 0;

	json_page_begin(&w, &json);
	verdict_json(&v->r, &w);
	json_page_end(&w);
	if (o->format == FORMAT_TEXT)
		verdict_print(v, &text);
	else
		verdict_print_markdown(v, &text);
	if (o->json)
		status = outfile_save(&json, o->json, e);
	output_write(STDOUT_FILENO, o->has_json && !o->json ? &json : &text);
	buf_done(&text);
	buf_done(&json);
	return status;
}

static int exit_status(enum verdict_gate gate)
{
	switch (gate) {
	case VERDICT_NO_GATE:
	case VERDICT_PASSED:
		return 0;
	case VERDICT_FAILED:
		return 1;
	case VERDICT_GATE_UNDECIDED:
		return 3;
	}
	return 0;
}

/* A verdict without a reason is still a verdict: what fails is told. */
static void explain_view(const struct command *self, const struct options *o,
	const struct side sides[2], struct verdict_view *v)
{
	struct explain_options options = { .sides = { &sides[0].subject, &sides[1].subject },
		.loop_s = fmax(sides[0].loop_s, sides[1].loop_s),
		.ratio = v->r.verdict->ratio,
		.keep = o->explain };
	struct verdict_cause *causes = NULL;
	struct err e = ERR_INIT;

	if (explain(sides[0].arena, &options, &causes, &v->r.n_causes, &e) < 0) {
		command_fail(self, &e);
		return;
	}
	v->r.causes = causes;
	v->r.is_explained = true;
}

static int compare(const struct command *self, const struct options *o, struct side sides[2],
	const struct verdict_options *verdict, struct err *e)
{
	struct contender a = { sides[0].subject.name, time_side, &sides[0] };
	struct contender b = { sides[1].subject.name, time_side, &sides[1] };
	struct shown shown = { .time_s = o->time_ns ? 1e-9 * (double)o->time_ns : 60,
		.blocks = o->blocks };
	struct compare_options options = { .verdict = *verdict,
		.time_s = shown.time_s,
		.blocks = o->blocks,
		.rounds = (unsigned)o->rounds,
		.no_control = o->no_control,
		.seed = bench_plan_default().seed,
		.on_block = on_block,
		.ctx = &shown };
	struct output output = output_for(STDOUT_FILENO, o->color);
	struct comparison c;
	int status, gate = 0;

	child_watch_interrupt();
	progress_init(&shown.progress, STDERR_FILENO, isatty(STDERR_FILENO), "comparing", 1000);
	status = compare_run(&a, &b, &options, &c, e);
	progress_done(&shown.progress);
	if (status < 0)
		for (int i = 0; i < 2; i++)
			fwrite(buf_str(&sides[i].said), 1, sides[i].said.n, stderr);
	if (c.n) {
		struct verdict_view v = { .r = { .verdict = &c.verdict,
						  .blocks = c.blocks,
						  .a = a.name,
						  .b = b.name,
						  .elapsed_s = c.elapsed_s,
						  .rounds = c.rounds },
			.equivalence = verdict->equivalence,
			.colour = output.colour,
			.width = output.width };
		struct err writing = ERR_INIT;

		if (o->has_explain && status == 0 && !child_was_interrupted())
			explain_view(self, o, sides, &v);
		gate = exit_status(c.verdict.gate);
		if (emit(o, &v, &writing) < 0)
			gate = command_fail(self, &writing);
	}
	comparison_done(&c);
	return status < 0 ? command_fail(self, e) : gate;
}

/* Blocks that were timed before, or by another program. */
static int judge(const struct command *self, const struct options *o,
	const struct verdict_options *options, struct arena *a, struct err *e)
{
	struct output output = output_for(STDOUT_FILENO, o->color);
	struct verdict verdict;
	struct blockfile f;

	if (blockfile_load(a, o->judge, &f, e) < 0)
		return command_fail(self, e);
	verdict = verdict_of(f.v, f.n, options);
	if (emit(o,
		    &(struct verdict_view){ .r = { .verdict = &verdict,
						    .blocks = f.v,
						    .a = f.a,
						    .b = f.b,
						    .elapsed_s = f.elapsed_s,
						    .rounds = f.rounds },
			    .equivalence = options->equivalence,
			    .colour = output.colour,
			    .width = output.width },
		    e) < 0)
		return command_fail(self, e);
	return exit_status(verdict.gate);
}

/* Two files of results. */
static int compare_stored(const struct command *self, const struct options *o, char **words,
	const struct verdict_options *verdict)
{
	struct output output = output_for(STDOUT_FILENO, o->color);
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct arena arena = ARENA_INIT;
	struct err e = ERR_INIT;
	struct json_writer w;
	struct results_comparison_view v;
	int status =
		results_compare(&arena, words[0], words[1], o->unit, verdict, o->force, &v, &e);

	if (status == 0) {
		command_tell_missing(v.r.a, v.r.damage_a);
		command_tell_missing(v.r.b, v.r.damage_b);
		v.colour = output.colour;
		v.width = output.width;
		json_page_begin(&w, &json);
		results_comparison_json(&v.r, &w);
		json_page_end(&w);
		if (o->format == FORMAT_TEXT)
			results_comparison_print(&v, &text);
		else
			results_comparison_print_markdown(&v, &text);
		if (o->json)
			status = outfile_save(&json, o->json, &e);
		output_write(STDOUT_FILENO, o->has_json && !o->json ? &json : &text);
	}
	status = status < 0 ? command_fail(self, &e) : exit_status(results_comparison_gate(&v));
	buf_done(&text);
	buf_done(&json);
	arena_done(&arena);
	return status;
}

/* Whether the two words are files of results. */
static int check_stored(const struct options *o, char **words, int n, bool *ret, struct err *e)
{
	*ret = n == 2 && results_is_file(words[0]) && results_is_file(words[1]);
	for (int i = 0; i < n && !*ret; i++)
		if (results_is_file(words[i]))
			return err_set(e, ERR_USAGE,
				"'%s' is a results file: compare it with another results file",
				words[i]);
	if (o->unit && !*ret)
		return err_set(e, ERR_USAGE, "--unit needs two recordings: a.lead b.lead");
	return 0;
}

/* What is of measurements, or of runs, where there are none. */
static int check_count_and_judge(const struct options *o, struct err *e)
{
	static const char *const of_times[] = { "time", "blocks", "rounds", "equivalence",
		"explain", "no-control", "format", "judge", "process", "gc", "sync", NULL };
	static const char *const of_runs[] = { "command", "rev", "build", "time", "blocks",
		"rounds", "explain", "no-control", "same-output", "count", "unit", "force", NULL };

	if (o->has_count)
		return opts_refuse(options_table, N_OPTIONS, o, of_times,
			"--count, which measures no times", e);
	if (o->judge)
		return opts_refuse(
			options_table, N_OPTIONS, o, of_runs, "--judge, which runs nothing", e);
	return 0;
}

static int count_status(enum bench_counts_outcome outcome)
{
	switch (outcome) {
	case BENCH_COUNTS_PASSED:
		return 0;
	case BENCH_COUNTS_FAILED:
		return 1;
	case BENCH_COUNTS_UNDECIDED:
		return 3;
	}
	return 0;
}

/* What B does more than A, counted; the exit status. */
static int compare_counts(
	const struct options *o, struct side sides[2], double limit, struct err *e)
{
	struct output output = output_for(STDOUT_FILENO, o->color);
	bool has_gate = !isnan(limit);
	struct bench_counts c[2];
	struct bench_counts_gate gate = { .outcome = BENCH_COUNTS_PASSED };
	struct json_writer w;
	struct bench_counts_view v = { &c[0], &c[1], has_gate ? &gate : NULL, output.colour,
		output.width };
	struct buf out = BUF_INIT;
	int status = 0;

	for (int i = 0; i < 2 && status == 0; i++)
		status = bench_counts_measure(
			sides[i].arena, &sides[i].subject, o->count != NULL, &c[i], e);
	if (status == 0 && has_gate)
		gate = bench_counts_gate_of(&c[0], &c[1], o->count != NULL, limit);
	if (status == 0 && o->has_json) {
		json_page_begin(&w, &out);
		bench_counts_json(&c[0], &c[1], v.gate, &w);
		json_page_end(&w);
	} else if (status == 0) {
		bench_counts_print(&v, &out);
	}
	if (status == 0 && o->json)
		status = outfile_save(&out, o->json, e);
	else
		output_write(STDOUT_FILENO, &out);
	buf_done(&out);
	return status < 0 ? status : count_status(gate.outcome);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct verdict_options verdict = { .equivalence = 0.01, .gate = NAN };
	struct arena arena = ARENA_INIT;
	struct side sides[2] = { { .arena = &arena, .other = &sides[1] },
		{ .arena = &arena, .other = &sides[0] } };
	struct revisions revisions = { 0 };
	struct err e = ERR_INIT;
	bool is_stored;
	int first, status;

	if (opts_parse(options_table, N_OPTIONS, &o, argc, argv, false, &first, &e) < 0 ||
		output_may_write(o.json, o.force, &e) < 0 ||
		parse_percent(o.equivalence, "--equivalence", &verdict.equivalence, &e) < 0 ||
		parse_percent(o.gate, "--fail-if-slower", &verdict.gate, &e) < 0 ||
		(o.rounds > ROUNDS_MOST &&
			err_set(&e, ERR_USAGE, "--rounds can be at most %d", ROUNDS_MOST) < 0) ||
		subject_check(&o.subject, &e) < 0 || bench_counts_check(o.count, &e) < 0 ||
		check_stored(&o, argv + first, argc - first, &is_stored, &e) < 0 ||
		check_count_and_judge(&o, &e) < 0)
		return command_fail(self, &e);
	if (o.judge) {
		status = judge(self, &o, &verdict, &arena, &e);
		arena_done(&arena);
		return status;
	}
	if (is_stored)
		return compare_stored(self, &o, argv + first, &verdict);
	status = parse_sides(&o, &revisions, argv + first, argc - first, sides, &arena, &e);
	if (status == 0 && sides[0].subject.is_command)
		status = subject_before(&o.subject, &e);
	if (status == 0 && o.same_output)
		status = same_output_check(&sides[0].subject, &sides[1].subject, &arena, &e);
	if (status == 0 && o.has_count)
		status = compare_counts(&o, sides, verdict.gate, &e);
	else if (status == 0)
		status = compare(self, &o, sides, &verdict, &e);
	if (status < 0)
		status = command_fail(self, &e);
	if (sides[0].subject.is_command && subject_after(&o.subject, &e) < 0)
		status = command_fail(self, &e);
	revisions_close(&revisions);
	for (int i = 0; i < 2; i++)
		buf_done(&sides[i].said);
	arena_done(&arena);
	return status;
}

const struct command command_compare = {
	.group = "prove",
	.name = "compare",
	.arguments = "[options] A B | FILE FILE | -c CMD -c CMD | --rev REV --rev REV CMD",
	.summary = "Decide whether B is faster than A, despite noise and with a control",
	.options = options_table,
	.n_options = N_OPTIONS,
	.examples =
		"  leadline compare -s 'x = list(range(1000))' 'x[::-1]' 'list(reversed(x))'\n"
		"  leadline compare -c 'python3 old.py' -c 'python3 new.py'\n"
		"  leadline compare --explain old.py new.py\n"
		"  leadline compare before.json after.json          from pyperf, hyperfine, pytest\n"
		"  leadline compare --unit step monday.lead today.lead\n"
		"  leadline compare --python python3.11 --python python3.13 'sum(range(1000))'\n"
		"  leadline compare --rev main --rev HEAD --fail-if-slower 3% 'python3 bench.py'\n"
		"  leadline compare --count --fail-if-slower 3% -c 'python3 old.py' -c 'python3 new.py'\n",
	.run = run,
};
