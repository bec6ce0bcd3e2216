/* SPDX-License-Identifier: MIT
 * See regions.h. */
#include "collect/samples/regions.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "collect/agents/bootstrap.h"
#include "collect/collector.h"
#include "collect/samples/regions_file.h"
#include "sys/private_dir.h"
#include "wire/session_layout.h"

#define LOG_TOPIC "regions"
#include "base/log.h"
#include "base/banned.h"

static const uint64_t LOOK_NS = 250000000;

struct regions {
	struct writer *writer;
	struct private_dir dir;
	struct regions_file file;
};

static void regions_probe(struct probe *ret)
{
	ret->answer = PROBE_YES;
	snprintf(ret->reason, sizeof ret->reason,
		"by the leadline package, where a program uses it");
}

static int prepare(struct regions *r, const struct collect_context *c, struct err *e)
{
	if (private_dir_make(&r->dir, PRIVATE_SMALL, sizeof r->dir.path, e) < 0 ||
		regions_file_open(&r->file, r->dir.path, e) < 0)
		return -(int)e->code;
	if (c->wants_package || c->torch_full)
		return bootstrap_prepare(
			r->dir.path, &(struct bootstrap_options){ .torch_full = c->torch_full }, e);
	return setenv(SESSION_ENV, r->dir.path, 1) < 0 ? err_errno(e, ERR_SYSTEM, "setenv") : 0;
}

/* Samples do not need it: without a directory there are no regions, and that is all, unless more was asked for. */
static int regions_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct regions *r = xcalloc(1, sizeof *r);
	struct err why = ERR_INIT;

	r->writer = c->writer;
	r->file = REGIONS_FILE_INIT;
	if (prepare(r, c, &why) < 0)
		log_debug(1, "%s", why.text);
	if (why.code && (c->wants_package || c->torch_full)) {
		regions_file_done(&r->file);
		private_dir_remove(&r->dir);
		free(r);
		*e = why;
		return -(int)e->code;
	}
	*ret_state = r;
	return 0;
}

static uint64_t regions_drain(void *state, uint64_t now_ns)
{
	struct regions *r = state;

	return regions_file_take(&r->file, r->writer) ? now_ns : now_ns + LOOK_NS;
}

static void regions_stop(void *state)
{
	struct regions *r = state;

	while (regions_file_take(&r->file, r->writer))
		;
	regions_file_done(&r->file);
	private_dir_remove(&r->dir);
	free(r);
}

const struct collector collector_regions = {
	.name = "regions",
	.what = COLLECT_REGIONS,
	.sees = "spans that the program marks with leadline.region",
	.probe = regions_probe,
	.start = regions_start,
	.drain = regions_drain,
	.stop = regions_stop,
};
