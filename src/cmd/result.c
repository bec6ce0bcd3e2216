/* SPDX-License-Identifier: MIT
 * See result.h. */
#include "cmd/result.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/samples/books.h"
#include "analyze/calls/arguments.h"
#include "analyze/samples/by_name.h"
#include "analyze/samples/calltree.h"
#include "analyze/code/disassembly.h"
#include "analyze/samples/crash_stacks.h"
#include "analyze/calls/exact.h"
#include "analyze/calls/exact_lines.h"
#include "analyze/samples/neighbours.h"
#include "analyze/calls/opcode_counts.h"
#include "analyze/samples/paths.h"
#include "analyze/code/pattern.h"
#include "analyze/samples/probes.h"
#include "analyze/samples/regions.h"
#include "analyze/torch/training.h"
#include "analyze/code/source_texts.h"
#include "analyze/samples/tasks.h"
#include "analyze/samples/thread_select.h"
#include "analyze/host/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "json/arguments.h"
#include "json/bytecode.h"
#include "json/functions.h"
#include "json/books.h"
#include "json/host.h"
#include "json/lines.h"
#include "json/regions.h"
#include "json/threads.h"
#include "json/values.h"
#include "store/reader.h"
#include "formats/format.h"
#include "store/tables.h"
#include "sys/reach.h"
#include "sys/rights.h"
#include "view/samples/books.h"
#include "view/calls/arguments.h"
#include "view/samples/bytecode.h"
#include "view/calls/exact_counts.h"
#include "view/calls/exact.h"
#include "view/samples/pprof_text.h"
#include "view/samples/profile.h"
#include "view/samples/profile_parts.h"
#include "view/samples/regions.h"
#include "view/torch/training.h"
#include "view/kit/style.h"
#include "view/samples/tasks.h"
#include "view/host/usage.h"
#include "base/banned.h"

enum { NEIGHBOURS_MOST = 20 }; /* functions one pattern is answered for */
enum { SOURCE_BYTES = 16 << 20, SOURCES_BYTES = 128 << 20 }; /* of one file on the disk, of all */

/* ---- choosing -------------------------------------------------------------------------------- */

static const struct neighbours *neighbours_of(struct result *r, uint32_t function)
{
	if (r->selection->exact)
		return exact_neighbours(&r->arena, r->selection->exact, function);
	return neighbours_build(&r->arena, r->selection->stacks, r->profile->lost_share, function);
}

static int find_neighbours(
	struct result *r, const char *text, struct result_neighbours *ret, struct err *e)
{
	const struct neighbours **v;
	size_t *found, n;

	if (pattern_functions(&r->arena, r->profile, text, &found, &n, e) < 0)
		return -(int)e->code;
	if (n > NEIGHBOURS_MOST)
		n = NEIGHBOURS_MOST;
	v = arena_new_n(&r->arena, const struct neighbours *, n);
	for (size_t i = 0; i < n; i++)
		v[i] = neighbours_of(r, r->profile->functions[found[i]].function);
	*ret = (struct result_neighbours){ v, n };
	return 0;
}

/* Functions whose stacks the tree keeps. */
static const bool *functions_that_match(struct result *r, const struct pattern *pattern)
{
	size_t n = frames_n_functions(r->selection->stacks->frames);
	bool *keep = arena_new_n(&r->arena, bool, n);

	for (uint32_t i = 0; i < n; i++) {
		const struct stack_function *f = frames_function(r->selection->stacks->frames, i);

		keep[i] = pattern_matches(pattern, f->name, f->file, f->first_line);
	}
	return keep;
}

/* Of the functions that match, the first that instructions are held of; the others are few samples' code. */
static int find_bytecode(struct result *r, const char *text, struct err *e)
{
	struct disassembly_options o = { .lost_share =
						 r->selection->exact ? 0 : r->profile->lost_share,
		.texts = r->texts,
		.lines = r->selection->exact_lines,
		.opcodes = selection_opcodes(r->selection) };
	const struct profile *p =
		!r->selection->exact && !r->profile->n_functions && r->selection->exact_lines
		? exact_lines_profile(&r->arena, r->selection->exact_lines)
		: r->profile;
	size_t *found, n;

	if (pattern_functions(&r->arena, p, text, &found, &n, e) < 0)
		return -(int)e->code;
	for (size_t i = 0; i < n && !r->n_bytecode; i++)
		r->bytecode = disassembly_build(&r->arena, r->selection->stacks,
			p->functions[found[i]].function, &o, &r->n_bytecode);
	if (!r->n_bytecode)
		return err_set(e, ERR_USAGE,
			"the recording holds no bytecode of %s: it keeps that of functions with "
			"ten or more samples of their own",
			p->functions[found[0]].name);
	return 0;
}

static int choose_rows(struct result *r, const struct result_choice *c, struct err *e)
{
	struct pattern *pattern = NULL;

	if (c->filter && pattern_new(&pattern, c->filter, e) < 0)
		return err_note(e, "--filter");
	if (c->callers && find_neighbours(r, c->callers, &r->callers, e) < 0)
		return err_note(e, "--callers");
	if (c->callees && find_neighbours(r, c->callees, &r->callees, e) < 0)
		return err_note(e, "--callees");
	if (c->bytecode && find_bytecode(r, c->bytecode, e) < 0)
		return err_note(e, "--bytecode");
	if (c->tree)
		r->tree = calltree_build(&r->arena, r->selection->stacks, r->profile->lost_share,
			pattern ? functions_that_match(r, pattern) : NULL);
	if (r->order.order != PROFILE_SELF)
		r->profile = profile_sorted(&r->arena, r->profile, r->order.order);
	if (pattern)
		r->profile = pattern_rows(&r->arena, r->profile, pattern);
	pattern_free(pattern);
	return 0;
}

/* What the pages asked for need beyond what every choice does. */
static int check_pages(struct result *r, const struct result_choice *c, struct err *e)
{
	const struct selection *s = r->selection;

	if (s->exact && !s->exact->has_contexts && c->tree)
		return err_set(e, ERR_USAGE,
			"--tree needs whole stacks, and this kind of file only says who called "
			"whom; use --callers or --callees");
	if (!c->line_profiler || (s->exact_lines && s->exact_lines->is_timed))
		return 0;
	if (recording_is_partial(r->recording))
		return err_set(e, ERR_BAD_FILE, "no counted lines could be read");
	return err_set(e, ERR_USAGE,
		"it holds no timed lines: --line-profiler needs leadline run --lines, or a .lprof "
		"file");
}

/* The rights of who wrote a file, which names others: root reads those as that user. */
static void reach_from(struct reach *r, const char *path)
{
	struct rights rights = RIGHTS_NONE;
	struct stat st;

	if (geteuid() == 0 && stat(path, &st) == 0 && st.st_uid != 0)
		rights_user(&rights, st.st_uid, st.st_gid);
	else
		rights_own(&rights);
	reach_init_user(r, &rights, "");
}

/* line_profiler's files hold no source: as it does, we look whether the files they name are here. */
static void add_sources(const struct exact_lines *l, struct source_texts *texts, const char *path)
{
	char folder[4096];
	struct reach reach;
	size_t room = SOURCES_BYTES;

	reach_from(&reach, path);
	if (getcwd(folder, sizeof folder))
		reach.name = xstrdup(folder);
	for (size_t i = 0; i < l->n_functions && room; i++) {
		const char *file = l->functions[i].file;
		struct buf text = BUF_INIT;

		if (!source_texts_n_lines(texts, file) &&
			reach_load(&reach, file, SOURCE_BYTES, &text, NULL, NULL) == 0)
			source_texts_put(texts, file, text.data, text.n);
		room -= text.n < room ? text.n : room; /* a file has many names */
		buf_done(&text);
	}
	reach_done(&reach);
}

/* At the command line what a recording cannot say was asked wrongly; and what was looked for may have been in what is lost. */
static int not_found(const struct result *r, struct err *e)
{
	size_t n = strlen(e->text);

	if (e->code == ERR_UNSUPPORTED)
		e->code = ERR_USAGE;
	if (e->code == ERR_USAGE && recording_is_partial(r->recording))
		snprintf(e->text + n, sizeof e->text - n,
			" (but the recording is damaged, and the lost part may have held it)");
	return -(int)e->code;
}

static int load(struct result *r, const struct result_choice *c, struct err *e)
{
	struct selection *s;

	if (recording_run(r->recording, e) < 0)
		return err_note(e, "%s", r->name);
	if (recording_select(r->recording, &c->of, &r->selection, e) < 0)
		return err_note(e, "%s", r->name), not_found(r, e);
	s = r->selection;
	if (check_pages(r, c, e) < 0)
		return err_note(e, "%s", r->name), not_found(r, e);
	if (row_order_parse("--sort",
		    c->sort                                   ? c->sort
			    : s->exact && !s->exact->is_timed ? "calls"
							      : "self",
		    s->exact != NULL, &r->order, e) < 0)
		return not_found(r, e);
	r->profile = s->profile;
	if (!r->profile)
		return 0;
	if (c->tasks)
		r->tasks = selection_tasks(s);
	if (c->source) {
		struct source_texts *texts = recording_texts(r->recording);

		if (r->recording->origin.is_foreign && s->exact_lines)
			add_sources(s->exact_lines, texts, r->name);
		r->texts = texts;
	}
	return choose_rows(r, c, e) < 0 ? not_found(r, e) : 0;
}

/* Everything that shows a recording comes through here: what is missing of it is told before any number that rests on it, and
 * also where it is the reason that there is none. */
static int choose(struct result *r, const struct result_choice *c, struct err *e)
{
	int status = load(r, c, e);

	r->damage = arena_strdup(&r->arena, recording_damage(r->recording));
	command_tell_missing(r->name, r->damage);
	return status;
}

int result_of(
	struct result *r, struct recording *recording, const struct result_choice *c, struct err *e)
{
	*r = (struct result){ .recording = recording, .name = recording->path };
	return choose(r, c, e);
}

int result_open(struct result *r, const char *path, const struct result_choice *c, struct err *e)
{
	struct recording *recording;

	*r = (struct result){ 0 };
	return format_load(&recording, path, e) < 0 ? -(int)e->code : result_of(r, recording, c, e);
}

int result_open_fd(struct result *r, int fd, const struct result_choice *c, struct err *e)
{
	static const char name[] = "the recording in memory";
	struct reader *reader;

	*r = (struct result){ 0 };
	if (reader_open_own(&reader, fd, name, e) < 0)
		return -(int)e->code;
	return result_of(r, recording_of_reader(reader, name), c, e);
}

int result_again(
	struct result *r, const struct result *first, const struct result_choice *c, struct err *e)
{
	*r = (struct result){ .recording = first->recording,
		.is_again = true,
		.name = first->name,
		.damage = first->damage };
	return load(r, c, e);
}

void result_done(struct result *r)
{
	if (!r->is_again)
		recording_free(r->recording);
	arena_done(&r->arena);
}

/* ---- pages ----------------------------------------------------------------------------------- */

enum { SLOWDOWN_TEXT = 200 };

/* By being looked at, and where its operators were collected by that. */
static const char *slowdown_words(const struct fidelity *f, char ret[static SLOWDOWN_TEXT])
{
	char looks[UNITS_TEXT], operators[UNITS_TEXT];

	units_format(looks, UNIT_SHARE, f->slowdown);
	units_format(operators, UNIT_SHARE, f->ops_slowdown);
	if (units_is_known(f->ops_slowdown))
		snprintf(ret, SLOWDOWN_TEXT,
			"collecting operators slowed the program by %s in the thread that ran most "
			"of them, sampling by %s (both estimated)",
			operators, units_is_known(f->slowdown) ? looks : "an unknown share");
	else if (!units_is_known(f->slowdown))
		return "how far that slowed the program is unknown";
	else
		snprintf(ret, SLOWDOWN_TEXT,
			"that slowed the program by %s (estimated from cache lines copied)", looks);
	return ret;
}

enum { NATIVE_MOST = 5 }; /* kinds of threads without Python that are named */
/* Of the sampled time, which the collector must take to be told of. */
static const double COLLECTOR_LEAST = 0.005;

static void print_fidelity(const struct result *r, const struct result_page *page, struct buf *out)
{
	const struct fidelity *f = &r->recording->fidelity;
	const struct books *books = recording_books(r->recording);
	char rate[UNITS_TEXT], asked[UNITS_TEXT], own[UNITS_TEXT], bytes[UNITS_TEXT];
	struct buf text = BUF_INIT;
	char slowdown[SLOWDOWN_TEXT];

	buf_printf(&text, "%s: %.0f samples", f->engine, f->samples);
	/* That none is lost is no comfort where time is missing. */
	if (f->lost > 0 || !books || books_balance(&books->sum))
		buf_printf(&text, ", %.0f lost", f->lost);
	buf_printf(&text, ", %.0f shortened; ", f->shortened);
	if (books) {
		books_describe(books, &text);
		buf_adds(&text, "; ");
	}
	buf_printf(&text,
		"sampled at %s (asked: %s%s); sampling used %s of a core; %s; %s recorded.",
		units_format(rate, UNIT_HERTZ, f->rate_reached_hz),
		f->rate_asked_hz > 0 ? units_format(asked, UNIT_HERTZ, f->rate_asked_hz)
				     : "as fast as possible",
		f->lowered_by > 1 ? ", lowered so that sampling uses at most half a core" : "",
		units_format(own, UNIT_SHARE, f->own_cpu_s / r->recording->usage->wall_s),
		slowdown_words(f, slowdown),
		units_format(bytes, UNIT_BYTES, (double)f->file_bytes));
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, buf_str(&text), 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
	buf_done(&text);
}

/* Threads that never run Python are no part of the shares above. */
static void print_native(const struct result *r, const struct result_page *page, struct buf *out)
{
	const struct books *books = recording_books(r->recording);
	struct buf text = BUF_INIT;

	if (books)
		books_describe_native(books, NATIVE_MOST, &text);
	if (text.n) {
		struct buf line = BUF_INIT;

		buf_printf(&line, "Threads without Python, not in these shares: %s of CPU.",
			buf_str(&text));
		buf_addc(out, '\n');
		style_begin(out, STYLE_DIM, page->output.colour);
		style_wrap(out, buf_str(&line), 0, page->output.width);
		style_end(out, STYLE_DIM, page->output.colour);
		buf_done(&line);
	}
	buf_done(&text);
}

/* What the cyclic collector took, wherever it struck: it is part of the functions it ran in. */
static void print_collector(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct state_sums sums = selection_states(r->selection);
	double whole = sums.runnable_s;
	char seconds[UNITS_TEXT], share[UNITS_TEXT], text[200];

	for (size_t k = STRIP_RUNNING; k < STRIP_STATES_; k++)
		whole += sums.s[k];
	if (!sums.is_known || !(whole > 0) || sums.s[STRIP_GC] < COLLECTOR_LEAST * whole)
		return;
	buf_addc(out, '\n');
	snprintf(text, sizeof text,
		"Garbage collection: %s, %s of the sampled time; it counts as time of the "
		"functions it interrupted.",
		units_format(seconds, UNIT_SECONDS, sums.s[STRIP_GC]),
		units_format(share, UNIT_SHARE, sums.s[STRIP_GC] / whole));
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, text, 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
}

static void print_timeline(const struct result *r, const struct result_page *page, struct buf *out)
{
	const struct fidelity *f = &r->recording->fidelity;
	char events[UNITS_TEXT], lost[UNITS_TEXT], text[300];

	snprintf(text, sizeof text,
		"Timeline: %s events, %.1f bytes each, %s lost; to see it: leadline export "
		"--format perfetto %s",
		units_format(events, UNIT_COUNT, f->timeline_events),
		f->timeline_events > 0 ? f->timeline_bytes / f->timeline_events : 0,
		f->timeline_lost > 0 ? units_format(lost, UNIT_COUNT, f->timeline_lost) : "none",
		r->name);
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, text, 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
}

/* In the place of the program's own head: whose file it is, and what its values are. */
static void print_origin(const struct result *r, const struct result_page *page, struct buf *out)
{
	char value[UNITS_TEXT], samples[UNITS_TEXT];
	const struct stacks *s = r->selection->stacks;
	bool has_stacks = !r->selection->exact && !r->selection->exact_lines && r->profile;
	struct buf text = BUF_INIT;

	style_begin(out, STYLE_BOLD, page->output.colour);
	text_add_printable(out, r->name, strlen(r->name));
	style_end(out, STYLE_BOLD, page->output.colour);
	buf_printf(out, "  %s file\n", r->recording->origin.format);
	if (has_stacks &&
		(r->recording->origin.unit != UNIT_COUNT || *r->recording->origin.measure))
		buf_printf(&text, "%s", units_format(value, r->recording->origin.unit, s->value));
	if (*r->recording->origin.measure) {
		buf_adds(&text, has_stacks ? " of " : "Events are ");
		text_add_printable(
			&text, r->recording->origin.measure, strlen(r->recording->origin.measure));
		buf_adds(&text, has_stacks ? "" : ". ");
	}
	if (s->n_samples)
		buf_printf(&text, "%s%s samples", text.n ? " in " : "",
			units_format(samples, UNIT_COUNT, (double)s->n_samples));
	if (has_stacks)
		buf_printf(&text, ", %zu %s. ", s->n_threads,
			s->n_threads == 1 ? "thread" : "threads");
	if (*r->recording->origin.note) {
		text_add_printable(
			&text, r->recording->origin.note, strlen(r->recording->origin.note));
		buf_adds(&text, ". ");
	}
	buf_adds(&text,
		"Such a file does not tell CPU time, GIL use, or what the program is bound by.");
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, buf_str(&text), 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
	buf_done(&text);
}

static void print_lines(const struct result *r, const struct result_page *page,
	const struct profile_view *v, struct buf *out)
{
	if (r->selection->exact_lines) {
		if (!exact_lines_has_any(r->selection->exact_lines) &&
			selection_opcodes(r->selection))
			return; /* instructions were counted, lines were not */
		(r->selection->exact_lines->is_timed ? exact_print_lines
						     : exact_counts_print_lines)(
			r->selection->exact_lines, r->texts, v, out);
		return;
	}
	if (r->selection->exact) /* calls were counted, lines were not */
		return;
	if (page->source && r->texts && profile_print_source(r->profile, r->texts, v, out))
		return;
	profile_print_lines(r->profile, r->texts, v, out);
	if (page->source && r->profile->n_lines)
		style_add(out, STYLE_DIM, v->colour, "Without source: %s.\n",
			source_texts_note(r->texts, r->profile->lines[0].file));
}

/* What the shares are of: all there is, unless something was left out or chosen. */
static const char *shown_time(const struct result *r)
{
	const struct selection *s = r->selection;

	return s->stacks->n_folded || *s->what ? "of the time shown" : "of all sampled time";
}

static void print_legend(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct buf text = BUF_INIT;

	buf_adds(&text, "self: time in the function's own code; total: including what it calls; ");
	buf_printf(&text,
		page->ci ? "95 %%: confidence interval of the share %s"
			 : "±: 95 %% confidence; shares are %s",
		shown_time(r));
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, buf_str(&text), 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
	buf_done(&text);
}

static void print_regions(const struct result *r, const struct profile_view *v, struct buf *out)
{
	regions_print(r->recording->regions, r->recording->usage->wall_s, v, out);
	if (recording_training(r->recording))
		training_print(recording_training(r->recording), v, out);
}

static void print_imports(const struct result *r, const struct profile_view *v, struct buf *out)
{
	const struct stacks *s = selection_stacks_of_imports(r->selection);
	struct profile_view alone = *v;
	struct arena a = ARENA_INIT;

	alone.what = "";

	if (s->imports ==
		IMPORTS_ALONE) /* traced calls, another tool's figures: there is no such row */
		profile_print_imports(calltree_build(&a, s, r->profile->lost_share, NULL), s,
			r->profile, &alone, out);
	arena_done(&a);
}

static struct profile_view view_of(
	const struct result *r, const struct result_page *page, char folder[4096])
{
	return (struct profile_view){ .width = page->output.width,
		.colour = page->output.colour,
		.legend = page->legend,
		.ci = page->ci,
		.limit = page->limit,
		.probes = r->selection->probes,
		.what = page->what ? page->what : "",
		.imports = &r->selection->stacks->paths->imports,
		.folder = getcwd(folder, 4096) ? folder : NULL };
}

static void print_neighbours(const struct result *r, const struct profile_view *v, struct buf *out)
{
	for (size_t i = 0; i < r->callers.n; i++)
		profile_print_callers(r->callers.v[i], r->selection->stacks, r->profile, v, out);
	for (size_t i = 0; i < r->callees.n; i++)
		profile_print_callees(r->callees.v[i], r->selection->stacks, r->profile, v, out);
}

void result_print_memory(const struct result *r, const struct result_page *page, struct buf *out)
{
	char folder[4096];
	struct profile_view v = view_of(r, page, folder), tree = v;

	tree.limit = page->tree_limit;
	if (page->functions)
		profile_print_functions(r->profile, &v, out);
	if (page->lines &&
		!(page->source && r->texts && profile_print_source(r->profile, r->texts, &v, out)))
		profile_print_lines(r->profile, r->texts, &v, out);
	if (r->tree)
		profile_print_tree(r->tree, r->selection->stacks, r->profile, &tree, out);
	if (page->imports)
		print_imports(r, &tree, out);
	print_neighbours(r, &v, out);
	if (page->threads)
		profile_print_threads(r->selection->stacks, &v, page->idle, out);
	if (page->functions || page->lines || r->tree)
		profile_print_import_note(r->profile, &v, out);
}

static void print_profile(const struct result *r, const struct result_page *page, struct buf *out)
{
	char folder[4096];
	struct profile_view v = view_of(r, page, folder), tree = v;
	const struct crash_stacks *crashes;
	size_t n_crashes;

	tree.limit = page->tree_limit;
	if (page->functions && r->selection->exact)
		exact_print_functions(
			r->selection->exact, r->profile, r->order.words, page->raw, &v, out);
	else if (page->functions && !r->selection->exact_lines)
		profile_print_functions(r->profile, &v, out);
	if (page->lines)
		print_lines(r, page, &v, out);
	if (page->lines && selection_opcodes(r->selection))
		exact_counts_print_opcodes(selection_opcodes(r->selection), &v, out);
	if (r->tree)
		profile_print_tree(r->tree, r->selection->stacks, r->profile, &tree, out);
	if (page->imports)
		print_imports(r, &tree, out);
	print_neighbours(r, &v, out);
	for (size_t i = 0; i < r->n_bytecode; i++)
		bytecode_print(&r->bytecode[i], r->profile, r->texts, page->stack, &v, out);
	if (page->arguments)
		arguments_print(selection_arguments(r->selection), &v, out);
	if (page->regions)
		print_regions(r, &v, out);
	if (page->threads)
		profile_print_threads(r->selection->stacks, &v, page->idle, out);
	if (r->tasks)
		tasks_print(r->tasks, r->selection->stacks, &v, page->each_task, out);
	if (page->functions || page->lines || r->tree)
		profile_print_import_note(r->profile, &v, out);
	profile_print_idle(r->selection->stacks, &v, out);
	if (page->functions || page->lines || page->threads || r->tree)
		print_collector(r, page, out);
	print_native(r, page, out);
	if (r->selection->exact && !r->recording->origin.is_foreign)
		exact_print_fidelity(r->selection->exact, &v, out);
	exact_print_excluded(r->recording->fidelity.excluded, &v, out);
	if (units_is_known(r->recording->fidelity.timeline_events))
		print_timeline(r, page, out);
	if (!r->recording->origin.is_foreign && *r->recording->fidelity.engine)
		print_fidelity(r, page, out);
	if (page->legend && (page->functions || page->lines) && !r->selection->exact &&
		!r->selection->exact_lines)
		print_legend(r, page, out);
	crashes = selection_crashes(r->selection, &n_crashes);
	profile_print_crashes(crashes, n_crashes, r->selection->stacks, &v, out);
}

/* Where nothing was sampled or counted: a program too short for that, or a file that has memory over time, and calls that took it. */
static void print_regions_alone(
	const struct result *r, const struct result_page *page, struct buf *out)
{
	struct profile_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.limit = page->limit,
		.what = "" };

	if (r->recording->regions->n)
		print_regions(r, &v, out);
}

void result_print(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct usage_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.tree = page->processes,
		.legend = page->legend };

	if (page->line_profiler && r->selection->exact_lines) {
		exact_print_line_profiler(r->selection->exact_lines, r->texts, 1e-6, out);
		return;
	}
	if (r->recording->origin.is_foreign)
		print_origin(r, page, out);
	if (r->recording->origin.is_foreign && r->recording->usage->n_ticks)
		usage_print_memory(r->recording->usage, &v, out);
	else if (!r->recording->origin.is_foreign && (page->host || !r->profile))
		usage_print(r->recording->usage, &r->recording->bound, &v, out);
	else if (!r->recording->origin.is_foreign)
		usage_print_head(r->recording->usage, &r->recording->bound, &v, out);
	if (r->profile)
		print_profile(r, page, out);
	else
		print_regions_alone(r, page, out);
}

void result_print_pprof(
	const struct result *r, bool with_lines, size_t limit, const char *state, struct buf *out)
{
	struct arena a = ARENA_INIT;
	struct buf comment = BUF_INIT;
	struct by_name rows = by_name_build(&a, r->selection->stacks, with_lines);
	bool is_foreign = r->recording->origin.is_foreign;
	struct pprof_text p = { .program = r->recording->usage->command,
		.type = !is_foreign                     ? state
			: *r->recording->origin.measure ? r->recording->origin.measure
							: profile_unit(r->recording->origin.unit),
		.unit = r->recording->origin.unit,
		.begun_ns = is_foreign ? 0 : r->recording->reader->begun_realtime_ns,
		.limit = limit };
	double longest_s = 0;

	for (size_t i = 0; p.unit == UNIT_SECONDS && i < r->selection->stacks->n_threads; i++)
		longest_s = fmax(longest_s, r->selection->stacks->threads[i].all);
	p.duration_ns = (uint64_t)llround(longest_s * 1e9);
	selection_describe(r->selection, &comment);
	p.comment = buf_str(&comment);
	pprof_text_print(&p, &rows, out);
	buf_done(&comment);
	arena_done(&a);
}

static void write_rows(const struct result *r, struct json_writer *w)
{
	total_json(r->profile->unit, r->profile->value, w);
	if (r->selection->exact)
		trace_json(r->selection->exact, w);
	if (r->selection->exact || !r->selection->exact_lines) {
		json_key(w, "functions");
		functions_json_rows(r->profile, r->selection->exact, r->selection->stacks->frames,
			&(struct json_rows){ .n = r->profile->n_functions, .details = true }, w);
	}
	if (r->selection->exact_lines || !r->selection->exact)
		json_key(w, "lines");
	if (r->selection->exact_lines)
		counted_lines_json_rows(r->selection->exact_lines, SIZE_MAX, w);
	else if (!r->selection->exact)
		lines_json_rows(r->profile, 0, r->profile->n_lines, w);
	if (selection_opcodes(r->selection))
		opcodes_json(selection_opcodes(r->selection), w);
}

static void write_neighbours(const struct result *r, struct json_writer *w)
{
	const struct frames *f = r->selection->stacks->frames;

	if (r->callers.n)
		neighbours_json("callers", r->callers.v, r->callers.n, true, f, w);
	if (r->callees.n)
		neighbours_json("callees", r->callees.v, r->callees.n, false, f, w);
}

void result_json_memory(
	const struct result *r, const struct result_page *page, struct json_writer *w)
{
	imports_json(r->selection->stacks, w);
	if (page->threads)
		threads_json(r->selection->stacks, w);
	if (r->tree)
		tree_json(r->tree, r->selection->stacks, w);
	write_neighbours(r, w);
}

static void write_profile(
	const struct result *r, const struct result_page *page, struct json_writer *w)
{
	const struct crash_stacks *crashes;
	size_t n_crashes;

	fidelity_json(&r->recording->fidelity, w);
	books_json(recording_books(r->recording), w);
	states_json(r->selection, w);
	idle_json(r->selection->stacks, w);
	imports_json(r->selection->stacks, w);
	write_rows(r, w);
	probes_json(r->selection->probes, w);
	crashes = selection_crashes(r->selection, &n_crashes);
	crashes_json(crashes, n_crashes, r->selection->stacks, w);
	if (page && page->threads)
		threads_json(r->selection->stacks, w);
	if (selection_arguments(r->selection)->n)
		arguments_json(selection_arguments(r->selection), w);
	if (r->tasks)
		tasks_json(r->tasks, r->selection->stacks, w);
	if (r->tree)
		tree_json(r->tree, r->selection->stacks, w);
	if (r->bytecode)
		bytecode_json(r->bytecode, r->n_bytecode, w);
	write_neighbours(r, w);
}

void result_json_page(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct json_writer w;

	json_page_begin(&w, out);
	if (*r->damage)
		json_kv_string(&w, "damage", r->damage);
	usage_json(r->recording->usage, &r->recording->bound, &w);
	if (recording_training(r->recording))
		training_json(recording_training(r->recording), &w);
	if (r->recording->regions->n)
		regions_json(r->recording->regions, &w);
	if (r->profile)
		write_profile(r, page, &w);
	json_page_end(&w);
}

void result_json(const struct result *r, struct buf *out)
{
	result_json_page(r, NULL, out);
}
