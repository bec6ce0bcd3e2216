/* SPDX-License-Identifier: MIT
 * See foreign.h. */
#include "formats/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "store/writer.h"
#include "base/banned.h"

/* Rows of stacks: a profile comes back to the same ones, and the writer's table of all of them is large. */
enum { SEEN = 1 << 18 };

struct foreign_stack {
	uint64_t key; /* parent and frame */
	uint32_t row; /* 0: none yet */
};

int foreign_begin(struct foreign *to, const char *format, struct err *e)
{
	*to = (struct foreign){ 0 };
	if (writer_open(&to->w, NULL, NULL, e) < 0)
		return -(int)e->code;
	writer_meta(to->w, "format", format);
	to->seen = xcalloc(SEEN, sizeof *to->seen);
	return 0;
}

void foreign_done(struct foreign *to)
{
	free(to->seen);
	to->seen = NULL;
}

void foreign_unit(struct foreign *to, enum foreign_unit unit, const char *measure)
{
	static const char *const words[] = { "ns", "bytes", "count" };

	writer_meta(to->w, "unit", words[unit]);
	if (*measure)
		writer_meta(to->w, "measure", measure);
}

void foreign_note(struct foreign *to, const char *note)
{
	writer_meta(to->w, "format_note", note);
}

void foreign_command(struct foreign *to, const char *command)
{
	struct arena a = ARENA_INIT;
	char **words = text_split_command(&a, command);
	struct buf argv = BUF_INIT;

	for (; words && *words; words++)
		buf_add(&argv, *words, strlen(*words) + 1);
	if (!words) /* no line a shell would take: as it is */
		buf_add(&argv, command, strlen(command) + 1);
	writer_meta_n(to->w, "argv", argv.data, argv.n);
	buf_done(&argv);
	arena_done(&a);
}

uint32_t foreign_thread(struct foreign *to, uint32_t pid, uint32_t tid, const char *name)
{
	uint32_t process = writer_row(to->w, RECORD_process, &(struct rec_process){ .pid = pid });

	return writer_row(to->w, RECORD_thread,
		&(struct rec_thread){
			.process = process, .tid = tid, .name = writer_string(to->w, name) });
}

uint32_t foreign_frame_n(struct foreign *to, const char *name, size_t name_n, const char *file,
	size_t file_n, uint64_t line, uint32_t first_line)
{
	struct rec_frame frame = { .tag = FRAME_FOREIGN,
		.name = writer_string_n(to->w, name, name_n),
		.file = writer_string_n(to->w, file, file_n),
		.position = line,
		.first_line = first_line };

	return writer_row(to->w, RECORD_frame, &frame);
}

uint32_t foreign_frame(
	struct foreign *to, const char *name, const char *file, uint64_t line, uint32_t first_line)
{
	return foreign_frame_n(to, name, strlen(name), file, strlen(file), line, first_line);
}

uint32_t foreign_stack(struct foreign *to, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	struct foreign_stack *x = &to->seen[hash_u64(key) % SEEN];

	if (x->row && x->key == key)
		return x->row;
	x->key = key;
	x->row = writer_row(
		to->w, RECORD_stack, &(struct rec_stack){ .parent = parent, .frame = frame });
	return x->row;
}

void foreign_weight(struct foreign *to, uint32_t thread, uint32_t stack, uint64_t t_ns,
	uint64_t samples, uint64_t value)
{
	writer_add(to->w, RECORD_weight,
		&(struct rec_weight){ .t_ns = t_ns,
			.thread = thread,
			.stack = stack,
			.samples = samples,
			.value = value });
	to->n_weights++;
}

uint64_t foreign_value(double value)
{
	if (!(value > 0))
		return 0;
	return value >= 9e18 ? (uint64_t)9e18 : (uint64_t)llround(value);
}
