/* SPDX-License-Identifier: MIT
 * See blockfile.h. */
#include "formats/codec/blockfile.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/vec.h"
#include "formats/input.h"
#include "base/banned.h"

enum { NAME_BYTES = 4000, PER_BLOCK = 3 };

struct file {
	struct json_reader r;
	struct arena *a;
	struct err *e;
	struct blockfile to;
	VEC(struct verdict_block) blocks;
	VEC(bool) b_first;
};

static int wrong(struct file *f, const char *what)
{
	return err_set(f->e, ERR_BAD_FILE, "byte %" PRIu64 ": %s", json_offset(&f->r), what);
}

static int expect(struct file *f, enum json_token wanted, const char *what)
{
	enum json_token t;

	if (json_next(&f->r, &t, f->e) < 0)
		return -(int)f->e->code;
	return t == wanted ? 0 : wrong(f, what);
}

static int take_name(struct file *f, const char **ret)
{
	if (expect(f, JSON_STRING, "a name is a string") < 0)
		return -(int)f->e->code;
	*ret = arena_strndup(f->a, f->r.text, f->r.n < NAME_BYTES ? f->r.n : NAME_BYTES);
	return 0;
}

static int take_elapsed(struct file *f)
{
	if (expect(f, JSON_NUMBER, "seconds are a number") < 0)
		return -(int)f->e->code;
	f->to.elapsed_s = json_number_double(&f->r);
	return f->to.elapsed_s >= 0 && isfinite(f->to.elapsed_s) ? 0 : wrong(f, "no such time");
}

static int take_rounds(struct file *f)
{
	enum json_token t;
	uint64_t n = 0;

	if (json_next(&f->r, &t, f->e) < 0)
		return -(int)f->e->code;
	if (t != JSON_NULL && (t != JSON_NUMBER || !json_number_u64(&f->r, &n) || n > UINT32_MAX))
		return wrong(f, "rounds is a number");
	f->to.rounds = (unsigned)n;
	return 0;
}

/* What follows its '['. */
static int take_block(struct file *f)
{
	double s[PER_BLOCK] = { NAN, NAN, NAN };
	enum json_token t;
	size_t n = 0;

	for (;;) {
		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_ARRAY_END)
			break;
		if (n == PER_BLOCK || (t != JSON_NUMBER && !(t == JSON_NULL && n == 2)))
			return wrong(f, "a block is [A, B, A again or null], in seconds");
		if (t == JSON_NUMBER)
			s[n] = json_number_double(&f->r);
		if (t == JSON_NUMBER && !(s[n] > 0 && isfinite(s[n])))
			return wrong(f, "a time is above 0");
		n++;
	}
	if (n < 2)
		return wrong(f, "a block is [A, B, A again or null], in seconds");
	if (f->blocks.n == VERDICT_MOST_BLOCKS)
		return wrong(f, "too many blocks");
	vec_push(&f->blocks, (struct verdict_block){ s[0], s[1], s[2], false });
	return 0;
}

static int take_blocks(struct file *f)
{
	enum json_token t;

	if (expect(f, JSON_ARRAY_BEGIN, "times is a list of blocks") < 0)
		return -(int)f->e->code;
	for (;;) {
		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_ARRAY_END)
			return 0;
		if (t != JSON_ARRAY_BEGIN)
			return wrong(f, "times is a list of blocks");
		if (take_block(f) < 0)
			return -(int)f->e->code;
	}
}

static int take_orders(struct file *f)
{
	enum json_token t;

	if (expect(f, JSON_ARRAY_BEGIN, "b_first is a list") < 0)
		return -(int)f->e->code;
	for (;;) {
		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_ARRAY_END)
			return 0;
		if ((t != JSON_TRUE && t != JSON_FALSE) || f->b_first.n == VERDICT_MOST_BLOCKS)
			return wrong(f, "b_first holds true or false for each block");
		vec_push(&f->b_first, t == JSON_TRUE);
	}
}

static int take_key(struct file *f)
{
	if (json_text_is(&f->r, "a"))
		return take_name(f, &f->to.a);
	if (json_text_is(&f->r, "b"))
		return take_name(f, &f->to.b);
	if (json_text_is(&f->r, "rounds"))
		return take_rounds(f);
	if (json_text_is(&f->r, "elapsed_s"))
		return take_elapsed(f);
	if (json_text_is(&f->r, "times"))
		return take_blocks(f);
	if (json_text_is(&f->r, "b_first"))
		return take_orders(f);
	return json_skip(&f->r, f->e);
}

static int read_document(struct file *f)
{
	enum json_token t;

	if (expect(f, JSON_OBJECT_BEGIN, "no blocks of a comparison") < 0)
		return -(int)f->e->code;
	for (;;) {
		if (json_next(&f->r, &t, f->e) < 0)
			return -(int)f->e->code;
		if (t == JSON_END)
			break;
		if (t == JSON_KEY && take_key(f) < 0)
			return -(int)f->e->code;
	}
	if (!f->blocks.n)
		return err_set(f->e, ERR_BAD_FILE, "there are no blocks of a comparison in it");
	return 0;
}

int blockfile_read_fd(
	struct arena *a, int fd, const char *name, struct blockfile *ret, struct err *e)
{
	struct file f = { .a = a, .e = e, .to = { .a = "A", .b = "B", .elapsed_s = NAN } };
	struct err why = ERR_INIT;
	struct input in;
	int status;

	input_init(&in, fd);
	json_reader_init(&f.r, input_fill, &in);
	status = read_document(&f);
	json_reader_done(&f.r);
	if (status < 0 && input_error(&in, &why) < 0)
		*e = why;
	input_done(&in);
	if (status == 0) {
		for (size_t i = 0; i < f.blocks.n && i < f.b_first.n; i++)
			f.blocks.v[i].b_first = f.b_first.v[i];
		f.to.n = f.blocks.n;
		f.to.v = arena_copy(a, f.blocks.v, f.to.n * sizeof *f.to.v);
		*ret = f.to;
	}
	vec_done(&f.blocks);
	vec_done(&f.b_first);
	return status < 0 ? err_note(e, "%s", name) : 0;
}

int blockfile_load(struct arena *a, const char *path, struct blockfile *ret, struct err *e)
{
	bool is_stdin = strcmp(path, "-") == 0;
	int fd = is_stdin ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return err_errno(e, ERR_SYSTEM, "%s", path);
	return blockfile_read_fd(a, fd, is_stdin ? "standard input" : path, ret, e);
}
