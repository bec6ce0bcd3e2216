/* SPDX-License-Identifier: MIT
 * See format.h: what was chosen of a recording, as a file. */
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/recording.h"
#include "base/err.h"
#include "base/outfile.h"
#include "formats/format.h"
#include "formats/sink.h"
#include "store/reader.h"
#include "base/banned.h"

/* ---- what it is made of ---------------------------------------------------------------------- */

/* The first of what was asked for that has no meaning for it; NULL: all has. */
static const char *without_meaning(
	const struct format *f, const struct choice *c, const char *filter)
{
	bool is_all = f->choice == FORMAT_OF_ALL;

	if (f->choice == FORMAT_OF_STACKS || f->choice == FORMAT_OF_ROWS)
		return NULL;
	return c->memory                  ? "--memory"
		: c->state != STACKS_WALL ? "--state"
		: c->from_s > 0           ? "--from"
		: c->to_s > 0             ? "--to"
		: c->phase                ? "--phase"
		: c->only_mine            ? "--only-mine"
		: c->idle                 ? "--idle"
		: c->imports              ? "--imports"
		: is_all && c->threads    ? "--thread"
		: is_all && c->processes  ? "--process"
		: is_all && filter        ? "--filter"
					  : NULL;
}

int format_accepts(
	const struct format *f, const struct choice *c, const char *filter, struct err *e)
{
	const char *option = without_meaning(f, c, filter);

	if (!option)
		return 0;
	return err_set(e, ERR_USAGE,
		f->choice == FORMAT_OF_LINES
			? "%s holds counted lines: only --thread, --process and --filter apply to "
			  "it, not %s"
			: "%s covers the whole recording: %s does not apply to it",
		f->name, option);
}

/* What a format needs stacks for, and the file has none. */
static int check_contents(
	const struct format *f, struct recording *r, const struct choice *c, struct err *e)
{
	bool has_stacks = false, has_ops = r->torch != NULL, has_totals = false;
	struct err ignored = ERR_INIT; /* what is there decides */

	if (f->takes_ops || c->memory) /* which says itself what is missing */
		return 0;
	recording_run(r, &ignored);
	for (size_t i = 0; r->reader && i < r->reader->n_chunks; i++) {
		uint32_t kind = r->reader->chunks[i].kind;

		has_stacks |= kind == RECORD_sample || kind == RECORD_weight || kind == RECORD_node;
		has_ops |= kind == RECORD_op;
		has_totals |= kind == RECORD_call_total;
	}
	if (has_stacks)
		return 0;
	if (has_ops)
		return err_set(e, ERR_USAGE,
			"%s needs stacks, and the recording holds operators; write torch-trace "
			"instead",
			f->name);
	if (has_totals && !f->takes_totals)
		return err_set(e, ERR_USAGE,
			"%s needs stacks, and this kind of file only says who called whom; write "
			"svg, dot or pstats instead",
			f->name);
	return 0;
}

int format_select(const struct format *f, struct recording *r, const struct choice *c,
	const char *const *filter, struct selection **ret, struct err *e)
{
	struct choice choice = *c;

	if (format_accepts(f, c, *filter, e) < 0 || check_contents(f, r, c, e) < 0)
		return -(int)e->code;
	if (f->takes_ops) {
		*ret = arena_new(&r->arena, struct selection);
		**ret = (struct selection){ .recording = r };
		return 0;
	}
	if (*filter && f->choice == FORMAT_OF_STACKS)
		choice.shape.keep = (struct stack_filter_patterns){ filter, 1 };
	return recording_select(r, &choice, ret, e);
}

/* ---- the file -------------------------------------------------------------------------------- */

int format_write_fd(const struct format *f, struct selection *s, const struct format_options *o,
	int fd, struct err *e)
{
	struct sink out;
	int status;

	sink_init(&out, fd);
	out.options = o;
	status = f->write(s, &out, e);
	if (status == 0)
		status = sink_finish(&out, e);
	sink_done(&out);
	return status;
}

int format_save(const struct format *f, struct selection *s, const struct format_options *o,
	const char *path, struct err *e)
{
	struct stat st;
	int fd, status;

	if (outfile_open(path, 0, &fd, e) < 0)
		return -(int)e->code;
	status = format_write_fd(f, s, o, fd, e);
	if (status < 0) {
		err_note(e, "%s", path);
		if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
			unlink(path); /* part of a file would be taken for one */
	}
	if (close(fd) < 0 && status == 0)
		status = err_errno(e, ERR_SYSTEM, "%s", path);
	return status;
}
