/* SPDX-License-Identifier: MIT
 *
 * Reads speedscope's own format, both kinds of profile. The table of frames may stand behind the profiles
 * (py-spy writes it so): then the file is read twice. Profiles in another unit than the first are left out,
 * and told. A frame's line is where the sample stood, except in files of ours, where the function begins. */
#include "formats/speedscope.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/text.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "base/banned.h"

static const struct {
	const char *name;
	enum foreign_unit unit;
	double scale;
} units[] = { { "none", FOREIGN_COUNT, 1 }, { "nanoseconds", FOREIGN_NS, 1 },
	{ "microseconds", FOREIGN_NS, 1e3 }, { "milliseconds", FOREIGN_NS, 1e6 },
	{ "seconds", FOREIGN_NS, 1e9 }, { "bytes", FOREIGN_BYTES, 1 } };

struct item { /* a sample, or the time between two events */
	uint32_t stack;
	double t, value;
};

struct file {
	struct json_reader r;
	struct foreign *to;
	struct err *e;
	VEC(uint32_t) frames; /* rows */
	bool has_frames, is_ours;
	int unit; /* of the first profile, in units[]; −1 none yet */
	uint32_t n_profiles, n_left_out;
	VEC(uint32_t) path;     /* frames of the stack at hand … */
	VEC(uint32_t) stacks;   /* … and its rows: [i] ends with path[i] */
	VEC(struct item) items; /* of events */
	/* Samples and their weights come in two arrays, in any order. */
	VEC(uint32_t) sampled; /* rows of stacks; 0: none */
	VEC(double) weights;
};

struct profile {
	char name[200];
	bool is_evented;
	int unit; /* −1: none that is known */
	double begin, last;
	size_t n_samples, n_weights;
	bool has_begin;
	uint32_t thread; /* row, once it is kept */
	bool is_kept;    /* as it comes, since what it is stood before */
};

/* ---- what JSON is made of -------------------------------------------------------------------- */

/* Reads the next token; a value of another kind is an error. */
static int expect(struct file *f, enum json_token want, const char *what)
{
	enum json_token t;

	if (json_next(&f->r, &t, f->e) < 0)
		return -(int)f->e->code;
	if (t == want)
		return 0;
	return err_set(
		f->e, ERR_BAD_FILE, "byte %" PRIu64 ": expected %s", json_offset(&f->r), what);
}

/* The next item of an array: 1 a number, 0 the end. */
static int next_number(struct file *f, double *ret)
{
	enum json_token t;

	if (json_next(&f->r, &t, f->e) < 0)
		return -(int)f->e->code;
	if (t == JSON_ARRAY_END)
		return 0;
	if (t != JSON_NUMBER)
		return err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": expected a number",
			json_offset(&f->r));
	*ret = json_number_double(&f->r);
	return 1;
}

static int frame_row(struct file *f, double index, uint32_t *ret)
{
	if (!(index >= 0 && index < (double)f->frames.n))
		return err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": there is no frame %g",
			json_offset(&f->r), index);
	*ret = f->frames.v[(size_t)index];
	return 0;
}

/* ---- frames ---------------------------------------------------------------------------------- */

static int read_frame(struct file *f)
{
	char name[4000] = "", file[4000] = "";
	double line = 0;
	enum json_token t;

	for (;;) {
		char *text = NULL;
		bool is_line;

		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_OBJECT_END)
			break;
		is_line = json_text_is(&f->r, "line");
		text = json_text_is(&f->r, "name")    ? name
			: json_text_is(&f->r, "file") ? file
						      : NULL;
		if (!is_line && !text) {
			if (json_skip(&f->r, f->e) < 0)
				return -(int)f->e->code;
			continue;
		}
		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (is_line && t == JSON_NUMBER)
			line = json_number_double(&f->r);
		else if (text && t == JSON_STRING)
			json_copy_text(&f->r, text, sizeof name);
		else if (json_skip(&f->r, f->e) < 0)
			return -(int)f->e->code;
	}
	line = line > 0 && line < INT32_MAX ? line : 0;
	vec_push(&f->frames,
		foreign_frame(f->to, name, file, f->is_ours ? 0 : (uint64_t)line,
			f->is_ours ? (uint32_t)line : 0));
	return 0;
}

static int read_shared(struct file *f)
{
	enum json_token t;

	if (expect(f, JSON_OBJECT_BEGIN, "an object") < 0)
		return -(int)f->e->code;
	for (;;) {
		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_OBJECT_END)
			return 0;
		if (!json_text_is(&f->r, "frames")) {
			if (json_skip(&f->r, f->e) < 0)
				return -(int)f->e->code;
			continue;
		}
		if (expect(f, JSON_ARRAY_BEGIN, "an array of frames") < 0)
			return -(int)f->e->code;
		while (json_next(&f->r, &t, f->e) == 0 && t == JSON_OBJECT_BEGIN)
			if (read_frame(f) < 0)
				return -(int)f->e->code;
		if (f->e->code || t != JSON_ARRAY_END)
			return f->e->code ? -(int)f->e->code
					  : err_set(f->e, ERR_BAD_FILE,
						    "byte %" PRIu64 ": a frame is not an object",
						    json_offset(&f->r));
		f->has_frames = true;
	}
}

/* ---- stacks ---------------------------------------------------------------------------------- */

static int open_frame(struct file *f, uint32_t frame, size_t depth)
{
	if (depth >= STACKS_DEPTH)
		return err_set(f->e, ERR_BAD_FILE,
			"byte %" PRIu64 ": a stack of more than %d frames", json_offset(&f->r),
			STACKS_DEPTH);
	if (depth < f->path.n && f->path.v[depth] == frame)
		return 0; /* as before: its row is known */
	f->path.n = f->stacks.n = depth;
	vec_push(&f->path, frame);
	vec_push(&f->stacks, foreign_stack(f->to, depth ? f->stacks.v[depth - 1] : 0, frame));
	return 0;
}

/* Whether the profile is in the unit of the first, which it is where there was none yet. */
static bool counts(struct file *f, const struct profile *p)
{
	if (p->unit >= 0 && f->unit < 0) {
		f->unit = p->unit;
		foreign_unit(f->to, units[p->unit].unit, "");
	}
	return p->unit >= 0 && units[p->unit].unit == units[f->unit].unit;
}

static void begin_thread(struct file *f, struct profile *p)
{
	p->thread = foreign_thread(f->to, 0, ++f->n_profiles, p->name);
}

static void keep_item(struct file *f, const struct profile *p, const struct item *x)
{
	double scale = units[p->unit].scale;
	bool has_time = units[p->unit].unit == FOREIGN_NS;

	if (!x->stack || !(x->value > 0))
		return;
	foreign_weight(f->to, p->thread, x->stack,
		has_time ? foreign_value((x->t - p->begin) * scale) : 0, p->is_evented ? 0 : 1,
		foreign_value(x->value * scale));
}

/* Those frames of a stack that the reader has at hand. */
static int take_frames(struct file *f, size_t *depth)
{
	uint32_t indices[64];
	size_t n = json_take_u32s(&f->r, indices, sizeof indices / sizeof *indices);

	for (size_t i = 0; i < n; i++) {
		uint32_t frame = 0;

		if (frame_row(f, indices[i], &frame) < 0 || open_frame(f, frame, (*depth)++) < 0)
			return -(int)f->e->code;
	}
	return 0;
}

static int read_samples(struct file *f, struct profile *p)
{
	enum json_token t;

	while (json_next(&f->r, &t, f->e) == 0 && t == JSON_ARRAY_BEGIN) {
		size_t depth = 0;
		double index;
		uint32_t frame = 0;
		int status;

		do {
			if (take_frames(f, &depth) < 0)
				return -(int)f->e->code;
			status = next_number(f, &index);
			if (status > 0 &&
				(frame_row(f, index, &frame) < 0 ||
					open_frame(f, frame, depth++) < 0))
				return -(int)f->e->code;
		} while (status > 0);
		if (status < 0)
			return status;
		vec_push(&f->sampled, depth ? f->stacks.v[depth - 1] : 0);
		p->n_samples++;
	}
	if (f->e->code)
		return -(int)f->e->code;
	return t == JSON_ARRAY_END
		? 0
		: err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": a sample is not an array",
			  json_offset(&f->r));
}

static void take_weight(struct file *f, struct profile *p, double weight)
{
	struct item x = { .t = p->last, .value = weight };

	if (!p->is_kept) {
		vec_push(&f->weights, weight);
	} else if (p->n_weights < f->sampled.n) {
		x.stack = f->sampled.v[p->n_weights];
		keep_item(f, p, &x);
	}
	p->last += weight;
	p->n_weights++;
}

/* As they come, where all that belongs to them stood before: there may be millions. */
static int read_weights(struct file *f, struct profile *p)
{
	double weight;
	int status;

	if (!p->is_kept && p->n_samples && *p->name && p->has_begin && counts(f, p)) {
		p->is_kept = true;
		p->last = p->begin;
		begin_thread(f, p);
	}
	do {
		double many[64];
		size_t n = json_take_doubles(&f->r, many, sizeof many / sizeof *many);

		for (size_t i = 0; i < n; i++)
			take_weight(f, p, many[i]);
		status = next_number(f, &weight);
		if (status > 0)
			take_weight(f, p, weight);
	} while (status > 0);
	return status;
}

static int read_event(struct file *f, bool *ret_open, double *ret_frame, double *ret_at)
{
	enum json_token t;

	*ret_at = *ret_frame = NAN;
	*ret_open = false;
	for (;;) {
		bool is_at, is_frame, is_type;

		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_OBJECT_END)
			break;
		is_at = json_text_is(&f->r, "at");
		is_frame = json_text_is(&f->r, "frame");
		is_type = json_text_is(&f->r, "type");
		if (!is_at && !is_frame && !is_type) {
			if (json_skip(&f->r, f->e) < 0)
				return -(int)f->e->code;
			continue;
		}
		if (expect(f, is_type ? JSON_STRING : JSON_NUMBER,
			    is_type ? "O or C" : "a number") < 0)
			return -(int)f->e->code;
		if (is_type)
			*ret_open = json_text_is(&f->r, "O");
		else
			*(is_at ? ret_at : ret_frame) = json_number_double(&f->r);
	}
	if (isnan(*ret_at) || isnan(*ret_frame))
		return err_set(f->e, ERR_BAD_FILE,
			"byte %" PRIu64 ": an event without time or frame", json_offset(&f->r));
	return 0;
}

static int take_event(struct file *f, struct profile *p, size_t *depth)
{
	double frame, at;
	bool is_open;
	uint32_t row = 0;

	if (read_event(f, &is_open, &frame, &at) < 0 || frame_row(f, frame, &row) < 0)
		return -(int)f->e->code;
	if (at < p->last)
		return err_set(f->e, ERR_BAD_FILE,
			"byte %" PRIu64 ": an event comes before the previous one",
			json_offset(&f->r));
	if (*depth && at > p->last) {
		struct item x = { f->stacks.v[*depth - 1], p->last, at - p->last };

		if (p->is_kept)
			keep_item(f, p, &x);
		else
			vec_push(&f->items, x);
	}
	p->last = at;
	if (is_open)
		return open_frame(f, row, (*depth)++);
	if (!*depth || f->path.v[*depth - 1] != row)
		return err_set(f->e, ERR_BAD_FILE,
			"byte %" PRIu64 ": a frame is closed that is not the innermost",
			json_offset(&f->r));
	--*depth;
	return 0;
}

static int read_events(struct file *f, struct profile *p)
{
	size_t depth = 0;
	enum json_token t;

	p->last = -INFINITY;
	p->is_kept = *p->name && p->has_begin && counts(f, p);
	if (p->is_kept)
		begin_thread(f, p);
	while (json_next(&f->r, &t, f->e) == 0 && t == JSON_OBJECT_BEGIN)
		if (take_event(f, p, &depth) < 0)
			return -(int)f->e->code;
	if (f->e->code)
		return -(int)f->e->code;
	return t == JSON_ARRAY_END
		? 0
		: err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": an event is not an object",
			  json_offset(&f->r));
}

/* ---- profiles -------------------------------------------------------------------------------- */

static int read_key(struct file *f, struct profile *p)
{
	enum json_token t;
	char key[16];

	json_copy_text(&f->r, key, sizeof key);
	if (json_next(&f->r, &t, f->e) < 0)
		return -(int)f->e->code;
	if (t == JSON_ARRAY_BEGIN && strcmp(key, "samples") == 0)
		return read_samples(f, p);
	if (t == JSON_ARRAY_BEGIN && strcmp(key, "weights") == 0)
		return read_weights(f, p);
	if (t == JSON_ARRAY_BEGIN && strcmp(key, "events") == 0) {
		p->is_evented = true;
		return read_events(f, p);
	}
	if (t == JSON_STRING && strcmp(key, "name") == 0)
		json_copy_text(&f->r, p->name, sizeof p->name);
	for (int i = 0; t == JSON_STRING && strcmp(key, "unit") == 0 && i < 6; i++)
		if (json_text_is(&f->r, units[i].name))
			p->unit = i;
	if (t == JSON_NUMBER && strcmp(key, "startValue") == 0)
		p->begin = json_number_double(&f->r);
	p->has_begin |= strcmp(key, "startValue") == 0;
	return t == JSON_OBJECT_BEGIN || t == JSON_ARRAY_BEGIN ? json_skip(&f->r, f->e) : 0;
}

static void keep(struct file *f, struct profile *p)
{
	double at = p->begin;

	begin_thread(f, p);
	vec_each (&f->items, x)
		keep_item(f, p, x);
	for (size_t i = 0; i < f->sampled.n && i < f->weights.n; i++) {
		keep_item(f, p, &(struct item){ f->sampled.v[i], at, f->weights.v[i] });
		at += f->weights.v[i];
	}
}

static int read_profile(struct file *f)
{
	struct profile p = { .unit = -1 };
	enum json_token t;

	vec_clear(&f->items);
	vec_clear(&f->sampled);
	vec_clear(&f->weights);
	vec_clear(&f->path);
	vec_clear(&f->stacks);
	while (json_next(&f->r, &t, f->e) == 0 && t == JSON_KEY)
		if (read_key(f, &p) < 0)
			return -(int)f->e->code;
	if (f->e->code)
		return -(int)f->e->code;
	if (!p.is_evented && p.n_samples != p.n_weights)
		return err_set(f->e, ERR_BAD_FILE,
			"byte %" PRIu64 ": a profile of %zu samples and %zu weights",
			json_offset(&f->r), p.n_samples, p.n_weights);
	if (p.is_kept)
		return 0;
	if (counts(f, &p))
		keep(f, &p);
	else
		f->n_left_out++;
	return 0;
}

static int read_profiles(struct file *f)
{
	enum json_token t;

	if (expect(f, JSON_ARRAY_BEGIN, "an array of profiles") < 0)
		return -(int)f->e->code;
	while (json_next(&f->r, &t, f->e) == 0 && t == JSON_OBJECT_BEGIN)
		if (read_profile(f) < 0)
			return -(int)f->e->code;
	if (f->e->code || t == JSON_ARRAY_END)
		return -(int)f->e->code;
	return err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": a profile is not an object",
		json_offset(&f->r));
}

/* Returns 1 where profiles stand before the frames they need. */
static int read_file(struct file *f)
{
	bool is_behind = false;
	enum json_token t;

	if (expect(f, JSON_OBJECT_BEGIN, "an object") < 0)
		return -(int)f->e->code;
	while (json_next(&f->r, &t, f->e) == 0 && t == JSON_KEY) {
		bool is_shared = json_text_is(&f->r, "shared") && !f->has_frames;
		bool is_profiles = json_text_is(&f->r, "profiles");
		int status = 0;

		if (json_text_is(&f->r, "exporter")) {
			status = json_next(&f->r, &t, f->e);
			if (status == 0 && t == JSON_STRING)
				f->is_ours = f->r.n > 8 && memcmp(f->r.text, "leadline", 8) == 0;
			else if (status == 0)
				status = json_skip(&f->r, f->e);
		} else if (is_shared) {
			status = read_shared(f);
		} else if (is_profiles && f->has_frames) {
			status = read_profiles(f);
		} else {
			is_behind |= is_profiles;
			status = json_skip(&f->r, f->e);
		}
		if (status < 0)
			return status;
		if (is_behind && f->has_frames)
			return 1;
	}
	return -(int)f->e->code;
}

bool speedscope_recognise(const char *head, size_t n)
{
	static const char word[] = "speedscope.app/file-format-schema.json";

	return n && *head == '{' && memmem(head, n, word, sizeof word - 1);
}

int speedscope_read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .to = to, .e = e, .unit = -1 };
	char note[100];
	int status;

	json_reader_init(&f.r, input_fill, in);
	status = read_file(&f);
	json_reader_done(&f.r);
	if (status == 1 && (status = input_rewind(in, e)) == 0) {
		json_reader_init(&f.r, input_fill, in);
		status = read_file(&f);
		json_reader_done(&f.r);
	}
	if (status == 0 && f.unit < 0)
		status = err_set(e, ERR_BAD_FILE, "it holds no profile in a unit that is known");
	if (status == 0 && f.n_left_out) {
		snprintf(note, sizeof note, "%u profiles in other units were left out",
			f.n_left_out);
		foreign_note(to, note);
	}
	vec_done(&f.frames);
	vec_done(&f.path);
	vec_done(&f.stacks);
	vec_done(&f.items);
	vec_done(&f.sampled);
	vec_done(&f.weights);
	return status;
}
