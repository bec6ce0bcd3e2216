/* SPDX-License-Identifier: MIT
 * See auto_lines.h. The agents wait for the file AUTO_CHOSEN in the session's directory (agent/bootstrap/lines.py). */
#include "cmd/auto_lines.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/recording.h"
#include "base/err.h"
#include "base/text.h"
#include "formats/format.h"
#include "store/writer.h"
#include "wire/session_layout.h"
#include "base/banned.h"

enum { FUNCTIONS_MOST = 5, SAMPLES_LEAST = 100, LOOK_MS = 100, WATCH_MS = 1000 };

static const char AUTO_CHOSEN[] = "chosen";
static const double SHARE_LEAST = 0.05; /* of the time of the hottest */
static const uint64_t MS = 1000000;

/* "file:function", as --lines takes it. Before 3.11 code objects do not know what they are part of. */
static void add_pattern(struct buf *to, const struct profile_function *f)
{
	const char *comma = to->n ? "," : "";

	buf_printf(to, "%s%s:%s", comma, f->file, f->name);
	if (!strchr(f->name, '.'))
		buf_printf(to, ",%s:*.%s", f->file, f->name);
}

/* The thread that waits for the choice. */
static bool is_our_own(const struct profile_function *f)
{
	const char *dir = getenv(SESSION_ENV);

	return dir && strncmp(f->file, dir, strlen(dir)) == 0;
}

/* Functions of the program's own that can be named, from the hottest on. */
static void pick(
	struct auto_lines *a, const struct stacks *s, const struct profile *p, struct buf *patterns)
{
	size_t n = 0;
	double first_s = 0;

	for (size_t i = 0; i < p->n_functions && n < FUNCTIONS_MOST; i++) {
		const struct profile_function *f = &p->functions[i];
		double self_s = f->cost.self_value;

		if (f->is_synthetic || frames_function(s->frames, f->function)->is_library ||
			is_our_own(f) || strpbrk(f->file, ",\n") || *f->name == '<' ||
			self_s < SHARE_LEAST * first_s)
			continue;
		first_s = n++ ? first_s : self_s;
		add_pattern(patterns, f);
		buf_printf(&a->names, "%s", a->names.n ? ", " : "");
		text_add_printable(&a->names, f->name, strlen(f->name));
	}
}

static int tell_agents(const struct buf *patterns, struct err *e)
{
	const char *dir = getenv(SESSION_ENV);
	struct buf path = BUF_INIT, part = BUF_INIT;
	int status;

	if (!dir)
		return err_set(e, ERR_SYSTEM, "there is no session");
	buf_printf(&path, "%s/%s", dir, AUTO_CHOSEN);
	buf_printf(&part, "%s.part", buf_str(&path));
	status = buf_save(patterns, buf_str(&part), e);
	if (status == 0 && rename(buf_str(&part), buf_str(&path)) < 0)
		status = err_errno(e, ERR_SYSTEM, "%s", buf_str(&path));
	buf_done(&path);
	buf_done(&part);
	return status;
}

/* True when there was enough to choose from. */
static bool choose(struct auto_lines *a, struct recording *r, struct err *e)
{
	struct buf patterns = BUF_INIT;
	struct selection *s;
	bool is_chosen = false;

	if (recording_select(r, &(struct choice){ 0 }, &s, e) == 0 &&
		s->stacks->n_samples >= SAMPLES_LEAST) {
		pick(a, s->stacks, s->profile, &patterns);
		is_chosen = patterns.n && tell_agents(&patterns, e) == 0;
	}
	buf_done(&patterns);
	return is_chosen;
}

static bool on_hook(void *ctx, uint64_t now_ns)
{
	struct auto_lines *a = ctx;
	struct err ignored = ERR_INIT;
	struct recording *r;

	a->begun_ns = a->begun_ns ? a->begun_ns : now_ns;
	if (a->chosen_ns || now_ns - a->begun_ns < WATCH_MS * MS)
		return true;
	writer_flush(a->writer);
	if (format_load(&r, a->path, &ignored) < 0)
		return true;
	buf_clear(&a->names);
	if (choose(a, r, &ignored)) {
		a->chosen_ns = now_ns;
		a->hook.interval_ns = 0; /* that was all */
	}
	recording_free(r);
	return true;
}

const struct program_hook *auto_lines_hook(struct auto_lines *a)
{
	a->hook = (struct program_hook){
		.call = on_hook, .ctx = a, .fd = -1, .interval_ns = LOOK_MS * MS
	};
	return &a->hook;
}

void auto_lines_note(struct auto_lines *a, struct buf *out)
{
	if (a->chosen_ns)
		buf_printf(out,
			"Hot after %.1f s of sampling: %s. Their lines were counted from then on.\n",
			(double)(a->chosen_ns - a->begun_ns) / 1e9, buf_str(&a->names));
	else
		buf_adds(out,
			"The program ended before sampling found hot functions; name them with --lines=FUNCTION.\n");
	buf_done(&a->names);
}
