/* SPDX-License-Identifier: MIT
 *
 * layout_dump PID [--fields]: what py_target finds in a process, and the Python stack of each of its
 * threads by a plain walk, as the end-to-end tests want to see it. One line each:
 *
 *	version 3.13.0
 *	module /usr/lib/libpython3.13.so.1.0
 *	proof 1 interpreters, 2 threads, 2 stacks, 9 frames, 7 codes, 0 torn
 *	field thread.next = 8              (--fields)
 *	thread 1234 script.py:inner < script.py:<module>
 *
 * Exit statuses: 0; 75 when it is still starting; else that of the error. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/text.h"
#include "collect/samples/target.h"
#include "cpython/strings.h"
#include "base/banned.h"

enum { STARTING = 75, FRAMES_MAX = 1000, THREADS_MAX = 1000 };

static uint64_t get(const struct py_target *t, uint64_t address)
{
	uint64_t value;

	return address > 4096 && mem_read_u64(&t->mem, address, &value) == 0 ? value : 0;
}

static bool add_name(const struct py_target *t, uint64_t str, struct buf *out)
{
	struct buf text = BUF_INIT;
	bool is_good = strings_read(&t->mem, &t->layout, str, 10000, &text) == 0;

	text_add_printable(out, buf_str(&text), text.n);
	buf_done(&text);
	return is_good;
}

/* false where the frame went away meanwhile. */
static bool add_code(const struct py_target *t, uint64_t code, struct buf *out)
{
	const struct py_layout *l = &t->layout;
	uint32_t name = l->code_qualname != PY_NONE ? l->code_qualname : l->code_name;

	if (!add_name(t, get(t, code + l->code_filename), out))
		return false;
	buf_addc(out, ':');
	return add_name(t, get(t, code + name), out);
}

static uint64_t first_frame(const struct py_target *t, uint64_t thread)
{
	const struct py_layout *l = &t->layout;

	if (l->thread_frame != PY_NONE)
		return get(t, thread + l->thread_frame);
	if (l->thread_current_frame != PY_NONE)
		return get(t, thread + l->thread_current_frame);
	return get(t, get(t, thread + l->thread_cframe) + l->cframe_current_frame);
}

/* Frames that only mark a call from C are left out. */
static void add_stack(const struct py_target *t, uint64_t thread, struct buf *out)
{
	const struct py_layout *l = &t->layout;
	uint64_t frame = first_frame(t, thread);
	const char *between = "";

	for (int i = 0; frame && i < FRAMES_MAX; i++) {
		unsigned char image[PY_FRAME_BYTES_MAX];
		uint64_t code, previous;

		if (mem_read(&t->mem, frame, image, l->frame_localsplus) < 0)
			break;
		memcpy(&code, image + l->frame_code, sizeof code);
		memcpy(&previous, image + l->frame_previous, sizeof previous);
		if (l->frame_owner_boundary == PY_NONE ||
			image[l->frame_owner] < l->frame_owner_boundary) {
			buf_adds(out, between);
			if (!add_code(t, py_untagged(l, code), out))
				break;
			between = " < ";
		}
		frame = previous;
	}
}

static void print_threads(const struct py_target *t)
{
	const struct py_layout *l = &t->layout;
	uint64_t interp = get(t, t->runtime + l->runtime_interpreters_head);

	for (int i = 0; interp && i < THREADS_MAX; i++, interp = get(t, interp + l->interp_next)) {
		uint64_t thread = get(t, interp + l->interp_threads_head);

		for (int j = 0; thread && j < THREADS_MAX; j++) {
			struct buf line = BUF_INIT;
			uint32_t id = l->thread_native_thread_id != PY_NONE
				? l->thread_native_thread_id
				: l->thread_thread_id;

			add_stack(t, thread, &line);
			printf("thread %llu %s\n", (unsigned long long)get(t, thread + id),
				buf_str(&line));
			buf_done(&line);
			thread = get(t, thread + l->thread_next);
		}
	}
}

static void print_target(const struct py_target *t, bool want_fields)
{
	const struct layout_proof *p = &t->proof;
	struct buf fields = BUF_INIT;

	printf("version %s\nexecutable %s\nmodule %s\n", t->version, t->executable, t->module);
	printf("proof %u interpreters, %u threads, %u stacks, %u frames, %u codes, %u torn\n",
		p->n_interpreters, p->n_threads, p->n_stacks, p->n_frames, p->n_codes, p->n_torn);
	layout_format(&t->layout, &fields);
	for (const char *line = buf_str(&fields); want_fields && *line;) {
		int n = (int)strcspn(line, "\n");

		printf("field %.*s\n", n, line);
		line += n + 1;
	}
	buf_done(&fields);
}

int main(int argc, char **argv)
{
	struct err e = ERR_INIT;
	struct py_target t;
	int result;

	if (argc < 2)
		return 2;
	result = py_target_open(&t, (pid_t)strtol(argv[1], NULL, 10), &e);
	if (result) {
		fprintf(stderr, "layout_dump: %s\n", e.text);
		return result == PY_TARGET_STARTING ? STARTING : err_exit_status(&e);
	}
	print_target(&t, argc > 2 && strcmp(argv[2], "--fields") == 0);
	print_threads(&t);
	py_target_close(&t);
	return 0;
}
