/* SPDX-License-Identifier: MIT
 * leadline view: shows recordings as a page in a browser. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "cmd/command.h"
#include "cmd/commands.h"
#include "cmd/folder.h"
#include "cmd/redirect.h"
#include "cmd/result.h"
#include "serve/library.h"
#include "serve/onefile.h"
#include "serve/http/server.h"
#include "analyze/torch/results.h"
#include "base/banned.h"

extern char **environ;

struct options {
	const char *output, *max_size, *editor;
	bool no_browser, has_port, force;
	uint64_t port;
	const char *unix_path;
	struct opt_list allow_hosts;
};

#define FIELD(f) offsetof(struct options, f)

static const struct opt options_table[] = {
	{ .letter = 'o',
		.name = "output",
		.kind = OPT_STRING,
		.value = "FILE",
		.help = "write the page as one self-contained HTML file (-: standard output)",
		.offset = FIELD(output) },
	OUTPUT_FORCE(FIELD(force)),
	{ .name = "max-size",
		.kind = OPT_STRING,
		.value = "SIZE",
		.help = "size limit of that file: 500KB, 20MB (default: 5MB); what does not fit is left out",
		.offset = FIELD(max_size) },
	{ .name = "editor",
		.kind = OPT_STRING,
		.value = "NAME",
		.help = "link source lines to an editor: vscode, vscodium, cursor, zed, pycharm, idea, sublime, or a URL with {file} and {line} in it",
		.offset = FIELD(editor) },
	{ .name = "no-browser",
		.kind = OPT_FLAG,
		.help = "only print the address",
		.offset = FIELD(no_browser) },
	{ .name = "port",
		.kind = OPT_U64,
		.value = "N",
		.help = "listen on this port of 127.0.0.1 (default: a free one)",
		.offset = FIELD(port),
		.given_offset = FIELD(has_port) },
	{ .name = "unix",
		.kind = OPT_STRING,
		.value = "SOCKET",
		.help = "listen on this Unix socket instead",
		.offset = FIELD(unix_path) },
	{ .name = "allow-host",
		.kind = OPT_LIST,
		.value = "NAME",
		.help = "also answer to this host name, for a proxy in front; may be repeated",
		.offset = FIELD(allow_hosts) },
};

enum { FOLDER_FILES = 100, MAX_SIZE = 5000000, LARGEST = 1000000000 };

/* ---- recordings ------------------------------------------------------------------------------ */

static int open_one(struct library *l, const char *path, struct err *e)
{
	size_t n = l->recordings.n;

	if (library_open(l, path, e) < 0)
		return -(int)e->code;
	if (l->recordings.n == n) {
		command_tell_missing(path, l->results.v[l->results.n - 1].damage);
		return 0;
	}
	command_tell_missing(path, recording_damage(l->recordings.v[n]));
	return 0;
}

static int open_folder(struct library *l, const char *path, struct err *e)
{
	struct arena a = ARENA_INIT;
	struct folder folder;
	int status = folder_list(&a, path, false, &folder, e);

	if (status == 0 && folder.n > FOLDER_FILES)
		status = err_set(e, ERR_USAGE, "%s: %zu recordings are too many; name at most %d",
			path, folder.n, FOLDER_FILES);
	for (size_t i = 0; status == 0 && i < folder.n; i++)
		status = open_one(l, folder.v[i], e);
	arena_done(&a);
	return status;
}

static int open_all(struct library *l, char **paths, struct err *e)
{
	int status = 0;

	for (; *paths && status == 0; paths++)
		status = folder_is(*paths) ? open_folder(l, *paths, e) : open_one(l, *paths, e);
	return status;
}

/* ---- the editor ------------------------------------------------------------------------------ */

static const struct {
	const char *name, *address;
} editors[] = {
	{ "cursor", "cursor://file{file}:{line}" },
	{ "idea", "idea://open?file={file}&line={line}" },
	{ "pycharm", "pycharm://open?file={file}&line={line}" },
	{ "sublime", "subl://open?url=file://{file}&line={line}" },
	{ "vscode", "vscode://file{file}:{line}" },
	{ "vscodium", "vscodium://file{file}:{line}" },
	{ "zed", "zed://file{file}:{line}" },
};

/* An address of the user's own must not be a script. */
static bool is_address(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789+.-");

	return n && strncmp(text + n, "://", 3) == 0 && strstr(text, "{file}") &&
		strncmp(text, "javascript:", 11) != 0 && strncmp(text, "data:", 5) != 0;
}

static int find_editor(const char *name, const char **ret, struct err *e)
{
	for (size_t i = 0; name && i < sizeof editors / sizeof *editors; i++)
		if (strcmp(editors[i].name, name) == 0) {
			*ret = editors[i].address;
			return 0;
		}
	if (name && !is_address(name))
		return err_set(e, ERR_USAGE,
			"--editor expects cursor, idea, pycharm, sublime, vscode, vscodium, zed, or "
			"a URL such as myeditor://open?file={file}&line={line}, not '%s'",
			name);
	*ret = name;
	return 0;
}

/* ---- the browser ----------------------------------------------------------------------------- */

static bool is_set(const char *name)
{
	const char *value = getenv(name);

	return value && *value;
}

/* Starts it and does not wait: what it prints is not ours to show. Its arguments are there for everyone to read. */
static bool start_browser(const char *url)
{
	const char *named = getenv("BROWSER");
	const char *const openers[] = { named && *named ? named : "xdg-open", "xdg-open",
		"sensible-browser", "www-browser" };
	posix_spawn_file_actions_t actions;
	bool done = false;
	pid_t pid;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	for (size_t i = 0; !done && i < sizeof openers / sizeof *openers; i++) {
		char *argv[] = { (char *)(uintptr_t)openers[i], (char *)(uintptr_t)url, NULL };

		done = posix_spawnp(&pid, openers[i], &actions, NULL, argv, environ) == 0;
	}
	posix_spawn_file_actions_destroy(&actions);
	return done;
}

static bool has_screen(void)
{
	return is_set("DISPLAY") || is_set("WAYLAND_DISPLAY") || is_set("BROWSER");
}

/* The browser would be another system's, which does not have our files: WSL's, an editor's that is connected to here. */
static bool is_browser_elsewhere(void)
{
	return is_set("WSL_DISTRO_NAME") || is_set("REMOTE_CONTAINERS") || is_set("CODESPACES");
}

static bool open_browser(struct server *s, struct redirect *way)
{
	struct err ignored = ERR_INIT;

	if (!has_screen() || is_browser_elsewhere() ||
		redirect_write(way, server_url_once(s), &ignored) < 0)
		return false;
	if (start_browser(way->url))
		return true;
	redirect_remove(way);
	return false;
}

static void on_arrival(void *way)
{
	redirect_remove(way);
}

/* What to type on the machine the user sits at. */
static void tell_forwarding(const struct server *s)
{
	const char *user = getenv("USER"), *connection = getenv("SSH_CONNECTION");
	char server[128] = "THIS-MACHINE";

	/* client address, client port, server address, server port */
	if (connection)
		sscanf(connection, "%*s %*s %127s", server);
	printf("You are connected over SSH. On your own machine, run this and open the address above there:\n"
	       "  ssh -N -L %u:127.0.0.1:%u %s%s%s\n",
		server_port(s), server_port(s), user ? user : "", user ? "@" : "", server);
}

static void tell(struct server *s, const struct options *o, struct redirect *way)
{
	bool is_remote = getenv("SSH_CONNECTION") != NULL;
	/* Elsewhere the path as it was given may mean another one. */
	char *whole = o->unix_path ? realpath(o->unix_path, NULL) : NULL;

	printf("%s\n", server_url(s));
	if (o->unix_path)
		output_line(STDOUT_FILENO,
			"(at the Unix socket %s; a proxy or ssh -L 8000:%s leads there)",
			o->unix_path, whole ? whole : o->unix_path);
	else if (is_remote)
		tell_forwarding(s);
	else if (!o->no_browser && open_browser(s, way))
		printf("A browser was started. If it cannot read %s (browsers from a snap cannot), open the address above in it.\n",
			way->path);
	else if (!o->no_browser)
		printf("No browser could be started here: open the address yourself.\n");
	free(whole);
	printf("Ctrl-C stops it.\n");
	fflush(stdout);
}

/* ---- one file -------------------------------------------------------------------------------- */

static int parse_size(const char *text, uint64_t *ret, struct err *e)
{
	static const struct {
		const char *unit;
		double bytes;
	} units[] = { { "", 1 }, { "B", 1 }, { "KB", 1e3 }, { "MB", 1e6 }, { "GB", 1e9 },
		{ "KiB", 1024 }, { "MiB", 1048576 }, { "GiB", 1073741824 }, { "k", 1e3 },
		{ "M", 1e6 }, { "G", 1e9 } };
	char *end;
	double value = strtod(text, &end);

	for (size_t i = 0; end != text && value > 0 && i < sizeof units / sizeof *units; i++) {
		if (strcasecmp(end, units[i].unit) != 0 || value * units[i].bytes > LARGEST)
			continue;
		*ret = (uint64_t)(value * units[i].bytes);
		return 0;
	}
	return err_set(
		e, ERR_USAGE, "--max-size expects a size such as 5MB, up to 1GB, not '%s'", text);
}

static int write_page(struct library *l, const struct options *o, struct err *e)
{
	struct buf page = BUF_INIT, dropped = BUF_INIT;
	char size[UNITS_TEXT];
	uint64_t most = MAX_SIZE;
	int status = o->max_size ? parse_size(o->max_size, &most, e) : 0;

	if (status == 0)
		status = onefile_make(l, most, &page, &dropped, e);
	if (status == 0 && strcmp(o->output, "-") == 0) {
		status = buf_write(&page, STDOUT_FILENO, e);
		if (status < 0 && e->sys == EPIPE) { /* who reads it has enough */
			status = 0;
			*e = ERR_INIT;
		}
	} else if (status == 0 && (status = outfile_save(&page, o->output, e)) == 0) {
		output_line(STDOUT_FILENO, "%s: %s, opens in any browser", o->output,
			units_format(size, UNIT_BYTES, (double)page.n));
		if (dropped.n)
			output_line(STDOUT_FILENO,
				"Left out to keep it small (the page says so, too):");
		output_write(STDOUT_FILENO, &dropped);
	}
	buf_done(&page);
	buf_done(&dropped);
	return status;
}

/* ---- the command ----------------------------------------------------------------------------- */

static int serve(struct library *l, const struct options *o, struct err *e)
{
	struct redirect way = REDIRECT_INIT;
	struct server_options so = { .unix_path = o->unix_path,
		.port = (uint16_t)o->port,
		.allowed_hosts = o->allow_hosts.v,
		.n_allowed_hosts = o->allow_hosts.n,
		.on_arrival = on_arrival,
		.ctx = &way };
	struct server *s = NULL;

	if (server_open(&s, l, &so, e) < 0)
		return -(int)e->code;
	tell(s, o, &way);
	server_run(s);
	server_close(s);
	redirect_remove(&way);
	return 0;
}

static int run(const struct command *self, int argc, char **argv)
{
	struct options o = { 0 };
	struct library l = LIBRARY_INIT;
	struct err e = ERR_INIT;
	int first;

	if (opts_parse(options_table, sizeof options_table / sizeof *options_table, &o, argc, argv,
		    false, &first, &e) < 0)
		return command_fail(self, &e);
	if (output_may_write(o.output, o.force, &e) < 0)
		return command_fail(self, &e);
	if (argc == first)
		err_set(&e, ERR_USAGE, "which recording? For example: leadline view run.lead");
	else if (o.has_port && (o.port == 0 || o.port > UINT16_MAX))
		err_set(&e, ERR_USAGE, "--port expects a number from 1 to 65535");
	else if (o.has_port && o.unix_path)
		err_set(&e, ERR_USAGE, "--port and --unix cannot be combined");
	else if (o.max_size && !o.output)
		err_set(&e, ERR_USAGE, "--max-size needs -o FILE");
	else if (o.output && (o.has_port || o.unix_path || o.allow_hosts.n))
		err_set(&e, ERR_USAGE,
			"-o writes a file: leave out --port, --unix and --allow-host");
	else if (find_editor(o.editor, &l.editor, &e) == 0 && open_all(&l, argv + first, &e) == 0)
		o.output ? write_page(&l, &o, &e) : serve(&l, &o, &e);
	library_done(&l);
	return e.code ? command_fail(self, &e) : 0;
}

const struct command command_view = {
	.group = "look",
	.name = "view",
	.arguments = "[options] FILE|FOLDER…",
	.summary = "Explore recordings in a browser",
	.options = options_table,
	.n_options = sizeof options_table / sizeof *options_table,
	.examples = "  leadline view run.lead\n"
		    "  leadline view run.lead -o run.html             one file to keep or send\n"
		    "  leadline view before.lead after.lead           what changed\n"
		    "  leadline view monday.json today.json           benchmark results\n"
		    "  leadline view worker.pt.trace.json.gz          a PyTorch trace\n"
		    "  leadline view run.lead --no-browser --port 8000\n",
	.run = run,
};
