/* SPDX-License-Identifier: MIT
 * See same_output.h. */
#include "cmd/same_output.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "cmd/subject.h"
#include "base/banned.h"

enum { SEED = 1, SHOWN = 40 };

static int output_of_command(const struct subject *s, struct buf *ret, struct err *e)
{
	struct commandline c = s->command;
	struct buf said = BUF_INIT;
	struct child_result r;
	int status;

	c.stdout_to = ret;
	c.show_output = false;
	status = commandline_run(&c, SEED, &r, &said, e);
	if (status == 0 && r.status && !c.ignore_failure) {
		fwrite(buf_str(&said), 1, said.n, stderr);
		status = err_set(e, ERR_MEASURED,
			"'%s' exited with status %d; -i measures it anyway", s->name, r.status);
	}
	buf_done(&said);
	return status;
}

static int output_of_statement(
	const struct subject *s, struct arena *arena, struct buf *ret, struct err *e)
{
	struct statement_plan once = { .loops = 1, .batches = 1, .least_batches = 1 };
	struct statement_notes notes = { 0 };
	struct statement statement = s->statement;
	struct series_process p;

	statement.wants_result = true;
	if (statement_measure(&statement, &once, SEED, arena, &p, &notes, e) < 0)
		return -(int)e->code;
	if (!notes.result[0])
		return err_set(e, ERR_USAGE,
			"--same-output: '%s' has no result to compare (a statement, or an object without a value)",
			s->name);
	buf_adds(ret, notes.result);
	return 0;
}

static int output_of(const struct subject *s, struct arena *arena, struct buf *ret, struct err *e)
{
	return s->is_command ? output_of_command(s, ret, e) : output_of_statement(s, arena, ret, e);
}

/* The line around the first difference, shortened and safe to print. */
static void add_line(struct buf *to, const struct buf *text, size_t at)
{
	const char *s = buf_str(text);
	size_t from = at < text->n ? at : text->n, until = from;
	struct buf printable = BUF_INIT;

	while (from > 0 && s[from - 1] != '\n' && at - from < SHOWN / 2)
		from--;
	while (until < text->n && s[until] != '\n' && until - from < SHOWN)
		until++;
	text_add_printable(&printable, s + from, until - from);
	text_add_cut(to, buf_str(&printable), SHOWN, TEXT_CUT_END);
	buf_done(&printable);
}

static int differ(const struct buf *x, const struct buf *y, struct err *e)
{
	struct buf a = BUF_INIT, b = BUF_INIT;
	size_t at = 0, line = 1;
	int status;

	for (; at < x->n && at < y->n && x->data[at] == y->data[at]; at++)
		line += x->data[at] == '\n';
	add_line(&a, x, at);
	add_line(&b, y, at);
	status = err_set(e, ERR_MEASURED,
		"A and B give different outputs, first in line %zu: '%s' against '%s'; nothing was timed",
		line, buf_str(&a), buf_str(&b));
	buf_done(&a);
	buf_done(&b);
	return status;
}

int same_output_check(
	const struct subject *a, const struct subject *b, struct arena *arena, struct err *e)
{
	struct buf x = BUF_INIT, y = BUF_INIT;
	int status = output_of(a, arena, &x, e);

	if (status == 0)
		status = output_of(b, arena, &y, e);
	if (status == 0 && (x.n != y.n || (x.n && memcmp(x.data, y.data, x.n) != 0)))
		status = differ(&x, &y, e);
	buf_done(&x);
	buf_done(&y);
	return status;
}
