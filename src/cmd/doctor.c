/* SPDX-License-Identifier: MIT
 *
 * leadline doctor: what works on this machine and what to do about the rest. Asks the checks
 * (collect/doctor/checks.h), the interpreters (sys/interpreters.h) and the collectors, draws the verdict
 * whether `run` will work, and hands all to view/host/doctor. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/host/doctor.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/build_agent.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "collect/agents/agents.h"
#include "collect/doctor/checks.h"
#include "json/doctor.h"
#include "json/values.h"
#include "sys/interpreters.h"
#include "sys/private_dir.h"
#include "view/host/doctor.h"
#include "base/banned.h"

struct doctor_options {
	bool json, no_legend;
	const char *build_agent;
	int color;
};

static const struct opt options[] = {
	{
		.name = "build-agent",
		.kind = OPT_STRING,
		.value = "PYTHON",
		.help = "build the tracing agent for this interpreter, where leadline has none",
		.offset = offsetof(struct doctor_options, build_agent),
	},
	{
		.name = "json",
		.kind = OPT_FLAG,
		.help = "print JSON: ok, checks, interpreters, collectors",
		.offset = offsetof(struct doctor_options, json),
	},
	{
		.name = "color",
		.kind = OPT_CHOICE,
		.value = "WHEN",
		.help = "when to use colours",
		.offset = offsetof(struct doctor_options, color),
		.choices = color_choices,
	},
	{
		.name = "no-legend",
		.kind = OPT_FLAG,
		.help = "omit the legend",
		.offset = offsetof(struct doctor_options, no_legend),
	},
};

static enum doctor_answer to_answer(enum probe_answer a)
{
	switch (a) {
	case PROBE_YES:
		return DOCTOR_YES;
	case PROBE_PARTLY:
		return DOCTOR_PARTLY;
	case PROBE_NO:
		return DOCTOR_NO;
	}
	return DOCTOR_NO;
}

static void ask_checks(struct arena *a, struct doctor *d)
{
	struct doctor_check *rows = arena_new_n(a, struct doctor_check, n_checks);

	for (size_t i = 0; i < n_checks; i++) {
		struct probe *said = arena_new(a, struct probe);

		check_run(&checks[i], said);
		rows[i] = (struct doctor_check){ checks[i].id, checks[i].title,
			checks[i].needed_for, to_answer(said->answer), said->reason, said->remedy };
	}
	d->checks = rows;
	d->n_checks = n_checks;
}

static void ask_collectors(struct arena *a, struct doctor *d)
{
	struct doctor_collector *rows = arena_new_n(a, struct doctor_collector, n_collectors);

	for (size_t i = 0; i < n_collectors; i++) {
		struct probe *said = arena_new(a, struct probe);

		collectors[i]->probe(said);
		rows[i] = (struct doctor_collector){ collectors[i]->name, collectors[i]->sees,
			to_answer(said->answer), said->reason, said->remedy };
	}
	d->collectors = rows;
	d->n_collectors = n_collectors;
}

static const char *propose(struct arena *a, char *const argv[])
{
	struct buf line = BUF_INIT;
	const char *text;

	text_add_command(&line, argv);
	text = arena_strdup(a, buf_str(&line));
	buf_done(&line);
	return text;
}

/* Whether it loads the agent there is for it, tried in a process of its own; it was run before, and has answered. */
static bool has_agent(
	struct arena *a, const struct interpreter *it, const char *dir, const char **ret_no_agent)
{
	char tag[AGENTS_TAG];
	struct err e = ERR_INIT;

	*ret_no_agent = "";
	snprintf(
		tag, sizeof tag, "cp%u%u%s", it->major, it->minor, it->is_free_threaded ? "t" : "");
	if (!it->is_supported || !agents_has(tag))
		return false;
	if (!dir)
		return true; /* nowhere to lay it: `run` will say so */
	if (agents_save(tag, dir, &e) < 0 ||
		build_agent_try(it->path, arena_printf(a, "%s/agents/%s.so", dir, tag), &e) < 0)
		*ret_no_agent = arena_strdup(a, e.text);
	return !e.code;
}

static void take_interpreters(struct arena *a, const struct interpreters *all, struct doctor *d)
{
	struct doctor_interpreter *rows = arena_new_n(a, struct doctor_interpreter, all->n);
	struct private_dir dir = { 0 };
	struct err e = ERR_INIT;
	bool has_dir = private_dir_make(&dir, PRIVATE_SMALL, sizeof dir.path, &e) == 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct interpreter *it = &all->v[i];

		rows[i] = (struct doctor_interpreter){ it->path, it->version, it->implementation,
			it->is_free_threaded, it->is_supported, it->reason, it->chosen_by, false,
			"", "", it->torch };
		rows[i].has_agent = has_agent(a, it, has_dir ? dir.path : NULL, &rows[i].no_agent);
		if (it->is_supported && !rows[i].has_agent)
			rows[i].remedy = propose(a,
				(char *const[]){ (char *)"leadline", (char *)"doctor",
					(char *)"--build-agent", it->path, NULL });
	}
	if (has_dir)
		private_dir_remove(&dir);
	d->interpreters = rows;
	d->n_interpreters = all->n;
	d->n_left_out = all->n_left_out;
}

static const struct doctor_check *find_check(const struct doctor *d, const char *id)
{
	for (size_t i = 0; i < d->n_checks; i++)
		if (strcmp(d->checks[i].id, id) == 0)
			return &d->checks[i];
	return NULL;
}

static const struct interpreter *find_supported(const struct interpreters *all)
{
	for (size_t i = 0; i < all->n; i++)
		if (all->v[i].is_supported)
			return &all->v[i];
	return NULL;
}

/* `run` works by default where it can read the memory of what it starts, and the interpreter it
 * takes is one it knows. */
static void judge(struct arena *a, const struct interpreters *all, struct doctor *d)
{
	const struct doctor_check *memory = find_check(d, "remote-memory");
	const struct interpreter *taken = interpreters_default(all), *other = find_supported(all);

	d->remedy = "";
	if (memory && memory->answer == DOCTOR_NO) {
		d->verdict = arena_printf(
			a, "`leadline run` will not work here because %s", memory->reason);
		d->remedy = memory->remedy;
		return;
	}
	if (taken && taken->is_supported) {
		d->is_ok = true;
		d->verdict = arena_printf(a, "`leadline run` will work here, with %s %s%s",
			taken->implementation, taken->version, taken->is_free_threaded ? "t" : "");
		return;
	}
	if (taken)
		d->verdict = arena_printf(a, "`leadline run` will not work here because of %s: %s",
			taken->path, taken->reason);
	else
		d->verdict =
			"`leadline run` will not work here because there is no python3 on the PATH";
	if (other)
		d->remedy = propose(a,
			(char *const[]){ (char *)"leadline", (char *)"run", (char *)"--python",
				other->path, (char *)"script.py", NULL });
	else
		d->remedy = "install CPython 3.8 or newer, or put its folder on the PATH";
}

static int show(const struct doctor *d, const struct doctor_options *o)
{
	struct output to = output_for(STDOUT_FILENO, o->color);
	struct doctor_view view = {
		.width = to.width,
		.colour = to.colour,
		.legend = !o->no_legend,
	};
	struct buf text = BUF_INIT;
	struct json_writer w;
	int status;

	if (o->json) {
		json_page_begin(&w, &text);
		doctor_json(d, &w);
		json_page_end(&w);
	} else {
		doctor_print(d, &view, &text);
	}
	status = output_write(STDOUT_FILENO, &text);
	buf_done(&text);
	return status;
}

static int build(const struct command *self, const char *python)
{
	struct buf said = BUF_INIT;
	struct err e = ERR_INIT;
	int status = build_agent(python, &said, &e) < 0 ? command_fail(self, &e)
							: output_write(STDOUT_FILENO, &said);

	buf_done(&said);
	return status;
}

static int run_doctor(const struct command *self, int argc, char **argv)
{
	struct doctor_options o = { .color = COLOR_AUTO };
	struct interpreter_places places;
	struct interpreters all;
	struct doctor d = { 0 };
	struct arena a = ARENA_INIT;
	struct err e = ERR_INIT;
	char own_folder[4096];
	int first, status;

	if (opts_parse(options, sizeof options / sizeof *options, &o, argc, argv, false, &first,
		    &e) < 0)
		return command_fail(self, &e);
	if (first < argc) {
		err_set(&e, ERR_USAGE, "%s: takes no arguments, not '%.60s'", argv[0], argv[first]);
		return command_fail(self, &e);
	}
	if (o.build_agent)
		return build(self, o.build_agent);
	places = interpreter_places_read(own_folder, sizeof own_folder);
	interpreters_find(&all, &places);
	ask_checks(&a, &d);
	ask_collectors(&a, &d);
	take_interpreters(&a, &all, &d);
	judge(&a, &all, &d);
	status = show(&d, &o);
	interpreters_done(&all);
	if (status == 0 && !d.is_ok)
		status = 1;
	arena_done(&a);
	return status;
}

const struct command command_doctor = {
	.group = "help",
	.name = "doctor",
	.arguments = "[options]",
	.summary = "Check what works on this machine, and how to fix the rest",
	.options = options,
	.n_options = sizeof options / sizeof *options,
	.examples = "  leadline doctor\n"
		    "  leadline doctor --build-agent python3.13\n"
		    "  leadline doctor --json | jq '.checks[] | select(.answer != \"yes\")'\n",
	.run = run_doctor,
};
