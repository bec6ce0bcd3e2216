/* SPDX-License-Identifier: MIT
 * Every answer of the page's server about recordings that are damaged or made to do harm: one or two of them (MARK between them)
 * behind a byte of flags. Whatever is asked, and however: nothing may crash or leak, a refusal must say why and have made nothing, an answer must
 * be JSON. The seeds are made by make_answers_corpus.py. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "serve/answers/answer.h"
#include "serve/http/params.h"
#include "serve/library.h"
#include "serve/onefile.h"

#include "fix_checksums.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n);

#define MARK "\n--and--\n"

enum {
	AS_IT_IS = 1, /* checksums are not made right first: chunks that were changed are dropped */
	ONE_FILE = 2, /* the page as one file, too */
	ALONE = 4,    /* without another recording beside it */
	PARTS = 8,    /* times 1 … 3: a third of the questions, which is quicker */
};

/* ---- what is asked --------------------------------------------------------------------------- */

/* {f}: each of these in turn, as a function or a node. */
static const char *const numbers[] = { "0", "1", "7", "4294967295" };

static const struct {
	const char *name, *query;
} questions[] = {
	{ "overview", "" },
	{ "overview", "from=0.01&to=0.5&state=cpu&idle=1" },
	{ "overview", "r=1&thread=%231" },
	{ "bench", "" },
	{ "bytecode", "function={f}" },
	{ "diff", "r=0&with=1" },
	{ "diff", "r=1&with=0&normalize=run&sort=total&limit=3" },
	{ "diff", "r=0&with=1&normalize=unit&unit=calls" },
	{ "diff", "r=0&with=0" },
	{ "difftree", "r=0&with=1&width=2000" },
	{ "difftree", "r=0&with=1&side=a&normalize=run&node={f}" },
	{ "files", "" },
	{ "files", "r=1&only_mine=1" },
	{ "graph", "" },
	{ "graph", "nodes=1000&node_share=0&edge_share=0&idle=1" },
	{ "ops_diff", "r=0&with=1" },
	{ "ops_diff", "r=1&with=0&normalize=absolute" },
	{ "ops_diff", "r=0&with=1&normalize=run" },
	{ "ranks", "" },
	{ "sandwich", "function={f}&width=600" },
	{ "overview", "memory=peak" },
	{ "diff", "r=0&with=1&memory=leaks" },
	{ "files", "memory=growth" },
	{ "graph", "memory=churn&only_mine=1" },
	{ "sandwich", "function={f}&memory=peak" },
	{ "source", "file=%2Fsrv%2Fapp%2Fcache.py&memory=churn" },
	{ "spread", "function={f}&memory=leaks" },
	{ "table", "memory=growth&from=0.1&to=1" },
	{ "table", "memory=leaks&what=lines&thread=%231" },
	{ "tree", "memory=peak&process=100" },
	{ "tree", "memory=growth&direction=inverted" },
	{ "search", "q=a" },
	{ "search", "q=.%2A&regex=1&limit=5" },
	{ "source", "file=%2Fsrv%2Fapp%2Forders.py" },
	{ "source", "file=&first=4294967295&last=1" },
	{ "spread", "function={f}" },
	{ "spread", "function={f}&idle=1&r=1" },
	{ "table", "" },
	{ "table", "what=lines&sort=file&offset=1" },
	{ "table", "what=lines&sort=hits" },
	{ "table", "sort=calls&filter=a&limit=5000" },
	{ "table", "what=callers&function={f}" },
	{ "table", "what=callees&function={f}&only_mine=1" },
	{ "table", "focus=.&merge=%5Ea&collapse=1&drop=zzz" },
	{ "timeline", "px=100" },
	{ "timeline", "from=1e9&to=0&px=1" },
	{ "torch", "" },
	{ "torch", "what=operators" },
	{ "torch", "what=shapes" },
	{ "torch", "what=kernels" },
	{ "torch", "what=launches" },
	{ "torch", "what=steps" },
	{ "torch", "what=streams" },
	{ "torch", "what=modules" },
	{ "torch", "what=memory" },
	{ "torch", "what=compile" },
	{ "torch", "what=timeline&flows=1&python=1&px=300" },
	{ "torch", "what=timeline&from=0.001&to=0.002&px=1" },
	{ "torch", "what=span&event={f}" },
	{ "torch", "what=overview&r=1" },
	{ "tree", "" },
	{ "tree", "direction=inverted&width=10000&node={f}" },
	{ "tree", "direction=time&width=100" },
	{ "tree", "node={f}&filter=a&only_mine=1" },
	{ "tree", "thread=%231,%232&state=wait&collapse=1" },
};

/* ---- what has to hold ------------------------------------------------------------------------ */

static void must_be_json(const struct buf *answer)
{
	struct json_reader r;
	struct err e = ERR_INIT;
	enum json_token t;
	int status;

	json_reader_init_memory(&r, answer->data, answer->n);
	while ((status = json_next(&r, &t, &e)) == 0 && t != JSON_END)
		continue;
	if (status < 0) {
		fprintf(stderr, "%s\n", e.text);
		abort();
	}
	json_reader_done(&r);
}

static void ask(struct library *l, const char *name, const char *query)
{
	struct buf out = BUF_INIT;
	struct err e = ERR_INIT;
	struct params p;

	if (params_parse(&p, query, &e) < 0)
		abort();
	answer_takes_long(l, name, &p);
	if (answer_make(l, name, &p, &out, &e) == 0)
		must_be_json(&out);
	else if (!e.code || !e.text[0] || out.n)
		abort();
	params_done(&p);
	buf_done(&out);
}

static void ask_all(struct library *l, unsigned part)
{
	char query[200];

	for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
		const char *mark = strstr(questions[i].query, "{f}");

		if (part && i % 3 != part - 1)
			continue;
		for (size_t k = 0; k < (mark ? sizeof numbers / sizeof *numbers : 1); k++) {
			if (mark)
				snprintf(query, sizeof query, "%.*s%s%s",
					(int)(mark - questions[i].query), questions[i].query,
					numbers[k], mark + 3);
			else
				snprintf(query, sizeof query, "%s", questions[i].query);
			ask(l, questions[i].name, query);
		}
	}
}

static void make_file(struct library *l)
{
	struct buf page = BUF_INIT, dropped = BUF_INIT;
	struct err e = ERR_INIT;

	if (onefile_make(l, 2000000, &page, &dropped, &e) < 0 && !e.text[0])
		abort();
	buf_done(&page);
	buf_done(&dropped);
}

/* ---- recordings ------------------------------------------------------------------------------ */

/* Opens it and returns its descriptor. */
static int open_bytes(struct library *l, const uint8_t *data, size_t n, bool fixes)
{
	uint8_t *bytes = malloc(n + 1);
	int fd = memfd_create("recording", 0);
	struct err e = ERR_INIT;
	char path[64];

	memcpy(bytes, data, n);
	if (fixes)
		fix_checksums(bytes, n);
	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	if (write(fd, bytes, n) != (ssize_t)n || (library_open(l, path, &e) < 0 && !e.text[0]))
		abort();
	free(bytes);
	return fd;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
	unsigned flags = n ? data[0] : 0;
	struct library l = LIBRARY_INIT;
	const uint8_t *mark, *other;
	size_t n_other;
	int fds[2] = { -1, -1 };

	if (n < 2)
		return 0;
	data++, n--;
	mark = memmem(data, n, MARK, sizeof MARK - 1);
	other = mark ? mark + sizeof MARK - 1 : data;
	n_other = (size_t)(data + n - other);
	fds[0] = open_bytes(&l, data, mark ? (size_t)(mark - data) : n, !(flags & AS_IT_IS));
	/* Else it is compared with itself, cut off. */
	if (!(flags & ALONE))
		fds[1] = open_bytes(
			&l, other, mark ? n_other : n_other - n_other / 8, !(flags & AS_IT_IS));
	if (l.recordings.n) {
		ask_all(&l, flags / PARTS % 4);
		if (flags & ONE_FILE)
			make_file(&l);
	}
	library_done(&l);
	close(fds[0]);
	if (fds[1] >= 0)
		close(fds[1]);
	return 0;
}
