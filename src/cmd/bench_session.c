/* SPDX-License-Identifier: MIT
 * See bench_session.h. */
#include "cmd/bench_session.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/progress.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/bench.h"
#include "bench/cold.h"
#include "bench/export.h"
#include "bench/results_write.h"
#include "cmd/command.h"
#include "base/banned.h"

enum { COMBINATIONS_MOST = 100000, SCAN_RUNS = 3, SCALE_RUNS = 5, THREADS_MOST = 1024 };

static const double scan_s = 10; /* for all sizes of one thing, where --time says nothing else */

/* What the user named, before parameters and sizes are put in. */
struct form {
	enum { FORM_STATEMENT, FORM_COMMAND, FORM_WORDS } kind;
	const char *text;
	char *const *words;
};

typedef VEC(struct form) forms;

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

static void take_forms(struct bench_session *s, char **words, bool is_command, forms *to)
{
	for (size_t i = 0; i < s->o->commands.n; i++)
		vec_push(to, (struct form){ FORM_COMMAND, s->o->commands.v[i], NULL });
	if (is_command && *words) {
		struct buf text = BUF_INIT;

		text_add_command(&text, words);
		vec_push(to,
			(struct form){
				FORM_WORDS, arena_strdup(&s->arena, buf_str(&text)), words });
		buf_done(&text);
		return;
	}
	while (*words) {
		const char *text = *words++;

		while (*words && continues(*words))
			text = arena_printf(&s->arena, "%s\n%s", text, *words++);
		vec_push(to, (struct form){ FORM_STATEMENT, text, NULL });
	}
}

static int take_parameters(struct bench_session *s, struct parameters *p, struct err *e)
{
	const struct opt_list *l = &s->o->lists, *r = &s->o->ranges;

	for (size_t i = 0; i + 1 < l->n; i += 2)
		if (parameters_add_list(p, &s->arena, l->v[i], l->v[i + 1], e) < 0)
			return -(int)e->code;
	for (size_t i = 0; i + 2 < r->n; i += 3)
		if (parameters_add_range(
			    p, &s->arena, r->v[i], r->v[i + 1], r->v[i + 2], s->o->step, e) < 0)
			return -(int)e->code;
	if (s->o->step && !r->n)
		return err_set(e, ERR_USAGE, "-D needs -P NAME LOW HIGH");
	if (parameters_combinations(p) > COMBINATIONS_MOST)
		return err_set(e, ERR_USAGE, "the parameters make more than %d combinations",
			COMBINATIONS_MOST);
	return 0;
}

static int take_axis(struct bench_session *s, struct err *e)
{
	const struct bench_options *o = s->o;

	if (o->scan && o->scale)
		return err_set(e, ERR_USAGE, "--scan and --scale cannot be combined");
	s->is_scale = o->scale != NULL;
	if (o->scan)
		return axis_parse(&s->axis, &s->arena, o->scan, "--scan", e);
	if (!o->scale)
		return 0;
	if (axis_parse(&s->axis, &s->arena, o->scale, "--scale", e) < 0)
		return -(int)e->code;
	if (strcmp(s->axis.name, "threads") != 0 || s->axis.v[0] != 1 ||
		s->axis.v[s->axis.n - 1] > THREADS_MOST)
		return err_set(e, ERR_USAGE,
			"--scale expects thread counts such as threads=1,2,4: at most %d, beginning with 1",
			THREADS_MOST);
	if (o->commands.n || o->subject.process_time || o->subject.has_cpu || o->has_loops ||
		o->has_repeat)
		return err_set(e, ERR_USAGE,
			"--scale times statements and functions by the clock, on all CPUs: leave out -c, -p, -n, -r and --pin");
	return 0;
}

/* Values of parameters, and the size behind them where there is one. */
struct values {
	const struct series_parameter *v;
	size_t n;
	uint64_t size; /* 0: none; else the last of v is its name and text */
};

static char *const *fill_words(struct bench_session *s, char *const *words, const struct values *v)
{
	size_t n = 0;
	const char **filled;

	while (words[n])
		n++;
	filled = arena_new_n(&s->arena, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		filled[i] = parameters_fill(&s->arena, words[i], v->v, v->n);
	return (char *const *)filled;
}

/* A size is a variable of a statement's set-up and the argument of a function; in a command it is a parameter. */
static void set_size(struct bench_session *s, struct subject *one, const struct values *v)
{
	const struct series_parameter *size;

	if (one->is_command || !v->size)
		return;
	size = &v->v[v->n - 1];
	if (s->is_scale) {
		one->statement.threads = (unsigned)v->size;
		return;
	}
	one->statement.setup = arena_printf(
		&s->arena, "%s = %s\n%s", size->name, size->value, one->statement.setup);
	one->statement.arguments = size->name;
}

static int make_item(struct bench_session *s, const struct form *f, const struct values *v,
	double shell_s, size_t group, struct err *e)
{
	bool is_statement = f->kind == FORM_STATEMENT;
	size_t n_in_text = v->n - (is_statement && v->size);
	const struct subject_options *o =
		subject_options_fill(&s->o->subject, &s->arena, v->v, n_in_text);
	const char *text = parameters_fill(&s->arena, f->text, v->v, n_in_text);
	struct subject one;
	int status = 0;

	switch (f->kind) {
	case FORM_STATEMENT:
		status = subject_parse(&one, o, text, NULL, &s->arena, e);
		if (status == 0)
			set_size(s, &one, v);
		one.statement.exact = s->o->has_loops || s->o->has_repeat;
		break;
	case FORM_COMMAND:
		status = subject_parse_command(&one, o, text, shell_s, &s->arena, e);
		break;
	case FORM_WORDS:
		subject_take_words(&one, o, fill_words(s, f->words, v), &s->arena);
		break;
	}
	if (status < 0)
		return status;
	one.parameters = v->v;
	one.n_parameters = v->n;
	one.name = parameters_title(
		&s->arena, one.name, is_statement && v->size ? "" : f->text, v->v, v->n);
	one.command.name = one.name;
	vec_push(&s->items, (struct bench_item){ one, group, v->size });
	return 0;
}

/* One thing with one combination of parameters, at all sizes. */
static int make_group(struct bench_session *s, const struct form *f,
	const struct series_parameter *v, size_t n, double shell_s, struct err *e)
{
	const char *name = parameters_title(
		&s->arena, parameters_fill(&s->arena, f->text, v, n), f->text, v, n);
	int status = 0;

	vec_push(&s->groups, (struct bench_group){ .name = name, .stopped = "" });
	for (size_t i = 0; i < s->axis.n && status == 0; i++) {
		struct series_parameter *all =
			arena_new_n(&s->arena, struct series_parameter, n + 1);

		if (n)
			memcpy(all, v, n * sizeof *v);
		all[n].name = s->axis.name;
		all[n].value = arena_printf(&s->arena, "%llu", (unsigned long long)s->axis.v[i]);
		status = make_item(s, f, &(struct values){ all, n + 1, s->axis.v[i] }, shell_s,
			s->groups.n - 1, e);
	}
	if (!s->axis.n)
		status = make_item(s, f, &(struct values){ v, n, 0 }, shell_s, s->groups.n - 1, e);
	return status;
}

/* A statement is called again and again in one process: its files are read once, by the first call. */
static int check_files(struct bench_session *s, struct err *e)
{
	if (s->o->cold || s->o->warm)
		vec_each (&s->items, one)
			if (!one->subject.is_command)
				return err_set(e, ERR_USAGE,
					"%s is for commands; for a statement: leadline bench %s -- python3 -c '…'",
					s->o->cold ? "--cold" : "--warm",
					s->o->cold ? "--cold" : "--warm");
	return 0;
}

int bench_session_open(struct bench_session *s, char **words, bool is_command, struct err *e)
{
	struct parameters p = { 0 };
	forms all = VEC_INIT;
	double shell_s = 0;
	int status = take_parameters(s, &p, e);

	if (status == 0)
		status = take_axis(s, e);
	if (status == 0 && s->o->commands.n)
		status = subject_shell_time(&s->o->subject, &shell_s, e);
	if (status == 0)
		take_forms(s, words, is_command, &all);
	if (status == 0 && s->is_scale && is_command)
		status = err_set(
			e, ERR_USAGE, "--scale times statements and functions, not commands");
	if (status == 0 && all.n == 0)
		status = err_set(e, ERR_USAGE,
			"nothing to time; for example: leadline bench 'sum(range(100))', or leadline bench -- ls");
	for (size_t i = 0; status == 0 && i < parameters_combinations(&p); i++) {
		const struct series_parameter *v = parameters_pick(&p, &s->arena, i);

		vec_each (&all, f)
			if (status == 0)
				status = make_group(s, f, v, p.n, shell_s, e);
	}
	vec_done(&all);
	return status == 0 ? check_files(s, e) : status;
}

static struct bench_plan plan_of(const struct bench_session *s)
{
	struct bench_plan p = bench_plan_default();
	size_t n_sizes = s->axis.n;

	p.loops = s->o->loops;
	p.repeat = (unsigned)s->o->repeat;
	p.processes = (unsigned)s->o->processes;
	p.warmup = (unsigned)s->o->warmup;
	if (!p.warmup && (s->o->cold || s->o->warm))
		p.warmup = 1;
	p.runs = (unsigned)(s->o->runs ? s->o->runs : s->o->repeat);
	if (s->o->has_least)
		p.least_runs = (unsigned)s->o->least_runs;
	if (s->o->most_runs)
		p.most_runs = (unsigned)s->o->most_runs;
	if (s->o->time_ns)
		p.time_s = 1e-9 * (double)s->o->time_ns;
	if (n_sizes) {
		p.time_s = (s->o->time_ns ? p.time_s : scan_s) / (double)n_sizes;
		p.processes = p.processes ? p.processes : s->is_scale ? SCALE_RUNS : SCAN_RUNS;
		p.least_runs = s->o->has_least ? p.least_runs : SCAN_RUNS;
	}
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
			"  the result is a %s, which has computed nothing yet; time list(…) or sum(…) of it\n",
			n->kind);
	else if (strcmp(n->kind, "coroutine") == 0)
		buf_adds(&text,
			"  the result is a coroutine, which has not run yet; time asyncio.run(…) of it\n");
	else if (n->kind[0])
		buf_printf(&text,
			"  the result is a %s: the device may still be working; --sync torch waits for it\n",
			n->kind);
	if (n->rebinds[0])
		buf_printf(&text,
			"  the statement rebinds %s from the set-up, so each loop works on the "
			"previous loop's result%s%s; use another name, or time a function\n",
			n->rebinds, n->drift[0] ? ", and in the end " : "", n->drift);
	if (faults > 256)
		buf_printf(&text,
			"  each loop touches %s of memory for the first time: part of this is the kernel mapping pages\n",
			units_format(room, UNIT_BYTES, 4096 * faults));
	all = arena_strdup(a, buf_str(&text));
	buf_done(&text);
	return all;
}

/* --setup and --cleanup stand around the runs of each command, as in hyperfine. */
static int run_command(struct bench_session *s, const struct subject *what,
	const struct commandline *command, struct progress *progress, struct series *ret,
	struct err *e)
{
	struct bench_plan plan = plan_of(s);
	struct buf said = BUF_INIT;
	int status;

	if (subject_before(what->options, e) < 0)
		return -(int)e->code;
	status = bench_command(&s->arena, command, &plan, progress, ret, &said, e);
	if (status < 0 && said.n) {
		progress_done(progress);
		fwrite(said.data, 1, said.n, stderr);
	}
	buf_done(&said);
	if (status == 0)
		status = subject_after(what->options, e);
	return status;
}

static int measure_command(struct bench_session *s, const struct subject *what,
	struct progress *progress, struct series *ret, struct err *e)
{
	struct commandline command = what->command;
	struct buf said = BUF_INIT;
	struct cold cold;
	int status;

	*ret = (struct series){ 0 };
	if (s->o->cold) {
		if (cold_open(&cold, command.folder, e) < 0)
			return -(int)e->code;
		command.cold = &cold;
	}
	status = run_command(s, what, &command, progress, ret, e);
	if (s->o->cold) {
		cold_describe(&cold, &said);
		ret->conditions = arena_strdup(&s->arena, buf_str(&said));
		cold_close(&cold);
	} else if (s->o->warm) {
		unsigned n = plan_of(s).warmup;

		ret->conditions = arena_printf(
			&s->arena, "  warm: %u run%s before measuring\n", n, n == 1 ? "" : "s");
	}
	buf_done(&said);
	return status;
}

static int measure(struct bench_session *s, const struct subject *what, struct progress *progress,
	struct err *e)
{
	struct bench_plan plan = plan_of(s);
	struct series one;
	int status;

	if (what->is_command) {
		status = measure_command(s, what, progress, &one, e);
	} else {
		memset(&s->statement, 0, sizeof s->statement);
		status = bench_statement(&s->arena, &what->statement, &plan, what->name, progress,
			&one, &s->statement, e);
	}
	if (status < 0)
		subject_note_command(what, e);
	one.parameters = what->parameters;
	one.n_parameters = what->n_parameters;
	if (one.n) {
		one.notes = one.is_command ? "" : pitfalls(&s->arena, &s->statement, &one);
		vec_push(&s->series, one);
	}
	return status;
}

const struct growth_point *bench_session_points(
	struct bench_session *s, const struct bench_group *g)
{
	struct growth_point *p = arena_new_n(&s->arena, struct growth_point, g->n);

	for (size_t i = 0; i < g->n; i++) {
		const struct series *one = &s->series.v[g->first + i];
		uint64_t size = 0;

		text_parse_u64(one->parameters[one->n_parameters - 1].value, &size);
		p[i] = (struct growth_point){ (double)size, series_time(&s->arena, one) };
	}
	return p;
}

const struct scaling_point *bench_session_rates(
	struct bench_session *s, const struct bench_group *g)
{
	struct scaling_point *p = arena_new_n(&s->arena, struct scaling_point, g->n);

	for (size_t i = 0; i < g->n; i++) {
		const struct series *one = &s->series.v[g->first + i];
		double *seconds = arena_new_n(&s->arena, double, one->n);

		for (size_t k = 0; k < one->n; k++)
			seconds[k] = series_process_time(&one->processes[k]);
		p[i] = (struct scaling_point){ (unsigned)s->axis.v[i], seconds, one->n };
	}
	return p;
}

/* Whether this size would take far longer than the time there is, going by the ones before it. */
static bool is_too_large(struct bench_session *s, struct bench_group *g, const struct bench_item *i)
{
	const struct growth_point *p;
	double expected, left;
	char text[UNITS_TEXT];

	if (!s->axis.is_range || s->is_scale || g->n < 2)
		return false;
	p = bench_session_points(s, g);
	expected = growth_predict(p, g->n, (double)i->size);
	left = s->o->time_ns ? 1e-9 * (double)s->o->time_ns : scan_s;
	if (2 * SCAN_RUNS * expected <= left) /* the first call and a batch, in each process */
		return false;
	g->stopped = arena_printf(&s->arena,
		"stopped here: %s = %llu would take about %s per call; raise --time to go on",
		s->axis.name, (unsigned long long)i->size,
		units_format(text, UNIT_SECONDS, expected));
	return true;
}

static bool is_kept(const struct bench_options *o)
{
	return o->verbose || o->has_json || o->exports.n || o->export_json || o->export_csv ||
		o->export_markdown || o->output || o->history;
}

int bench_session_measure(struct bench_session *s, struct err *e)
{
	bool is_shown = isatty(STDERR_FILENO);
	struct timespec start, end;
	int status = 0;

	child_watch_interrupt();
	environment_read(&s->before);
	if (is_kept(s->o))
		environment_read_commit(&s->before);
	clock_gettime(CLOCK_MONOTONIC, &start);
	vec_each (&s->items, one) {
		struct bench_group *g = &s->groups.v[one->group];
		struct progress p;

		if (*g->stopped || is_too_large(s, g, one))
			continue;
		if (g->n == 0)
			g->first = s->series.n;
		progress_init(&p, STDERR_FILENO, is_shown, one->subject.name, 1000);
		status = measure(s, &one->subject, &p, e);
		progress_done(&p);
		g->n = s->series.n - g->first;
		if (status < 0 || child_was_interrupted())
			break;
	}
	clock_gettime(CLOCK_MONOTONIC, &end);
	s->elapsed_s =
		(double)(end.tv_sec - start.tv_sec) + 1e-9 * (double)(end.tv_nsec - start.tv_nsec);
	environment_read(&s->after);
	return status;
}

static int write_export(struct bench_session *s, const char *name, const char *file, struct err *e)
{
	struct export_results r = { s->series.v, s->series.n, &s->before, s->statement.python };
	export_writer write = export_find(name);
	struct buf out = BUF_INIT;
	int status = 0;

	write(&s->arena, &r, &out);
	if (file)
		status = outfile_save(&out, file, e);
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
		return err_set(e, ERR_USAGE, "--export %s: unknown format; there are %s", name,
			export_names());
	return 0;
}

int bench_session_export(struct bench_session *s, struct err *e)
{
	const struct bench_options *o = s->o;
	const char *file;
	char name[32];
	int status = 0;

	for (size_t i = 0; i < o->exports.n && status == 0; i++)
		if ((status = split_export(o->exports.v[i], name, &file, e)) == 0)
			status = write_export(s, name, file, e);
	if (status == 0 && o->output)
		status = results_save(&(struct export_results){ s->series.v, s->series.n,
					      &s->before, s->statement.python },
			o->output, e);
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

int bench_session_check_exports(const struct bench_options *o, struct err *e)
{
	const char *file;
	char name[32];

	const char *const named[] = { o->output, o->json, o->export_json, o->export_csv,
		o->export_markdown };

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (output_may_write(named[i], o->force, e) < 0)
			return -(int)e->code;
	for (size_t i = 0; i < o->exports.n; i++)
		if (split_export(o->exports.v[i], name, &file, e) < 0 ||
			output_may_write(file, o->force, e) < 0)
			return -(int)e->code;
	return 0;
}

bool bench_session_prints_export(const struct bench_options *o)
{
	for (size_t i = 0; i < o->exports.n; i++)
		if (!strchr(o->exports.v[i], '='))
			return true;
	return o->has_json && !o->json;
}

void bench_session_close(struct bench_session *s)
{
	vec_done(&s->items);
	vec_done(&s->groups);
	vec_done(&s->series);
	arena_done(&s->arena);
}
