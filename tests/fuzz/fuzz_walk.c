/* SPDX-License-Identifier: MIT
 * Fuzz target: the stack walker. Byte 0 chooses the interpreter (bit 0: like 3.11, else 3.13; bit 1:
 * tagged code), byte 1 the number of chunks; then the two tops and the running frame as 16-bit
 * numbers, for each chunk its length in 8 bytes, and the rest is shared out: chunks in order, then
 * frames outside. Addresses in frames are 16-bit numbers too, so that links are found: chunk i lies at
 * 0x1000 · (i + 1), what is at 0x8000 and above is outside. Code is what has an address that is a
 * multiple of 16; its frames' size hangs on the address. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cpython/walk.h"
#include "wire/py_layout.h"

enum { HEAD = 32, N_CHUNKS = 4, MOST_CALLS = (WALK_DEPTH + WALK_CHUNKS) * 3 * (WALK_HOPS + 1) };

struct input {
	const uint8_t *p;
	size_t n;
	size_t n_calls;
	struct walk_code code;
	unsigned char *outside; /* exactly one frame: reads beyond are seen */
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static void require(int holds)
{
	if (!holds)
		abort();
}

static uint64_t take_u16(struct input *in)
{
	uint64_t v;

	if (in->n < 2)
		return 0;
	v = in->p[0] | (uint64_t)in->p[1] << 8;
	in->p += 2;
	in->n -= 2;
	return v;
}

static const struct walk_code *find_code(void *ctx, uint64_t address)
{
	struct input *in = ctx;

	require(++in->n_calls <= MOST_CALLS);
	if (address % 16)
		return NULL;
	in->code = (struct walk_code){ .frame_bytes = (uint32_t)(address / 16 % 32 * 8),
		.n_code_bytes = (uint32_t)(address >> 9),
		.code_address = address + 256 };
	if (in->code.frame_bytes == 248)
		in->code.frame_bytes = UINT32_MAX;
	return &in->code;
}

static const unsigned char *find_outside(void *ctx, uint64_t address)
{
	struct input *in = ctx;

	require(++in->n_calls <= MOST_CALLS);
	if (address < 0x8000 || address - 0x8000 >= in->n || in->n - (address - 0x8000) < HEAD)
		return NULL;
	memcpy(in->outside, in->p + (address - 0x8000), HEAD);
	return in->outside;
}

static uint64_t find_copy(void *ctx, uint64_t code, uint32_t index, uint64_t instr)
{
	struct input *in = ctx;

	require(++in->n_calls <= MOST_CALLS && index);
	return code && instr % 2 == 0 ? instr - index : 0;
}

static struct py_layout layout(unsigned kind)
{
	struct py_layout l;

	memset(&l, 0xff, sizeof l); /* PY_NONE */
	l.flags = kind & 2 ? PY_STACKREF_TAGGED : 0;
	l.frame_code = 0;
	l.frame_previous = 8;
	l.frame_instr = 16;
	if (!(kind & 4))
		l.frame_stacktop = 24;
	if (kind & 8)
		l.frame_tlbc_index = 20; /* they may overlap: all of it is noise */
	l.frame_owner = 28;
	l.frame_owner_thread = 0;
	l.frame_owner_generator = 1;
	if (kind & 1)
		l.frame_is_entry = 29;
	else
		l.frame_owner_boundary = 3;
	l.frame_localsplus = HEAD;
	l.chunk_previous = 0;
	l.chunk_size = 8;
	l.chunk_top = 16;
	l.chunk_data = 24;
	return l;
}

static void cut_chunks(struct input *in, struct walk_chunk *chunks, size_t n)
{
	size_t sizes[N_CHUNKS];

	for (size_t i = 0; i < n; i++)
		sizes[i] = 8 * (size_t)take_u16(in) % 0x1008;
	for (size_t i = 0; i < n; i++) {
		size_t size = sizes[i] < in->n ? sizes[i] : in->n;
		unsigned char *bytes = malloc(size ? size : 1);

		require(bytes != NULL);
		memcpy(bytes, in->p, size);
		chunks[i] = (struct walk_chunk){ 0x1000 * (i + 1), bytes, size };
		in->p += size;
		in->n -= size;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static struct walk walk;
	struct walk_chunk chunks[N_CHUNKS];
	struct input in = { .p = data, .n = n };
	struct walk_callbacks c = { find_code, find_outside, &in, find_copy };
	struct walk_image image = { .chunks = chunks };
	uint64_t kind = take_u16(&in);
	struct py_layout l = layout((unsigned)kind & 255);

	in.outside = malloc(HEAD);
	require(in.outside != NULL);
	image.top_before = take_u16(&in);
	image.top_after = take_u16(&in);
	image.current = take_u16(&in);
	image.n_chunks = (kind >> 8) % (N_CHUNKS + 1);
	cut_chunks(&in, chunks, image.n_chunks);
	walk_stack(&l, &image, &c, &walk);
	require(walk.n <= WALK_DEPTH);
	for (size_t i = 0; i < walk.n; i++)
		require(find_code(&in, walk.frames[i].code) != NULL);
	for (size_t i = 0; i < image.n_chunks; i++)
		free((void *)chunks[i].bytes);
	free(in.outside);
	return 0;
}
