/* SPDX-License-Identifier: MIT
 * See torch_full.h. */
#include "cmd/torch_full.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "analyze/torch/events.h"
#include "analyze/torch/record.h"
#include "base/err.h"
#include "base/outfile.h"
#include "base/text.h"
#include "base/vec.h"
#include "formats/torch/trace.h"
#include "base/banned.h"

enum { STEPS_MOST = 1000000, NOTE_BYTES = 4096, FILES_MOST = 4096, PATH_BYTES = 4096 };

static const char SUFFIX[] = ".pt.trace.json";

/* ---- what is asked for ------------------------------------------------------------------------ */

/* "1,1,10" as "1 1 10": how many steps to wait, to warm up and to record. */
static bool parse_steps(const char *text, struct buf *to)
{
	for (int i = 0; i < 3; i++) {
		char *end;
		unsigned long n = strtoul(text, &end, 10);

		if (*text < '0' || *text > '9' || *end != (i < 2 ? ',' : '\0') || n > STEPS_MOST ||
			(i == 2 && n == 0))
			return false;
		buf_printf(to, "%lu%s", n, i < 2 ? " " : "\n");
		text = end + 1;
	}
	return true;
}

int torch_full_begin(struct torch_full *t, const char *how, struct err *e)
{
	struct buf when = BUF_INIT;
	int status = 0;

	*t = (struct torch_full){ 0 };
	if (strcmp(how, "full") == 0)
		buf_adds(&when, "1 1 10\n");
	else if (strcmp(how, "full:all") == 0)
		buf_adds(&when, "all\n");
	else if (strncmp(how, "full:", 5) != 0 || !parse_steps(how + 5, &when))
		status = err_set(e, ERR_USAGE,
			"--torch takes no value, =full, =full:all or =full:WAIT,WARMUP,ACTIVE in steps (such as full:1,1,10), not '%s'",
			how);
	if (status == 0)
		status = private_dir_make(&t->folder, PRIVATE_LARGE, sizeof t->folder.path, e);
	if (status == 0)
		buf_printf(&t->wish, "%s\n%s", t->folder.path, buf_str(&when));
	buf_done(&when);
	return status;
}

/* ---- what came -------------------------------------------------------------------------------- */

typedef VEC(char *) names;

static int by_name(const void *a, const void *b)
{
	const char *x = *(char *const *)a, *y = *(char *const *)b;
	long n = strtol(x, NULL, 10), m = strtol(y, NULL, 10);

	return n < m ? -1 : n > m ? 1 : strcmp(x, y);
}

/* Names with that ending, by process. */
static void list(const char *folder, const char *suffix, names *ret)
{
	DIR *d = opendir(folder);

	for (struct dirent *x; d && ret->n < FILES_MOST && (x = readdir(d));)
		if (text_ends_with(x->d_name, suffix))
			vec_push(ret, xstrdup(x->d_name));
	if (d)
		closedir(d);
	if (ret->n)
		qsort(ret->v, ret->n, sizeof *ret->v, by_name);
}

static void done(names *n)
{
	for (size_t i = 0; i < n->n; i++)
		free(n->v[i]);
	vec_done(n);
}

static int64_t realtime_ahead_ns(void)
{
	struct timespec real, mono;

	clock_gettime(CLOCK_REALTIME, &real);
	clock_gettime(CLOCK_MONOTONIC, &mono);
	return (real.tv_sec - mono.tv_sec) * INT64_C(1000000000) + real.tv_nsec - mono.tv_nsec;
}

/* The trace's own zero, since the epoch; its key gets the recording's. False: it does not say. */
static bool replace_base(struct op_events *x, int64_t base, int64_t *ret)
{
	for (size_t i = 0; i < x->properties.n; i++) {
		struct op_property *p = &x->properties.v[i];
		const struct intern_item *key = intern_get(&x->texts, p->key),
					 *value = intern_get(&x->texts, p->value);
		char text[32];

		if (key->n != strlen("baseTimeNanoseconds") ||
			memcmp(key->p, "baseTimeNanoseconds", key->n) != 0 ||
			value->n >= sizeof text)
			continue;
		memcpy(text, value->p, value->n);
		text[value->n] = '\0';
		*ret = strtoll(text, NULL, 10);
		snprintf(text, sizeof text, "%" PRId64, base);
		p->value = intern_add(&x->texts, text, strlen(text), NULL);
		return true;
	}
	return false;
}

/* Times of a trace count from an instant of the calendar's, those of a recording are CLOCK_MONOTONIC. */
static void shift(struct op_events *x)
{
	int64_t ahead = realtime_ahead_ns(), base = 0, by;

	replace_base(x, ahead, &base); /* older ones have no such key, and count from the epoch */
	by = base - ahead;
	vec_each (&x->v, e)
		e->start_ns += by;
	vec_each (&x->memory, m)
		m->t_ns += by;
	vec_each (&x->marks, m)
		m->t_ns += by;
	x->zero_ns += by;
}

/* is_more: of a process whose first part is in the recording. */
static void join_one(const char *path, bool is_more, struct writer *w, struct buf *notes)
{
	struct op_events x = { .keeps_all = true };
	struct err e = ERR_INIT;

	if (torch_trace_load_file(&x, path, &e) < 0) {
		text_add_line(notes, "Operators: none, %s.", e.text);
	} else {
		shift(&x);
		if (is_more)
			op_record_write_more(&x, w);
		else
			op_record_write(&x, w);
	}
	op_events_done(&x);
}

/* x.lead has x.4711.pt.trace.json beside it, of another process. */
static bool keep_other(const char *from, const char *name, const char *recording, struct buf *notes)
{
	size_t n = strlen(recording) - (text_ends_with(recording, ".lead") ? 5 : 0);
	struct buf text = BUF_INIT;
	struct err e = ERR_INIT;
	char to[PATH_BYTES];
	bool is_kept;

	snprintf(to, sizeof to, "%.*s.%s", (int)n, recording, name);
	is_kept = buf_load(&text, from, SIZE_MAX / 2, &e) == 0 && outfile_save(&text, to, &e) == 0;
	if (is_kept)
		text_add_line(notes, "Operators of another process: %s", to);
	else
		text_add_line(notes, "Operators of another process are lost: %s.", e.text);
	buf_done(&text);
	return is_kept;
}

/* has_traces: that a launcher makes no steps of its own is no news. */
static void add_note(const char *path, bool has_traces, struct buf *notes)
{
	static const char no_steps[] = "the optimizer made 0 steps,";
	struct buf text = BUF_INIT;
	struct err ignored = ERR_INIT;
	const char *line;

	if (buf_load(&text, path, NOTE_BYTES, &ignored) == 0)
		for (line = buf_str(&text); *line;) {
			size_t n = strcspn(line, "\n");

			if (!has_traces || strncmp(line, no_steps, strlen(no_steps)) != 0) {
				buf_adds(notes, "Operators: ");
				text_add_printable(notes, line, n);
				buf_adds(notes, ".\n");
			}
			line += n + (line[n] == '\n');
		}
	buf_done(&text);
}

static void tell_ranks(const char *recording, struct buf *notes)
{
	size_t n = strlen(recording) - (text_ends_with(recording, ".lead") ? 5 : 0);

	buf_printf(notes, "Compare ranks: leadline report %s %.*s.*.pt.trace.json --distributed\n",
		recording, (int)n, recording);
}

void torch_full_join(struct torch_full *t, struct writer *w, const char *path, struct buf *notes)
{
	names traces = VEC_INIT, told = VEC_INIT;
	char from[PRIVATE_BASE_PATH + 512];
	size_t n_others = 0;

	list(t->folder.path, SUFFIX, &traces);
	list(t->folder.path, ".note", &told);
	for (size_t i = 0; i < traces.n; i++) {
		snprintf(from, sizeof from, "%s/%s", t->folder.path, traces.v[i]);
		if (i == 0 || strtol(traces.v[i], NULL, 10) == strtol(traces.v[0], NULL, 10))
			join_one(from, i > 0, w, notes);
		else
			n_others += keep_other(from, traces.v[i], path, notes);
	}
	for (size_t i = 0; i < told.n; i++) {
		snprintf(from, sizeof from, "%s/%s", t->folder.path, told.v[i]);
		add_note(from, traces.n > 0, notes);
	}
	if (traces.n)
		text_add_line(notes, "Operators: leadline report %s --overview --ops", path);
	if (n_others)
		tell_ranks(path, notes);
	if (!traces.n && !told.n)
		buf_adds(notes,
			"Operators: none, the program did not import torch or did not run to its end.\n");
	done(&traces);
	done(&told);
}

void torch_full_done(struct torch_full *t)
{
	private_dir_remove(&t->folder);
	buf_done(&t->wish);
}
