/* SPDX-License-Identifier: MIT
 *
 * Reads callgrind's profile (and cachegrind's, which is one without calls): who called whom how often, each function's own
 * cost, and what its calls cost inclusive. They become call_total records. The first event counts, the others are named; an
 * event that is a time by its name ("ns", "Time_(10ns)") is one here. "name'2" is the same function entered again. How much of
 * a call's cost is the callee's own such files do not say; costs by line are added up. */
#include "formats/callgrind.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"
#include "base/units.h"
#include "base/vec.h"
#include "store/foreign.h"
#include "formats/format.h"
#include "formats/input.h"
#include "store/writer.h"
#include "base/banned.h"

enum { NO_FUNCTION = UINT32_MAX };

struct function {
	uint32_t file, name; /* texts */
	uint32_t line;       /* where calls go to; 0: not known */
	uint64_t self;
	/* of activations that are not within another: own, and in its calls */
	uint64_t first_self, first_out;
	uint64_t calls, first_calls;
};

struct edge {
	uint32_t caller, callee; /* functions */
	uint64_t calls, first_calls, value;
};

struct place { /* what fl=, fn= … said last */
	uint32_t object, file, function;
	unsigned level; /* 1; more: entered again */
};

struct file {
	struct input *in;
	struct foreign *to;
	struct err *e;
	struct intern texts, keys; /* keys: file and name → function */
	/* names that have numbers, "(1) name" once, then "(1)": → text + 1 */
	struct map files, objects, functions;
	VEC(struct function) rows;
	VEC(struct edge) edges;
	struct map edge_of; /* caller and callee → index */
	struct place at, called;
	bool has_call;   /* the next line is the cost of a call */
	bool is_escaped; /* CALLGRIND_ESCAPES */
	uint64_t calls, to_line, line;
	unsigned n_positions;
	bool has_events;
	double scale; /* of a value */
	char note[200];
};

static int bad(struct file *f, const char *what)
{
	return err_set(f->e, ERR_BAD_FILE, "line %" PRIu64 ": %s", f->in->n_lines, what);
}

/* ---- names ----------------------------------------------------------------------------------- */

/* The text that was escaped. */
static uint32_t plain(struct file *f, const char *s, size_t n)
{
	struct buf text = BUF_INIT;
	uint32_t id;

	if (!f->is_escaped || !memchr(s, '\\', n))
		return intern_add(&f->texts, s, n, NULL);
	text_add_unescaped(&text, s, n);
	id = intern_add(&f->texts, text.data, text.n, NULL);
	buf_done(&text);
	return id;
}

static int take_name(struct file *f, struct map *names, const char *s, uint32_t *ret)
{
	uint64_t number, text;
	char *end;

	if (*s != '(' || !isdigit((unsigned char)s[1])) {
		*ret = intern_adds(&f->texts, s);
		return 0;
	}
	number = strtoull(s + 1, &end, 10);
	if (*end != ')')
		return bad(f, "a name's number has no end");
	for (s = end + 1; *s == ' ';)
		s++;
	if (*s) {
		text = intern_adds(&f->texts, s) + 1;
		map_put(names, number, text);
	} else if (!map_find(names, number, &text)) {
		return bad(f, "a name's number was not defined before");
	}
	*ret = (uint32_t)text - 1;
	return 0;
}

static int take_file(struct file *f, struct map *names, const char *s, uint32_t *ret)
{
	if (take_name(f, names, s, ret) < 0)
		return -(int)f->e->code;
	*ret = plain(f, intern_get(&f->texts, *ret)->p, intern_get(&f->texts, *ret)->n);
	return 0;
}

/* "f'2": f, entered again. */
static unsigned level_of(const char *name, size_t *n)
{
	const char *mark = memrchr(name, '\'', *n);
	size_t digits = mark ? (size_t)(name + *n - mark) - 1 : 0;
	unsigned level = 0;

	if (!mark || mark == name || digits == 0 || digits > 6)
		return 1;
	for (const char *p = mark + 1; p < name + *n; p++) {
		if (!isdigit((unsigned char)*p))
			return 1;
		level = level * 10 + (unsigned)(*p - '0');
	}
	if (level < 2)
		return 1;
	*n = (size_t)(mark - name);
	return level;
}

static const char *text_at(struct file *f, uint32_t text)
{
	return intern_get(&f->texts, text)->p;
}

static bool is_nothing(struct file *f, uint32_t text)
{
	return !*text_at(f, text) || strcmp(text_at(f, text), "???") == 0;
}

static int take_function(struct file *f, const char *s, struct place *p)
{
	uint32_t key[2], name, row;
	const char *text;
	size_t n;
	bool added;

	if (take_name(f, &f->functions, s, &name) < 0)
		return -(int)f->e->code;
	text = text_at(f, name);
	n = strlen(text);
	p->level = level_of(text, &n);
	key[0] = is_nothing(f, p->file) ? p->object : p->file;
	key[1] = plain(f, text, n);
	row = intern_add(&f->keys, key, sizeof key, &added);
	if (added)
		vec_push(&f->rows, (struct function){ .file = key[0], .name = key[1] });
	p->function = row;
	return 0;
}

/* ---- costs ----------------------------------------------------------------------------------- */

static struct edge *edge_at(struct file *f, uint32_t caller, uint32_t callee)
{
	uint64_t key = (uint64_t)caller << 32 | callee, index;

	if (!map_find(&f->edge_of, key, &index)) {
		index = f->edges.n;
		map_put(&f->edge_of, key, index);
		vec_push(&f->edges, (struct edge){ .caller = caller, .callee = callee });
	}
	return &f->edges.v[index];
}

static void add_call(struct file *f, uint64_t value)
{
	struct edge *edge = edge_at(f, f->at.function, f->called.function);
	struct function *callee = &f->rows.v[f->called.function];
	bool is_again = f->called.level > 1 || f->called.function == f->at.function;

	edge->calls += f->calls;
	callee->calls += f->calls;
	if (!is_again) {
		edge->first_calls += f->calls;
		callee->first_calls += f->calls;
	}
	/* What is called from within a second activation, and is active itself, was counted there. */
	if (f->at.level == 1 || f->called.level == 1)
		edge->value += value;
	if (f->at.level == 1 && (f->called.function != f->at.function || f->called.level > 1))
		f->rows.v[f->at.function].first_out += value;
	if (!callee->line && f->to_line <= INT32_MAX)
		callee->line = (uint32_t)f->to_line;
}

/* Positions are numbers, or relative to those before: "+3", "-1", "*". The line is the last of them, and is what counts. */
static int take_positions(struct file *f, const char **s, uint64_t *ret_line)
{
	uint64_t line = f->line;

	for (unsigned i = 0; i < f->n_positions; i++) {
		char sign;

		*s += strspn(*s, " \t");
		sign = **s;
		if (!sign)
			return bad(f, "a cost or a call without its line");
		line = strtoull(*s + (sign == '+' || sign == '-' || sign == '*'), NULL, 0);
		line = sign == '*'    ? f->line
			: sign == '+' ? f->line + line
			: sign == '-' ? f->line - line
				      : line;
		*s += strcspn(*s, " \t");
	}
	*ret_line = line;
	return 0;
}

/* Positions, then costs: "+3 100 2". Those left out at the end are 0. */
static int take_cost(struct file *f, const char *s)
{
	char *end;
	uint64_t value;

	if (f->at.function == NO_FUNCTION || !f->has_events)
		return bad(f, "a cost before the events or the function are named");
	if (take_positions(f, &s, &f->line) < 0)
		return -(int)f->e->code;
	value = strtoull(s, &end, 10);
	if (end[strspn(end, " \t0123456789")])
		return bad(f, "a cost is not a number");
	if (f->has_call) {
		f->has_call = false;
		add_call(f, value);
		f->called.file = f->at.file; /* the next one's, unless it is said */
		f->called.object = f->at.object;
		return 0;
	}
	f->rows.v[f->at.function].self += value;
	if (f->at.level == 1)
		f->rows.v[f->at.function].first_self += value;
	return 0;
}

/* "calls=3 12": so often, and where the callee begins. */
static int take_calls(struct file *f, const char *s)
{
	char *end;

	if (f->called.function == NO_FUNCTION || f->at.function == NO_FUNCTION)
		return bad(f, "calls= without the functions it is about");
	f->calls = strtoull(s, &end, 10);
	f->to_line = 0;
	if (end == s)
		return bad(f, "calls= without a number");
	s = end;
	f->has_call = true;
	return s[strspn(s, " \t")] ? take_positions(f, &s, &f->to_line) : 0;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static const struct {
	const char *name;
	enum foreign_unit unit;
	double scale; /* to ns */
} events[] = { { "ns", FOREIGN_NS, 1 }, { "nsec", FOREIGN_NS, 1 }, { "us", FOREIGN_NS, 1e3 },
	{ "usec", FOREIGN_NS, 1e3 }, { "ms", FOREIGN_NS, 1e6 }, { "Time_(ns)", FOREIGN_NS, 1 },
	{ "Time_(10ns)", FOREIGN_NS, 10 }, { "Time_(us)", FOREIGN_NS, 1e3 },
	{ "Time_(ms)", FOREIGN_NS, 1e6 }, { "Bytes", FOREIGN_BYTES, 1 },
	{ "Memory_(bytes)", FOREIGN_BYTES, 1 } };

static void take_events(struct file *f, const char *s)
{
	size_t n = strcspn(s, " \t");
	char name[100];
	enum foreign_unit unit = FOREIGN_COUNT;

	if (f->has_events) /* files of several parts say it again */
		return;
	snprintf(name, sizeof name, "%.*s", (int)(n < 99 ? n : 99), s);
	f->scale = 1;
	for (size_t i = 0; i < sizeof events / sizeof *events; i++)
		if (strcasecmp(name, events[i].name) == 0) {
			unit = events[i].unit;
			f->scale = events[i].scale / (unit == FOREIGN_NS ? 1e9 : 1);
		}
	foreign_unit(f->to, unit, unit == FOREIGN_COUNT ? name : "");
	for (s += n; *s == ' ' || *s == '\t';)
		s++;
	if (*s)
		snprintf(f->note, sizeof f->note, "events left out: %s", s);
	f->has_events = *name != '\0';
}

static bool is_word(const char *s, size_t n, const char *word)
{
	return strlen(word) == n && memcmp(s, word, n) == 0;
}

static int take_word(struct file *f, const char *word, size_t n, const char *value)
{
	uint32_t ignored;

	if (is_word(word, n, "fl"))
		return take_file(f, &f->files, value, &f->at.file);
	if (is_word(word, n, "fi") ||
		is_word(word, n, "fe")) /* inlined: the cost stays the function's */
		return take_name(f, &f->files, value, &ignored);
	if (is_word(word, n, "cfi") || is_word(word, n, "cfl"))
		return take_file(f, &f->files, value, &f->called.file);
	if (is_word(word, n, "ob"))
		return take_name(f, &f->objects, value, &f->at.object);
	if (is_word(word, n, "cob"))
		return take_name(f, &f->objects, value, &f->called.object);
	if (is_word(word, n, "cfn"))
		return take_function(f, value, &f->called);
	if (is_word(word, n, "calls"))
		return take_calls(f, value);
	if (is_word(word, n, "fn")) {
		int status = f->has_call ? bad(f, "a call without its cost")
					 : take_function(f, value, &f->at);

		f->called = f->at; /* files and objects of callees are the caller's unless said */
		f->called.function = NO_FUNCTION;
		return status;
	}
	return 0; /* jumps, and what later versions may add */
}

static void take_head(struct file *f, const char *word, size_t n, const char *value)
{
	while (*value == ' ')
		value++;
	if (is_word(word, n, "events"))
		take_events(f, value);
	else if (is_word(word, n, "positions"))
		f->n_positions = strstr(value, "instr") && strstr(value, "line") ? 2 : 1;
	else if (is_word(word, n, "desc") && strncmp(value, "Escapes: ", 9) == 0)
		f->is_escaped = true;
	else if (is_word(word, n, "cmd") && *value)
		foreign_command(f->to, value);
}

static int take_line(struct file *f, char *line)
{
	size_t n = 0;

	while (isalpha((unsigned char)line[n]))
		n++;
	if (!*line || *line == '#')
		return 0;
	if (n && line[n] == '=')
		return take_word(f, line, n, line + n + 1);
	if (n && line[n] == ':') {
		take_head(f, line, n, line + n + 1);
		return 0;
	}
	if (isdigit((unsigned char)*line) || strchr("+-*", *line))
		return take_cost(f, line);
	return bad(f, "neither a cost nor a word that is known");
}

/* ---- the recording --------------------------------------------------------------------------- */

static uint32_t code_of(struct file *f, const struct function *x)
{
	const struct intern_item *name = intern_get(&f->texts, x->name),
				 *file = intern_get(&f->texts, x->file);

	return writer_row(f->to->w, RECORD_code,
		&(struct rec_code){ .file = is_nothing(f, x->file)
				? 0
				: writer_string_n(f->to->w, file->p, file->n),
			.qualname = writer_string_n(f->to->w, name->p, name->n),
			.first_line = x->line });
}

static void keep(struct file *f)
{
	uint64_t all = 0;

	vec_each (&f->rows, x)
		all += x->self;
	vec_each (&f->rows, x) {
		/* Cycles that the file does not tell apart count several times: no more than all. */
		uint64_t total = x->first_self + x->first_out;

		writer_add(f->to->w, RECORD_call_total,
			&(struct rec_call_total){ .code = code_of(f, x),
				.calls = x->calls,
				.primitive_calls = x->first_calls,
				.self_s = (double)x->self * f->scale,
				.total_s = (double)(total < all ? total : all) * f->scale });
	}
	vec_each (&f->edges, x)
		writer_add(f->to->w, RECORD_call_total,
			&(struct rec_call_total){ .code = code_of(f, &f->rows.v[x->callee]),
				.is_edge = 1,
				.caller_code = code_of(f, &f->rows.v[x->caller]),
				.calls = x->calls,
				.primitive_calls = x->first_calls,
				.self_s = UNITS_UNKNOWN,
				.total_s = (double)x->value * f->scale });
	if (*f->note)
		foreign_note(f->to, f->note);
}

int callgrind_read(struct input *in, struct foreign *to, struct err *e)
{
	struct file f = { .in = in, .to = to, .e = e, .n_positions = 1 };
	uint32_t nothing = intern_adds(&f.texts, "");
	char *line;
	size_t n;
	int status;

	f.at = f.called = (struct place){ nothing, nothing, NO_FUNCTION, 1 };
	while ((status = input_line(in, &line, &n, e)) > 0)
		if (take_line(&f, line) < 0) {
			status = -(int)e->code;
			break;
		}
	if (status == 0 && !f.has_events)
		status = err_set(e, ERR_BAD_FILE, "it does not say what its events are");
	if (status == 0 && !f.rows.n)
		status = err_set(e, ERR_BAD_FILE, "it holds no functions");
	if (status == 0 && f.has_call)
		status = err_set(e, ERR_BAD_FILE, "it ends within a call");
	if (status == 0)
		keep(&f);
	intern_done(&f.texts);
	intern_done(&f.keys);
	map_done(&f.files);
	map_done(&f.objects);
	map_done(&f.functions);
	map_done(&f.edge_of);
	vec_done(&f.rows);
	vec_done(&f.edges);
	return status;
}

static bool has_line(const char *head, size_t n, const char *begin)
{
	size_t n_begin = strlen(begin);

	for (const char *at = head; (size_t)(at - head) + n_begin <= n;) {
		if (memcmp(at, begin, n_begin) == 0)
			return true;
		at = memchr(at, '\n', n - (size_t)(at - head));
		if (!at)
			return false;
		at++;
	}
	return false;
}

bool callgrind_recognise(const char *head, size_t n)
{
	if (has_line(head, n < 18 ? n : 18, "# callgrind format"))
		return true;
	return has_line(head, n, "events: ") &&
		(has_line(head, n, "fn=") || has_line(head, n, "fl=") ||
			has_line(head, n, "positions: "));
}
