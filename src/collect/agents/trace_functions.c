/* SPDX-License-Identifier: MIT
 * See trace_functions.h. */
#include "collect/agents/trace_functions.h"

#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/xalloc.h"
#include "collect/sources.h"
#include "store/writer.h"
#include "wire/trace.h"
#include "base/banned.h"

struct trace_function {
	struct trace_code head; /* of a Python function */
	struct buf bytes;       /* its bytes so far; or the name of a C function */
	uint64_t n_wanted;      /* bytes of a Python function */
	bool is_builtin;
	struct trace_function_row row;
	uint32_t segment; /* of row; 0: none yet, see has_row */
	bool has_row;
};

static struct trace_function *function_at(struct trace_functions *f, uint32_t number)
{
	if (number == 0 || number > TRACE_FUNCTIONS_MOST)
		return NULL;
	while (f->all.n <= number)
		vec_push(&f->all, NULL);
	if (!f->all.v[number])
		f->all.v[number] = xcalloc(1, sizeof *f->all.v[number]);
	return f->all.v[number];
}

static bool add_bytes(
	struct trace_functions *f, struct trace_function *one, const void *p, size_t n)
{
	if (f->n_bytes + n > TRACE_FUNCTIONS_BYTES_MOST)
		return false;
	f->n_bytes += n;
	buf_add(&one->bytes, p, n);
	return true;
}

static bool add_code(struct trace_functions *f, const struct trace_code *c)
{
	struct trace_function *one = function_at(f, c->function);
	uint64_t n = (uint64_t)c->n_file + c->n_qualname + c->n_linetable + c->n_code +
		c->n_handlers + c->n_words;

	if (!one || one->n_wanted || one->is_builtin || n > TRACE_FUNCTION_BYTES_MOST)
		return false;
	one->head = *c;
	one->n_wanted = n;
	return true;
}

/* Parts come in order, of one function by one thread. */
static bool add_part(struct trace_functions *f, const struct trace_part *p, size_t n)
{
	struct trace_function *one = function_at(f, p->function);

	if (!one || one->is_builtin || p->offset != one->bytes.n ||
		one->bytes.n + n > one->n_wanted)
		return false;
	return add_bytes(f, one, p + 1, n);
}

static bool add_builtin(struct trace_functions *f, const struct trace_builtin *b, size_t n)
{
	struct trace_function *one = function_at(f, b->function);

	if (!one || one->n_wanted || one->is_builtin)
		return false;
	one->is_builtin = true;
	return add_bytes(f, one, b + 1, n);
}

bool trace_functions_add(
	struct trace_functions *f, uint16_t kind, const void *data, uint32_t n_bytes)
{
	switch (kind) {
	case TRACE_RECORD_CODE:
		return n_bytes == sizeof(struct trace_code) && add_code(f, data);
	case TRACE_RECORD_CODE_BYTES:
		return n_bytes >= sizeof(struct trace_part) &&
			add_part(f, data, n_bytes - sizeof(struct trace_part));
	case TRACE_RECORD_BUILTIN:
		return n_bytes >= sizeof(struct trace_builtin) &&
			add_builtin(f, data, n_bytes - sizeof(struct trace_builtin));
	default:
		return true;
	}
}

static void tell_source(const struct trace_functions *f, const struct trace_function *one)
{
	struct buf file = BUF_INIT;

	if (!f->sources)
		return;
	buf_add(&file, one->bytes.data, one->head.n_file);
	sources_file(f->sources, f->source_process, buf_str(&file));
	buf_done(&file);
}

static uint32_t code_row(
	const struct trace_functions *f, const struct trace_function *one, struct writer *w)
{
	const struct trace_code *c = &one->head;
	const char *p = one->bytes.data, *lines = p + c->n_file + c->n_qualname,
		   *code = lines + c->n_linetable, *handlers = code + c->n_code;
	struct rec_code r = { .file = writer_path(w, p, c->n_file),
		.qualname = writer_name(w, p + c->n_file, c->n_qualname),
		.first_line = c->first_line,
		.n_code_bytes = c->n_code,
		.linetable = { lines, c->n_linetable },
		.code_bytes = { code, c->n_code },
		.exceptions = { handlers, c->n_handlers },
		.words = { handlers + c->n_handlers, c->n_words },
		.interpreter = writer_string(w, f->interpreter) };

	return writer_row(w, RECORD_code, &r);
}

static bool begins(const char *s, size_t n, const char *with)
{
	return n >= strlen(with) && memcmp(s, with, strlen(with)) == 0;
}

/* The modules of python/leadline whose names begin with an underscore, and the agent they call: starting and
 * ending a trace is nothing the user wants to read about. */
static bool is_own(const struct trace_function *f)
{
	static const char folder[] = "leadline/_";
	const char *file = f->bytes.data, *slash, *folder_at;
	size_t n = f->head.n_file;

	if (f->is_builtin)
		return begins(file, f->bytes.n, "<built-in method _leadline_agent.");
	slash = memrchr(file, '/', n);
	folder_at = slash ? memrchr(file, '/', (size_t)(slash - file)) : NULL;
	return folder_at && begins(folder_at + 1, n - (size_t)(folder_at + 1 - file), folder);
}

struct trace_function_row trace_functions_row(
	struct trace_functions *f, uint32_t number, struct writer *w)
{
	struct trace_function *one = number < f->all.n ? f->all.v[number] : NULL;

	if (!one || one->bytes.n == 0 || one->bytes.n < one->n_wanted)
		return (struct trace_function_row){ 0 };
	if (one->has_row && one->segment == writer_segment(w))
		return one->row;
	if (!one->has_row && !one->is_builtin)
		tell_source(f, one);
	one->has_row = true;
	one->segment = writer_segment(w);
	one->row = one->is_builtin
		? (struct trace_function_row){ .builtin = writer_name(
						       w, one->bytes.data, one->bytes.n) }
		: (struct trace_function_row){ .code = code_row(f, one, w) };
	one->row.is_own = is_own(one);
	return one->row;
}

void trace_functions_done(struct trace_functions *f)
{
	vec_each (&f->all, one) {
		if (!*one)
			continue;
		buf_done(&(*one)->bytes);
		free(*one);
	}
	vec_done(&f->all);
}
