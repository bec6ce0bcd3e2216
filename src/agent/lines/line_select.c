/* SPDX-License-Identifier: MIT
 * See line_select.h. Runs inside other people's programs: libc only, no allocation. */
#include "agent/lines/line_select.h"

#include <fnmatch.h>
#include <string.h>

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n >= m && strcmp(text + n - m, end) == 0;
}

static bool is_match(const char *pattern, const char *text)
{
	return fnmatch(pattern, text, 0) == 0;
}

static void pattern_init(struct line_select_pattern *p, char *text)
{
	char *colon = strrchr(text, ':');

	*p = (struct line_select_pattern){ 0 };
	if (colon)
		*colon = '\0';
	p->is_file = strchr(text, '/') || ends_with(text, ".py");
	if (p->is_file && strncmp(text, "./", 2) == 0)
		text += 2;
	if (colon || p->is_file) {
		p->where = *text ? text : NULL;
		p->what = colon && colon[1] ? colon + 1 : NULL;
	} else {
		p->what = text; /* or a module: see names_module() */
	}
}

bool leadline_select_init(struct line_select *s, const char *text)
{
	char *line = s->text;
	bool fits = strlen(text) < sizeof s->text;

	s->n = 0;
	strncpy(s->text, text, sizeof s->text - 1);
	s->text[sizeof s->text - 1] = '\0';
	while (*line) {
		char *end = line + strcspn(line, ",\n"), *next = *end ? end + 1 : end;

		*end = '\0';
		if (*line && s->n == SELECT_PATTERNS_MAX)
			return false;
		if (*line)
			pattern_init(&s->patterns[s->n++], line);
		line = next;
	}
	return fits;
}

static const char *last_of(const char *text, char mark)
{
	const char *p = strrchr(text, mark);

	return p ? p + 1 : text;
}

static bool means_file(const char *pattern, const char *file)
{
	size_t n_slashes = 1;
	const char *tail;

	if (pattern[0] == '/' || is_match(pattern, file))
		return is_match(pattern, file);
	/* A relative one: as many last parts of the file's path as the pattern has. */
	for (const char *p = pattern; *p; p++)
		n_slashes += *p == '/';
	for (tail = file + strlen(file); tail > file; tail--)
		if (tail[-1] == '/' && --n_slashes == 0)
			break;
	return is_match(pattern, tail);
}

/* The script is __main__ to Python, and its file's name without .py to people. */
static bool is_script_named(const char *pattern, const struct line_select_subject *s)
{
	const char *base = last_of(s->file, '/');
	size_t n = strcspn(base, ".");

	return strcmp(s->module, "__main__") == 0 && strlen(pattern) == n &&
		strncmp(pattern, base, n) == 0;
}

static bool means_module(const char *pattern, const struct line_select_subject *s)
{
	size_t n = strlen(pattern);

	return is_match(pattern, s->module) || is_script_named(pattern, s) ||
		(strncmp(s->module, pattern, n) == 0 && s->module[n] == '.');
}

/* name without the "<locals>." parts; true when there were some. */
static bool without_locals(const char *name, char *to, size_t size)
{
	static const char locals[] = "<locals>.";
	size_t n = 0;
	bool found = false;

	while (*name && n + 1 < size) {
		if (strncmp(name, locals, sizeof locals - 1) == 0) {
			name += sizeof locals - 1;
			found = true;
		} else {
			to[n++] = *name++;
		}
	}
	to[n] = '\0';
	return found;
}

static bool means_function(const char *pattern, const char *name)
{
	char plain[512];

	if (is_match(pattern, name))
		return true;
	if (without_locals(name, plain, sizeof plain) && is_match(pattern, plain))
		return true;
	return !strchr(pattern, '.') && is_match(pattern, last_of(name, '.'));
}

/* "shop.orders.total": a module, a dot and a function. */
static bool means_both(const char *pattern, const struct line_select_subject *s)
{
	size_t n = strlen(s->module);

	return n && strncmp(pattern, s->module, n) == 0 && pattern[n] == '.' &&
		means_function(pattern + n + 1, s->name);
}

static bool means(const struct line_select_pattern *p, const struct line_select_subject *s)
{
	if (p->where && !(p->is_file ? means_file(p->where, s->file) : means_module(p->where, s)))
		return false;
	if (p->where || !p->what)
		return !p->what || means_function(p->what, s->name);
	if (means_both(p->what, s))
		return true;
	if (strcmp(p->what, "*") != 0 && s->module[0] && means_module(p->what, s))
		return true;
	return !s->is_library && means_function(p->what, s->name);
}

uint64_t leadline_select_match(struct line_select *s, const struct line_select_subject *subject)
{
	uint64_t found = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (means(&s->patterns[i], subject)) {
			s->patterns[i].n_found++;
			found |= (uint64_t)1 << i;
		}
	}
	return found;
}

bool leadline_select_may_mean(const struct line_select *s, const char *name)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const char *what = s->patterns[i].what;

		if (what && strchr(what, '.') && is_match(last_of(what, '.'), name))
			return true;
	}
	return false;
}
