/* SPDX-License-Identifier: MIT
 * What a page may be asked, against anything: the first line is the name of an answer, the next its query, what follows
 * a file of another tool (none: a small one). Nothing may crash or leak; a refusal must say why, an answer must be JSON. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "serve/answers/answer.h"
#include "serve/http/compress.h"
#include "serve/http/guard.h"
#include "serve/http/params.h"
#include "serve/library.h"

#include "save.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

static const char SMALL[] = "main;a;b 10\nmain;a;a;c 5\nmain;<script> 1\nother 2\n";

/* Up to the line's end, as a text. */
static char *line_of(const uint8_t **data, size_t *n)
{
	const uint8_t *end = memchr(*data, '\n', *n);
	size_t length = end ? (size_t)(end - *data) : *n;
	char *text = malloc(length + 1);

	memcpy(text, *data, length);
	text[length] = '\0';
	*data += length + (end != NULL);
	*n -= length + (end != NULL);
	return text;
}

static void ask(struct library *l, const char *name, struct params *p)
{
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;

	if (answer_make(l, name, p, &out, &e) < 0) {
		if (!e.code || !e.text[0] || out.n)
			abort();
	} else if (out.n < 2 || out.data[0] != '{' || out.data[out.n - 1] != '}') {
		abort();
	}
	buf_done(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	static const struct guard guard = { .token = "0123456789abcdef0123456789abcdef" };
	static char path[64];
	char *name = line_of(&data, &n), *query = line_of(&data, &n);
	struct library l = LIBRARY_INIT;
	struct err e = ERR_INIT;
	struct params p;

	if (!*path)
		snprintf(path, sizeof path, "/tmp/fuzz_view.%d.folded", (int)getpid());
	save(path, n ? (const void *)data : SMALL, n ? n : sizeof SMALL - 1);
	guard_host(&guard, name);
	guard_origin(&guard, query, name);
	encoding_choose(query);
	if (params_parse(&p, query, &e) < 0 && !e.text[0])
		abort();
	if (!e.code && library_open(&l, path, &e) == 0) {
		ask(&l, name, &p);
		ask(&l, name, &p); /* out of what the first made */
	}
	library_done(&l);
	params_done(&p);
	free(name);
	free(query);
	return 0;
}
