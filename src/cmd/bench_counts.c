/* SPDX-License-Identifier: MIT
 * See bench_counts.h. */
#include "cmd/bench_counts.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/calls/exact.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/calls/opcode_counts.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "bench/instructions.h"
#include "cmd/result.h"
#include "sys/private_dir.h"
#include "base/banned.h"

enum { LESS_LOOPS = 1, MORE_LOOPS = 5, WORDS_MOST = 12, FILE_MOST = 1 << 30 };

static const uint64_t seed = 1;

typedef VEC(struct bench_counts_function) functions;

/* Runs it once with words in front. loops: of a statement. */
static int run_once(struct arena *a, const struct subject *s, const char *const *before,
	uint64_t loops, struct err *e)
{
	struct statement statement = s->statement;
	struct statement_plan plan = { .loops = loops, .batches = 1, .least_batches = 1 };
	struct statement_notes notes = { 0 };
	struct commandline command = s->command;
	struct series_process p;
	struct child_result r;
	struct buf said = BUF_INIT;
	VEC(const char *) words = VEC_INIT;
	int status;

	if (!s->is_command) {
		statement.before = before;
		return statement_measure(&statement, &plan, seed, a, &p, &notes, e);
	}
	for (; before && *before; before++)
		vec_push(&words, *before);
	for (const char *const *w = s->command.argv; *w; w++)
		vec_push(&words, *w);
	vec_push(&words, NULL);
	command.argv = words.v;
	status = commandline_run(&command, seed, &r, &said, e);
	if (status == 0 && r.status && !command.ignore_failure) {
		fwrite(buf_str(&said), 1, said.n, stderr);
		status = err_set(e, ERR_MEASURED,
			"'%s' exited with status %d; -i measures it anyway", s->name, r.status);
	}
	buf_done(&said);
	vec_done(&words);
	return status;
}

static struct bench_counts_function *find_or_add(
	functions *all, const char *name, const char *file, uint32_t first_line)
{
	vec_each (all, f)
		if (f->first_line == first_line && strcmp(f->name, name) == 0 &&
			strcmp(f->file, file) == 0)
			return f;
	vec_push(all,
		(struct bench_counts_function){
			.name = name, .file = file, .first_line = first_line });
	return &all->v[all->n - 1];
}

/* Where an object lies differs from run to run: "… object at 0x7f00>" is one name. */
static const char *without_address(struct arena *a, const char *name)
{
	const char *at = strstr(name, " at 0x");

	if (!at)
		return arena_strdup(a, name);
	return arena_printf(a, "%.*s%s", (int)(at - name), name,
		at + 6 + strspn(at + 6, "0123456789abcdefABCDEF"));
}

/* NULL: what starts the agent, which is no part of the program. */
static struct bench_counts_function *row_of(
	struct arena *a, functions *to, const char *name, const char *file, uint32_t first_line)
{
	if (text_ends_with(file, "strap/sitecustomize.py"))
		return NULL;
	return find_or_add(to, without_address(a, name), arena_strdup(a, file), first_line);
}

static void take_counts(struct arena *a, const struct result *r, functions *to)
{
	const struct opcode_counts *opcodes = selection_opcodes(r->selection);
	const struct exact_lines *lines = r->selection->exact_lines;
	const struct exact *exact = r->selection->exact;
	struct bench_counts_function *one;

	for (size_t i = 0; exact && i < exact->n_functions; i++) {
		const struct exact_function *f = &exact->functions[i];

		if ((one = row_of(a, to, f->name, f->file, f->first_line)))
			one->n.calls += (double)f->cost.calls;
	}
	for (size_t i = 0; lines && i < lines->n_functions; i++) {
		const struct exact_lines_function *f = &lines->functions[i];

		one = row_of(a, to, f->name, f->file, f->first_line);
		for (size_t k = 0; one && k < f->n_lines; k++)
			one->n.lines += (double)f->lines[k].hits;
	}
	for (size_t i = 0; opcodes && i < opcodes->n_functions; i++) {
		const struct opcode_function *f = &opcodes->functions[i];

		if ((one = row_of(a, to, f->name, f->file, f->first_line)))
			one->n.bytecodes += (double)f->executed;
	}
}

/* Calls, lines and bytecodes, by the agent. */
static int count_python(struct arena *a, const struct subject *s, const char *folder,
	uint64_t loops, functions *to, struct err *e)
{
	char own[4096];
	ssize_t n = readlink("/proc/self/exe", own, sizeof own - 1);
	const char *file = arena_printf(a, "%s/%llu.lead", folder, (unsigned long long)loops);
	const char *before[WORDS_MOST] = { n > 0 ? arena_strndup(a, own, (size_t)n) : "leadline",
		"run", "--count=lines,opcodes", "-o", file, "--report", "/dev/null", "--no-source",
		"--" };
	struct result_choice choice = { .of = { .idle = true, .imports = true } };
	struct result r = { 0 };
	int status = run_once(a, s, before, loops, e);

	if (status == 0) {
		status = result_open(&r, file, &choice, e);
		if (status == 0 && !r.selection->exact && !selection_opcodes(r.selection))
			status = err_set(e, ERR_MEASURED,
				"nothing was counted in '%s': it ran no Python that the agent knows",
				s->name);
		if (status == 0)
			take_counts(a, &r, to);
		result_done(&r);
	}
	unlink(file);
	return status;
}

/* The sum of what callgrind wrote, one file per process; files are removed. */
static double sum_callgrind(const char *folder)
{
	DIR *d = opendir(folder);
	double sum = NAN;

	for (struct dirent *f; d && (f = readdir(d));) {
		struct buf path = BUF_INIT, text = BUF_INIT;
		struct err ignored = ERR_INIT;
		const char *at;

		if (strncmp(f->d_name, "callgrind.", 10) != 0)
			continue;
		buf_printf(&path, "%s/%s", folder, f->d_name);
		if (buf_load(&text, buf_str(&path), FILE_MOST, &ignored) == 0 &&
			(at = strstr(buf_str(&text), "\nsummary: ")))
			sum = (isnan(sum) ? 0 : sum) + strtod(at + strlen("\nsummary: "), NULL);
		unlink(buf_str(&path));
		buf_done(&path);
		buf_done(&text);
	}
	if (d)
		closedir(d);
	return sum;
}

/* One run by the CPU's own counter; NAN: there is none. */
static double count_by_cpu(struct arena *a, const struct subject *s, uint64_t loops)
{
	struct instructions counter;
	struct err ignored = ERR_INIT;
	uint64_t n = 0;
	int status;

	if (!instructions_start(&counter))
		return NAN;
	status = run_once(a, s, NULL, loops, &ignored);
	return instructions_stop(&counter, &n) && status == 0 ? (double)n : NAN;
}

static double count_by_callgrind(
	struct arena *a, const struct subject *s, const char *folder, uint64_t loops)
{
	const char *before[WORDS_MOST] = { "valgrind", "-q", "--tool=callgrind",
		"--trace-children=yes",
		arena_printf(a, "--callgrind-out-file=%s/callgrind.%%p", folder) };
	struct err ignored = ERR_INIT;
	int status = run_once(a, s, before, loops, &ignored);
	double sum = sum_callgrind(folder);

	return status == 0 ? sum : NAN;
}

/* Two runs differ by some thousands anyway: so many loops that this hardly counts. */
static uint64_t many_loops(struct arena *a, const struct subject *s)
{
	struct statement_plan plan = { .batches = 1, .least_batches = 1, .batch_s = 0.005 };
	struct statement_notes notes = { 0 };
	struct err ignored = ERR_INIT;
	struct series_process p;

	if (s->is_command ||
		statement_measure(&s->statement, &plan, seed, a, &p, &notes, &ignored) < 0)
		return MORE_LOOPS;
	return LESS_LOOPS + (p.loops > MORE_LOOPS ? p.loops : MORE_LOOPS);
}

/* Instructions of the CPU; NAN where they cannot be counted, which is no failure. */
static void count_instructions(struct arena *a, const struct subject *s, const char *folder,
	bool with_callgrind, struct bench_counts *ret)
{
	uint64_t loops = many_loops(a, s);
	double more = count_by_cpu(a, s, loops), less = 0;
	bool by_cpu = !isnan(more);

	ret->instructions = NAN;
	if (!by_cpu && with_callgrind && subject_is_program("valgrind"))
		more = count_by_callgrind(a, s, folder, loops);
	if (isnan(more))
		return;
	if (!s->is_command)
		less = by_cpu ? count_by_cpu(a, s, LESS_LOOPS)
			      : count_by_callgrind(a, s, folder, LESS_LOOPS);
	ret->instructions =
		s->is_command ? more : round((more - less) / (double)(loops - LESS_LOOPS));
	ret->instructions_by = isnan(less) ? "" : by_cpu ? "perf" : "callgrind";
}

static void add_to(struct counted *to, const struct counted *n, double factor)
{
	to->calls += factor * n->calls;
	to->lines += factor * n->lines;
	to->bytecodes += factor * n->bytecodes;
}

/* What `more` has more than `less`, for each loop between them. */
static void subtract(
	struct arena *a, functions *more, functions *less, double loops, struct bench_counts *ret)
{
	functions kept = VEC_INIT;

	vec_each (less, f)
		add_to(&find_or_add(more, f->name, f->file, f->first_line)->n, &f->n, -1);
	vec_each (more, f) {
		struct bench_counts_function one = *f;

		one.n = (struct counted){ 0 };
		add_to(&one.n, &f->n, 1 / loops);
		if (one.n.calls == 0 && one.n.lines == 0 && one.n.bytecodes == 0)
			continue;
		add_to(&ret->all, &one.n, 1);
		vec_push(&kept, one);
	}
	ret->functions = arena_copy(a, kept.v, kept.n * sizeof *kept.v);
	ret->n = kept.n;
	vec_done(&kept);
}

int bench_counts_check(const char *what, struct err *e)
{
	if (!what || strcmp(what, "instructions") == 0)
		return 0;
	return err_set(e, ERR_USAGE, "--count takes no value or =instructions, not '%s'", what);
}

int bench_counts_measure(struct arena *a, const struct subject *s, bool with_callgrind,
	struct bench_counts *ret, struct err *e)
{
	struct private_dir folder;
	functions more = VEC_INIT, less = VEC_INIT;
	int status = 0;

	*ret = (struct bench_counts){
		.name = s->name, .is_command = s->is_command, .instructions_by = ""
	};
	if (private_dir_make(&folder, PRIVATE_LARGE, sizeof folder.path, e) < 0)
		return -(int)e->code;
	status = count_python(a, s, folder.path, MORE_LOOPS, &more, e);
	if (status == 0 && !s->is_command)
		status = count_python(a, s, folder.path, LESS_LOOPS, &less, e);
	if (status == 0) {
		double loops = s->is_command ? 1 : MORE_LOOPS - LESS_LOOPS;

		subtract(a, &more, &less, loops, ret);
		count_instructions(a, s, folder.path, with_callgrind, ret);
	}
	private_dir_remove(&folder);
	vec_done(&more);
	vec_done(&less);
	return status < 0 ? err_note(e, "--count") : 0;
}
