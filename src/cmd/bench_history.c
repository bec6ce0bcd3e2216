/* SPDX-License-Identifier: MIT
 * See bench_history.h. */
#include "cmd/bench_history.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/stats/history.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/text.h"
#include "bench/export.h"
#include "cmd/bench_session.h"
#include "cmd/command.h"
#include "formats/results.h"
#include "view/bench/history.h"
#include "base/banned.h"

enum { FILES_MOST = 10000 };

int bench_history_open(const char *folder, struct err *e)
{
	struct stat st;

	if (outfile_make_folder(folder) < 0 && errno != EEXIST)
		return err_errno(e, ERR_SYSTEM, "--history %s", folder);
	if (stat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return err_set(e, ERR_USAGE, "--history %s: not a folder", folder);
	if (access(folder, W_OK) < 0)
		return err_errno(e, ERR_NO_PERMISSION, "--history %s", folder);
	return 0;
}

int bench_history_add(struct bench_session *s, struct err *e)
{
	struct export_results r = { s->series.v, s->series.n, &s->before, s->statement.python };
	struct buf out = BUF_INIT, path = BUF_INIT;
	int status;

	/* 2026-01-02T03:04:05Z-abcdef.json; a second run in the same second gets a number. */
	for (unsigned i = 0; i < 1000; i++) {
		buf_clear(&path);
		buf_printf(&path, "%s/%s-%s", s->o->history, s->before.date,
			*s->before.commit ? s->before.commit : "none");
		if (i)
			buf_printf(&path, "-%u", i);
		buf_adds(&path, ".json");
		if (access(buf_str(&path), F_OK) < 0)
			break;
	}
	export_pyperf(&s->arena, &r, &out);
	status = outfile_save(&out, buf_str(&path), e);
	buf_done(&out);
	buf_done(&path);
	return status;
}

typedef VEC(struct results) files;

static int by_date(const void *a, const void *b)
{
	const struct results *x = a, *y = b;

	return (x->begun_s > y->begun_s) - (x->begun_s < y->begun_s);
}

/* Files that are none of results are not ours and left alone. */
static int load_all(struct bench_session *s, files *to, struct err *e)
{
	DIR *d = opendir(s->o->history);
	size_t looked_at = 0;

	if (!d)
		return err_errno(e, ERR_SYSTEM, "--history %s", s->o->history);
	for (struct dirent *f; (f = readdir(d)) && looked_at < FILES_MOST;) {
		const char *path = arena_printf(&s->arena, "%s/%s", s->o->history, f->d_name);
		struct err ignored = ERR_INIT;
		struct results one;

		if (!text_ends_with(path, ".json") && !text_ends_with(path, ".lead"))
			continue;
		looked_at++;
		if (results_are_in(path) && results_load(&s->arena, path, &one, &ignored) == 0) {
			command_tell_missing(path, one.damage);
			vec_push(to, one);
		}
	}
	closedir(d);
	if (to->n)
		qsort(to->v, to->n, sizeof *to->v, by_date);
	return 0;
}

/* The newest file is what was just measured. */
static bool is_alike(const struct results *a, const struct results *b)
{
	return strcmp(a->host, b->host) == 0 && strcmp(a->cpu, b->cpu) == 0 &&
		strcmp(a->python, b->python) == 0;
}

static void print_one(struct bench_session *s, const files *all, const char *name,
	const struct output *output, struct buf *out)
{
	struct history_run *runs = arena_new_n(&s->arena, struct history_run, all->n);
	struct history_view v = { .name = name, .colour = output->colour, .width = output->width };
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++) {
		const struct results *r = &all->v[i];
		const struct benchmark *b = results_find(r, name);
		double seconds = b ? series_time(&s->arena, &b->series) : 0;

		if (!(seconds > 0))
			continue;
		if (is_alike(r, &all->v[all->n - 1]))
			runs[n++] = (struct history_run){ r->commit, r->begun_s, seconds };
		else
			v.n_unlike++;
	}
	if (!n)
		return;
	v.history = history_build(&s->arena, runs, n);
	buf_addc(out, '\n');
	history_print(&v, out);
}

int bench_history_print(
	struct bench_session *s, const struct output *output, struct buf *out, struct err *e)
{
	files all = VEC_INIT;
	int status = load_all(s, &all, e);

	if (status == 0 && all.n)
		vec_each (&s->series, one)
			print_one(s, &all, one->name, output, out);
	vec_done(&all);
	return status;
}
