/* SPDX-License-Identifier: MIT
 *
 * The call graph as a PNG, drawn by Graphviz' `dot`, which must be installed: what format_dot writes goes into it, what
 * it prints is the file. */

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "formats/dot.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "base/banned.h"

extern char **environ;

static int start_dot(int in, int out, pid_t *ret, struct err *e)
{
	char program[] = "dot", png[] = "-Tpng", *const argv[] = { program, png, NULL };
	posix_spawn_file_actions_t actions;
	int status;

	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	status = posix_spawnp(ret, "dot", &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	if (!status)
		return 0;
	if (status == ENOENT)
		return err_set(e, ERR_NOT_FOUND,
			"PNGs are drawn by Graphviz' dot, which is not installed; the format callgraph writes an SVG without it");
	errno = status;
	return err_errno(e, ERR_SYSTEM, "dot");
}

static int take_output(int from, struct sink *out, struct err *e)
{
	ssize_t n;

	do {
		n = read(from, buf_reserve(&out->text, SINK_BYTES), SINK_BYTES);
		if (n > 0)
			buf_advance(&out->text, (size_t)n);
		sink_flush(out);
	} while (n > 0 || (n < 0 && errno == EINTR));
	return n < 0 ? err_errno(e, ERR_SYSTEM, "reading from dot") : 0;
}

/* The graph lies in a file without a name, so that dot and we never wait for each other. */
static int draw(int graph, struct sink *out, struct err *e)
{
	int pipes[2], wait_status, status;
	pid_t dot;

	if (pipe2(pipes, O_CLOEXEC) < 0)
		return err_errno(e, ERR_SYSTEM, "pipe");
	status = start_dot(graph, pipes[1], &dot, e);
	close(pipes[1]);
	if (status == 0) {
		status = take_output(pipes[0], out, e);
		while (waitpid(dot, &wait_status, 0) < 0 && errno == EINTR)
			;
		if (status == 0 && wait_status != 0)
			status = err_set(e, ERR_SYSTEM, "dot failed to draw the call graph");
	}
	close(pipes[0]);
	return status;
}

static int write_png(struct selection *s, struct sink *out, struct err *e)
{
	int graph = memfd_create("graph", MFD_CLOEXEC);
	struct sink dot;
	int status;

	if (graph < 0)
		return err_errno(e, ERR_SYSTEM, "memfd_create");
	sink_init(&dot, graph);
	dot.options = out->options;
	status = format_dot.write(s, &dot, e);
	if (status == 0)
		status = sink_finish(&dot, e);
	sink_done(&dot);
	if (status == 0 && lseek(graph, 0, SEEK_SET) < 0)
		status = err_errno(e, ERR_SYSTEM, "lseek");
	if (status == 0)
		status = draw(graph, out, e);
	close(graph);
	return status;
}

const struct format format_png = {
	.name = "png",
	.suffixes = { ".png" },
	.summary = "the call graph as a PNG, if Graphviz is installed",
	.takes_totals = true,
	.is_graph = true,
	.write = write_png,
};
