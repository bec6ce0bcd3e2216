/* SPDX-License-Identifier: MIT
 * See py_regions.h. */
#include "collect/py_regions.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/xalloc.h"
#include "collect/bootstrap.h"
#include "collect/collector.h"
#include "collect/regions_file.h"
#include "collect/session.h"
#include "wire/session_layout.h"

#define LOG_TOPIC "regions"
#include "base/log.h"
#include "base/banned.h"

static const uint64_t LOOK_NS = 250000000;

struct regions {
	struct writer *writer;
	struct session *session;
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
	struct session_options o = { 0 };

	if (session_open(&r->session, &o, e) < 0 ||
		regions_file_open(&r->file, session_dir(r->session), e) < 0)
		return -(int)e->code;
	if (c->wants_package || c->torch_full)
		return bootstrap_prepare(session_dir(r->session),
			&(struct bootstrap_options){ .torch_full = c->torch_full }, e);
	return setenv(SESSION_ENV, session_dir(r->session), 1) < 0
		? err_errno(e, ERR_SYSTEM, "setenv")
		: 0;
}

/* Samples do not need it: without a directory there are no regions, and that is all. */
static int regions_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct regions *r = xcalloc(1, sizeof *r);
	struct err ignored = ERR_INIT;

	(void)e;
	r->writer = c->writer;
	r->file = REGIONS_FILE_INIT;
	if (prepare(r, c, &ignored) < 0)
		log_debug(1, "%s", ignored.text);
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
	session_close(r->session);
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
