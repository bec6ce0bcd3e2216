/* SPDX-License-Identifier: MIT
 * See onefile.h. Answers are made one by one and taken when they fit: each is compressed by itself to see what it costs;
 * all of them together cost no more. */
#include "serve/onefile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/torch/steps.h"
#include "analyze/samples/profile.h"
#include "analyze/samples/stacks.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/json_write.h"
#include "base/text.h"
#include "serve/answers/answer.h"
#include "serve/http/compress.h"
#include "serve/http/guard.h"
#include "serve/library.h"
#include "serve/page.h"
#include "serve/http/params.h"
#include "analyze/torch/results.h"
#include "base/banned.h"

enum { NONCE = 24, TOP = 200, THREADS = 8, ROOM = 4096 };
/* Bytes of text that are made of single functions at most: of a deep program each may have as many boxes as it is deep. */
static const uint64_t FUNCTIONS_TEXT = 12 << 20;

struct maker {
	struct library *library;
	size_t r;           /* recording */
	uint64_t left;      /* bytes of the file that may still be used */
	struct buf answers; /* "key": {…}, … */
	struct buf *dropped;
	struct err error; /* of the last answer that could not be made */
	bool is_cut;      /* the last one taken leaves out boxes */
	uint64_t made;    /* bytes of text, whether they were taken or not */
};

/* ---- one answer ------------------------------------------------------------------------------ */

/* What its text will take in the file. */
static uint64_t cost_of(const struct buf *text)
{
	struct buf packed = BUF_INIT;
	uint64_t n;

	compress_deflate(text->data, text->n, &packed);
	n = packed.n / 3 * 4 + 8;
	buf_done(&packed);
	return n;
}

static void add_key(struct maker *m, const char *name, const char *key)
{
	struct json_writer w;
	struct buf text = BUF_INIT;

	buf_printf(&text, "%s?r=%zu%s", name, m->r, key);
	if (m->answers.n)
		buf_addc(&m->answers, ',');
	json_init(&w, &m->answers, false);
	json_string_n(&w, text.data, text.n);
	buf_addc(&m->answers, ':');
	buf_done(&text);
}

/* Makes an answer of the query as the page would ask it. */
static int make(
	struct maker *m, const char *name, const struct param *v, size_t n, struct buf *text)
{
	struct params p = { 0 };
	char number[24];
	int status;

	snprintf(number, sizeof number, "%zu", m->r);
	params_add(&p, "r", number);
	for (size_t i = 0; i < n; i++)
		params_add(&p, v[i].name, v[i].value);
	m->error = ERR_INIT;
	status = answer_make(m->library, name, &p, text, &m->error);
	params_done(&p);
	return status;
}

enum taken { TAKEN, TOO_LARGE, CANNOT };

/* key: "&direction=…", as the page names it; v: how it is asked. share: of what is left that it may take. */
static enum taken take(struct maker *m, const char *name, const char *key, const struct param *v,
	size_t n, double share)
{
	struct buf text = BUF_INIT;
	enum taken result = CANNOT;
	uint64_t cost;

	if (make(m, name, v, n, &text) == 0) {
		m->made += text.n;
		cost = cost_of(&text);
		result = (double)cost <= (double)m->left * share ? TAKEN : TOO_LARGE;
		if (result == TAKEN) {
			add_key(m, name, key);
			buf_add(&m->answers, text.data, text.n);
			m->left -= cost;
			/* Quotes in texts are escaped: this can only be the key. */
			m->is_cut = strstr(buf_str(&text), "\"left_out\":{\"boxes\":") &&
				!strstr(buf_str(&text), "\"left_out\":{\"boxes\":0,");
		}
	}
	buf_done(&text);
	return result;
}

#define TAKE(m, name, key, share, ...)                            \
	take((m), (name), (key), (struct param[]){ __VA_ARGS__ }, \
		sizeof((struct param[]){ __VA_ARGS__ }) / sizeof(struct param), (share))

static void drop(struct maker *m, const char *what)
{
	const char *name = m->library->recordings.v[m->r]->name;

	if (m->library->recordings.n > 1) {
		text_add_printable(m->dropped, name, strlen(name)); /* it is printed, too */
		buf_adds(m->dropped, ": ");
	}
	buf_printf(m->dropped, "%s\n", what);
}

/* ---- what a page holds ----------------------------------------------------------------------- */

/* As fine as fits: each try has a fourth of the width of the one before. */
static void take_tree(
	struct maker *m, const char *key, const char *what, const struct param *v, size_t n)
{
	struct param asked[8];
	char width[24], words[160];

	memcpy(asked, v, n * sizeof *v);
	for (double w = 10000; w >= 30; w /= 4) {
		enum taken result;

		snprintf(width, sizeof width, "%.0f", w);
		asked[n] = (struct param){ "width", width };
		result = take(m, "tree", key, asked, n + 1, 0.4);
		if (result == CANNOT)
			return;
		if (result == TOO_LARGE)
			continue;
		snprintf(words, sizeof words, "%s: boxes narrower than %.2g %%", what, 50 / w);
		if (m->is_cut)
			drop(m, words);
		return;
	}
	drop(m, what);
}

#define TAKE_TREE(m, key, what, ...)                                   \
	take_tree((m), (key), (what), (struct param[]){ __VA_ARGS__ }, \
		sizeof((struct param[]){ __VA_ARGS__ }) / sizeof(struct param))

/* All rows that fit, else fewer. */
static void take_table(struct maker *m, const char *what, bool only_mine)
{
	static const char *const limits[] = { "5000", "1000", "200" };
	char key[64], words[80];

	snprintf(key, sizeof key, "%s&what=%s", only_mine ? "&only_mine=1" : "", what);
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
		enum taken result = TAKE(m, "table", key, 0.3, { "what", what },
			{ "limit", limits[i] }, { "only_mine", only_mine ? "1" : "" });

		if (result == CANNOT)
			return;
		if (result == TOO_LARGE)
			continue;
		if (i) {
			snprintf(words, sizeof words, "table of %s: all but the first %s", what,
				limits[i]);
			drop(m, words);
		}
		return;
	}
	snprintf(words, sizeof words, "table of %s", what);
	drop(m, words);
}

/* The files with most time, as far as their share of the size goes. */
static void take_sources(struct maker *m, const struct profile *p)
{
	size_t n_dropped = 0;
	struct intern files = INTERN_INIT;
	struct buf key = BUF_INIT;
	char words[80];

	for (size_t i = 0; i < p->n_functions; i++) {
		const char *file = p->functions[i].file;
		bool is_new;

		if (!*file)
			continue;
		intern_add(&files, file, strlen(file), &is_new);
		if (!is_new)
			continue;
		buf_clear(&key);
		buf_printf(&key, "&file=%s", file);
		n_dropped += files.items.n > ANSWER_FILES ||
			TAKE(m, "source", buf_str(&key), 0.3, { "file", file }) == TOO_LARGE;
	}
	if (n_dropped) {
		snprintf(words, sizeof words, "source of %zu files", n_dropped);
		drop(m, words);
	}
	buf_done(&key);
	intern_done(&files);
}

static void take_function(struct maker *m, uint32_t function, size_t *n_dropped)
{
	char number[24], key[64];
	static const char *const tables[] = { "callers", "callees" };
	bool is_dropped = false;

	snprintf(number, sizeof number, "%u", function);
	for (size_t i = 0; i < 2; i++) {
		snprintf(key, sizeof key, "&what=%s&function=%s", tables[i], number);
		is_dropped |= TAKE(m, "table", key, 0.2, { "what", tables[i] },
				      { "function", number }) == TOO_LARGE;
	}
	snprintf(key, sizeof key, "&function=%s", number);
	is_dropped |= TAKE(m, "sandwich", key, 0.2, { "function", number }, { "width", "600" }) ==
		TOO_LARGE;
	is_dropped |= TAKE(m, "spread", key, 0.2, { "function", number }) == TOO_LARGE;
	is_dropped |= TAKE(m, "bytecode", key, 0.2, { "function", number }) == TOO_LARGE;
	*n_dropped += is_dropped;
}

static void take_functions(struct maker *m, const struct profile *p)
{
	size_t n_dropped = 0, n = p->n_functions < TOP ? p->n_functions : TOP;
	char words[120];
	uint64_t most = m->made + FUNCTIONS_TEXT;

	for (size_t i = 0; i < n; i++)
		if (m->made < most)
			take_function(m, p->functions[i].function, &n_dropped);
		else
			n_dropped++;
	if (n_dropped || n < p->n_functions) {
		snprintf(words, sizeof words, "callers, callees and bytecode of %zu functions",
			n_dropped + (p->n_functions - n));
		drop(m, words);
	}
}

static void take_threads(struct maker *m, size_t n)
{
	char number[24], key[80], words[80];

	for (size_t i = 1; n > 1 && i <= n && i <= THREADS; i++) {
		snprintf(number, sizeof number, "#%zu", i);
		snprintf(key, sizeof key, "&direction=left-heavy&thread=%s", number);
		snprintf(words, sizeof words, "call tree of thread %s", number);
		TAKE_TREE(m, key, words, { "direction", "left-heavy" }, { "thread", number });
	}
	if (n > THREADS) {
		snprintf(words, sizeof words, "call trees of %zu threads", n - THREADS);
		drop(m, words);
	}
}

static void take_torch(struct maker *m)
{
	static const char *const panes[] = { "overview", "operators", "steps", "kernels", "streams",
		"modules", "memory", "compile", "launches", "shapes" };
	char key[64], words[80];

	for (size_t i = 0; i < sizeof panes / sizeof *panes; i++) {
		snprintf(key, sizeof key, "&what=%s", panes[i]);
		snprintf(words, sizeof words, "PyTorch %s", panes[i]);
		if (TAKE(m, "torch", key, 0.5, { "what", panes[i] }) == TOO_LARGE)
			drop(m, words);
	}
	if (TAKE(m, "torch", "&what=timeline", 0.3, { "what", "timeline" }, { "px", "2000" },
		    { "flows", "1" }) == TOO_LARGE &&
		TAKE(m, "torch", "&what=timeline", 0.3, { "what", "timeline" }, { "px", "400" }) ==
			TOO_LARGE)
		drop(m, "PyTorch timeline");
}

/* What is needed to look at anything; false when not even that fits. */
static bool take_first(struct maker *m)
{
	if (take(m, "overview", "", NULL, 0, 1) != TAKEN)
		return false;
	if (m->library->recordings.v[m->r]->torch)
		take_torch(m);
	take_table(m, "functions", false);
	take_table(m, "lines", false);
	TAKE_TREE(m, "&direction=left-heavy", "call tree", { "direction", "left-heavy" });
	if (TAKE(m, "timeline", "", 0.3, { "px", "2000" }) == TOO_LARGE &&
		TAKE(m, "timeline", "", 0.3, { "px", "400" }) == TOO_LARGE)
		drop(m, "timeline");
	if (take(m, "graph", "", NULL, 0, 0.3) == TOO_LARGE)
		drop(m, "call graph");
	if (take(m, "files", "", NULL, 0, 0.3) == TOO_LARGE)
		drop(m, "list of files");
	return true;
}

static int take_recording(struct maker *m, struct err *e)
{
	struct params p = { 0 };
	struct selection *s;
	char number[24];
	size_t n_threads;

	if (!take_first(m))
		return err_set(e, ERR_USAGE,
			"--max-size is too small for even the overview: allow at least 1MB");
	if (!m->library->recordings.v[m->r]->usage)
		return 0;
	snprintf(number, sizeof number, "%zu", m->r);
	params_add(&p, "r", number);
	/* Answers may let go of selections: what is used below is copied first. */
	if (library_select(m->library, &p, LIBRARY_ROWS, &s, e) == 0 && s->profile) {
		struct arena a = ARENA_INIT;
		struct profile copy = *s->profile;

		copy.functions = arena_copy(&a, s->profile->functions,
			s->profile->n_functions * sizeof *s->profile->functions);
		n_threads = s->stacks->n_threads;
		take_sources(m, &copy);
		TAKE_TREE(m, "&direction=inverted", "inverted tree", { "direction", "inverted" });
		TAKE_TREE(m, "&direction=left-heavy&only_mine=1", "call tree, only mine",
			{ "direction", "left-heavy" }, { "only_mine", "1" });
		TAKE_TREE(m, "&direction=inverted&only_mine=1", "inverted tree, only mine",
			{ "direction", "inverted" }, { "only_mine", "1" });
		take_table(m, "functions", true);
		take_table(m, "lines", true);
		TAKE_TREE(m, "&direction=time", "time order", { "direction", "time" });
		take_functions(m, &copy);
		take_threads(m, n_threads);
		arena_done(&a);
	}
	params_done(&p);
	return e->code ? -(int)e->code : 0;
}

/* ---- comparisons ----------------------------------------------------------------------------- */

static bool take_comparison(struct maker *m, size_t with, const char *normalize)
{
	static const char *const sides[] = { "", "a" };
	char number[24], key[80];
	const char *how = *normalize ? "&normalize=" : "";
	bool is_whole;

	snprintf(number, sizeof number, "%zu", with);
	snprintf(key, sizeof key, "&with=%s%s%s", number, how, normalize);
	is_whole = TAKE(m, "diff", key, 0.5, { "with", number }, { "normalize", normalize }) !=
		TOO_LARGE;
	for (size_t i = 0; i < 2; i++) {
		snprintf(key, sizeof key, "&with=%s%s%s%s", number, how, normalize,
			i ? "&side=a" : "");
		is_whole &= TAKE(m, "difftree", key, 0.5, { "with", number },
				    { "normalize", normalize }, { "side", sides[i] },
				    { "width", "2000" }) != TOO_LARGE;
	}
	return is_whole;
}

/* Per step, as it is and as shares. */
static void take_ops_comparison(struct maker *m, size_t with)
{
	static const char *const scales[] = { "", "absolute", "run" };
	char number[24], key[80];

	if (!m->library->recordings.v[m->r]->torch || !m->library->recordings.v[with]->torch)
		return;
	snprintf(number, sizeof number, "%zu", with);
	for (size_t i = 0; i < 3; i++) {
		snprintf(
			key, sizeof key, "&with=%s%s%s", number, i ? "&normalize=" : "", scales[i]);
		if (TAKE(m, "ops_diff", key, 0.5, { "with", number }, { "normalize", scales[i] }) ==
			TOO_LARGE)
			drop(m, "comparison of operators");
	}
}

/* Of two recordings both ways, of more the first with each other. */
static void take_comparisons(struct maker *m)
{
	size_t n = m->library->recordings.n;
	bool is_whole = true;

	for (m->r = 0; m->r < n && (m->r == 0 || n == 2); m->r++)
		for (size_t with = 0; with < n; with++)
			if (with != m->r) {
				take_ops_comparison(m, with);
				is_whole &= take_comparison(m, with, "");
				is_whole &= take_comparison(m, with, "run");
			}
	if (!is_whole)
		buf_adds(m->dropped, "part of the comparison\n");
}

/* ---- the file -------------------------------------------------------------------------------- */

static void write_file(const struct maker *m, struct buf *out)
{
	struct buf json = BUF_INIT, packed = BUF_INIT, data = BUF_INIT, head = BUF_INIT;
	char nonce[NONCE + 1];
	struct json_writer w;
	const char *line = buf_str(m->dropped);

	buf_adds(&json, "{\"answers\":{");
	buf_add(&json, m->answers.data, m->answers.n);
	buf_adds(&json, "},\"dropped\":");
	json_init(&w, &json, false);
	json_array_begin(&w);
	for (size_t n; *line; line += n + 1) {
		n = strcspn(line, "\n");
		json_string_n(&w, line, n);
	}
	json_array_end(&w);
	buf_addc(&json, '}');
	compress_deflate(json.data, json.n, &packed);
	buf_adds(&data, "<script type=\"application/octet-stream\" id=\"leadline-data\">");
	compress_base64(packed.data, packed.n, &data);
	buf_adds(&data, "</script>");
	guard_random(nonce, NONCE);
	buf_adds(&head, "<meta http-equiv=\"Content-Security-Policy\" content=\"");
	page_policy(nonce, "'none'", &head);
	buf_adds(&head, "\">");
	page_fill(nonce, buf_str(&head), data.data, data.n, out);
	buf_done(&json);
	buf_done(&packed);
	buf_done(&data);
	buf_done(&head);
}

/* As many files, or as many processes in one of them. */
static bool has_ranks(const struct library *l)
{
	size_t n = 0;

	for (size_t i = 0; i < l->recordings.n; i++) {
		struct torch *t = l->recordings.v[i]->torch;

		if (t && torch_steps(t)->n_processes > 1)
			return true;
		n += t && t->x.world_size > 1;
	}
	return n > 1;
}

int onefile_make(
	struct library *l, uint64_t max_bytes, struct buf *out, struct buf *dropped, struct err *e)
{
	struct maker m = { .library = l, .dropped = dropped };
	uint64_t page = n_page_html + ROOM, all = max_bytes > page ? max_bytes - page : 0;
	size_t n = l->recordings.n;
	int status = 0;

	for (m.r = 0; m.r < n && status == 0; m.r++) {
		/* Each its part of the size, and comparisons theirs; what one leaves is the others'. */
		m.left += all / (n + (n > 1));
		status = take_recording(&m, e);
	}
	if (status == 0 && n > 1) {
		m.left += all / (n + 1);
		take_comparisons(&m);
	}
	m.r = 0;
	if (!n)
		m.left = all;
	if (!n && take(&m, "overview", "", NULL, 0, 1) != TAKEN)
		status = err_set(e, ERR_USAGE, "--max-size is too small");
	if (status == 0 && has_ranks(l) && take(&m, "ranks", "", NULL, 0, 1) == TOO_LARGE)
		buf_adds(dropped, "PyTorch ranks\n");
	if (status == 0 && l->results.n && take(&m, "bench", "", NULL, 0, 1) != TAKEN)
		buf_adds(dropped, "benchmark results\n");
	if (status == 0)
		write_file(&m, out);
	buf_done(&m.answers);
	return status;
}
