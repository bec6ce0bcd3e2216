/* SPDX-License-Identifier: MIT
 * Fuzz target: the walker of frames on the heap. Byte 0: bit 0 doubles positions; byte 1: the number of frames;
 * then looks follow until the input ends: the leaf's number, and for each frame its code, its link, its position and
 * a byte of flags (executing, outside the image, not there). Frame i lies at 0x100 · i; a code is what has a number
 * that is not a multiple of 5. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/walk_heap.h"
#include "wire/py_layout.h"

enum { FRAMES_MOST = 64, EXECUTES = 1, OUTSIDE = 2, MISSING = 4, BYTES = 4 };
/* Per frame taken: itself, its code, its link, and all others looked through with their ways. */
enum { MOST_CALLS = (FRAMES_MOST + 2) * (4 * FRAMES_MOST + 8) };

struct input {
	struct walk_heap_frame frames[FRAMES_MOST];
	uint8_t flags[FRAMES_MOST];
	size_t n, n_calls;
	struct walk_code code;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
	if (!holds)
		abort();
}

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	struct input *in = ctx;

	require(++in->n_calls <= MOST_CALLS);
	in->code = (struct walk_code){ .n_code_bytes = (uint32_t)(address & 127) };
	return address % 5 ? &in->code : NULL;
}

static struct walk_heap_frame *find_frame(void *ctx, uint64_t address, bool may_read)
{
	struct input *in = ctx;
	uint64_t i = address / 0x100;

	require(++in->n_calls <= MOST_CALLS);
	require(address != 0);
	if (address % 0x100 || i > in->n || in->flags[i - 1] & MISSING ||
		(in->flags[i - 1] & OUTSIDE && !may_read))
		return NULL;
	return &in->frames[i - 1];
}

static bool nth_frame(void *ctx, size_t i, struct walk_heap_frame **ret)
{
	struct input *in = ctx;

	if (i >= in->n)
		return false;
	*ret = find_frame(in, 0x100 * (i + 1), false);
	return true;
}

static bool copy_again(void *ctx, struct walk_heap_frame two[2])
{
	for (int i = 0; i < 2; i++) {
		const struct walk_heap_frame *f = find_frame(ctx, two[i].address, true);

		if (!f)
			return false;
		two[i] = *f;
	}
	return true;
}

static void take_frames(struct input *in, const struct py_layout *l, const uint8_t *data)
{
	struct walk_heap_span span = walk_heap_span(l);

	for (size_t i = 0; i < in->n; i++, data += BYTES) {
		unsigned char *bytes = calloc(1, span.n); /* exactly: reads beyond are seen */
		uint64_t code = data[0], back = 0x100 * (uint64_t)data[1];
		int32_t lasti = (int8_t)data[2];

		require(bytes != NULL);
		memcpy(bytes + l->frame_code - span.from, &code, 8);
		memcpy(bytes + l->frame_previous - span.from, &back, 8);
		memcpy(bytes + l->frame_lasti - span.from, &lasti, 4);
		bytes[l->frame_state - span.from] = data[3] & EXECUTES;
		walk_heap_parse(l, bytes, &in->frames[i]);
		in->frames[i].address = 0x100 * (i + 1);
		in->flags[i] = data[3];
		free(bytes);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct walk walk;
	struct input in = { .n = n > 1 ? data[1] % (FRAMES_MOST + 1) : 0 };
	struct walk_heap_callbacks c = { find_code, find_frame, nth_frame, copy_again, &in };
	struct walk_heap *h = walk_heap_new();
	struct py_layout l;

	memset(&l, 0xff, sizeof l); /* PY_NONE */
	l.flags = n && data[0] & 1 ? PY_LASTI_DOUBLED : 0;
	l.object_type = 8;
	l.frame_previous = 24;
	l.frame_code = 32;
	l.frame_lasti = 48;
	l.frame_state = 52;
	l.frame_state_executing = 1;
	for (size_t at = 2; at < n && n - at > BYTES * in.n; at += 1 + BYTES * in.n) {
		take_frames(&in, &l, data + at + 1);
		in.n_calls = 0;
		walk_heap_stack(h, &l, 0x100 * (uint64_t)data[at], &c, &walk);
		require(walk.n <= in.n);
		require(walk.n || !walk.is_shortened);
		for (size_t i = 0; i < walk.n; i++)
			require(walk.frames[i].code % 5 && walk.frames[i].offset < 128);
		if (in.n == 0)
			break;
	}
	walk_heap_free(h);
	return 0;
}
