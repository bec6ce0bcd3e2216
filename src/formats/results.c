/* SPDX-License-Identifier: MIT
 * See results.h. One pass over the JSON: each value is looked up by its path (".benchmarks[].runs[].values[]") in a table, and
 * what leads to none of them is skipped. */
#include "formats/results.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "analyze/bench/recorded_results.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/format.h"
#include "formats/input.h"
#include "store/damage.h"
#include "store/reader.h"
#include "store/tables.h"
#include "base/banned.h"

enum { KEY_BYTES = 40, NAME_BYTES = 4000 }; /* longer keys are none of ours; names are cut */

enum place {
	/* containers */
	BENCHMARK,
	COMMAND,
	RUN,
	ROUNDS,
	WARMUP,
	/* numbers */
	VALUE,
	WARMUP_PART,
	LOOPS,
	BENCHMARK_LOOPS,
	FILE_LOOPS,
	RUN_RSS,
	USER,
	SYSTEM,
	MEMORY,
	EXIT_CODE,
	/* texts */
	NAME,
	FILE_NAME,
	FULL_NAME,
	UNIT,
	FILE_UNIT,
	DATE,
	HOST,
	CPU,
	PYTHON,
	PYTHON_KIND,
	COMMIT,
	KERNEL,
	CPU_CONFIG,
};

static const struct {
	const char *path;
	enum place place;
} places[] = {
	{ ".benchmarks[]", BENCHMARK },
	{ ".benchmarks[].metadata.loops", BENCHMARK_LOOPS },
	{ ".benchmarks[].metadata.name", NAME },
	{ ".benchmarks[].metadata.unit", UNIT },
	{ ".benchmarks[].runs[]", RUN },
	{ ".benchmarks[].runs[].metadata.command_max_rss", RUN_RSS },
	{ ".benchmarks[].runs[].metadata.date", DATE },
	{ ".benchmarks[].runs[].metadata.loops", LOOPS },
	{ ".benchmarks[].runs[].metadata.mem_max_rss", RUN_RSS },
	{ ".benchmarks[].runs[].values[]", VALUE },
	{ ".benchmarks[].runs[].warmups[]", WARMUP },
	{ ".benchmarks[].runs[].warmups[][]", WARMUP_PART },
	{ ".metadata.commit_id", COMMIT },
	{ ".metadata.cpu_config", CPU_CONFIG },
	{ ".metadata.cpu_model_name", CPU },
	{ ".metadata.date", DATE },
	{ ".metadata.hostname", HOST },
	{ ".metadata.loops", FILE_LOOPS },
	{ ".metadata.name", FILE_NAME },
	{ ".metadata.platform", KERNEL },
	{ ".metadata.python_implementation", PYTHON_KIND },
	{ ".metadata.python_version", PYTHON },
	{ ".metadata.unit", FILE_UNIT },
	{ ".benchmarks[].fullname", FULL_NAME },
	{ ".benchmarks[].name", NAME },
	{ ".benchmarks[].stats", ROUNDS },
	{ ".benchmarks[].stats.data[]", VALUE },
	{ ".benchmarks[].stats.iterations", LOOPS },
	{ ".commit_info.id", COMMIT },
	{ ".datetime", DATE },
	{ ".machine_info.cpu.brand_raw", CPU },
	{ ".machine_info.node", HOST },
	{ ".machine_info.python_implementation", PYTHON_KIND },
	{ ".machine_info.python_version", PYTHON },
	{ ".machine_info.release", KERNEL },
	{ ".results[]", COMMAND },
	{ ".results[].command", NAME },
	{ ".results[].exit_codes[]", EXIT_CODE },
	{ ".results[].memory_usage_byte[]", MEMORY },
	{ ".results[].system", SYSTEM },
	{ ".results[].times[]", VALUE },
	{ ".results[].user", USER },
};

enum { N_PLACES = sizeof places / sizeof *places };

typedef VEC(double) numbers;

struct file {
	struct json_reader r;
	struct arena *a;
	struct err *e;
	struct results *to;
	struct buf path;         /* of the value at hand */
	size_t base[JSON_DEPTH]; /* bytes of it that name the open containers */
	VEC(struct benchmark) benchmarks;
	VEC(struct series_process) processes; /* of the benchmark at hand */
	numbers values, warmups;              /* of the run at hand */
	numbers memory, exits;                /* of the command at hand */
	size_t n_values, warmup_part;
	uint64_t loops, benchmark_loops, file_loops, rss_bytes;
	double user_s, system_s;
	const char *file_name, *python_kind;
	enum unit unit, file_unit; /* UNIT_RATIO: not said */
	bool is_command;
};

static int wrong(struct file *f, const char *what)
{
	return err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": %s", json_offset(&f->r), what);
}

/* ---- runs ------------------------------------------------------------------------------------ */

static struct series_process process_of(struct file *f, const double *values, size_t n)
{
	struct series_process p = { .n_warmup = f->is_command ? 0 : f->warmups.n,
		.loops = f->loops,
		.max_rss_bytes = f->rss_bytes,
		.first_s = NAN };

	p.n = p.n_warmup + n;
	p.v = arena_new_n(f->a, struct series_value, p.n);
	for (size_t i = 0; i < p.n; i++)
		p.v[i].seconds = i < p.n_warmup ? f->warmups.v[i] : values[i - p.n_warmup];
	return p;
}

static void begin_run(struct file *f)
{
	vec_clear(&f->values);
	vec_clear(&f->warmups);
	f->loops = f->rss_bytes = 0;
}

/* Runs without values only found out how many loops to take. */
static void end_run(struct file *f)
{
	if (f->values.n)
		vec_push(&f->processes, process_of(f, f->values.v, f->values.n));
	begin_run(f);
}

static void end_command(struct file *f)
{
	for (size_t i = 0; i < f->values.n; i++) {
		struct series_process p = process_of(f, &f->values.v[i], 1);

		p.loops = 1;
		p.v->user_s = f->user_s;
		p.v->system_s = f->system_s;
		if (i < f->memory.n)
			p.max_rss_bytes = (uint64_t)f->memory.v[i];
		if (i < f->exits.n)
			p.exit_status = (int)f->exits.v[i];
		vec_push(&f->processes, p);
	}
}

/* ---- benchmarks ------------------------------------------------------------------------------ */

static void begin_benchmark(struct file *f, bool is_command)
{
	vec_push(&f->benchmarks, (struct benchmark){ .full_name = "" });
	vec_clear(&f->processes);
	vec_clear(&f->memory);
	vec_clear(&f->exits);
	begin_run(f);
	f->benchmark_loops = 0;
	f->user_s = f->system_s = NAN;
	f->unit = UNIT_RATIO;
	f->is_command = is_command;
}

static struct benchmark *last(struct file *f)
{
	return &f->benchmarks.v[f->benchmarks.n - 1];
}

/* What the file says of all benchmarks is only known at its end: 0 loops, UNIT_RATIO and no name are settled there. */
static int end_benchmark(struct file *f)
{
	struct benchmark *b = last(f);
	struct series *s = &b->series;

	if (f->is_command)
		end_command(f);
	if (!f->processes.n)
		return wrong(f,
			"a benchmark without its values; pytest-benchmark keeps them with --benchmark-save-data or --benchmark-json");
	s->n = f->processes.n;
	s->processes = arena_copy(f->a, f->processes.v, s->n * sizeof *s->processes);
	s->is_command = f->is_command;
	s->unit_of_run = f->is_command ? "run" : "batch";
	b->unit = f->unit;
	for (size_t i = 0; i < s->n; i++)
		if (!s->processes[i].loops)
			s->processes[i].loops = f->benchmark_loops;
	return 0;
}

static void settle(struct file *f)
{
	vec_each (&f->benchmarks, b) {
		if (!b->series.name)
			b->series.name = f->file_name ? f->file_name : "(without a name)";
		if (b->unit == UNIT_RATIO)
			b->unit = f->file_unit == UNIT_RATIO ? UNIT_SECONDS : f->file_unit;
		for (size_t i = 0; i < b->series.n; i++) {
			uint64_t *loops = &b->series.processes[i].loops;

			if (!*loops)
				*loops = f->file_loops ? f->file_loops : 1;
		}
	}
	if (f->python_kind && *f->to->python)
		f->to->python = arena_printf(f->a, "%s %s", f->python_kind, f->to->python);
}

static int by_name(const void *a, const void *b)
{
	const struct benchmark *const *x = a, *const *y = b;

	return strcmp((*x)->series.name, (*y)->series.name);
}

/* Tests of one name in several files are told apart by their full names. */
static void tell_apart(struct arena *a, struct results *r)
{
	struct benchmark **order = arena_new_n(a, struct benchmark *, r->n);

	for (size_t i = 0; i < r->n; i++)
		order[i] = &r->v[i];
	qsort(order, r->n, sizeof *order, by_name);
	for (size_t i = 0, next; i < r->n; i = next) {
		for (next = i + 1; next < r->n && by_name(&order[i], &order[next]) == 0; next++)
			;
		for (size_t k = i; next - i > 1 && k < next; k++)
			if (*order[k]->full_name)
				order[k]->series.name = order[k]->full_name;
	}
}

/* ---- values ---------------------------------------------------------------------------------- */

static const char *text_of(struct file *f)
{
	return arena_strndup(f->a, f->r.text, f->r.n < NAME_BYTES ? f->r.n : NAME_BYTES);
}

static enum unit unit_of(const struct json_reader *r)
{
	return json_text_is(r, "byte")       ? UNIT_BYTES
		: json_text_is(r, "integer") ? UNIT_COUNT
					     : UNIT_SECONDS;
}

/* "2026-01-31 12:00:00.5", "2026-01-31T12:00:00+01:00"; NAN where it is no such thing. */
static double parse_date(const char *s)
{
	struct tm tm = { 0 };
	double seconds = 0;
	int hours = 0, minutes = 0, used = 0, zone = 0;
	char sign[2] = "";

	if (sscanf(s, "%4d-%2d-%2d%*1[ T]%2d:%2d:%lf%n", &tm.tm_year, &tm.tm_mon, &tm.tm_mday,
		    &tm.tm_hour, &tm.tm_min, &seconds, &used) < 6)
		return NAN;
	if (sscanf(s + used, "%1[+-]%2d:%2d", sign, &hours, &minutes) == 3)
		zone = (hours * 60 + minutes) * (*sign == '-' ? -60 : 60);
	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	return (double)timegm(&tm) + seconds - zone;
}

/* pyperf: "0-1=driver:intel_pstate, governor:performance". */
static const char *governor_in(struct file *f, const char *config)
{
	static const char word[] = "governor:";
	const char *at = strstr(config, word);

	return at ? arena_strndup(f->a, at + sizeof word - 1, strcspn(at + sizeof word - 1, ",; "))
		  : "";
}

static void take_text(struct file *f, enum place place)
{
	struct results *to = f->to;

	switch (place) {
	case NAME:
		last(f)->series.name = text_of(f);
		break;
	case FILE_NAME:
		f->file_name = text_of(f);
		break;
	case FULL_NAME:
		last(f)->full_name = text_of(f);
		break;
	case UNIT:
		f->unit = unit_of(&f->r);
		break;
	case FILE_UNIT:
		f->file_unit = unit_of(&f->r);
		break;
	case DATE:
		if (!*to->date)
			to->date = text_of(f);
		break;
	case HOST:
		to->host = text_of(f);
		break;
	case CPU:
		to->cpu = text_of(f);
		break;
	case PYTHON:
		to->python = text_of(f);
		break;
	case PYTHON_KIND:
		f->python_kind = text_of(f);
		break;
	case COMMIT:
		if (!json_text_is(&f->r, "unversioned")) /* pytest-benchmark's word for none */
			to->commit = text_of(f);
		break;
	case KERNEL:
		to->kernel = text_of(f);
		break;
	case CPU_CONFIG:
		to->governor = governor_in(f, text_of(f));
		break;
	default: /* not a text's place */
		break;
	}
}

static int take_value(struct file *f, numbers *to, double value)
{
	if (!(value >= 0) || isinf(value))
		return wrong(f, "a value that is negative or far too large");
	if (++f->n_values > RESULTS_VALUES)
		return err_set(f->e, ERR_BAD_FILE, "more than %d values", RESULTS_VALUES);
	vec_push(to, value);
	return 0;
}

static int take_number(struct file *f, enum place place)
{
	double value = json_number_double(&f->r);
	uint64_t whole = value >= 0 && value < 1e18 ? (uint64_t)value : 0;

	switch (place) {
	case VALUE:
		return take_value(f, &f->values, value);
	case WARMUP_PART: /* [loops, value] */
		return f->warmup_part++ == 1 ? take_value(f, &f->warmups, value) : 0;
	case LOOPS:
		f->loops = whole;
		return 0;
	case BENCHMARK_LOOPS:
		f->benchmark_loops = whole;
		return 0;
	case FILE_LOOPS:
		f->file_loops = whole;
		return 0;
	case RUN_RSS:
		f->rss_bytes = whole;
		return 0;
	case USER:
		f->user_s = value;
		return 0;
	case SYSTEM:
		f->system_s = value;
		return 0;
	case MEMORY:
		return take_value(f, &f->memory, (double)whole);
	case EXIT_CODE:
		return take_value(f, &f->exits, (double)(whole & 0xff));
	default: /* not a number's place */
		return 0;
	}
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* The place the path names; −1: none, *ret_leads: but it leads to one. */
static int find_place(const struct file *f, bool *ret_leads)
{
	const char *path = buf_str(&f->path);
	size_t n = f->path.n;

	*ret_leads = false;
	for (size_t i = 0; i < N_PLACES; i++) {
		if (strncmp(places[i].path, path, n) != 0)
			continue;
		*ret_leads = true;
		if (!places[i].path[n])
			return (int)places[i].place;
	}
	return -1;
}

static int take_scalar(struct file *f, enum json_token t)
{
	bool leads;
	int place = find_place(f, &leads);

	if (place < 0)
		return 0;
	if (t == JSON_NUMBER)
		return take_number(f, (enum place)place);
	if (t == JSON_STRING)
		take_text(f, (enum place)place);
	else if (place == EXIT_CODE) /* null: ended by a signal */
		return take_value(f, &f->exits, 0);
	else if (place == VALUE)
		return wrong(f, "expected a number");
	return 0;
}

static void begin_container(struct file *f, enum json_token t)
{
	bool leads;
	int place = find_place(f, &leads);

	f->base[f->r.depth - 1] = f->path.n;
	if (place == BENCHMARK || place == COMMAND)
		begin_benchmark(f, place == COMMAND);
	else if (place == RUN)
		begin_run(f);
	else if (place == WARMUP)
		f->warmup_part = 0;
	if (t == JSON_ARRAY_BEGIN)
		buf_adds(&f->path, "[]");
}

static void cut_path(struct file *f, size_t n)
{
	f->path.n = n;
	if (f->path.data)
		f->path.data[n] = '\0';
}

static int end_container(struct file *f)
{
	bool leads;
	int place;

	cut_path(f, f->base[f->r.depth]);
	place = find_place(f, &leads);
	if (place == RUN || place == ROUNDS)
		end_run(f);
	return place == BENCHMARK || place == COMMAND ? end_benchmark(f) : 0;
}

static int take_key(struct file *f)
{
	bool leads = false;

	cut_path(f, f->base[f->r.depth - 1]);
	/* A key that looks like a path would pretend to be deeper than it is. */
	if (f->r.n <= KEY_BYTES && !memchr(f->r.text, '\0', f->r.n) &&
		!memchr(f->r.text, '.', f->r.n) && !memchr(f->r.text, '[', f->r.n)) {
		buf_addc(&f->path, '.');
		buf_add(&f->path, f->r.text, f->r.n);
		find_place(f, &leads);
	}
	return leads ? 0 : json_skip(&f->r, f->e);
}

static int read_tokens(struct file *f)
{
	enum json_token t;
	int status;

	while ((status = json_next(&f->r, &t, f->e)) == 0 && t != JSON_END) {
		if (t == JSON_KEY)
			status = take_key(f);
		else if (t == JSON_OBJECT_BEGIN || t == JSON_ARRAY_BEGIN)
			begin_container(f, t);
		else if (t == JSON_OBJECT_END || t == JSON_ARRAY_END)
			status = end_container(f);
		else
			status = take_scalar(f, t);
		if (status < 0)
			return status;
	}
	return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* By its first key: "machine_info" is pytest-benchmark's, "benchmarks" pyperf's, "results" hyperfine's if commands follow. */
static const char *format_of(const char *head, size_t n)
{
	struct json_reader r;
	struct err e = ERR_INIT;
	enum json_token t[2] = { JSON_END, JSON_END };
	const char *format = NULL;

	json_reader_init_memory(&r, head, n);
	if (json_next(&r, &t[0], &e) == 0 && t[0] == JSON_OBJECT_BEGIN &&
		json_next(&r, &t[1], &e) == 0 && t[1] == JSON_KEY)
		format = json_text_is(&r, "machine_info") ? "pytest-benchmark"
			: json_text_is(&r, "benchmarks")  ? "pyperf"
			: json_text_is(&r, "results") && memmem(head, n, "\"command\"", 9)
			? "hyperfine"
			: NULL;
	json_reader_done(&r);
	return format;
}

bool results_recognise(const char *head, size_t n)
{
	return format_of(head, n) != NULL;
}

static int read_input(struct file *f, struct input *in)
{
	struct err why = ERR_INIT;
	const char *head;
	size_t n;
	int status;

	head = input_head(in, FORMAT_HEAD, &n);
	f->to->format = format_of(head, n);
	if (!f->to->format)
		return err_set(f->e, ERR_BAD_FILE,
			"no results of leadline bench -o, pyperf, pytest-benchmark or hyperfine (profiles are compared by leadline diff)");
	json_reader_init(&f->r, input_fill, in);
	status = read_tokens(f);
	json_reader_done(&f->r);
	if (status < 0 && input_error(in, &why) < 0)
		*f->e = why;
	if (status == 0 && !f->benchmarks.n)
		status = err_set(f->e, ERR_BAD_FILE, "it holds no benchmarks");
	return status;
}

int results_read(
	struct arena *a, struct input *in, const char *name, struct results *ret, struct err *e)
{
	struct results to = { .name = name,
		.date = "",
		.host = "",
		.cpu = "",
		.python = "",
		.commit = "",
		.kernel = "",
		.governor = "",
		.damage = "" };
	struct file f = { .a = a, .e = e, .to = &to, .file_unit = UNIT_RATIO };
	struct stat st;
	int status;

	to.begun_s = fstat(in->fd, &st) == 0 ? (double)st.st_mtim.tv_sec : NAN;
	status = read_input(&f, in);
	if (status == 0) {
		settle(&f);
		to.n = f.benchmarks.n;
		to.v = arena_copy(a, f.benchmarks.v, to.n * sizeof *to.v);
		tell_apart(a, &to);
		if (isfinite(parse_date(to.date)))
			to.begun_s = parse_date(to.date);
		*ret = to;
	}
	buf_done(&f.path);
	vec_done(&f.benchmarks);
	vec_done(&f.processes);
	vec_done(&f.values);
	vec_done(&f.warmups);
	vec_done(&f.memory);
	vec_done(&f.exits);
	return status < 0 ? err_note(e, "%s", name) : 0;
}

int results_read_fd(struct arena *a, int fd, const char *name, struct results *ret, struct err *e)
{
	struct input in;
	int status;

	input_init(&in, fd);
	status = results_read(a, &in, name, ret, e);
	input_done(&in);
	return status;
}

/* A recording that holds benchmarks; NULL when it is none. */
static struct reader *open_recording(const char *path)
{
	struct reader *r = NULL;
	struct err ignored = ERR_INIT;

	if (!text_ends_with(path, ".lead") || reader_open(&r, path, &ignored) < 0)
		return NULL;
	if (recorded_results_are_in(r))
		return r;
	reader_close(r);
	return NULL;
}

int results_of_recording(
	struct arena *a, struct reader *r, const char *name, struct results *ret, struct err *e)
{
	const struct recorded_results *all = NULL;
	char damage[DAMAGE_TEXT];
	struct tables *t = NULL;
	int status = tables_load(&t, r, e);

	if (status == 0) {
		all = recorded_results_build(a, t);
		reader_check(r);
		if (!all->n)
			status = err_set(e, ERR_BAD_FILE, "%s",
				damage_describe(&r->damage, damage) ? damage
								    : "it holds no benchmarks");
	}
	if (status == 0) {
		damage_describe(&r->damage, damage);
		*ret = (struct results){ .name = name,
			.damage = arena_strdup(a, damage),
			.format = "leadline",
			.date = all->date,
			.begun_s = 1e-9 * (double)r->begun_realtime_ns,
			.host = all->host,
			.cpu = all->cpu,
			.python = all->python,
			.commit = all->commit,
			.kernel = all->kernel,
			.governor = all->governor,
			.v = arena_new_n(a, struct benchmark, all->n),
			.n = all->n };
		for (size_t i = 0; i < all->n; i++)
			ret->v[i] = (struct benchmark){ all->v[i], "", UNIT_SECONDS };
	}
	tables_free(t);
	return status < 0 ? err_note(e, "%s", name) : 0;
}

int results_load(struct arena *a, const char *path, struct results *ret, struct err *e)
{
	struct reader *recording = open_recording(path);
	int fd = -1, status;

	if (recording) {
		status = results_of_recording(a, recording, arena_strdup(a, path), ret, e);
		reader_close(recording);
		return status;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return err_errno(e, errno == ENOENT ? ERR_NO_FILE : ERR_SYSTEM, "%s", path);
	return results_read_fd(a, fd, arena_strdup(a, path), ret, e);
}

bool results_are_in(const char *path)
{
	struct reader *recording;
	struct input in;
	struct stat st;
	const char *head;
	bool are;
	size_t n;
	int fd;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return false;
	recording = open_recording(path);
	reader_close(recording);
	if (recording)
		return true;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	input_init(&in, fd);
	head = input_head(&in, FORMAT_HEAD, &n);
	are = results_recognise(head, n);
	input_done(&in);
	return are;
}

const struct benchmark *results_find(const struct results *r, const char *name)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->v[i].series.name, name) == 0)
			return &r->v[i];
	return NULL;
}
