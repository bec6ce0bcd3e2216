/* SPDX-License-Identifier: MIT
 * See callstats.h: orders and restrictions, as pstats' users type them. */
#include <ctype.h>
#include <inttypes.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/calls/callstats.h"
#include "base/arena.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/banned.h"

enum field { CALLS, PRIMITIVE, SELF, TOTAL, FILE_NAME, LINE, NAME, LABEL };
enum { KEYS_MOST = 16 };

/* Alphabetical, as pstats lists them. */
const struct callstats_key callstats_keys[] = {
	{ "calls", "call count" },
	{ "ncalls", "call count" },
	{ "cumtime", "cumulative time" },
	{ "cumulative", "cumulative time" },
	{ "filename", "file name" },
	{ "line", "line number" },
	{ "module", "file name" },
	{ "name", "function name" },
	{ "nfl", "name/file/line" },
	{ "pcalls", "primitive call count" },
	{ "stdname", "standard name" },
	{ "time", "internal time" },
	{ "tottime", "internal time" },
};
const size_t n_callstats_keys = sizeof callstats_keys / sizeof *callstats_keys;

/* Beside the table above: what each compares; CALLS never comes second, so it ends a row. */
static const enum field fields[][3] = { { CALLS }, { CALLS }, { TOTAL }, { TOTAL }, { FILE_NAME },
	{ LINE }, { FILE_NAME }, { NAME }, { NAME, FILE_NAME, LINE }, { PRIMITIVE }, { LABEL },
	{ SELF }, { SELF } };

_Static_assert(sizeof fields / sizeof *fields == sizeof callstats_keys / sizeof *callstats_keys,
	"one row each");

struct order {
	const struct callstats *s;
	enum field by[3 * KEYS_MOST];
	size_t n;
};

/* ---- orders ---------------------------------------------------------------------------------- */

static int falling(double x, double y)
{
	return x > y ? -1 : x < y;
}

static int compare_field(const struct callstat *x, const struct callstat *y, enum field by)
{
	switch (by) {
	case CALLS:
		return falling((double)x->cost.calls, (double)y->cost.calls);
	case PRIMITIVE:
		return falling((double)x->cost.primitive_calls, (double)y->cost.primitive_calls);
	case SELF:
		return falling(x->cost.self_s, y->cost.self_s);
	case TOTAL:
		return falling(x->cost.total_s, y->cost.total_s);
	case FILE_NAME:
		return strcmp(x->file, y->file);
	case LINE:
		return falling((double)y->line, (double)x->line);
	case NAME:
		return strcmp(x->name, y->name);
	case LABEL:
		return strcmp(x->label, y->label);
	}
	return 0;
}

/* Rows that are equal stay in their order. */
static int compare(const void *a, const void *b, void *order)
{
	const struct order *o = order;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (size_t i = 0; i < o->n; i++) {
		int c = compare_field(&o->s->v[x], &o->s->v[y], o->by[i]);

		if (c)
			return c;
	}
	return x < y ? -1 : x > y;
}

/* By the whole word, or a beginning that no key of another meaning has. */
static const struct callstats_key *find_key(const char *word)
{
	const struct callstats_key *found = NULL;
	size_t n = strlen(word);

	for (size_t i = 0; i < n_callstats_keys; i++) {
		if (strcmp(callstats_keys[i].word, word) == 0)
			return &callstats_keys[i];
		if (n && strncmp(callstats_keys[i].word, word, n) == 0) {
			if (found && strcmp(found->meaning, callstats_keys[i].meaning) != 0)
				return NULL;
			found = &callstats_keys[i];
		}
	}
	return found;
}

static int parse_keys(const char *text, struct order *o, struct buf *words, struct err *e)
{
	for (size_t keys = 0; *text && keys < KEYS_MOST;) {
		size_t n = strcspn(text, " \t,");
		char word[32];
		const struct callstats_key *key;
		size_t row;

		snprintf(word, sizeof word, "%.*s", (int)n, text);
		text += n + (text[n] != '\0');
		if (!n)
			continue;
		key = n < sizeof word ? find_key(word) : NULL;
		if (!key)
			return err_set(e, ERR_USAGE, "there is no sort key '%s'", word);
		row = (size_t)(key - callstats_keys);
		o->by[o->n++] = fields[row][0];
		for (size_t i = 1; i < 3 && fields[row][i] != CALLS; i++)
			o->by[o->n++] = fields[row][i];
		buf_printf(words, "%s%s", words->n ? ", " : "", key->meaning);
		keys++;
	}
	return o->n ? 0 : err_set(e, ERR_USAGE, "a sort key is missing");
}

int callstats_sort(struct arena *a, const struct callstats *s, const char *keys,
	struct callstats_order *ret, struct err *e)
{
	struct buf words = BUF_INIT;
	struct order o = { .s = s };
	uint32_t *rows;
	size_t n = 0;

	if (parse_keys(keys, &o, &words, e) < 0) {
		buf_done(&words);
		return -(int)e->code;
	}
	rows = arena_new_n(a, uint32_t, s->n + 1);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].is_listed)
			rows[n++] = (uint32_t)i;
	qsort_r(rows, n, sizeof *rows, compare, &o);
	*ret = (struct callstats_order){ rows, n, arena_strdup(a, buf_str(&words)) };
	buf_done(&words);
	return 0;
}

void callstats_reverse(struct arena *a, struct callstats_order *o)
{
	uint32_t *rows = arena_new_n(a, uint32_t, o->n + 1);

	if (!o->rows)
		return;
	for (size_t i = 0; i < o->n; i++)
		rows[i] = o->rows[o->n - 1 - i];
	o->rows = rows;
}

/* ---- restrictions ---------------------------------------------------------------------------- */

struct callstats_list callstats_all(
	struct arena *a, const struct callstats *s, const struct callstats_order *o)
{
	uint32_t *rows;
	size_t n = 0;

	if (o->rows)
		return (struct callstats_list){ o->rows, o->n, "" };
	rows = arena_new_n(a, uint32_t, s->n + 1);
	for (size_t i = 0; i < s->n; i++)
		if (s->v[i].is_listed)
			rows[n++] = (uint32_t)i;
	return (struct callstats_list){ rows, n, "" };
}

/* Python's expressions as POSIX has them, as far as their words differ: \d, \D, (?: and lazy repetition. */
static void add_posix(struct buf *out, const char *text)
{
	for (; *text; text++) {
		if (text[0] == '\\' && (text[1] == 'd' || text[1] == 'D'))
			buf_adds(out, *++text == 'd' ? "[0-9]" : "[^0-9]");
		else if (text[0] == '\\' && text[1])
			buf_add(out, text++, 2);
		else if (strncmp(text, "(?:", 3) == 0)
			buf_addc(out, *text), text += 2;
		else if (strchr("*+?", *text) && text[1] == '?')
			buf_addc(out, *text++);
		else
			buf_addc(out, *text);
	}
}

static bool keep_matching(
	struct arena *a, const struct callstats *s, struct callstats_list *l, const char *text)
{
	uint32_t *rows = arena_new_n(a, uint32_t, l->n + 1);
	struct buf posix = BUF_INIT;
	regex_t expression;
	size_t n = 0;
	int failed;

	add_posix(&posix, text);
	failed = regcomp(&expression, buf_str(&posix), REG_EXTENDED | REG_NOSUB);
	buf_done(&posix);
	if (failed)
		return false;
	for (size_t i = 0; i < l->n; i++)
		if (regexec(&expression, s->v[l->rows[i]].label, 0, NULL, 0) == 0)
			rows[n++] = l->rows[i];
	regfree(&expression);
	l->rows = rows;
	l->n = n;
	return true;
}

static bool parse_whole(const char *text, uint64_t *ret)
{
	size_t n = strspn(text, "0123456789");

	if (!n || text[n] || n > 18)
		return false;
	*ret = strtoull(text, NULL, 10);
	return true;
}

static bool parse_part(const char *text, double *ret)
{
	char *end;

	if (!isdigit((unsigned char)*text) && *text != '.')
		return false;
	*ret = strtod(text, &end);
	return end != text && !*end && *ret >= 0 && *ret <= 1;
}

void callstats_restrict(
	struct arena *a, const struct callstats *s, struct callstats_list *l, const char *selection)
{
	size_t before = l->n;
	char shown[64];
	uint64_t whole;
	double part;

	if (parse_whole(selection, &whole)) {
		l->n = whole < l->n ? (size_t)whole : l->n;
		snprintf(shown, sizeof shown, "%" PRIu64, whole);
	} else if (parse_part(selection, &part)) {
		l->n = part < 1 ? (size_t)((double)l->n * part + .5) : l->n;
		snprintf(shown, sizeof shown, "%.15g%s", part, part < 1 && part > 0 ? "" : ".0");
	} else {
		if (!keep_matching(a, s, l, selection)) {
			l->notes = arena_printf(
				a, "%s   <Invalid regular expression '%s'>\n", l->notes, selection);
			return;
		}
		if (l->n < before)
			l->notes = arena_printf(a,
				"%s   List reduced from %zu to %zu due to restriction <'%s'>\n",
				l->notes, before, l->n, selection);
		return;
	}
	if (l->n < before)
		l->notes = arena_printf(a,
			"%s   List reduced from %zu to %zu due to restriction <%s>\n", l->notes,
			before, l->n, shown);
}
