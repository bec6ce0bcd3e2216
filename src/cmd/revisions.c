/* SPDX-License-Identifier: MIT
 * See revisions.h. */
#include "cmd/revisions.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "bench/child.h"
#include "base/banned.h"

static int run_quietly(const char *const *argv, const char *folder, struct child_result *ret,
	struct buf *said, struct err *e)
{
	struct child_options o = { .argv = argv,
		.folder = folder,
		.in = CHILD_NULL,
		.out = CHILD_NULL,
		.keep_stderr = true,
		.cpu = -1 };

	return child_run(&o, ret, said, e);
}

/* The last line a program said, for an error. */
static const char *last_line(struct buf *said)
{
	const char *text = buf_str(said);
	size_t n = said->n;

	while (n && text[n - 1] == '\n')
		said->data[--n] = '\0';
	while (n && text[n - 1] != '\n')
		n--;
	return text + n;
}

static int checkout(const char *folder, const char *name, const char *build, struct err *e)
{
	const char *add[] = { "git", "worktree", "add", "--detach", "--quiet", folder, name, NULL };
	const char *make[] = { "/bin/sh", "-c", build, NULL };
	struct buf said = BUF_INIT;
	struct child_result r;
	int status = run_quietly(add, NULL, &r, &said, e);

	if (status == 0 && r.status)
		status = err_set(e, ERR_USAGE, "--rev %s: %s", name, last_line(&said));
	buf_clear(&said);
	if (status == 0 && build && (status = run_quietly(make, folder, &r, &said, e)) == 0 &&
		r.status) {
		fwrite(said.data, 1, said.n, stderr);
		status = err_set(
			e, ERR_MEASURED, "--build of %s exited with status %d", name, r.status);
	}
	buf_done(&said);
	return status;
}

int revisions_open(
	struct revisions *r, const struct opt_list *names, const char *build, struct err *e)
{
	if (names->n != 2)
		return err_set(e, ERR_USAGE, "--rev is given twice: A, then B");
	if (private_dir_make(&r->root, PRIVATE_LARGE, sizeof r->root.path, e) < 0)
		return -(int)e->code;
	for (int i = 0; i < 2; i++) {
		snprintf(r->folders[i], sizeof r->folders[i], "%s/%c", r->root.path, "ab"[i]);
		if (checkout(r->folders[i], names->v[i], build, e) < 0) {
			revisions_close(r);
			return -(int)e->code;
		}
	}
	return 0;
}

void revisions_close(struct revisions *r)
{
	struct child_result ignored;
	struct err e;

	if (!r->root.path[0])
		return;
	for (int i = 0; i < 2; i++) {
		const char *remove[] = { "git", "worktree", "remove", "--force", r->folders[i],
			NULL };

		if (r->folders[i][0])
			run_quietly(remove, NULL, &ignored, NULL, &e);
	}
	private_dir_remove(&r->root);
}
