/* SPDX-License-Identifier: MIT
 * See results_export.h. */
#include "cmd/results_export.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/outfile.h"
#include "bench/environment.h"
#include "bench/export.h"
#include "cmd/command.h"
#include "formats/results.h"
#include "base/banned.h"

struct kept {
	struct arena arena;
	struct results results;
	struct series *series;
	struct environment environment;
};

static int open_kept(struct kept *k, const char *path, struct err *e)
{
	struct results *r = &k->results;

	*k = (struct kept){ .arena = ARENA_INIT };
	if (results_load(&k->arena, path, r, e) < 0)
		return -(int)e->code;
	command_tell_missing(path, r->damage);
	k->environment = (struct environment){
		.load = NAN, .pressure_pct = NAN, .stolen_s = NAN, .cpus = { .online = 0 }
	};
	snprintf(k->environment.host, sizeof k->environment.host, "%s", r->host);
	snprintf(k->environment.kernel, sizeof k->environment.kernel, "%s", r->kernel);
	snprintf(k->environment.cpu, sizeof k->environment.cpu, "%s", r->cpu);
	snprintf(k->environment.governor, sizeof k->environment.governor, "%s", r->governor);
	snprintf(k->environment.commit, sizeof k->environment.commit, "%s", r->commit);
	snprintf(k->environment.date, sizeof k->environment.date, "%s", r->date);
	k->series = arena_new_n(&k->arena, struct series, r->n);
	for (size_t i = 0; i < r->n; i++)
		k->series[i] = r->v[i].series;
	return 0;
}

static void write_as(struct kept *k, const char *format, struct buf *out)
{
	struct export_results r = { k->series, k->results.n, &k->environment, k->results.python };

	export_find(format)(&k->arena, &r, out);
}

int results_export(const char *path, const char *format, const char *file, struct err *e)
{
	struct buf out = BUF_INIT;
	struct kept k;
	int status;

	if (!format || !export_find(format))
		return err_set(e, ERR_USAGE,
			"%s holds benchmark results: --format expects one of %s", path,
			export_names());
	status = open_kept(&k, path, e);
	if (status == 0)
		write_as(&k, format, &out);
	if (status == 0 && file)
		status = outfile_save(&out, file, e);
	else if (status == 0)
		status = buf_write(&out, STDOUT_FILENO, e); /* data: as it is, in any locale */
	buf_done(&out);
	arena_done(&k.arena);
	return status;
}
