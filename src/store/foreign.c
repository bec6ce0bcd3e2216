/* SPDX-License-Identifier: MIT
 * See foreign.h. */
#include "store/foreign.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/budget.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/hash.h"
#include "base/text.h"
#include "base/xalloc.h"
#include "store/writer.h"
#include "base/banned.h"

enum { FRAMES = 1 << 14 };

struct foreign_frame {
	uint64_t hash, line;
	char *texts; /* name and file; owned */
	size_t name_n, file_n;
	uint32_t first_line, row;
};

int foreign_begin(struct foreign *to, const char *format, struct budget *budget, struct err *e)
{
	*to = (struct foreign){ .budget = budget };
	if (writer_open(&to->w, NULL, &(struct writer_options){ .budget = budget }, e) < 0)
		return -(int)e->code;
	writer_meta(to->w, "format", format);
	to->frames = xcalloc(FRAMES, sizeof *to->frames);
	trie_init(&to->stacks);
	return 0;
}

void foreign_done(struct foreign *to)
{
	for (size_t i = 0; to->frames && i < FRAMES; i++)
		free(to->frames[i].texts);
	free(to->frames);
	trie_done(&to->stacks);
	to->frames = NULL;
}

bool foreign_goes_on(const struct foreign *to)
{
	return budget_is_kept(to->budget);
}

void foreign_hold(struct foreign *to, size_t n_bytes)
{
	budget_take(to->budget, n_bytes);
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

static bool is_same(const struct foreign_frame *x, uint64_t hash, const char *name, size_t name_n,
	const char *file, size_t file_n)
{
	return x->texts && x->hash == hash && x->name_n == name_n && x->file_n == file_n &&
		memcmp(x->texts, name, name_n) == 0 && memcmp(x->texts + name_n, file, file_n) == 0;
}

uint32_t foreign_frame_n(struct foreign *to, const char *name, size_t name_n, const char *file,
	size_t file_n, uint64_t line, uint32_t first_line)
{
	uint64_t hash = hash_bytes(name, name_n) ^ hash_u64(line + first_line + file_n);
	struct foreign_frame *x = &to->frames[hash % FRAMES];

	if (is_same(x, hash, name, name_n, file, file_n) && x->line == line &&
		x->first_line == first_line)
		return x->row;
	free(x->texts);
	*x = (struct foreign_frame){ .hash = hash,
		.line = line,
		.texts = xmalloc(name_n + file_n + 1),
		.name_n = name_n,
		.file_n = file_n,
		.first_line = first_line };
	memcpy(x->texts, name, name_n);
	memcpy(x->texts + name_n, file, file_n);
	x->row = writer_row(to->w, RECORD_frame,
		&(struct rec_frame){ .tag = FRAME_FOREIGN,
			.name = writer_string_n(to->w, name, name_n),
			.file = writer_string_n(to->w, file, file_n),
			.position = line,
			.first_line = first_line });
	return x->row;
}

uint32_t foreign_frame(
	struct foreign *to, const char *name, const char *file, uint64_t line, uint32_t first_line)
{
	return foreign_frame_n(to, name, strlen(name), file, strlen(file), line, first_line);
}

uint32_t foreign_stack(struct foreign *to, uint32_t parent, uint32_t frame)
{
	uint32_t row;

	if (!budget_step(to->budget, 1))
		return 0;
	row = trie_find(&to->stacks, parent, frame);
	if (row)
		return row;
	writer_row_new(
		to->w, RECORD_stack, &(struct rec_stack){ .parent = parent, .frame = frame });
	return trie_add(&to->stacks, parent, frame);
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
