/* SPDX-License-Identifier: MIT
 * leadline run: starts a program under the sampler and prints where its time went when it ends. */
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/recording.h"
#include "cmd/result.h"
#include "collect/collector.h"
#include "collect/program.h"
#include "sys/interpreters.h"
#include "base/banned.h"

struct options {
	struct recording_options shared;
	const char *python, *module;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	RECORDING_OUTPUT,
	RECORDING_RATE,
	RECORDING_DURATION,
	{ 'm', "module", OPT_STRING, "MODULE", false, "run a module, as python -m does",
		FIELD(module), SIZE_MAX, NULL },
	{ 0, "python", OPT_STRING, "EXE", false, "the interpreter for a script or module",
		FIELD(python), SIZE_MAX, NULL },
	RECORDING_FORMAT,
	RECORDING_LIMIT,
	RECORDING_JSON(RECORDING_JSON_HELP),
	RECORDING_REPORT,
	RECORDING_COLOR,
	RECORDING_NO_LEGEND,
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

/* What the recording is called after: the module, or the script or program without folder and .py. */
static void stem_of(const struct options *o, const char *first, char *to, size_t size)
{
	const char *base = o->module  ? o->module
		: strrchr(first, '/') ? strrchr(first, '/') + 1
				      : first;
	size_t n = strlen(base);

	if (n > 3 && strcmp(base + n - 3, ".py") == 0)
		n -= 3;
	snprintf(to, size, "%.*s", (int)n, base);
}

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

static int run_and_show(const struct command *self, const struct options *o, char *const *argv,
	const char *stem, double rate_hz)
{
	static const struct stacks_options all = { 0 };
	struct program_options p = { .argv = argv,
		.collectors = collectors,
		.n_collectors = n_collectors,
		.rate_hz = rate_hz,
		.duration_ns = o->shared.duration_ns,
		.stdout_to_stderr = recording_json_on_stdout(&o->shared) };
	struct result_page page = { .functions = true,
		.lines = true,
		.legend = !o->shared.no_legend,
		.limit = o->shared.limit };
	struct program_result result;
	struct err e = ERR_INIT, closing = ERR_INIT;
	struct recording r;
	char note[200];

	if (recording_open(&r, &o->shared, stem, getpid(), &e) < 0)
		return command_fail(self, &e);
	if (program_run(&p, r.writer, &result, &e) < 0) {
		recording_discard(&r);
		return command_fail(self, &e);
	}
	if (recording_close(&r, &closing) < 0)
		fprintf(stderr, "leadline: %s; the report tells what was recorded until then\n",
			closing.text);
	if (result.end == PROGRAM_INTERRUPTED)
		signal(SIGINT, SIG_IGN); /* pressed twice: the report still comes */
	note_early_end(&result, note, sizeof note);
	if (recording_show(&r, &o->shared, page, &all, note, &e) < 0)
		command_fail(self, &e);
	return program_exit_status(result.status);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { .shared.limit = 10 };
	struct err e = ERR_INIT;
	char python[4096], stem[4096];
	words command = VEC_INIT;
	double rate_hz = 0;
	int ours = our_words(argc, argv), first, status;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, ours, argv,
		    true, &first, &e) < 0)
		return command_fail(self, &e);
	if (first >= argc && !o.module)
		err_set(&e, ERR_USAGE, "which program? For example: leadline run script.py");
	else if (recording_rate(o.shared.rate, &rate_hz, &e) == 0)
		make_command(&o, argv + first, python, sizeof python, &command, &e);
	if (e.code) {
		vec_done(&command);
		return command_fail(self, &e);
	}
	stem_of(&o, first < argc ? argv[first] : "", stem, sizeof stem);
	status = run_and_show(self, &o, command.v, stem, rate_hz);
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
