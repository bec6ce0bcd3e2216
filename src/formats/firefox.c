/* SPDX-License-Identifier: MIT
 *
 * The Firefox Profiler's processed profile, version 70: tables of functions, frames and stacks that all threads
 * share, and for each thread its samples by columns: stack, time, weight. Later versions of the profiler upgrade it
 * when they load it, so the version stays as it is. A frame is a function; times are ms, from the recording's begin on. */
#include "formats/firefox.h"

#include "analyze/recording.h"
#include "analyze/samples/stacks.h"
#include "base/arena.h"
#include "base/intern.h"
#include "base/json_write.h"
#include "formats/contexts.h"
#include "formats/format.h"
#include "formats/function_table.h"
#include "formats/labels.h"
#include "formats/sink.h"
#include "formats/spans.h"
#include "store/reader.h"
#include "base/banned.h"

enum { VERSION = 70, MADE_FOR = 33 }; /* of the processed format; of the one Gecko itself writes */
enum category { CATEGORY_OTHER, CATEGORY_PYTHON, CATEGORY_LIBRARY, CATEGORY_C };

struct page {
	struct arena a;
	struct spans *spans;
	struct function_table used;
	struct contexts contexts;
	struct intern strings, files;
	struct sink *out;
	struct json_writer w;
};

static const struct stack_function *function_at(const struct page *p, size_t i)
{
	return frames_function(p->spans->stacks->frames, p->used.functions[i]);
}

static enum category category_of(const struct stack_function *f)
{
	return f->is_builtin ? CATEGORY_C : f->is_library ? CATEGORY_LIBRARY : CATEGORY_PYTHON;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* A number of a column; negative: null. */
typedef int64_t (*column_fn)(struct page *p, size_t i);

static void put_column(struct page *p, const char *key, size_t n, column_fn value)
{
	json_key(&p->w, key);
	json_array_begin(&p->w);
	for (size_t i = 0; i < n; i++) {
		int64_t x = value(p, i);

		if (x < 0)
			buf_adds(&p->out->text, i ? ",null" : "null");
		else
			sink_add_u64(&p->out->text, i ? ',' : ' ', (uint64_t)x);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
}

static void put_same(struct page *p, const char *key, size_t n, const char *value)
{
	json_key(&p->w, key);
	json_array_begin(&p->w);
	for (size_t i = 0; i < n; i++) {
		buf_addc(&p->out->text, i ? ',' : ' ');
		buf_adds(&p->out->text, value);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
}

static int64_t function_name(struct page *p, size_t i)
{
	return intern_adds(&p->strings, function_at(p, i)->name);
}

static int64_t frame_function(struct page *p, size_t i)
{
	(void)p;
	return (int64_t)i;
}

static int64_t frame_category(struct page *p, size_t i)
{
	return category_of(function_at(p, i));
}

static int64_t stack_function(struct page *p, size_t i)
{
	return p->used.index[p->contexts.v.v[i].function];
}

/* How far back the caller's stack is; 0: a root. */
static int64_t stack_back(struct page *p, size_t i)
{
	uint32_t parent = p->contexts.v.v[i].parent;

	return parent ? (int64_t)(i + 1 - parent) : 0;
}

static int64_t source_name(struct page *p, size_t i)
{
	return intern_adds(&p->strings, intern_get(&p->files, (uint32_t)i)->p);
}

/* ---- tables ---------------------------------------------------------------------------------- */

static int64_t function_source(struct page *p, size_t i)
{
	const char *file = function_at(p, i)->file;

	return *file ? (int64_t)intern_adds(&p->files, file) : -1;
}

static int64_t function_line(struct page *p, size_t i)
{
	uint32_t line = function_at(p, i)->first_line;

	return line ? (int64_t)line : -1;
}

static void begin_table(struct page *p, const char *key, size_t n)
{
	json_key(&p->w, key);
	json_object_begin(&p->w);
	json_kv_u64(&p->w, "length", n);
}

static void put_functions(struct page *p)
{
	size_t n = p->used.n;

	begin_table(p, "funcTable", n);
	put_column(p, "name", n, function_name);
	put_same(p, "isJS", n, "false");
	put_same(p, "relevantForJS", n, "false");
	put_same(p, "resource", n, "-1");
	put_column(p, "source", n, function_source);
	put_column(p, "lineNumber", n, function_line);
	put_same(p, "columnNumber", n, "null");
	put_same(p, "originalLocation", n, "null");
	json_object_end(&p->w);
	begin_table(p, "frameTable", n);
	put_same(p, "address", n, "-1");
	put_same(p, "lib", n, "-1");
	put_same(p, "inlineDepth", n, "0");
	put_column(p, "category", n, frame_category);
	put_same(p, "subcategory", n, "0");
	put_column(p, "func", n, frame_function);
	put_same(p, "nativeSymbol", n, "null");
	put_same(p, "innerWindowID", n, "0");
	put_column(p, "line", n, function_line);
	put_same(p, "column", n, "null");
	put_same(p, "originalLocation", n, "null");
	json_object_end(&p->w);
}

static void put_sources(struct page *p)
{
	size_t n = p->files.items.n;

	begin_table(p, "sources", n);
	put_same(p, "id", n, "null");
	put_column(p, "filename", n, source_name);
	put_same(p, "startLine", n, "1");
	put_same(p, "startColumn", n, "1");
	put_same(p, "sourceMapURL", n, "null");
	put_same(p, "content", n, "null");
	json_object_end(&p->w);
}

/* Tables that hold nothing here, and must be there. */
static void put_empty(struct page *p, const char *key, const char *const *columns)
{
	begin_table(p, key, 0);
	for (; *columns; columns++)
		put_same(p, *columns, 0, "");
	json_object_end(&p->w);
}

static void put_shared(struct page *p)
{
	static const char *const resources[] = { "lib", "name", "host", "type", NULL },
				 *const symbols[] = { "libIndex", "address", "name", "functionSize",
					 NULL },
				 *const locations[] = { "source", "line", "column", NULL };
	size_t n = p->contexts.v.n;

	json_key(&p->w, "shared");
	json_object_begin(&p->w);
	begin_table(p, "stackTable", n);
	put_column(p, "frame", n, stack_function);
	put_column(p, "prefixOffset", n, stack_back);
	json_object_end(&p->w);
	put_functions(p);
	put_empty(p, "resourceTable", resources);
	put_empty(p, "nativeSymbols", symbols);
	put_sources(p);
	put_empty(p, "sourceLocationTable", locations);
	json_key(&p->w, "stringArray");
	json_array_begin(&p->w);
	for (size_t i = 0; i < p->strings.items.n; i++) {
		json_string_n(&p->w, intern_get(&p->strings, (uint32_t)i)->p,
			intern_get(&p->strings, (uint32_t)i)->n);
		sink_flush(p->out);
	}
	json_array_end(&p->w);
	json_object_end(&p->w);
}

/* ---- threads --------------------------------------------------------------------------------- */

enum sample_column { SAMPLE_STACK, SAMPLE_TIME, SAMPLE_WEIGHT };

static void put_samples_column(
	struct page *p, size_t thread, const char *key, enum sample_column what)
{
	struct span_iter it = spans_of(p->spans, thread);
	bool is_time = p->spans->stacks->unit == UNIT_SECONDS;
	char before = ' ';

	json_key(&p->w, key);
	json_array_begin(&p->w);
	for (struct span x; span_next(&it, &x); before = ',') {
		uint32_t stack;

		switch (what) {
		case SAMPLE_STACK:
			stack = contexts_of(&p->contexts, p->spans, &x);
			if (stack)
				sink_add_u64(&p->out->text, before, stack - 1);
			else
				buf_printf(&p->out->text, "%cnull", before);
			break;
		case SAMPLE_TIME:
			sink_add_fixed(&p->out->text, before, x.t_ns, 6);
			break;
		case SAMPLE_WEIGHT:
			sink_add_fixed(&p->out->text, before, x.value, is_time ? 6 : 0);
			break;
		}
		sink_flush(p->out);
	}
	json_array_end(&p->w);
}

static void put_thread(struct page *p, size_t i)
{
	static const char *const markers[] = { "data", "name", "startTime", "endTime", "phase",
		"category", NULL };
	static const char *const weights[] = {
		[UNIT_SECONDS] = "tracing-ms", [UNIT_BYTES] = "bytes", [UNIT_COUNT] = "samples"
	};
	const struct stack_thread *t = &p->spans->stacks->threads[i];

	json_object_begin(&p->w);
	json_kv_string(&p->w, "processType", "default");
	json_kv_u64(&p->w, "processStartupTime", 0);
	json_key(&p->w, "processShutdownTime");
	json_null(&p->w);
	json_kv_u64(&p->w, "registerTime", 0);
	json_key(&p->w, "unregisterTime");
	json_null(&p->w);
	json_key(&p->w, "pausedRanges");
	json_array_begin(&p->w);
	json_array_end(&p->w);
	json_kv_string(&p->w, "name", label_thread(&p->a, p->spans->stacks, i));
	json_kv_bool(&p->w, "isMainThread", t->pid == t->tid);
	json_kv_string(&p->w, "pid", arena_printf(&p->a, "%u", t->pid));
	json_kv_u64(&p->w, "tid", t->tid ? t->tid : i + 1);
	begin_table(p, "samples", (size_t)p->spans->threads[i].n);
	put_samples_column(p, i, "stack", SAMPLE_STACK);
	put_samples_column(p, i, "time", SAMPLE_TIME);
	put_samples_column(p, i, "weight", SAMPLE_WEIGHT);
	json_kv_string(&p->w, "weightType", weights[p->spans->stacks->unit]);
	json_object_end(&p->w);
	put_empty(p, "markers", markers);
	json_object_end(&p->w);
}

/* ---- the file -------------------------------------------------------------------------------- */

static void put_categories(struct page *p)
{
	static const struct {
		const char *name, *color;
	} categories[] = { [CATEGORY_OTHER] = { "Other", "grey" },
		[CATEGORY_PYTHON] = { "Python", "yellow" },
		[CATEGORY_LIBRARY] = { "Library", "blue" },
		[CATEGORY_C] = { "C", "orange" } };

	json_key(&p->w, "categories");
	json_array_begin(&p->w);
	for (size_t i = 0; i < sizeof categories / sizeof *categories; i++) {
		json_object_begin(&p->w);
		json_kv_string(&p->w, "name", categories[i].name);
		json_kv_string(&p->w, "color", categories[i].color);
		json_key(&p->w, "subcategories");
		json_array_begin(&p->w);
		json_string(&p->w, "Other");
		json_array_end(&p->w);
		json_object_end(&p->w);
	}
	json_array_end(&p->w);
}

static void put_meta(struct page *p, const struct selection *of)
{
	const struct stacks *s = p->spans->stacks;
	double interval_ms =
		s->n_samples && s->unit == UNIT_SECONDS ? s->value * 1e3 / (double)s->n_samples : 1;

	json_key(&p->w, "meta");
	json_object_begin(&p->w);
	json_kv_u64(&p->w, "version", MADE_FOR);
	json_kv_u64(&p->w, "preprocessedProfileVersion", VERSION);
	json_kv_string(&p->w, "product", label_command(of));
	json_kv_string(&p->w, "importedFrom", "leadline " LEADLINE_VERSION);
	json_kv_double(&p->w, "interval", interval_ms);
	json_kv_double(&p->w, "startTime",
		s->is_foreign ? 0 : (double)of->recording->reader->begun_realtime_ns / 1e6);
	json_kv_u64(&p->w, "processType", 0);
	json_kv_u64(&p->w, "stackwalk", 0);
	json_kv_bool(&p->w, "symbolicationNotSupported", true);
	json_kv_bool(&p->w, "usesOnlyOneStackType", true);
	json_kv_bool(&p->w, "sourceCodeIsNotOnSearchfox", true);
	put_categories(p);
	json_key(&p->w, "markerSchema");
	json_array_begin(&p->w);
	json_array_end(&p->w);
	json_object_end(&p->w);
}

static int write(struct selection *s, struct sink *out, struct err *e)
{
	struct page p = { .a = ARENA_INIT, .out = out };
	int status = spans_build(&p.spans, &p.a, s, e);

	if (status < 0) {
		arena_done(&p.a);
		return status;
	}
	p.used = function_table_build(&p.a, p.spans->stacks);
	contexts_fill(&p.contexts, p.spans);
	json_init(&p.w, &out->text, false);
	json_object_begin(&p.w);
	put_meta(&p, s);
	json_key(&p.w, "libs");
	json_array_begin(&p.w);
	json_array_end(&p.w);
	put_shared(&p);
	json_key(&p.w, "threads");
	json_array_begin(&p.w);
	for (size_t i = 0; i < p.spans->stacks->n_threads; i++)
		if (spans_has_thread(p.spans, i))
			put_thread(&p, i);
	json_array_end(&p.w);
	json_object_end(&p.w);
	buf_addc(&out->text, '\n');
	intern_done(&p.strings);
	intern_done(&p.files);
	contexts_done(&p.contexts);
	status = spans_close(p.spans, e);
	arena_done(&p.a);
	return status;
}

const struct format format_firefox = {
	.name = "firefox",
	.suffixes = { ".firefox.json" },
	.summary = "for the Firefox Profiler: samples in time order, by thread",
	.recognise = firefox_recognise,
	.read = firefox_read,
	.write = write,
};
