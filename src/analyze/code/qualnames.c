/* SPDX-License-Identifier: MIT
 * See qualnames.h. */
#include "analyze/code/qualnames.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/intern.h"
#include "base/vec.h"
#include "store/tables.h"
#include "wire/records.h"
#include "base/banned.h"

enum {
	SCOPES_MOST = 100, /* as Python itself */
	NAME_MOST = 200,   /* bytes */
	TAB = 8,
};

struct found {
	uint32_t file, line;
	const char *name, *qualname; /* in the arena */
};

struct qualnames {
	const struct found *v; /* by file and line */
	size_t n;
};

struct scope {
	size_t indent;
	const char *prefix; /* of the names inside */
};

struct scan {
	struct arena *a;
	VEC(struct found) found;
	struct intern ids;       /* of qualified names … */
	VEC(const char *) texts; /* … whose text is one pointer each, by id */
	/* Of the text at hand. */
	uint32_t file, line;
	const char *at, *end;
	struct scope scopes[SCOPES_MOST];
	size_t n_scopes;
	uint32_t decorated; /* line of the first decorator; 0: none */
};

/* ---- what can go on over several lines ------------------------------------------------------- */

/* Behind a string that begins here. One in single quotes ends with its line, unless that is escaped. */
static void skip_string(struct scan *s)
{
	char quote = *s->at;
	bool is_long = s->end - s->at >= 3 && s->at[1] == quote && s->at[2] == quote;

	s->at += is_long ? 3 : 1;
	for (; s->at < s->end; s->at++) {
		if (*s->at == '\\' && s->at + 1 < s->end) {
			s->at++;
			s->line += *s->at == '\n';
		} else if (*s->at == '\n') {
			if (!is_long)
				return;
			s->line++;
		} else if (*s->at == quote &&
			(!is_long ||
				(s->end - s->at >= 3 && s->at[1] == quote && s->at[2] == quote))) {
			s->at += is_long ? 3 : 1;
			return;
		}
	}
}

/* To the beginning of the next line that is not the rest of this statement. */
static void skip_statement(struct scan *s)
{
	size_t depth = 0;

	while (s->at < s->end) {
		char c = *s->at;

		if (c == '"' || c == '\'') {
			skip_string(s);
			continue;
		}
		if (c == '#') {
			const char *line_end = memchr(s->at, '\n', (size_t)(s->end - s->at));

			s->at = line_end ? line_end : s->end;
			continue;
		}
		s->at++;
		if (c == '(' || c == '[' || c == '{')
			depth++;
		else if ((c == ')' || c == ']' || c == '}') && depth)
			depth--;
		else if (c == '\\' && s->at < s->end && *s->at == '\n')
			s->line++, s->at++;
		else if (c == '\n') {
			s->line++;
			if (!depth)
				return;
		}
	}
}

/* ---- definitions ----------------------------------------------------------------------------- */

/* Behind the word and the blanks that follow it; false when another stands here. */
static bool take_word(const char **at, const char *end, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(end - *at) <= n || memcmp(*at, word, n) != 0 ||
		((*at)[n] != ' ' && (*at)[n] != '\t'))
		return false;
	for (*at += n; *at < end && (**at == ' ' || **at == '\t');)
		++*at;
	return true;
}

static size_t length_of_name(const char *p, const char *end)
{
	const char *at = p;

	while (at < end && (isalnum((unsigned char)*at) || *at == '_' || (unsigned char)*at >= 128))
		at++;
	return (size_t)(at - p);
}

static const char *one_text(struct scan *s, const char *text)
{
	uint32_t id = intern_adds(&s->ids, text);

	if (id == s->texts.n)
		vec_push(&s->texts, text);
	return s->texts.v[id];
}

static void define(struct scan *s, size_t indent, const char *p, bool is_class)
{
	size_t n = length_of_name(p, s->end);
	const char *prefix = s->n_scopes ? s->scopes[s->n_scopes - 1].prefix : "";
	struct found f = { .file = s->file, .line = s->decorated ? s->decorated : s->line };

	if (!n || n > NAME_MOST || s->n_scopes == SCOPES_MOST)
		return;
	f.name = arena_strndup(s->a, p, n);
	f.qualname = one_text(s, arena_printf(s->a, "%s%s", prefix, f.name));
	vec_push(&s->found, f);
	s->scopes[s->n_scopes++] = (struct scope){ indent,
		arena_printf(s->a, "%s%s", f.qualname, is_class ? "." : ".<locals>.") };
}

static void scan_statement(struct scan *s)
{
	size_t indent = 0;
	const char *p;

	for (; s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\f'); s->at++)
		indent = *s->at == '\t' ? (indent / TAB + 1) * TAB : indent + (*s->at == ' ');
	p = s->at;
	if (p == s->end || *p == '\n' || *p == '\r' || *p == '#')
		return;
	while (s->n_scopes && s->scopes[s->n_scopes - 1].indent >= indent)
		s->n_scopes--;
	if (*p == '@') {
		s->decorated = s->decorated ? s->decorated : s->line;
		return;
	}
	if (take_word(&p, s->end, "class")) {
		define(s, indent, p, true);
	} else {
		take_word(&p, s->end, "async");
		if (take_word(&p, s->end, "def"))
			define(s, indent, p, false);
	}
	s->decorated = 0;
}

static void scan_text(struct scan *s, const struct rec_source *r)
{
	s->file = r->file;
	s->line = 1;
	s->at = (const char *)r->text.p;
	s->end = s->at + r->text.n;
	s->n_scopes = 0;
	s->decorated = 0;
	while (s->at < s->end) {
		scan_statement(s);
		skip_statement(s);
	}
}

/* ---- the interface --------------------------------------------------------------------------- */

static int by_place(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->file != y->file)
		return x->file < y->file ? -1 : 1;
	return x->line < y->line ? -1 : x->line > y->line;
}

const struct qualnames *qualnames_load(struct arena *a, struct tables *t)
{
	struct record_iter it = record_iter(t, RECORD_source);
	struct qualnames *q = arena_new(a, struct qualnames);
	struct scan s = { .a = a };

	for (const struct rec_source *r; (r = record_next(&it));)
		if (r->text.n)
			scan_text(&s, r);
	record_iter_done(&it);
	if (s.found.n)
		qsort(s.found.v, s.found.n, sizeof *s.found.v, by_place);
	q->n = s.found.n;
	q->v = arena_copy(a, s.found.v, s.found.n * sizeof *s.found.v);
	vec_done(&s.found);
	vec_done(&s.texts);
	intern_done(&s.ids);
	return q;
}

const char *qualnames_find(
	const struct qualnames *q, uint32_t file, uint32_t first_line, const char *name)
{
	const struct found wanted = { .file = file, .line = first_line };
	const struct found *f = q->n ? bsearch(&wanted, q->v, q->n, sizeof *q->v, by_place) : NULL;

	/* What has no more to say keeps the pointer that the recording has for it. */
	return f && strcmp(f->name, name) == 0 && strcmp(f->qualname, name) != 0 ? f->qualname
										 : name;
}
