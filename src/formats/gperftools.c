/* SPDX-License-Identifier: MIT
 *
 * Reads the CPU profile of gperftools (yep writes it, too, and calls it .prof): machine words, then the text of
 * /proc/PID/maps.
 *
 *	0  3  version 0  period in µs  0         the head
 *	count  depth  pc …                       one stack, leaf first
 *	0  1  0                                  the end of stacks
 *
 * Addresses are all it knows of functions: a frame is the file it lies in and the offset there. */

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "base/banned.h"

enum { FILE_MOST = 1 << 30, HEAD_WORDS = 5, WORD = 8 };

struct range {
	uint64_t from, to, offset;
	const char *path;
	size_t path_n;
};

struct file {
	struct foreign *to;
	struct buf bytes;
	VEC(struct range) ranges;
	uint64_t period_ns;
	size_t at; /* of bytes */
};

static uint64_t word_at(const char *p, size_t i)
{
	uint64_t w;

	memcpy(&w, p + i * WORD, WORD);
	return w;
}

static bool recognise(const char *head, size_t n)
{
	return n >= HEAD_WORDS * WORD && word_at(head, 0) == 0 && word_at(head, 1) == 3 &&
		word_at(head, 2) == 0 && word_at(head, 3) > 0 && word_at(head, 3) < 1000000000 &&
		word_at(head, 4) == 0;
}

static bool take_word(struct file *f, uint64_t *ret)
{
	if (f->bytes.n - f->at < WORD)
		return false;
	*ret = word_at(f->bytes.data + f->at, 0);
	f->at += WORD;
	return true;
}

/* The lines of maps that are of files: "from-to perms offset device inode path". */
static void read_maps(struct file *f, const char *text)
{
	while (*text) {
		const char *end = strchrnul(text, '\n');
		struct range r = { 0 };
		int path = 0;

		if (sscanf(text, "%" SCNx64 "-%" SCNx64 " %*s %" SCNx64 " %*s %*s %n", &r.from,
			    &r.to, &r.offset, &path) >= 3 &&
			path && text + path < end) {
			r.path = text + path;
			r.path_n = (size_t)(end - r.path);
			vec_push(&f->ranges, r);
		}
		text = *end ? end + 1 : end;
	}
}

static uint32_t frame_of(struct file *f, uint64_t pc)
{
	char name[300];

	vec_each (&f->ranges, r) {
		const char *slash = memrchr(r->path, '/', r->path_n),
			   *base = slash ? slash + 1 : r->path;

		if (pc < r->from || pc >= r->to)
			continue;
		snprintf(name, sizeof name, "%.*s+0x%" PRIx64,
			(int)(r->path_n - (size_t)(base - r->path)), base,
			pc - r->from + r->offset);
		return foreign_frame_n(f->to, name, strlen(name), r->path, r->path_n, 0, 0);
	}
	snprintf(name, sizeof name, "0x%" PRIx64, pc);
	return foreign_frame(f->to, name, "", 0, 0);
}

/* Where the stacks end; the maps are needed before the first of them. */
static int find_maps(struct file *f, struct err *e)
{
	uint64_t count, depth, pc;

	f->at = HEAD_WORDS * WORD;
	for (;;) {
		if (!take_word(f, &count) || !take_word(f, &depth) || !take_word(f, &pc))
			return err_set(e, ERR_BAD_FILE, "it ends before its last stack");
		if (depth == 0 || depth > STACKS_DEPTH || (depth - 1) * WORD > f->bytes.n - f->at)
			return err_set(e, ERR_BAD_FILE, "byte %zu: a stack of %" PRIu64 " frames",
				f->at, depth);
		if (count == 0 && depth == 1 && pc == 0)
			break;
		f->at += (depth - 1) * WORD;
	}
	read_maps(f, buf_str(&f->bytes) + f->at);
	return 0;
}

static void add_stacks(struct file *f)
{
	uint32_t thread = foreign_thread(f->to, 0, 0, "all threads");
	uint64_t count, depth;

	f->at = HEAD_WORDS * WORD;
	while (take_word(f, &count) && take_word(f, &depth)) {
		const char *pcs = f->bytes.data + f->at;
		uint32_t stack = 0;

		if (count == 0 && depth == 1 && word_at(pcs, 0) == 0)
			break;
		for (size_t i = depth; i-- > 0;) /* callers stand behind their call */
			stack = foreign_stack(f->to, stack, frame_of(f, word_at(pcs, i) - (i > 0)));
		if (count < UINT64_MAX / 2 / f->period_ns)
			foreign_weight(f->to, thread, stack, 0, count, count * f->period_ns);
		f->at += depth * WORD;
	}
}

static int read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .to = to };
	int status = input_load(in, &f.bytes, FILE_MOST, e);

	if (status == 0 && !recognise(buf_str(&f.bytes), f.bytes.n))
		status = err_set(e, ERR_BAD_FILE, "its header is not that of a CPU profile");
	if (status == 0)
		status = find_maps(&f, e);
	if (status == 0) {
		f.period_ns = word_at(f.bytes.data, 3) * 1000;
		foreign_unit(to, FOREIGN_NS, "cpu");
		foreign_note(
			to, "It knows addresses, not functions: frames are offsets into files");
		add_stacks(&f);
	}
	buf_done(&f.bytes);
	vec_done(&f.ranges);
	return status;
}

const struct format format_gperftools = {
	.name = "gperftools",
	.summary = "the CPU profile of gperftools and yep",
	.recognise = recognise,
	.read = read,
};
