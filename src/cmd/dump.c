/* SPDX-License-Identifier: MIT
 * leadline dump: what running programs do right now. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analyze/samples/snapshots.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/peers.h"
#include "collect/samples/dump.h"
#include "json/dump.h"
#include "json/values.h"
#include "sys/proc.h"
#include "sys/tree.h"
#include "view/samples/dump.h"
#include "base/banned.h"

struct options {
	bool locals, json, tree;
	const char *pid, *root;
	int color;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'l',
		.name = "locals",
		.kind = OPT_FLAG,
		.help = "show the local variables of each frame",
		.offset = FIELD(locals) },
	{ .letter = 't',
		.name = "tree",
		.kind = OPT_FLAG,
		.help = "also show the descendants of each process",
		.offset = FIELD(tree) },
	{ .letter = 's',
		.name = "subprocesses",
		.kind = OPT_FLAG,
		.help = "same as --tree",
		.offset = FIELD(tree) },
	{ .letter = 'p',
		.name = "pid",
		.kind = OPT_STRING,
		.value = "PID",
		.help = "the process to show, instead of an argument",
		.offset = FIELD(pid) },
	{ .name = "root",
		.kind = OPT_STRING,
		.value = "FOLDER",
		.help = "where a core file's program and libraries are, if not in /",
		.offset = FIELD(root) },
	{ .letter = 'j',
		.name = "json",
		.kind = OPT_FLAG,
		.help = "print JSON",
		.offset = FIELD(json) },
	{ .name = "color",
		.kind = OPT_CHOICE,
		.value = "WHEN",
		.help = "when to use colours",
		.offset = FIELD(color),
		.choices = color_choices },
	PEERS_OF_STACKS,
	PEER("gil", OPT_INSTEAD, "leave it out: the thread that holds the GIL is marked"),
};

struct dump { /* one run of the command */
	const struct command *self;
	const struct options *o;
	struct arena arena;
	VEC(pid_t) pids;
	VEC(const char *) cores; /* names of core files */
	VEC(const struct snapshot *) found;
	VEC(char *) failures; /* one line each, in the arena */
	int status;           /* of the first failure */
};

static int add_pid(struct dump *d, const char *text, struct err *e)
{
	uint64_t v;

	if (!text_parse_u64(text, &v) || v == 0 || v > INT32_MAX)
		return err_set(e, ERR_USAGE, "'%s' is not a process id%s", text,
			access(text, F_OK) == 0 ? "" : ", and there is no core file of that name");
	vec_each (&d->pids, known)
		if (*known == (pid_t)v)
			return 0;
	vec_push(&d->pids, (pid_t)v);
	return 0;
}

/* A number is a process, even where a file is called so (./4711 is the file). */
static void add_operand(struct dump *d, const char *text, struct err *e)
{
	if (text[strspn(text, "0123456789")] && access(text, F_OK) == 0)
		vec_push(&d->cores, text);
	else
		add_pid(d, text, e);
}

static void fail(struct dump *d, const struct err *e)
{
	int status = command_fail(d->self, e);

	vec_push(&d->failures, arena_strdup(&d->arena, e->text));
	if (!d->status)
		d->status = status;
}

/* true: it is in `found`. Without may_fail a process that is no Python is passed over. */
static bool look(struct dump *d, pid_t pid, bool may_fail)
{
	struct py_dump_options o = { .locals = d->o->locals };
	const struct snapshot *s;
	struct err e = ERR_INIT;

	if (py_dump(&d->arena, pid, &o, &s, &e) < 0) {
		if (may_fail || (e.code != ERR_NOT_PYTHON && e.code != ERR_NO_PROCESS))
			fail(d, &e);
		return false;
	}
	vec_push(&d->found, s);
	return true;
}

static void look_at_core(struct dump *d, const char *path)
{
	struct py_dump_options o = { .locals = d->o->locals, .root = d->o->root };
	const struct snapshot *s;
	struct err e = ERR_INIT;

	if (py_dump_core(&d->arena, path, &o, &s, &e) < 0)
		fail(d, &e);
	else
		vec_push(&d->found, s);
}

/* The process and its descendants, as they are now. */
static void look_at_tree(struct dump *d, pid_t pid)
{
	struct tree_options o = { .no_connector = true, .is_running = true };
	const struct tree_process *all;
	struct err e = ERR_INIT;
	struct tree *tree = NULL;
	size_t n = 0, n_found = d->found.n;

	if (tree_open(&tree, &o, &e) < 0) {
		fail(d, &e);
		return;
	}
	tree_add_root(tree, pid, 0);
	all = tree_processes(tree, &n);
	for (size_t i = 0; i < n; i++)
		if (all[i].is_alive)
			look(d, all[i].pid, false);
	tree_close(tree);
	if (d->found.n == n_found && !d->status)
		look(d, pid, true); /* says why not */
}

static void show(struct dump *d)
{
	struct output output = output_for(STDOUT_FILENO, d->o->color);
	const struct snapshots *s = snapshots_build(&d->arena, d->found.v, d->found.n);
	struct dump_view view = { .width = output.width, .colour = output.colour };
	struct buf text = BUF_INIT;
	struct json_writer w;

	if (d->o->json) {
		json_page_begin(&w, &text);
		dump_json(s, (const char *const *)d->failures.v, d->failures.n, &w);
		json_page_end(&w);
	} else if (s->n) {
		dump_print(s, &view, &text);
	}
	if (text.n && output_write(STDOUT_FILENO, &text) != 0 && !d->status)
		d->status = 1;
	buf_done(&text);
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct dump d = { .self = self, .o = &o };
	struct err e = ERR_INIT;
	int first = 0;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	if (o.pid)
		add_pid(&d, o.pid, &e);
	for (int i = first; i < argc && !e.code; i++)
		add_operand(&d, argv[i], &e);
	if (!e.code && !d.pids.n && !d.cores.n)
		err_set(&e, ERR_USAGE, "which process? For example: leadline dump 4711");
	if (e.code) {
		d.status = command_fail(self, &e);
	} else {
		vec_each (&d.pids, p)
			if (o.tree)
				look_at_tree(&d, *p);
			else
				look(&d, *p, true);
		vec_each (&d.cores, path)
			look_at_core(&d, *path);
		show(&d);
	}
	vec_done(&d.pids);
	vec_done(&d.cores);
	vec_done(&d.found);
	vec_done(&d.failures);
	arena_done(&d.arena);
	return d.status;
}

const struct command command_dump = {
	.group = "where",
	.name = "dump",
	.arguments = "[options] PID… | CORE…",
	.summary = "Show what running programs are doing right now: every thread and task",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline dump 4711\n"
		    "  leadline dump --locals 4711\n"
		    "  leadline dump core.4711                 what it was doing when it died\n"
		    "  leadline dump --tree $(pgrep -o torchrun)\n",
	.run = run,
};
