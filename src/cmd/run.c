/* SPDX-License-Identifier: MIT
 * leadline run: starts a program under the sampler and prints where its time went when it ends. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/result.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "store/writer.h"
#include "sys/interpreters.h"
#include "base/banned.h"

struct options {
	const char *output, *report, *json, *python, *module, *rate;
	bool has_json, no_legend;
	uint64_t limit;
	int color;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ 'o', "output", OPT_STRING, "FILE", false, "name the recording (else NAME.lead)",
		FIELD(output), SIZE_MAX, NULL },
	{ 'r', "rate", OPT_STRING, "HZ", false, "samples per second: 2000, 10k or max (else 1000)",
		FIELD(rate), SIZE_MAX, NULL },
	{ 'm', "module", OPT_STRING, "MODULE", false, "run a module, as python -m does",
		FIELD(module), SIZE_MAX, NULL },
	{ 0, "python", OPT_STRING, "EXE", false, "the interpreter for a script or module",
		FIELD(python), SIZE_MAX, NULL },
	{ 'n', "limit", OPT_U64, "N", false, "rows of each table (else 10; 0: all)", FIELD(limit),
		SIZE_MAX, NULL },
	{ 0, "json", OPT_STRING, "FILE", true,
		"write JSON to FILE, or last on stdout (the program's own stdout then goes to "
		"stderr)",
		FIELD(json), FIELD(has_json), NULL },
	{ 0, "report", OPT_STRING, "FILE", false, "write the report to FILE instead of stderr",
		FIELD(report), SIZE_MAX, NULL },
	{ 0, "color", OPT_CHOICE, "WHEN", false, "when to use colours", FIELD(color), SIZE_MAX,
		color_choices },
	{ 0, "no-legend", OPT_FLAG, NULL, false, "leave out the line that explains",
		FIELD(no_legend), SIZE_MAX, NULL },
};

/* ---- what to run ----------------------------------------------------------------------------- */

typedef VEC(char *) words;

static bool is_script(const char *name)
{
	size_t n = strlen(name);
	struct stat st;

	if (n > 3 && strcmp(name + n - 3, ".py") == 0)
		return true;
	return strchr(name, '/') && stat(name, &st) == 0 && S_ISREG(st.st_mode) &&
		access(name, X_OK) != 0;
}

/* The command to start: the interpreter is put before a script or module; the choice is printed. */
static int make_command(const struct options *o, char **operands, char *room, size_t room_bytes,
	words *ret, struct err *e)
{
	static char minus_m[] = "-m";
	char own[4096];
	struct interpreter_places places = interpreter_places_read(own, sizeof own);
	const char *why = "--python";

	if (o->module || is_script(operands[0])) {
		if (o->python)
			snprintf(room, room_bytes, "%s", o->python);
		else if (!interpreter_choose(&places, room, room_bytes, &why))
			return err_set(
				e, ERR_NOT_FOUND, "no python3 found; name one with --python");
		fprintf(stderr, "leadline: %s (%s)\n", room, why);
		vec_push(ret, room);
	}
	if (o->module) {
		vec_push(ret, minus_m);
		vec_push(ret, (char *)o->module);
	}
	for (; *operands; operands++)
		vec_push(ret, *operands);
	vec_push(ret, NULL);
	return 0;
}

/* Whether this word is an option of ours whose value is the next word. */
static bool takes_next(const char *word)
{
	for (size_t i = 0; i < sizeof options_table / sizeof *options_table; i++) {
		const struct opt *o = &options_table[i];

		if (o->kind == OPT_FLAG || o->optional_value)
			continue;
		if ((o->letter && word[0] == '-' && word[1] == o->letter && !word[2]) ||
			(word[0] == '-' && word[1] == '-' && strcmp(word + 2, o->name) == 0))
			return true;
	}
	return false;
}

/* As for Python, what stands behind -m MODULE is the module's own. Returns how many words are ours. */
static int our_words(int argc, char **argv)
{
	for (int i = 1; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
		bool is_module = strcmp(argv[i], "-m") == 0 || strcmp(argv[i], "--module") == 0;

		if (is_module)
			return i + 2 < argc ? i + 2 : argc;
		i += takes_next(argv[i]);
	}
	return argc;
}

static bool parse_rate(const char *text, double *ret)
{
	uint64_t v;

	if (!text)
		*ret = 1000;
	else if (strcmp(text, "max") == 0)
		*ret = 0;
	else if (text_parse_u64(text, &v) && v > 0 && v <= 1000000)
		*ret = (double)v;
	else
		return false;
	return true;
}

/* NAME.lead, or NAME.2.lead … when it is there already. */
static void default_name(const struct options *o, const char *first, char *to, size_t size)
{
	const char *base = o->module  ? o->module
		: strrchr(first, '/') ? strrchr(first, '/') + 1
				      : first;
	size_t n = strlen(base);

	if (n > 3 && strcmp(base + n - 3, ".py") == 0)
		n -= 3;
	snprintf(to, size, "%.*s.lead", (int)n, base);
	for (int i = 2; access(to, F_OK) == 0 && i < 10000; i++)
		snprintf(to, size, "%.*s.%d.lead", (int)n, base, i);
}

/* ---- the command ----------------------------------------------------------------------------- */

static int show(const struct options *o, const char *path, struct err *e)
{
	static const struct stacks_options all = { 0 };
	struct result_page page = { .output = output_for(STDERR_FILENO, o->color),
		.functions = true,
		.lines = true,
		.legend = !o->no_legend,
		.limit = o->limit };
	struct buf text = BUF_INIT, json = BUF_INIT;
	struct result r;
	int status = result_open(&r, path, &all, e);

	if (o->report)
		page.output = (struct output){ .width = 80 };
	if (status == 0) {
		if (!o->report)
			buf_addc(&text, '\n');
		result_print(&r, &page, &text);
		if (!r.profile)
			buf_adds(&text,
				"No Python stacks were seen: no CPython 3.11 to 3.13 ran, or not "
				"long enough.\n");
		buf_printf(&text, "Recording: %s   more: leadline report %s --lines --limit 40\n",
			path, path);
		result_json(&r, &json);
	}
	result_done(&r);
	if (status == 0 && o->report)
		status = buf_save(&text, o->report, e);
	else if (status == 0 && !(o->has_json && !o->json))
		output_write(STDERR_FILENO, &text);
	if (status == 0 && o->has_json && o->json)
		status = buf_save(&json, o->json, e);
	else if (status == 0 && o->has_json)
		output_write(STDOUT_FILENO, &json);
	buf_done(&text);
	buf_done(&json);
	return status;
}

static int run_and_show(const struct command *self, const struct options *o, char *const *argv,
	const char *path, double rate_hz)
{
	struct program_options p = { .argv = argv,
		.collectors = collectors,
		.n_collectors = n_collectors,
		.rate_hz = rate_hz,
		.stdout_to_stderr = o->has_json && !o->json };
	struct program_result result;
	struct writer *w;
	struct err e = ERR_INIT, closing = ERR_INIT;
	int status;

	if (writer_open(&w, path, NULL, &e) < 0)
		return command_fail(self, &e);
	status = program_run(&p, w, &result, &e);
	if (writer_close(w, &closing) < 0 && status == 0)
		fprintf(stderr, "leadline: %s; the report tells what was recorded until then\n",
			closing.text);
	if (status < 0) {
		unlink(path);
		return command_fail(self, &e);
	}
	if (show(o, path, &e) < 0)
		command_fail(self, &e);
	return program_exit_status(result.status);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .limit = 10 };
	struct err e = ERR_INIT;
	char python[4096], name[4096];
	words command = VEC_INIT;
	double rate_hz = 0;
	int ours = our_words(argc, argv), first, status;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, ours, argv,
		    true, &first, &e) < 0)
		return command_fail(self, &e);
	if (first >= argc && !o.module)
		err_set(&e, ERR_USAGE, "which program? For example: leadline run script.py");
	else if (!parse_rate(o.rate, &rate_hz))
		err_set(&e, ERR_USAGE,
			"--rate wants a number of samples per second such as 2000 or 10k, or max, "
			"not '%s'",
			o.rate);
	if (e.code || make_command(&o, argv + first, python, sizeof python, &command, &e) < 0) {
		vec_done(&command);
		return command_fail(self, &e);
	}
	default_name(&o, first < argc ? argv[first] : "", name, sizeof name);
	status = run_and_show(self, &o, command.v, o.output ? o.output : name, rate_hz);
	vec_done(&command);
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
		    "  leadline run -m timeit -n 5 'sorted(range(100000))'\n",
	.run = run,
};
