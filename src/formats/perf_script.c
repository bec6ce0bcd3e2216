/* SPDX-License-Identifier: MIT
 *
 * Reads what `perf script` prints of a recording with call chains: a line per sample (command, pid, CPU, time, period,
 * event), then its frames, leaf first, each "address symbol+offset (object)", then a blank line. The first event counts; samples of others
 * are left out and told. The clocks' periods are time; those of other events are counts of them. */

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/err.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "base/banned.h"

struct head { /* of a sample; texts are borrowed from its line */
	const char *command, *event;
	size_t command_n, event_n;
	uint32_t pid, tid;
	double t_s;
	uint64_t period;
};

struct word {
	const char *p;
	size_t n;
};

enum { WORDS = 24 };

static size_t split(const char *s, size_t n, struct word words[WORDS])
{
	size_t n_words = 0, i = 0;

	while (i < n && n_words < WORDS) {
		while (i < n && isspace((unsigned char)s[i]))
			i++;
		words[n_words].p = s + i;
		while (i < n && !isspace((unsigned char)s[i]))
			i++;
		words[n_words].n = (size_t)(s + i - words[n_words].p);
		n_words += words[n_words].n > 0;
	}
	return n_words;
}

static bool is_number(const char *s, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!isdigit((unsigned char)s[i]))
			return false;
	return n > 0 && n < 20;
}

/* "12.345678:" */
static bool is_time(struct word w)
{
	const char *point = w.n > 3 ? memchr(w.p, '.', w.n) : NULL;

	return point && w.p[w.n - 1] == ':' && is_number(w.p, (size_t)(point - w.p)) &&
		is_number(point + 1, (size_t)(w.p + w.n - 1 - point - 1));
}

/* "12" or "12/13". */
static bool parse_ids(struct word w, struct head *h)
{
	const char *slash = memchr(w.p, '/', w.n);
	size_t n = slash ? (size_t)(slash - w.p) : w.n;

	if (!is_number(w.p, n) || (slash && !is_number(slash + 1, w.n - n - 1)))
		return false;
	h->pid = (uint32_t)strtoul(w.p, NULL, 10);
	h->tid = slash ? (uint32_t)strtoul(slash + 1, NULL, 10) : h->pid;
	return true;
}

static bool parse_head(const char *s, size_t n, struct head *h)
{
	struct word words[WORDS];
	size_t n_words = split(s, n, words), at = 2, ids, next;

	if (!n || isspace((unsigned char)*s) || *s == '#')
		return false;
	while (at < n_words && !is_time(words[at]))
		at++;
	if (at >= n_words)
		return false;
	ids = words[at - 1].p[0] == '[' ? at - 2 : at - 1;
	if (ids == 0 || !parse_ids(words[ids], h))
		return false;
	h->command = words[0].p;
	h->command_n = (size_t)(words[ids - 1].p + words[ids - 1].n - words[0].p);
	h->t_s = strtod(words[at].p, NULL);
	next = at + 1;
	h->period = 1;
	if (next < n_words && is_number(words[next].p, words[next].n))
		h->period = strtoull(words[next++].p, NULL, 10);
	if (next >= n_words || words[next].n < 2 || words[next].p[words[next].n - 1] != ':')
		return false;
	h->event = words[next].p;
	h->event_n = words[next].n - 1;
	return true;
}

/* ---- frames ---------------------------------------------------------------------------------- */

struct file {
	struct input *in;
	struct foreign *to;
	struct err *e;
	VEC(uint32_t) frames; /* of the sample at hand, leaf first */
	char event[100];
	bool is_clock;
	double zero_s;
	uint64_t n_other;
};

static bool is_clock(const char *event)
{
	return strncmp(event, "cpu-clock", 9) == 0 || strncmp(event, "task-clock", 10) == 0;
}

/* "7f12ab symbol+0x12 (/usr/lib/x.so)" */
static int take_frame(struct file *f, const char *s, size_t n)
{
	const char *end = s + n, *object = end, *name, *plus;

	while (s < end && isspace((unsigned char)*s))
		s++;
	name = s;
	while (name < end && isxdigit((unsigned char)*name))
		name++;
	if (name == s || name == end || *name != ' ')
		return err_set(f->e, ERR_BAD_FILE,
			"line %" PRIu64 ": expected an address and a symbol", f->in->n_lines);
	name++;
	if (end[-1] == ')') {
		object = memrchr(name, '(', (size_t)(end - name));
		object = object && object > name && object[-1] == ' ' ? object : end;
	}
	n = (size_t)(object - name) - (object < end);
	plus = memrchr(name, '+', n);
	if (plus && plus + 2 < name + n && plus[1] == '0' && plus[2] == 'x')
		n = (size_t)(plus - name);
	if (f->frames.n >= STACKS_DEPTH)
		return err_set(f->e, ERR_BAD_FILE,
			"line %" PRIu64 ": a stack of more than %d frames", f->in->n_lines,
			STACKS_DEPTH);
	vec_push(&f->frames,
		foreign_frame_n(f->to, name, n, object < end ? object + 1 : "",
			object < end ? (size_t)(end - object) - 2 : 0, 0, 0));
	return 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

struct sample {
	uint32_t thread;
	double t_s;
	uint64_t period;
	bool counts;
};

static void finish(struct file *f, const struct sample *s)
{
	uint32_t stack = 0;

	if (s->counts)
		for (size_t i = f->frames.n; i-- > 0;)
			stack = foreign_stack(f->to, stack, f->frames.v[i]);
	if (stack)
		foreign_weight(f->to, s->thread, stack, foreign_value((s->t_s - f->zero_s) * 1e9),
			1, s->period);
	vec_clear(&f->frames);
}

static void begin(struct file *f, const struct head *h, struct sample *s)
{
	char name[64];

	if (!*f->event) {
		snprintf(f->event, sizeof f->event, "%.*s", (int)h->event_n, h->event);
		f->is_clock = is_clock(f->event);
		f->zero_s = h->t_s;
		foreign_unit(f->to, f->is_clock ? FOREIGN_NS : FOREIGN_COUNT, f->event);
	}
	snprintf(name, sizeof name, "%.*s", (int)(h->command_n < 60 ? h->command_n : 60),
		h->command);
	s->counts = strlen(f->event) ==
			(h->event_n < sizeof f->event ? h->event_n : sizeof f->event - 1) &&
		strncmp(f->event, h->event, strlen(f->event)) == 0;
	f->n_other += !s->counts;
	s->thread = s->counts ? foreign_thread(f->to, h->pid, h->tid, name) : 0;
	s->t_s = h->t_s;
	s->period = h->period;
}

static int read_lines(struct file *f)
{
	struct sample s = { 0 };
	struct head h;
	char *line;
	size_t n;
	int status;

	while ((status = input_line(f->in, &line, &n, f->e)) > 0) {
		if (n && (line[0] == ' ' || line[0] == '\t')) {
			if (take_frame(f, line, n) < 0)
				return -(int)f->e->code;
		} else if (n == 0) {
			finish(f, &s);
		} else if (parse_head(line, n, &h)) {
			finish(f, &s);
			begin(f, &h, &s);
		} else if (line[0] != '#') {
			return err_set(f->e, ERR_BAD_FILE,
				"line %" PRIu64 ": neither a sample nor a frame", f->in->n_lines);
		}
	}
	finish(f, &s);
	return status;
}

static int read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .in = in, .to = to, .e = e };
	char note[100];
	int status = read_lines(&f);

	if (status == 0 && !*f.event)
		status = err_set(e, ERR_BAD_FILE, "it holds no samples");
	if (status == 0 && f.n_other) {
		snprintf(note, sizeof note, "%" PRIu64 " samples of other events were left out",
			f.n_other);
		foreign_note(to, note);
	}
	vec_done(&f.frames);
	return status;
}

/* The first line that is no comment is a sample, and what follows it a frame. */
static bool recognise(const char *head, size_t n)
{
	const char *end;
	struct head h;

	while (n && (*head == '#' || *head == '\n')) {
		end = memchr(head, '\n', n);
		if (!end)
			return false;
		n -= (size_t)(end + 1 - head);
		head = end + 1;
	}
	end = n ? memchr(head, '\n', n) : NULL;
	return end && parse_head(head, (size_t)(end - head), &h) && end + 1 < head + n &&
		(end[1] == '\t' || end[1] == ' ');
}

const struct format format_perf_script = {
	.name = "perf-script",
	.summary = "what perf script prints",
	.recognise = recognise,
	.read = read,
};
