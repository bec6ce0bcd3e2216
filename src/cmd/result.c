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

#include "analyze/arguments.h"
#include "analyze/by_name.h"
#include "analyze/calltree.h"
#include "analyze/disassembly.h"
#include "analyze/endings.h"
#include "analyze/exact.h"
#include "analyze/exact_lines.h"
#include "analyze/neighbours.h"
#include "analyze/opcode_counts.h"
#include "analyze/pattern.h"
#include "analyze/probes.h"
#include "analyze/regions.h"
#include "analyze/training.h"
#include "analyze/texts.h"
#include "analyze/tasks.h"
#include "analyze/threads.h"
#include "analyze/usage.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "json/arguments.h"
#include "json/bytecode.h"
#include "json/functions.h"
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
#include "view/arguments.h"
#include "view/bytecode.h"
#include "view/counts.h"
#include "view/exact.h"
#include "view/pprof_text.h"
#include "view/profile.h"
#include "view/profile_parts.h"
#include "view/regions.h"
#include "view/training.h"
#include "view/style.h"
#include "view/tasks.h"
#include "view/usage.h"
#include "base/banned.h"

enum { NEIGHBOURS_MOST = 20 }; /* functions one pattern is answered for */
enum { SOURCE_BYTES = 16 << 20, SOURCES_BYTES = 128 << 20 }; /* of one file on the disk, of all */

/* ---- choosing -------------------------------------------------------------------------------- */

static const struct neighbours *neighbours_of(struct result *r, uint32_t function)
{
	if (r->exact)
		return exact_neighbours(&r->arena, r->exact, function);
	return neighbours_build(&r->arena, r->stacks, r->profile->lost_share, function);
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
	size_t n = frames_n_functions(r->stacks->frames);
	bool *keep = arena_new_n(&r->arena, bool, n);

	for (uint32_t i = 0; i < n; i++) {
		const struct stack_function *f = frames_function(r->stacks->frames, i);

		keep[i] = pattern_matches(pattern, f->name, f->file, f->first_line);
	}
	return keep;
}

/* Of the functions that match, the first that instructions are held of; the others are few samples' code. */
static int find_bytecode(struct result *r, const char *text, struct err *e)
{
	struct disassembly_options o = { .lost_share = r->exact ? 0 : r->profile->lost_share,
		.texts = r->texts,
		.lines = r->exact_lines,
		.opcodes = r->opcodes };
	const struct profile *p = !r->exact && !r->profile->n_functions && r->exact_lines
		? exact_lines_profile(&r->arena, r->exact_lines)
		: r->profile;
	size_t *found, n;

	if (pattern_functions(&r->arena, p, text, &found, &n, e) < 0)
		return -(int)e->code;
	for (size_t i = 0; i < n && !r->n_bytecode; i++)
		r->bytecode = disassembly_build(
			&r->arena, r->stacks, p->functions[found[i]].function, &o, &r->n_bytecode);
	if (!r->n_bytecode)
		return err_set(e, ERR_USAGE,
			"the recording holds no bytecode of %s: it is kept of functions that ten "
			"samples or more "
			"ended in",
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
		r->tree = calltree_build(&r->arena, r->stacks, r->profile->lost_share,
			pattern ? functions_that_match(r, pattern) : NULL);
	if (r->order != PROFILE_SELF)
		r->profile = profile_sorted(&r->arena, r->profile, r->order);
	if (pattern)
		r->profile = pattern_rows(&r->arena, r->profile, pattern);
	pattern_free(pattern);
	return 0;
}

/* Our keys and those pstats users type. */
static int parse_order(const char *key, bool has_calls, enum profile_order *ret,
	const char **ret_words, struct err *e)
{
	static const struct {
		const char *key;
		enum profile_order order;
		const char *words;
	} keys[] = { { "self", PROFILE_SELF, "internal time" },
		{ "tottime", PROFILE_SELF, "internal time" },
		{ "time", PROFILE_SELF, "internal time" },
		{ "total", PROFILE_TOTAL, "cumulative time" },
		{ "cumulative", PROFILE_TOTAL, "cumulative time" },
		{ "cumtime", PROFILE_TOTAL, "cumulative time" },
		{ "calls", PROFILE_CALLS, "call count" }, { "ncalls", PROFILE_CALLS, "call count" },
		{ "pcalls", PROFILE_PRIMITIVE, "primitive call count" },
		{ "name", PROFILE_NAME, "function name" },
		{ "nfl", PROFILE_NAME, "name/file/line" },
		{ "stdname", PROFILE_FILE, "standard name" },
		{ "filename", PROFILE_FILE, "file name" }, { "module", PROFILE_FILE, "file name" },
		{ "line", PROFILE_LINE, "line number" } };

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (strcmp(key, keys[i].key) != 0)
			continue;
		if (!has_calls && keys[i].order >= PROFILE_CALLS)
			return err_set(e, ERR_USAGE,
				"--sort %s: samples do not count calls; leadline run --trace does",
				key);
		*ret = keys[i].order;
		*ret_words = keys[i].words;
		return 0;
	}
	return err_set(e, ERR_USAGE,
		"--sort wants self, total, calls, name, or pstats' tottime, cumtime, ncalls, "
		"pcalls, filename, line, stdname, nfl, not '%s'",
		key);
}

int result_check_sort(const char *key, bool has_calls, struct err *e)
{
	enum profile_order order;
	const char *words;

	return parse_order(key, has_calls, &order, &words, e);
}

/* What was counted call by call, or line by line, stands where samples would. */
static int load_exact(struct result *r, const struct result_choice *c,
	const struct stacks_options *o, struct err *e)
{
	const uint32_t *threads = o->n_threads ? o->threads : NULL;
	bool is_part = o->state != STACKS_WALL || o->from_s > 0 || o->to_s > 0;

	r->exact = exact_build(&r->arena, r->tables, r->stacks->frames, r->stacks->nodes);
	r->exact_lines =
		exact_lines_build(&r->arena, r->tables, r->stacks->frames, threads, o->n_threads);
	r->opcodes =
		opcode_counts_build(&r->arena, r->tables, r->stacks->frames, threads, o->n_threads);
	r->arguments = arguments_build(&r->arena, r->tables, r->stacks->frames, r->exact);
	if (r->exact && is_part)
		return err_set(e, ERR_USAGE,
			"traced calls are sums over the whole run: --state, --from and --to need "
			"samples");
	if (r->exact && !r->exact->has_contexts && (c->tree || o->only_mine))
		return err_set(e, ERR_USAGE,
			"%s needs calling contexts, and such a file only says who called whom; "
			"use --callers or --callees",
			c->tree ? "--tree" : "--only-mine");
	if (c->line_profiler && (!r->exact_lines || !r->exact_lines->is_timed) &&
		damage_is_loss(&r->reader->damage))
		return err_set(e, ERR_BAD_FILE, "no counted lines could be read");
	if (c->line_profiler && (!r->exact_lines || !r->exact_lines->is_timed))
		return err_set(e, ERR_USAGE,
			"no lines were counted with their times in it: --line-profiler needs "
			"leadline run --lines, "
			"or "
			"a .lprof file");
	return 0;
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
static void add_sources(const struct exact_lines *l, struct texts *texts, const char *path)
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

		if (!texts_n_lines(texts, file) &&
			reach_load(&reach, file, SOURCE_BYTES, &text, NULL, NULL) == 0)
			texts_put(texts, file, text.data, text.n);
		room -= text.n < room ? text.n : room; /* a file has many names */
		buf_done(&text);
	}
	reach_done(&reach);
}

/* What was looked for may have been in what is lost. */
static int not_found(const struct result *r, struct err *e)
{
	size_t n = strlen(e->text);

	if (e->code == ERR_USAGE && damage_is_loss(&r->reader->damage))
		snprintf(e->text + n, sizeof e->text - n,
			" (but the recording is damaged, and what is lost may have held it)");
	return -(int)e->code;
}

static int load_checked(
	struct result *r, const struct result_choice *c, const char *name, struct err *e)
{
	struct stacks_options o = c->stacks;
	struct thread_rows threads = { 0 };

	r->name = arena_strdup(&r->arena, name);
	if (tables_load(&r->tables, r->reader, e) < 0)
		return err_note(e, "%s", name);
	r->usage = usage_build(&r->arena, r->tables);
	if (!r->usage)
		return err_set(e, ERR_BAD_FILE, "%s: holds no run of a program", name);
	r->bound = bound_build(r->usage);
	r->fidelity = fidelity_build(&r->arena, r->tables);
	r->regions = regions_build(&r->arena, r->tables);
	r->training = training_build(&r->arena, r->tables);
	r->origin = origin_build(&r->arena, r->tables);
	if (r->origin.is_foreign && o.state != STACKS_WALL)
		return err_set(e, ERR_USAGE,
			"%s: a %s file does not say which samples were on a CPU or held the GIL",
			name, r->origin.format);
	if (c->threads && threads_choose(&r->arena, r->tables, c->threads, NULL, &threads, e) < 0)
		return not_found(r, e);
	o.threads = threads.v;
	o.n_threads = threads.n;
	r->stacks = stacks_build(&r->arena, r->tables, &o);
	if (load_exact(r, c, &o, e) < 0)
		return err_note(e, "%s", name), not_found(r, e);
	if (parse_order(c->sort                               ? c->sort
			    : r->exact && !r->exact->is_timed ? "calls"
							      : "self",
		    r->exact != NULL, &r->order, &r->order_words, e) < 0)
		return -(int)e->code;
	if (!r->exact && !r->exact_lines && !r->stacks->n && !r->stacks->n_threads)
		return 0;
	r->profile =
		r->exact ? exact_profile(&r->arena, r->exact) : profile_build(&r->arena, r->stacks);
	r->probes = probes_build(&r->arena, r->stacks, r->exact ? 0 : r->profile->lost_share);
	r->endings = endings_build(&r->arena, r->tables, r->stacks, &r->n_endings);
	if (c->tasks)
		r->tasks = tasks_build(&r->arena, r->tables, r->stacks);
	if (c->source) {
		struct texts *texts = texts_load(&r->arena, r->tables);

		if (r->origin.is_foreign && r->exact_lines)
			add_sources(r->exact_lines, texts, r->name);
		r->texts = texts;
	}
	return choose_rows(r, c, e) < 0 ? not_found(r, e) : 0;
}

/* Everything that shows a recording comes through here: what is missing of it is told before any number that rests on it, and
 * also where it is the reason that there is none. */
static int load(struct result *r, const struct result_choice *c, const char *name, struct err *e)
{
	int status = load_checked(r, c, name, e);

	r->damage = command_tell_damage(&r->arena, r->reader, name);
	return status;
}

int result_open_choice(
	struct result *r, const char *path, const struct result_choice *c, struct err *e)
{
	*r = (struct result){ 0 };
	return format_open(&r->reader, path, e) < 0 ? -(int)e->code : load(r, c, path, e);
}

int result_open(struct result *r, const char *path, const struct stacks_options *o, struct err *e)
{
	struct result_choice c = { .stacks = *o, .source = true };

	return result_open_choice(r, path, &c, e);
}

int result_open_fd(struct result *r, int fd, const struct stacks_options *o, struct err *e)
{
	static const char name[] = "the recording in memory";
	struct result_choice c = { .stacks = *o };

	*r = (struct result){ 0 };
	return reader_open_own(&r->reader, fd, name, e) < 0 ? -(int)e->code : load(r, &c, name, e);
}

void result_done(struct result *r)
{
	tables_free(r->tables);
	reader_close(r->reader);
	arena_done(&r->arena);
}

/* ---- pages ----------------------------------------------------------------------------------- */

static const char *slowdown_words(double share, char ret[static 100])
{
	char text[UNITS_TEXT];

	if (!units_is_known(share))
		return "the program's own slow-down is not known";
	snprintf(ret, 100,
		"slow-down of the program %s (estimated: memory copied and written again)",
		units_format(text, UNIT_SHARE, share));
	return ret;
}

static void print_fidelity(const struct result *r, const struct result_page *page, struct buf *out)
{
	const struct fidelity *f = &r->fidelity;
	char rate[UNITS_TEXT], asked[UNITS_TEXT], own[UNITS_TEXT], bytes[UNITS_TEXT], text[500];
	char slowdown[100];

	snprintf(text, sizeof text,
		"%s: %.0f samples, %.0f lost, %.0f shortened; %s reached (%s asked%s); own cost %s "
		"of a core; %s; %s recorded.",
		f->engine, f->samples, f->lost, f->shortened,
		units_format(rate, UNIT_HERTZ, f->rate_reached_hz),
		f->rate_asked_hz > 0 ? units_format(asked, UNIT_HERTZ, f->rate_asked_hz)
				     : "as many as possible",
		f->lowered_by > 1 ? ", lowered so that looking costs at most half a core" : "",
		units_format(own, UNIT_SHARE, f->own_cpu_s / r->usage->wall_s),
		slowdown_words(f->slowdown, slowdown),
		units_format(bytes, UNIT_BYTES, (double)f->file_bytes));
	buf_addc(out, '\n');
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, text, 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
}

static void print_timeline(const struct result *r, const struct result_page *page, struct buf *out)
{
	const struct fidelity *f = &r->fidelity;
	char events[UNITS_TEXT], lost[UNITS_TEXT], text[300];

	snprintf(text, sizeof text,
		"Timeline: %s events in the order of time, %.1f bytes each, %s lost; leadline "
		"export --format perfetto %s shows them.",
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
	const struct stacks *s = r->stacks;
	bool has_stacks = !r->exact && !r->exact_lines && r->profile;
	struct buf text = BUF_INIT;

	style_begin(out, STYLE_BOLD, page->output.colour);
	text_add_printable(out, r->name, strlen(r->name));
	style_end(out, STYLE_BOLD, page->output.colour);
	buf_printf(out, "  %s file\n", r->origin.format);
	if (has_stacks && (r->origin.unit != UNIT_COUNT || *r->origin.measure))
		buf_printf(&text, "%s", units_format(value, r->origin.unit, s->value));
	if (*r->origin.measure) {
		buf_adds(&text, has_stacks ? " of " : "Events are ");
		text_add_printable(&text, r->origin.measure, strlen(r->origin.measure));
		buf_adds(&text, has_stacks ? "" : ". ");
	}
	if (s->n_samples)
		buf_printf(&text, "%s%s samples", text.n ? " in " : "",
			units_format(samples, UNIT_COUNT, (double)s->n_samples));
	if (has_stacks)
		buf_printf(&text, ", %zu %s. ", s->n_threads,
			s->n_threads == 1 ? "thread" : "threads");
	if (*r->origin.note) {
		text_add_printable(&text, r->origin.note, strlen(r->origin.note));
		buf_adds(&text, ". ");
	}
	buf_adds(&text,
		"What the program is bound by, CPU time and the GIL are not known from such a "
		"file.");
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out, buf_str(&text), 0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
	buf_done(&text);
}

static void print_lines(const struct result *r, const struct result_page *page,
	const struct profile_view *v, struct buf *out)
{
	if (r->exact_lines) {
		(r->exact_lines->is_timed ? exact_print_lines : counts_print_lines)(
			r->exact_lines, r->texts, v, out);
		return;
	}
	if (r->exact) /* calls were counted, lines were not */
		return;
	if (page->source && r->texts && profile_print_source(r->profile, r->texts, v, out))
		return;
	profile_print_lines(r->profile, r->texts, v, out);
	if (page->source && r->profile->n_lines)
		style_add(out, STYLE_DIM, v->colour, "Without source: %s.\n",
			texts_note(r->texts, r->profile->lines[0].file));
}

static void print_legend(const struct result_page *page, struct buf *out)
{
	style_begin(out, STYLE_DIM, page->output.colour);
	style_wrap(out,
		page->ci ? "self: in the function's own code; total: with what it calls; 95 %: the "
			   "interval the true share lies in, of all sampled time"
			 : "self: in the function's own code; total: with what it calls; ±: 95 % "
			   "interval; shares are of all sampled time",
		0, page->output.width);
	style_end(out, STYLE_DIM, page->output.colour);
}

static void print_regions(const struct result *r, const struct profile_view *v, struct buf *out)
{
	regions_print(r->regions, r->usage->wall_s, v, out);
	if (r->training)
		training_print(r->training, v, out);
}

static void print_profile(const struct result *r, const struct result_page *page, struct buf *out)
{
	char folder[4096];
	struct profile_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.legend = page->legend,
		.ci = page->ci,
		.limit = page->limit,
		.probes = r->probes,
		.what = page->what ? page->what : "",
		.folder = getcwd(folder, sizeof folder) ? folder : NULL };
	struct profile_view tree = v;

	tree.limit = page->tree_limit;
	if (page->functions && r->exact)
		exact_print_functions(r->exact, r->profile, r->order_words, page->raw, &v, out);
	else if (page->functions && !r->exact_lines)
		profile_print_functions(r->profile, &v, out);
	if (page->lines)
		print_lines(r, page, &v, out);
	if (page->lines && r->opcodes)
		counts_print_opcodes(r->opcodes, &v, out);
	if (r->tree)
		profile_print_tree(r->tree, r->stacks, r->profile, &tree, out);
	for (size_t i = 0; i < r->callers.n; i++)
		profile_print_callers(r->callers.v[i], r->stacks, r->profile, &v, out);
	for (size_t i = 0; i < r->callees.n; i++)
		profile_print_callees(r->callees.v[i], r->stacks, r->profile, &v, out);
	for (size_t i = 0; i < r->n_bytecode; i++)
		bytecode_print(&r->bytecode[i], r->profile, r->texts, page->stack, &v, out);
	if (page->arguments)
		arguments_print(r->arguments, &v, out);
	if (page->regions)
		print_regions(r, &v, out);
	if (page->threads)
		profile_print_threads(r->stacks, &v, page->idle, out);
	if (r->tasks)
		tasks_print(r->tasks, r->stacks, &v, out);
	profile_print_idle(r->stacks, &v, out);
	if (r->exact && !r->origin.is_foreign)
		exact_print_fidelity(r->exact, &v, out);
	exact_print_excluded(r->fidelity.excluded, &v, out);
	if (units_is_known(r->fidelity.timeline_events))
		print_timeline(r, page, out);
	if (!r->origin.is_foreign && *r->fidelity.engine)
		print_fidelity(r, page, out);
	if (page->legend && (page->functions || page->lines) && !r->exact && !r->exact_lines)
		print_legend(page, out);
	profile_print_endings(r->endings, r->n_endings, r->stacks, &v, out);
}

/* Where nothing was sampled or counted: a program too short for that, or a file that has memory over time, and calls that took it. */
static void print_regions_alone(
	const struct result *r, const struct result_page *page, struct buf *out)
{
	struct profile_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.limit = page->limit,
		.what = "" };

	if (r->regions->n)
		print_regions(r, &v, out);
}

void result_print(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct usage_view v = { .width = page->output.width,
		.colour = page->output.colour,
		.tree = page->processes,
		.legend = page->legend };

	if (page->line_profiler && r->exact_lines) {
		exact_print_line_profiler(r->exact_lines, r->texts, 1e-6, out);
		return;
	}
	if (r->origin.is_foreign)
		print_origin(r, page, out);
	if (r->origin.is_foreign && r->usage->n_ticks)
		usage_print_memory(r->usage, &v, out);
	else if (!r->origin.is_foreign && (page->host || !r->profile))
		usage_print(r->usage, &r->bound, &v, out);
	else if (!r->origin.is_foreign)
		usage_print_head(r->usage, &r->bound, &v, out);
	if (r->profile)
		print_profile(r, page, out);
	else
		print_regions_alone(r, page, out);
}

void result_print_pprof(
	const struct result *r, bool with_lines, size_t limit, const char *state, struct buf *out)
{
	struct arena a = ARENA_INIT;
	struct by_name rows = by_name_build(&a, r->stacks, with_lines);
	bool is_foreign = r->origin.is_foreign;
	struct pprof_text p = { .program = r->usage->command,
		.type = !is_foreign          ? state
			: *r->origin.measure ? r->origin.measure
					     : profile_unit(r->origin.unit),
		.unit = r->origin.unit,
		.begun_ns = is_foreign ? 0 : r->reader->begun_realtime_ns,
		.limit = limit };
	double longest_s = 0;

	for (size_t i = 0; p.unit == UNIT_SECONDS && i < r->stacks->n_threads; i++)
		longest_s = fmax(longest_s, r->stacks->threads[i].all);
	p.duration_ns = (uint64_t)llround(longest_s * 1e9);
	pprof_text_print(&p, &rows, out);
	arena_done(&a);
}

static void write_rows(const struct result *r, struct json_writer *w)
{
	total_json(r->profile->unit, r->profile->value, w);
	if (r->exact)
		trace_json(r->exact, w);
	if (r->exact || !r->exact_lines) {
		json_key(w, "functions");
		functions_json_rows(r->profile, r->exact, r->stacks->frames,
			&(struct json_rows){ .n = r->profile->n_functions, .details = true }, w);
	}
	if (r->exact_lines || !r->exact)
		json_key(w, "lines");
	if (r->exact_lines)
		counted_lines_json_rows(r->exact_lines, SIZE_MAX, w);
	else if (!r->exact)
		lines_json_rows(r->profile, 0, r->profile->n_lines, w);
	if (r->opcodes)
		opcodes_json(r->opcodes, w);
}

static void write_profile(
	const struct result *r, const struct result_page *page, struct json_writer *w)
{
	const struct frames *f = r->stacks->frames;

	fidelity_json(&r->fidelity, w);
	idle_json(r->stacks, w);
	write_rows(r, w);
	probes_json(r->probes, w);
	endings_json(r->endings, r->n_endings, r->stacks, w);
	if (page && page->threads)
		threads_json(r->stacks, w);
	if (r->arguments->n)
		arguments_json(r->arguments, w);
	if (r->tasks)
		tasks_json(r->tasks, r->stacks, w);
	if (r->tree)
		tree_json(r->tree, r->stacks, w);
	if (r->bytecode)
		bytecode_json(r->bytecode, r->n_bytecode, w);
	if (r->callers.n)
		neighbours_json("callers", r->callers.v, r->callers.n, true, f, w);
	if (r->callees.n)
		neighbours_json("callees", r->callees.v, r->callees.n, false, f, w);
}

void result_json_page(const struct result *r, const struct result_page *page, struct buf *out)
{
	struct json_writer w;

	json_page_begin(&w, out);
	if (*r->damage)
		json_kv_string(&w, "damage", r->damage);
	usage_json(r->usage, &r->bound, &w);
	if (r->training)
		training_json(r->training, &w);
	if (r->regions->n)
		regions_json(r->regions, &w);
	if (r->profile)
		write_profile(r, page, &w);
	json_page_end(&w);
}

void result_json(const struct result *r, struct buf *out)
{
	result_json_page(r, NULL, out);
}
