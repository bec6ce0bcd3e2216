/* SPDX-License-Identifier: MIT
 * See line_codes.h. The file-scope state is the process's one selection. Adding to it and judging
 * by it is done under a lock of our own, which no hook holds while Python code could run. */
#include "agent/lines/line_codes.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/lines/basic_blocks.h"
#include "agent/core/compat.h"
#include "agent/lines/line_calls.h"
#include "agent/lines/line_names.h"
#include "agent/core/link.h"
#include "agent/core/detach.h"
#include "agent/core/memory.h"
#include "agent/lines/line_select.h"
#include "wire/line_area.h"
#include "wire/trace.h"

_Thread_local struct line_thread *line_mine __attribute__((tls_model("initial-exec")));
_Atomic uint32_t line_codes_version;
unsigned line_wants;

enum {
	ADDED_MAX = 4096, /* code objects a program may name itself */
	CODES_LOG2_MIN = 6,
	CODES_LOG2_MAX = 20,
	THREADS_APART = 512, /* that have counters of their own, whatever became of others */
};

static struct {
	struct line_select select;
	char library[1024];
	const struct function *added[ADDED_MAX];
	uint32_t n_added;
	pthread_mutex_t lock;
	pthread_key_t key; /* its destructor ends a thread's part */
	bool has_key;
	uint32_t epoch;              /* of the link in which … */
	uint32_t n_threads;          /* … so many have counters of their own */
	struct line_thread *threads; /* all */
	struct line_thread *ended;   /* of none: for the next thread */
} chosen = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- threads come and go --------------------------------------------------------------------- */

static void list_add(struct line_thread *m)
{
	pthread_mutex_lock(&chosen.lock);
	m->next = chosen.threads;
	m->previous = &chosen.threads;
	if (m->next)
		m->next->previous = &m->next;
	chosen.threads = m;
	pthread_mutex_unlock(&chosen.lock);
}

static void list_remove(struct line_thread *m)
{
	pthread_mutex_lock(&chosen.lock);
	if (m->previous) {
		*m->previous = m->next;
		if (m->next)
			m->next->previous = m->previous;
	}
	m->previous = NULL;
	pthread_mutex_unlock(&chosen.lock);
}

static void thread_free(struct line_thread *m)
{
	leadline_lines_done(&m->t);
	memory_unmap(m->codes, sizeof *m->codes << m->codes_log2);
	memory_unmap(m, sizeof *m);
}

/* Counters of a former session are not touched: its memory is another's now. */
static void thread_end(void *arg)
{
	struct line_thread *m = arg;

	line_mine = NULL;
	list_remove(m);
	if (m->epoch != leadline_link_epoch()) {
		thread_free(m);
		return;
	}
	leadline_lines_close_all(&m->t, *m->t.last);
	pthread_mutex_lock(&chosen.lock);
	if (chosen.n_threads > THREADS_APART) {
		m->next = chosen.ended;
		chosen.ended = m;
		m = NULL;
	}
	pthread_mutex_unlock(&chosen.lock);
	if (m)
		thread_free(m);
}

void line_codes_pause(uint64_t now)
{
	pthread_mutex_lock(&chosen.lock);
	for (struct line_thread *m = chosen.threads; m; m = m->next) {
		/* Without the GIL another may be counting still: it does that itself. */
		if (*m->mine && m->epoch == leadline_link_epoch() &&
			(!COMPAT_IS_FREE_THREADED || m == line_mine))
			leadline_lines_close_all(&m->t, now);
		*m->mine = NULL;
	}
	pthread_mutex_unlock(&chosen.lock);
}

/* After a pause. The hooks begin anew: so do the events of each code object. */
static struct line_thread *attach_again(void)
{
	struct line_thread *m = pthread_getspecific(chosen.key);

	if (!m)
		return NULL;
	if (m->epoch != leadline_link_epoch()) {
		pthread_setspecific(chosen.key, NULL);
		list_remove(m);
		thread_free(m);
		return NULL;
	}
	leadline_lines_close_all(&m->t, *m->t.last);
	for (uint32_t i = 0; i < 1u << m->codes_log2; i++)
		m->codes[i].is_armed = false;
	return line_mine = m;
}

static struct line_thread *take_ended(void)
{
	struct line_thread *m;

	pthread_mutex_lock(&chosen.lock);
	m = chosen.ended;
	if (m)
		chosen.ended = m->next;
	pthread_mutex_unlock(&chosen.lock);
	return m;
}

/* The counters of a thread that has ended; NULL: there are none. */
static struct line_thread *take_over(void)
{
	struct line_thread *m = take_ended();

	for (; m && m->epoch != leadline_link_epoch(); m = take_ended())
		thread_free(m);
	return m;
}

/* ---- the selection --------------------------------------------------------------------------- */

bool line_codes_start(const char *patterns, const char *library, unsigned wants)
{
	chosen.n_added = 0;
	line_codes_version++; /* what was judged before is judged anew */
	line_wants = wants;
	strncpy(chosen.library, library, sizeof chosen.library - 1);
	if (!chosen.has_key)
		chosen.has_key = pthread_key_create(&chosen.key, thread_end) == 0;
	return leadline_select_init(&chosen.select, patterns) && chosen.has_key;
}

void line_codes_forget(void)
{
	static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

	chosen.lock = fresh; /* its holder may not have come along */
	chosen.threads = chosen.ended = NULL;
	if (chosen.has_key)
		pthread_setspecific(chosen.key, NULL);
	line_mine = NULL; /* its memory is lost: it may be in use up the stack */
}

bool line_codes_add(PyCodeObject *code)
{
	const struct function *f = codes_get(code, NULL);
	bool fits;

	if (!f)
		return false;
	pthread_mutex_lock(&chosen.lock);
	fits = chosen.n_added < ADDED_MAX;
	if (fits)
		chosen.added[chosen.n_added++] = f;
	line_codes_version++;
	pthread_mutex_unlock(&chosen.lock);
	return fits;
}

static bool is_added(const void *code)
{
	bool found = false;

	pthread_mutex_lock(&chosen.lock);
	for (uint32_t i = 0; i < chosen.n_added && !found; i++)
		found = chosen.added[i]->key == code;
	pthread_mutex_unlock(&chosen.lock);
	return found;
}

static bool is_library(const char *file)
{
	size_t n = strlen(chosen.library);

	return (n && strncmp(file, chosen.library, n) == 0 && file[n] == '/') ||
		strncmp(file, "<frozen ", 8) == 0 || strstr(file, "/site-packages/") ||
		strstr(file, "/dist-packages/");
}

static const char *text_of(PyObject *o)
{
	const char *text = o && PyUnicode_Check(o) ? PyUnicode_AsUTF8(o) : NULL;

	if (!text)
		PyErr_Clear();
	return text ? text : "";
}

/* By the user's patterns, or by the program. The function that runs now must be the one: its module is asked for. */
static bool is_chosen(PyCodeObject *code, uint64_t *ret_patterns)
{
	struct compat_error error = compat_error_take();
	PyObject *globals = PyEval_GetGlobals(); /* borrowed */
	struct line_select_subject subject = { .file = text_of(code->co_filename),
		.module = text_of(globals ? PyDict_GetItemString(globals, "__name__") : NULL),
		.name = text_of(compat_code_name(code)) };
	char qualified[512];

	*ret_patterns = 0;
	subject.is_library = is_library(subject.file);
	if (chosen.select.n) {
		if (!COMPAT_HAS_QUALNAME && globals &&
			leadline_select_may_mean(&chosen.select, text_of(code->co_name)) &&
			line_names_find(globals, code, qualified, sizeof qualified))
			subject.name = qualified;
		pthread_mutex_lock(&chosen.lock);
		*ret_patterns = leadline_select_match(&chosen.select, &subject);
		pthread_mutex_unlock(&chosen.lock);
	}
	compat_error_put(error);
	return *ret_patterns || is_added(code);
}

long line_codes_found(uint32_t i)
{
	return i < chosen.select.n ? (long)chosen.select.patterns[i].n_found : -1;
}

/* ---- a thread's counters --------------------------------------------------------------------- */

/* Zeroed memory of the thread in the session's; NULL when there is no room. Whole granules are
 * taken, because the tool goes through the area by granules. */
static void *take(struct line_thread *m, uint32_t n_bytes)
{
	uint32_t head = sizeof(struct trace_granule), n_granules;
	unsigned char *p;

	n_bytes = (n_bytes + LINE_CELL_BYTES - 1) & ~(LINE_CELL_BYTES - 1u);
	if (!m->run || m->run_bytes - m->run_used < n_bytes) {
		n_granules = (head + n_bytes + TRACE_GRANULE_BYTES - 1) / TRACE_GRANULE_BYTES;
		m->run = leadline_link_alloc(n_granules * TRACE_GRANULE_BYTES);
		if (!m->run)
			return NULL;
		m->run->kind = TRACE_GRANULE_LINES;
		m->run->tid = m->tid;
		m->run->n = n_granules;
		__atomic_store_n(&m->run->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
		m->run_used = head;
		m->run_bytes = n_granules * TRACE_GRANULE_BYTES;
	}
	p = (unsigned char *)m->run + m->run_used;
	m->run_used += n_bytes;
	return p;
}

static struct line_thread *thread_new(void)
{
	struct line_thread *m = memory_map(sizeof *m);
	uint64_t *last;

	if (!m)
		return NULL;
	m->tid = (int32_t)syscall(SYS_gettid);
	m->codes_log2 = CODES_LOG2_MIN;
	m->codes = memory_map(sizeof *m->codes << m->codes_log2);
	last = take(m, sizeof *last);
	if (!m->codes || !last || !leadline_lines_init(&m->t, last)) {
		thread_free(m);
		return NULL;
	}
	m->t.calls = line_calls();
	pthread_mutex_lock(&chosen.lock);
	if (chosen.epoch != leadline_link_epoch()) {
		chosen.epoch = leadline_link_epoch();
		chosen.n_threads = 0;
	}
	chosen.n_threads++;
	pthread_mutex_unlock(&chosen.lock);
	return m;
}

struct line_thread *line_thread_attach(void)
{
	static _Thread_local bool is_missed; /* and told */
	struct line_thread *m;

	if (line_mine || attach_again())
		return line_mine;
	if (!leadline_link_thread()) {
		detach_check(0);
		return NULL;
	}
	m = take_over();
	if (!m)
		m = thread_new();
	if (!m || pthread_setspecific(chosen.key, m) != 0) {
		if (m)
			thread_free(m);
		if (!is_missed)
			leadline_link_missed(true);
		is_missed = true;
		return NULL;
	}
	m->epoch = leadline_link_epoch();
	m->mine = &line_mine;
	list_add(m);
	return line_mine = m;
}

struct span {
	uint32_t first, last;
};

static void widen(void *ctx, uint32_t line)
{
	struct span *s = ctx;

	if (line < s->first)
		s->first = line;
	if (line > s->last)
		s->last = line;
}

/* Counters of instructions. Blocks are known where the hooks can switch off what lies between. */
static void take_units(struct line_thread *m, struct line_code *c, PyCodeObject *code)
{
	PyObject *bytes = compat_code_bytes(code), *handlers = compat_code_handlers(code);
	uint32_t n = bytes && PyBytes_Check(bytes) ? (uint32_t)(PyBytes_GET_SIZE(bytes) / 2) : 0;
	struct opcode_block block = { .code = c->function->number,
		.n_units = n,
		.is_derived = COMPAT_HAS_BLOCKS,
		.tid = m->tid };
	uint64_t *hits =
		n && n <= OPCODE_UNITS_MAX ? take(m, (uint32_t)opcode_block_bytes(n)) : NULL;

	if (hits) {
		unsigned char *begins = (unsigned char *)(hits + 2 * n);

		if (COMPAT_HAS_BLOCKS)
			basic_blocks_find((const unsigned char *)PyBytes_AS_STRING(bytes), n,
				(const unsigned char *)PyBytes_AS_STRING(handlers),
				(uint32_t)PyBytes_GET_SIZE(handlers), begins);
		block.offset = leadline_link_offset(hits);
		c->block_begins = COMPAT_HAS_BLOCKS ? begins : NULL;
		c->n_units = n;
		if (leadline_link_emit(TRACE_RECORD_OPCODES, &block, sizeof block)) {
			c->unit_left = hits + n;
			c->unit_hits = hits;
		}
	}
	Py_XDECREF(bytes);
	PyErr_Clear();
}

static void judge(struct line_thread *m, struct line_code *c, PyCodeObject *code)
{
	struct line_block block = { .tid = m->tid };
	struct span span = { .first = UINT32_MAX };

	*c = (struct line_code){ .key = code,
		.name = code->co_name,
		.file = code->co_filename,
		.first_line = code->co_firstlineno,
		.version = line_codes_version };
	if (!is_chosen(code, &block.patterns))
		return;
	compat_code_each_line(code, widen, &span);
	if (span.first > span.last || span.last - span.first >= LINE_CELLS_MAX - 1)
		return;
	c->function = codes_get(code, NULL);
	c->lines = (struct lines_code){ .first_line = span.first,
		.n_cells = span.last - span.first + 2 };
	c->lines.cells = take(m, c->lines.n_cells * (uint32_t)sizeof(struct line_cell));
	if (!c->function || !c->lines.cells)
		return;
	for (int i = 0; i < LINE_PLACES; i++)
		c->places[i].offset = -1;
	block.cells_offset = leadline_link_offset(c->lines.cells);
	block.last_offset = leadline_link_offset(m->t.last);
	block.code = c->function->number;
	block.first_line = span.first;
	block.n_cells = c->lines.n_cells;
	if (line_wants & LINE_WANT_OPCODES)
		take_units(m, c, code);
	c->is_counted = leadline_link_emit(TRACE_RECORD_LINES, &block, sizeof block);
}

static bool grow(struct line_thread *m)
{
	struct line_thread bigger = { .codes_log2 = m->codes_log2 + 1 };
	uint32_t mask = (1u << bigger.codes_log2) - 1;

	if (m->codes_log2 == CODES_LOG2_MAX)
		return false;
	bigger.codes = memory_map(sizeof *m->codes << bigger.codes_log2);
	if (!bigger.codes)
		return false;
	for (uint32_t i = 0; i < 1u << m->codes_log2; i++) {
		struct line_code *to = line_code_slot(&bigger, m->codes[i].key);

		if (!m->codes[i].key)
			continue;
		while (to->key)
			to = &bigger.codes[(to - bigger.codes + 1) & mask];
		*to = m->codes[i];
	}
	memory_unmap(m->codes, sizeof *m->codes << m->codes_log2);
	m->codes = bigger.codes;
	m->codes_log2 = bigger.codes_log2;
	return true;
}

struct line_code *line_code_learn(struct line_thread *m, PyCodeObject *code)
{
	struct line_code *c;
	uint32_t mask;

	if (m->n_codes * 2 >= 1u << m->codes_log2 && !grow(m))
		return NULL;
	mask = (1u << m->codes_log2) - 1;
	c = line_code_slot(m, code);
	while (c->key && c->key != code)
		c = &m->codes[(c - m->codes + 1) & mask];
	if (c->key && line_code_is(c, code))
		return c;
	m->n_codes += !c->key;
	judge(m, c, code);
	return c;
}

uint32_t line_code_line(struct line_code *c, int offset)
{
	int i = (offset >> 1) & (LINE_PLACES - 1);

	if (c->places[i].offset != offset) {
		c->places[i].line = PyCode_Addr2Line((PyCodeObject *)(uintptr_t)c->key, offset);
		c->places[i].offset = offset;
	}
	return (uint32_t)c->places[i].line;
}
