/* SPDX-License-Identifier: MIT
 * leadline bench: times statements, functions and commands, with the habits of timeit and hyperfine. */
#include <ctype.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/environment.h"
#include "bench/export.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/subject.h"
#include "view/bench.h"
#include "base/banned.h"

struct options {
	struct subject_options subject;
	struct opt_list commands, exports;
	uint64_t loops, repeat, processes, warmup, runs, least_runs, most_runs, time_ns;
	const char *json, *export_json, *export_csv, *export_markdown;
	bool has_json, verbose, has_loops, has_repeat, has_least;
	int unit, color;
};

#define FIELD(f) offsetof(struct options, f)

static const char *const units[] = { "auto", "nsec", "usec", "msec", "sec", NULL };

static const struct opt options_table[] = {
	{ 'n', "number", OPT_U64, "N", false,
		"loops of each batch; with -n or -r one process is measured exactly as timeit does",
		FIELD(loops), FIELD(has_loops), NULL },
	{ 'r', "repeat", OPT_U64, "N", false, "batches, as timeit (else 5 there)", FIELD(repeat),
		FIELD(has_repeat), NULL },
	{ 'u', "unit", OPT_CHOICE, "UNIT", false, "unit of timeit's line", FIELD(unit), SIZE_MAX,
		units },
	{ 'v', "verbose", OPT_FLAG, NULL, false, "also print raw times and what this machine is",
		FIELD(verbose), SIZE_MAX, NULL },
	{ 'c', "command", OPT_LIST, "CMD", false, "time a shell command; may be repeated",
		FIELD(commands), SIZE_MAX, NULL },
	{ 'w', "warmup", OPT_U64, "N", false, "runs of a command before those that count",
		FIELD(warmup), SIZE_MAX, NULL },
	{ 0, "runs", OPT_U64, "N", false, "runs of a command, exactly", FIELD(runs), SIZE_MAX,
		NULL },
	{ 'm', "min-runs", OPT_U64, "N", false, "runs of a command at least (else 10)",
		FIELD(least_runs), FIELD(has_least), NULL },
	{ 'M', "max-runs", OPT_U64, "N", false, "runs of a command at most", FIELD(most_runs),
		SIZE_MAX, NULL },
	{ 0, "processes", OPT_U64, "N", false, "fresh interpreters per statement (else 10)",
		FIELD(processes), SIZE_MAX, NULL },
	{ 0, "time", OPT_DURATION, "SECONDS", false, "to spend on each, about (else 3)",
		FIELD(time_ns), SIZE_MAX, NULL },
	SUBJECT_OPTIONS,
	{ 0, "json", OPT_STRING, "FILE", true,
		"write pyperf's JSON, with all values, to FILE or instead of the report",
		FIELD(json), FIELD(has_json), NULL },
	{ 0, "export", OPT_LIST, "NAME[=FILE]", false,
		"write csv, hyperfine, markdown, pyperf or pytest-benchmark; may be repeated",
		FIELD(exports), SIZE_MAX, NULL },
	{ 0, "export-json", OPT_STRING, "FILE", false, "as hyperfine: --export hyperfine=FILE",
		FIELD(export_json), SIZE_MAX, NULL },
	{ 0, "export-csv", OPT_STRING, "FILE", false, "as hyperfine: --export csv=FILE",
		FIELD(export_csv), SIZE_MAX, NULL },
	{ 0, "export-markdown", OPT_STRING, "FILE", false, "as hyperfine: --export markdown=FILE",
		FIELD(export_markdown), SIZE_MAX, NULL },
	{ 0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", FIELD(color), SIZE_MAX,
		color_choices },
};

enum { N_OPTIONS = sizeof options_table / sizeof *options_table };

typedef VEC(struct subject) subjects;

struct session {
	const struct options *o;
	struct arena arena;
	subjects subjects;
	VEC(struct series) series;
	VEC(const char *) notes;          /* of each series, lines in the arena */
	struct statement_notes statement; /* of the last one */
	struct environment before, after;
	double elapsed_s;
};

/* A line that goes on where the one before it ended, as timeit's further words do. */
static bool continues(const char *word)
{
	static const char *const heads[] = { "except", "finally", "else", "elif" };
	size_t n;

	if (isspace((unsigned char)word[0]))
		return true;
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
		n = strlen(heads[i]);
		if (strncmp(word, heads[i], n) == 0 && !isalnum((unsigned char)word[n]) &&
			word[n] != '_')
			return true;
	}
	return false;
}

static int parse_statements(struct session *s, char **words, struct err *e)
{
	while (*words) {
		const char *text = *words++;
		struct subject one;

		while (*words && continues(*words))
			text = arena_printf(&s->arena, "%s\n%s", text, *words++);
		if (subject_parse(&one, &s->o->subject, text, NULL, &s->arena, e) < 0)
			return -(int)e->code;
		one.statement.exact = s->o->has_loops || s->o->has_repeat;
		vec_push(&s->subjects, one);
	}
	return 0;
}

static int parse_subjects(struct session *s, char **words, bool is_command, struct err *e)
{
	struct subject one;
	double shell_s;

	if (s->o->commands.n && subject_shell_time(&s->o->subject, &shell_s, e) < 0)
		return -(int)e->code;
	for (size_t i = 0; i < s->o->commands.n; i++) {
		if (subject_parse_command(
			    &one, &s->o->subject, s->o->commands.v[i], shell_s, &s->arena, e) < 0)
			return -(int)e->code;
		vec_push(&s->subjects, one);
	}
	if (is_command && *words) {
		subject_take_words(&one, &s->o->subject, words, &s->arena);
		vec_push(&s->subjects, one);
	} else if (parse_statements(s, words, e) < 0) {
		return -(int)e->code;
	}
	if (s->subjects.n == 0)
		return err_set(e, ERR_USAGE,
			"what? For example: leadline bench 'sum(range(100))', or leadline bench -- "
			"ls");
	return 0;
}

static struct bench_plan plan_of(const struct options *o)
{
	struct bench_plan p = bench_plan_default();

	p.loops = o->loops;
	p.repeat = (unsigned)o->repeat;
	p.processes = (unsigned)o->processes;
	p.warmup = (unsigned)o->warmup;
	p.runs = (unsigned)o->runs;
	if (o->has_least)
		p.least_runs = (unsigned)o->least_runs;
	if (o->most_runs)
		p.most_runs = (unsigned)o->most_runs;
	if (o->time_ns)
		p.time_s = 1e-9 * (double)o->time_ns;
	return p;
}

/* Page faults of a loop, in the process with the fewest. */
static double new_pages(const struct series *s)
{
	double least = INFINITY;

	for (size_t i = 0; i < s->n; i++) {
		const struct series_process *p = &s->processes[i];
		double sum = 0;

		for (size_t k = p->n_warmup; k < p->n; k++)
			sum += p->v[k].n_minor_faults;
		least = fmin(least, sum / (double)(p->n - p->n_warmup) / (double)p->loops);
	}
	return isfinite(least) ? least : 0;
}

/* Why a time may not mean what it seems to. */
static const char *pitfalls(
	struct arena *a, const struct statement_notes *n, const struct series *s)
{
	struct buf text = BUF_INIT;
	char room[UNITS_TEXT];
	const char *all;
	double faults = new_pages(s);

	if (strcmp(n->kind, "generator") == 0 || strncmp(n->kind, "lazy", 4) == 0)
		buf_printf(&text,
			"  the result is a %s: nothing was computed yet; bench list(…) or sum(…) "
			"of it\n",
			n->kind);
	else if (strcmp(n->kind, "coroutine") == 0)
		buf_adds(&text,
			"  the result is a coroutine: nothing ran yet; bench asyncio.run(…) of "
			"it\n");
	else if (n->kind[0])
		buf_printf(&text,
			"  the result is a %s: the device may still be at work; end with "
			"torch.cuda.synchronize()\n",
			n->kind);
	if (n->rebinds[0])
		buf_printf(&text,
			"  the statement binds %s of the set-up anew: each loop works on the "
			"result of the one before\n",
			n->rebinds);
	if (faults > 256)
		buf_printf(&text,
			"  each loop touches %s of memory for the first time: part of this is the "
			"kernel making pages\n",
			units_format(room, UNIT_BYTES, 4096 * faults));
	all = arena_strdup(a, buf_str(&text));
	buf_done(&text);
	return all;
}

static int measure(
	struct session *s, const struct subject *what, struct progress *progress, struct err *e)
{
	struct bench_plan plan = plan_of(s->o);
	struct buf said = BUF_INIT;
	struct series one;
	int status;

	if (what->is_command) {
		status = bench_command(&s->arena, &what->command, &plan, progress, &one, &said, e);
		if (status < 0 && said.n) {
			progress_done(progress);
			fwrite(said.data, 1, said.n, stderr);
		}
	} else {
		memset(&s->statement, 0, sizeof s->statement);
		status = bench_statement(&s->arena, &what->statement, &plan, what->name, progress,
			&one, &s->statement, e);
	}
	buf_done(&said);
	if (one.n) {
		vec_push(&s->series, one);
		vec_push(&s->notes, one.is_command ? "" : pitfalls(&s->arena, &s->statement, &one));
	}
	return status;
}

static int measure_all(struct session *s, struct err *e)
{
	bool has_command = false, is_shown = isatty(STDERR_FILENO);
	struct timespec start, end;
	int status = 0;

	vec_each (&s->subjects, one)
		has_command |= one->is_command;
	if (has_command && subject_before(&s->o->subject, e) < 0)
		return -(int)e->code;
	child_watch_interrupt();
	environment_read(&s->before);
	clock_gettime(CLOCK_MONOTONIC, &start);
	vec_each (&s->subjects, one) {
		struct progress p;

		progress_init(&p, STDERR_FILENO, is_shown, one->name, 1000);
		status = measure(s, one, &p, e);
		progress_done(&p);
		if (status < 0 || child_was_interrupted())
			break;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	s->elapsed_s =
		(double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
	environment_read(&s->after);
	if (has_command && status == 0)
		status = subject_after(&s->o->subject, e);
	return status;
}

static int write_export(struct session *s, const char *name, const char *file, struct err *e)
{
	struct export_results r = { s->series.v, s->series.n, &s->before, s->statement.python };
	export_writer write = export_find(name);
	struct buf out = BUF_INIT;
	int status = 0;

	write(&s->arena, &r, &out);
	if (file)
		status = buf_save(&out, file, e);
	else
		output_write(STDOUT_FILENO, &out);
	buf_done(&out);
	return status;
}

/* NAME[=FILE]: the name alone goes to stdout. */
static int split_export(const char *text, char name[32], const char **ret_file, struct err *e)
{
	const char *equals = strchr(text, '=');

	snprintf(name, 32, "%.*s", (int)(equals ? equals - text : (ptrdiff_t)strlen(text)), text);
	*ret_file = equals ? equals + 1 : NULL;
	if (!export_find(name))
		return err_set(e, ERR_USAGE, "--export %s: there are %s", name, export_names());
	return 0;
}

static int write_exports(struct session *s, struct err *e)
{
	const struct options *o = s->o;
	const char *file;
	char name[32];
	int status = 0;

	for (size_t i = 0; i < o->exports.n && status == 0; i++)
		if ((status = split_export(o->exports.v[i], name, &file, e)) == 0)
			status = write_export(s, name, file, e);
	if (status == 0 && o->export_json)
		status = write_export(s, "hyperfine", o->export_json, e);
	if (status == 0 && o->export_csv)
		status = write_export(s, "csv", o->export_csv, e);
	if (status == 0 && o->export_markdown)
		status = write_export(s, "markdown", o->export_markdown, e);
	if (status == 0 && o->has_json)
		status = write_export(s, "pyperf", o->json, e);
	return status;
}

static void add_environment(const struct session *s, struct buf *out)
{
	const struct environment *e = &s->before;

	buf_printf(out, "\nMeasured on %s, %d CPUs, %s", *e->cpu ? e->cpu : "an unknown CPU",
		e->cpus.online, e->kernel);
	if (s->statement.python[0])
		buf_printf(out, ", %s", s->statement.python);
	buf_printf(out, "; clock %s, governor %s, load %.2f, addresses %s",
		*e->clock ? e->clock : "unknown", *e->governor ? e->governor : "unknown", e->load,
		e->has_aslr ? "random" : "fixed");
	if (*e->commit)
		buf_printf(out, ", commit %s", e->commit);
	buf_addc(out, '\n');
}

static void show(struct session *s)
{
	const struct options *o = s->o;
	struct output output = output_for(STDOUT_FILENO, o->color);
	struct series_summary *sums = arena_new_n(&s->arena, struct series_summary, s->series.n);
	struct bench_view v = { .series = s->series.v,
		.sums = sums,
		.n = s->series.n,
		.notes = s->notes.v,
		.timeit = o->has_loops || o->has_repeat,
		.raw = o->verbose,
		.precision = o->verbose ? 6 : 3,
		.unit = (enum bench_unit)o->unit,
		.gc = o->subject.gc,
		.colour = output.colour,
		.width = output.width };
	struct buf out = BUF_INIT, warnings = BUF_INIT;

	for (size_t i = 0; i < s->series.n; i++)
		sums[i] = series_summarise(&s->arena, &s->series.v[i]);
	bench_print(&v, &out);
	if (o->verbose)
		add_environment(s, &out);
	environment_warn(&s->before, &s->after, s->elapsed_s, &warnings);
	output_write(STDOUT_FILENO, &out);
	if (warnings.n)
		fprintf(stderr, "leadline: noise is to be expected:\n%s", buf_str(&warnings));
	buf_done(&out);
	buf_done(&warnings);
}

static bool prints_elsewhere(const struct options *o)
{
	for (size_t i = 0; i < o->exports.n; i++)
		if (!strchr(o->exports.v[i], '='))
			return true;
	return o->has_json && !o->json;
}

static int check(const struct options *o, struct err *e)
{
	const char *file;
	char name[32];

	for (size_t i = 0; i < o->exports.n; i++)
		if (split_export(o->exports.v[i], name, &file, e) < 0)
			return -(int)e->code;
	if ((o->has_loops && !o->loops) || (o->has_repeat && !o->repeat))
		return err_set(e, ERR_USAGE, "-n and -r want at least 1");
	return 0;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct session s = { .o = &o, .arena = ARENA_INIT };
	struct err e = ERR_INIT, later = ERR_INIT;
	int first, status;

	if (opts_parse(options_table, N_OPTIONS, &o, argc, argv, true, &first, &e) < 0 ||
		check(&o, &e) < 0 || subject_check(&o.subject, &e) < 0)
		return command_fail(self, &e);
	status = parse_subjects(
		&s, argv + first, first > 0 && strcmp(argv[first - 1], "--") == 0, &e);
	if (status == 0)
		status = measure_all(&s, &e);
	if (s.series.n) { /* results so far are kept, whatever came after */
		if (!prints_elsewhere(&o))
			show(&s);
		if (write_exports(&s, &later) < 0)
			status = command_fail(self, &later);
	}
	if (status < 0)
		status = command_fail(self, &e);
	vec_done(&s.subjects);
	vec_done(&s.series);
	vec_done(&s.notes);
	arena_done(&s.arena);
	return status;
}

const struct command command_bench = {
	.group = "prove",
	.name = "bench",
	.arguments = "[options] STATEMENT… | MODULE:FUNCTION | -- CMD [ARGUMENT…]",
	.summary = "Time statements, functions and commands, with what their times may mean",
	.options = options_table,
	.n_options = N_OPTIONS,
	.examples = "  leadline bench 'sum(range(100))'\n"
		    "  leadline bench -s 'x = list(range(1000))' 'x[::-1]' 'list(reversed(x))'\n"
		    "  leadline bench -n 1000 -r 5 'pass'               as timeit, to the letter\n"
		    "  leadline bench -- python3 script.py\n"
		    "  leadline bench -c 'grep -r x .' -c 'rg x'        as hyperfine\n"
		    "  leadline bench --json=before.json mypackage:main\n",
	.run = run,
};
