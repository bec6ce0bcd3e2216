/* SPDX-License-Identifier: MIT
 * See memory.h. Here are the session, the environment of the program and the schedule; what processes tell becomes rows in rows.c. */
#include "collect/memory/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "base/xalloc.h"
#include "collect/agents/session.h"
#include "collect/collector.h"
#include "collect/memory/library.h"
#include "collect/memory/rows.h"
#include "collect/samples/code.h"
#include "collect/samples/target.h"
#include "collect/sources.h"
#include "store/writer.h"
#include "wire/clock.h"
#include "wire/memory_area.h"

#define LOG_TOPIC "memory"
#include "base/log.h"
#include "base/banned.h"

enum {
	LOOK_MS = 10,   /* at rings and the door */
	TOTAL_MS = 100, /* at counters */
	IMAGES_MOST = 256,
};

static const uint64_t MS = 1000000;

struct image { /* a program that has said hello, before and after its forks */
	uint64_t image;
	struct py_layout layout; /* major 0: not known */
};

struct watched {
	struct memory_rows rows;
	struct session_process *process; /* borrowed */
	unsigned source;
};

struct memory {
	struct collect_context c;
	struct session *session;
	VEC(struct watched *) processes;
	VEC(struct image) images; /* the newest */
	uint64_t total_ns;        /* when to look at counters next */
	uint64_t n_processes, n_samples, n_releases, n_dropped, n_frees_dropped;
	bool is_over;
};

/* ---- layouts --------------------------------------------------------------------------------- */

static const struct image *find_image(const struct memory *m, uint64_t image)
{
	for (size_t i = m->images.n; i-- > 0;)
		if (m->images.v[i].image == image)
			return &m->images.v[i];
	return NULL;
}

/* The process waits for its answer, so its memory stands still. Without a layout it is watched all the same. */
static int fill_layout(void *ctx, const struct session_process *p, void *room, size_t n_bytes)
{
	struct memory *m = ctx;
	const struct image *known = find_image(m, p->image);
	struct image found = { .image = p->image };
	struct err e = ERR_INIT;

	if (!known) {
		if (py_target_layout(p->pid, p->build, &found.layout, &e) < 0) {
			log_debug(1, "%d: %s", (int)p->pid, e.text);
			found.layout = (struct py_layout){ 0 };
		}
		if (m->images.n >= IMAGES_MOST)
			vec_remove_swap(&m->images, 0);
		vec_push(&m->images, found);
		known = &found;
	}
	if (n_bytes >= sizeof known->layout)
		memcpy(room, &known->layout, sizeof known->layout);
	return 0;
}

/* ---- processes ------------------------------------------------------------------------------- */

static void watched_begin(struct memory *m, struct session_process *process)
{
	const struct image *image = find_image(m, process->image);
	struct watched *w = xcalloc(1, sizeof *w);

	w->process = process;
	memory_rows_init(&w->rows, m->c.writer, process, session_read,
		image ? &image->layout : NULL, m->c.agent_options.memory_period_bytes);
	if (m->c.sources) {
		w->source = sources_process(m->c.sources, process->pid, process->start_ns, true);
		memory_rows_sources(&w->rows, m->c.sources, w->source);
	}
	process->user = w;
	vec_push(&m->processes, w);
	m->n_processes++;
}

static void watched_end(struct memory *m, struct watched *w)
{
	uint64_t now_ns = clock_monotonic_ns();

	memory_rows_total(&w->rows, now_ns, true);
	memory_rows_loss(&w->rows, now_ns);
	m->n_samples += w->rows.n_samples;
	m->n_releases += w->rows.n_releases;
	m->n_dropped += w->rows.told.n_dropped;
	m->n_frees_dropped += w->rows.told.n_frees_dropped;
	if (m->c.sources)
		sources_process_ended(m->c.sources, w->source);
	for (size_t i = 0; i < m->processes.n; i++)
		if (m->processes.v[i] == w) {
			vec_remove_swap(&m->processes, i);
			break;
		}
	memory_rows_done(&w->rows);
	free(w);
}

static int on_event(void *ctx, const struct session_event *ev, struct err *e)
{
	struct memory *m = ctx;
	struct watched *w = ev->process->user;

	(void)e;
	switch (ev->what) {
	case SESSION_PROCESS_BEGAN:
		watched_begin(m, ev->process);
		break;
	case SESSION_RECORD:
		memory_rows_add(&w->rows, ev->kind, ev->data, ev->n_bytes);
		break;
	case SESSION_THREAD_ABANDONED:
		w->rows.n_nonsense++;
		break;
	case SESSION_PROCESS_ENDED:
		watched_end(m, w);
		break;
	case SESSION_THREAD_BEGAN:
	case SESSION_THREAD_ENDED:
		break;
	}
	return 0;
}

/* ---- the collector --------------------------------------------------------------------------- */

static void memory_probe(struct probe *ret)
{
	bool is_there = library_is_there();

	ret->answer = is_there ? PROBE_YES : PROBE_NO;
	snprintf(ret->reason, sizeof ret->reason, "%s",
		is_there ? "a library to preload: malloc, mmap and CPython's allocators"
			 : "this leadline has no library to preload: it is built for x86-64 only");
	if (!is_there)
		snprintf(ret->remedy, sizeof ret->remedy, "use leadline on x86-64, glibc");
}

static void write_number(struct writer *w, const char *key, uint64_t number)
{
	char text[32];

	snprintf(text, sizeof text, "%llu", (unsigned long long)number);
	writer_meta(w, key, text);
}

static int memory_start(void **ret_state, const struct collect_context *c, struct err *e)
{
	struct memory *m = xcalloc(1, sizeof *m);
	struct session_options o = { .clock_mode = CLOCK_MODE_MONOTONIC,
		.ring_bytes = 1 << 19,
		.n_slots = 512,
		.agent_options = { .memory_period_bytes = c->agent_options.memory_period_bytes },
		.fill_layout = fill_layout,
		.ctx = m };

	m->c = *c;
	if (library_is_there() ? session_open(&m->session, &o, e) < 0 || library_preload(e) < 0 ||
				(setenv(MEMORY_ENV, session_dir(m->session), 1) < 0 &&
					err_errno(e, ERR_SYSTEM, "setenv") < 0)
			       : library_preload(e) < 0) {
		session_close(m->session);
		free(m);
		return -(int)e->code;
	}
	writer_meta(c->writer, "memory_engine", "sample/preload");
	write_number(c->writer, "memory_period_bytes", c->agent_options.memory_period_bytes);
	*ret_state = m;
	return 0;
}

static void look(struct memory *m, uint64_t now_ns)
{
	struct err e = ERR_INIT;

	vec_each (&m->processes, w)
		if ((*w)->rows.codes)
			py_codes_tick((*w)->rows.codes, now_ns);
	if (session_poll(m->session, &e) < 0 || session_drain(m->session, on_event, m, &e) < 0)
		log_debug(1, "%s", e.text);
}

static uint64_t memory_drain(void *state, uint64_t now_ns)
{
	struct memory *m = state;

	look(m, now_ns);
	if (now_ns >= m->total_ns) {
		m->total_ns = now_ns + TOTAL_MS * MS;
		vec_each (&m->processes, w)
			memory_rows_total(&(*w)->rows, now_ns, false);
	}
	return now_ns + LOOK_MS * MS;
}

static int memory_fd(const void *state)
{
	const struct memory *m = state;

	return session_fd(m->session);
}

/* Processes that have ended are read to their end, those that go on up to now. */
static void memory_enough(void *state)
{
	struct memory *m = state;

	if (m->is_over)
		return;
	m->is_over = true;
	session_stop(m->session);
	look(m, clock_monotonic_ns());
	while (m->processes.n)
		watched_end(m, m->processes.v[0]);
}

static void memory_stop(void *state)
{
	struct memory *m = state;

	memory_enough(m);
	write_number(m->c.writer, "memory_processes", m->n_processes);
	write_number(m->c.writer, "memory_samples", m->n_samples);
	write_number(m->c.writer, "memory_dropped", m->n_dropped);
	write_number(m->c.writer, "memory_releases_dropped", m->n_frees_dropped);
	session_close(m->session);
	vec_done(&m->processes);
	vec_done(&m->images);
	free(m);
}

const struct collector collector_memory = {
	.name = "memory",
	.what = COLLECT_MEMORY,
	.sees = "which code allocates memory, by a library that samples allocations inside the "
		"program",
	.probe = memory_probe,
	.start = memory_start,
	.drain = memory_drain,
	.enough = memory_enough,
	.stop = memory_stop,
	.fd = memory_fd,
};
