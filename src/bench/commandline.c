/* SPDX-License-Identifier: MIT
 * See commandline.h. */
#include "bench/commandline.h"

#include "base/buf.h"
#include "base/err.h"
#include "bench/cold.h"
#include "bench/random_layout.h"
#include "base/banned.h"

enum { SHELL_RUNS = 20 };

int commandline_shell(const char *shell, const char *text, const char *what, struct err *e)
{
	const char *argv[] = { shell, "-c", text, NULL };
	struct child_options o = { .argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .cpu = -1 };
	struct child_result r;

	if (child_run(&o, &r, NULL, e) < 0)
		return err_note(e, "%s", what);
	if (r.status)
		return err_set(
			e, ERR_MEASURED, "%s '%s' exited with status %d", what, text, r.status);
	return 0;
}

int commandline_shell_time(const char *shell, double *ret_s, struct err *e)
{
	const char *argv[] = { shell, "-c", "", NULL };
	struct child_options o = { .argv = argv, .in = CHILD_NULL, .out = CHILD_NULL, .cpu = -1 };
	double sum = 0;

	for (int i = 0; i < SHELL_RUNS; i++) {
		struct child_result r;

		if (child_run(&o, &r, NULL, e) < 0)
			return err_note(e, "--shell");
		sum += r.wall_s;
	}
	*ret_s = sum / SHELL_RUNS;
	return 0;
}

int commandline_run(const struct commandline *c, uint64_t seed, struct child_result *ret,
	struct buf *ret_stderr, struct err *e)
{
	struct random_layout layout = random_layout_of(seed);
	struct child_options o = { .argv = c->argv,
		.environment = layout.environment,
		.folder = c->folder,
		.in = CHILD_NULL,
		.in_path = c->in_path,
		.out = c->show_output ? CHILD_INHERIT : CHILD_NULL,
		.stdout_to = c->stdout_to,
		.keep_stderr = !c->show_output,
		.cpu = c->cpu };
	int status = 0;

	buf_clear(ret_stderr);
	if (c->prepare)
		status = commandline_shell("/bin/sh", c->prepare, "--prepare", e);
	if (status == 0 && c->cold)
		status = cold_before(c->cold, e);
	if (status == 0) {
		status = child_run(&o, ret, ret_stderr, e);
		if (c->cold)
			cold_after(c->cold);
	}
	if (status == 0 && c->conclude)
		status = commandline_shell("/bin/sh", c->conclude, "--conclude", e);
	random_layout_done(&layout);
	return status;
}
