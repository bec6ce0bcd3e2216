/* SPDX-License-Identifier: MIT
 * See ops.h. */
#include "agent/torch/ops.h"

#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/link.h"
#include "agent/core/lookup.h"
#include "agent/core/memory.h"
#include "agent/torch/modules.h"
#include "agent/torch/places.h"
#include "agent/calls/tree.h"
#include "wire/name.h"
#include "wire/clock.h"
#include "wire/op_area.h"
#include "wire/session_layout.h"

enum {
	NAMES_CACHED = 4096,
	NAMES_KEPT = 4096,    /* of what a thread has begun: a power of two */
	NAMES_FOUND = 256,    /* a power of two */
	NAME_LINE_BYTES = 64, /* names begin at multiples of it */
};

struct open_op {
	uint64_t start;
	uint32_t name, place;
	struct place_mark mark; /* where the thread stood */
};

/* What a thread has begun, and which of it will come again: programs do the same over and over, so that what came after
 * the same name last time is nearly always what comes now. `next` runs behind by one round of the program's, and no
 * table has to be asked. Where it was wrong, it goes to where the name was last looked up. */
struct names_begun {
	uint32_t n, next;
	uint32_t found_at[NAMES_FOUND]; /* n when a name was looked up, by its number */
	struct ops_name *names[NAMES_KEPT];
};

/* One thread's. */
struct ops {
	struct op_block *block; /* in the session's memory */
	struct op_row *rows;
	uint32_t depth;
	uint32_t life;
	bool is_rehearsing;
	uint64_t n_rehearsed; /* in blocks that were full */
	struct ops *next_free;
	struct places places;
	struct open_op open[OPS_DEPTH];
	struct names_begun begun;
};

static struct {
	pthread_mutex_t lock;
	pthread_key_t key; /* its destructor ends a thread's part */
	enum clock_mode clock;
	bool is_started;
	struct lookup names;
	struct pool pool;
	uint32_t n_names, n_blocks;
	struct ops *free; /* of threads that have ended */
} all = { .lock = PTHREAD_MUTEX_INITIALIZER };

uint32_t ops_life = 1;

static struct ops_name *_Atomic cached_names[NAMES_CACHED]; /* by the address of their text */
static struct ops_name no_name = {
	.text = "(without a name)", .mark = OPS_NAME_MARK, .number = OP_NAMES_MOST
};
static _Thread_local struct ops *mine __attribute__((tls_model("initial-exec")));

/* ---- names ----------------------------------------------------------------------------------- */

static uint64_t hash_text(const char *text, size_t n)
{
	uint64_t h = 0xcbf29ce484222325u;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * 0x100000001b3u;
	return lookup_mix(h);
}

static bool tell_name(struct ops_name *name)
{
	unsigned char record[sizeof(struct op_name) + OP_NAME_BYTES];
	struct op_name head = { .number = name->number };
	uint32_t n = (uint32_t)strlen(name->text);

	memcpy(record, &head, sizeof head);
	memcpy(record + sizeof head, name->text, n);
	if (!leadline_link_emit(TRACE_RECORD_OP_NAME, record, (uint32_t)sizeof head + n))
		return false;
	name->told = ops_life;
	return true;
}

static struct ops_name *name_new(const char *text, size_t n, uint64_t hash)
{
	size_t bytes =
		(sizeof(struct ops_name) + n + NAME_LINE_BYTES) & ~(size_t)(NAME_LINE_BYTES - 1);
	struct ops_name *name =
		all.n_names + 1 < OP_NAMES_MOST ? pool_take(&all.pool, bytes) : NULL;

	if (!name || !lookup_add(&all.names, hash, name))
		return &no_name;
	memcpy((char *)(name + 1), text, n);
	name->text = (const char *)(name + 1);
	name->mark = OPS_NAME_MARK;
	name->seen = text;
	name->number = ++all.n_names;
	return name;
}

/* As wire/name.h says, of bytes. Returns how many. */
static size_t cut_name(const char *text, char to[NAME_CHARS_MOST])
{
	size_t n = strlen(text), shown = NAME_CHARS_MOST - NAME_MARK_BYTES;
	uint64_t h = name_hash_begin(n);

	for (size_t i = 0; i < n && i < NAME_ENDS; i++)
		h = name_hash_add(h, (unsigned char)text[i]);
	for (size_t i = n > NAME_ENDS ? n - NAME_ENDS : 0; i < n; i++)
		h = name_hash_add(h, (unsigned char)text[i]);
	while (shown && ((unsigned char)text[shown] & 0xc0) == 0x80) /* no half of a character */
		shown--;
	memcpy(to, text, shown);
	name_mark(h, to + shown);
	return shown + NAME_MARK_BYTES;
}

static struct ops_name *find_name(const char *text)
{
	char cut[NAME_CHARS_MOST];
	size_t n = strnlen(text, NAME_CHARS_MOST + 1);
	struct ops_name *name;
	uint64_t hash;

	if (unlikely(n > NAME_CHARS_MOST)) {
		n = cut_name(text, cut);
		text = cut;
	}
	hash = hash_text(text, n);

	pthread_mutex_lock(&all.lock);
	for (uint32_t i = lookup_first(&all.names, hash); (name = lookup_at(&all.names, &i, hash));)
		if (strncmp(name->text, text, n) == 0 && name->text[n] == '\0')
			break;
	if (!name)
		name = name_new(text, n, hash);
	if (name->told != ops_life && name->number)
		tell_name(name);
	pthread_mutex_unlock(&all.lock);
	return name;
}

static bool is_name(const struct ops_name *name, const char *text)
{
	return likely(name && name->told == ops_life && strcmp(name->text, text) == 0);
}

/* Operators have their names at the same address each time, so that one comparison of texts does. */
static struct ops_name *cached_name(const char *text)
{
	struct ops_name *_Atomic *cached =
		&cached_names[lookup_mix((uintptr_t)text) & (NAMES_CACHED - 1)];
	struct ops_name *name = __atomic_load_n((struct ops_name **)cached, __ATOMIC_ACQUIRE);

	if (is_name(name, text))
		return name;
	name = find_name(text);
	__atomic_store_n((struct ops_name **)cached, name, __ATOMIC_RELEASE);
	return name;
}

static struct ops_name *begun_at(const struct names_begun *b, uint32_t i)
{
	return b->names[i & (NAMES_KEPT - 1)];
}

static void go_to(struct names_begun *b, const struct ops_name *name)
{
	uint32_t *found_at = &b->found_at[name->number & (NAMES_FOUND - 1)];

	b->next = *found_at;
	*found_at = b->n;
}

/* Both will be read soon, and what the program computes has taken their places in the CPU's cache. */
static void expect(const struct ops_name *next, const struct ops_name *after)
{
	if (next)
		__builtin_prefetch(next->seen);
	__builtin_prefetch(after);
}

struct ops_name *ops_name(const char *text)
{
	struct names_begun *b = mine ? &mine->begun : NULL;
	struct ops_name *name;

	if (unlikely(!b))
		return cached_name(text);
	name = begun_at(b, b->next);
	if (!is_name(name, text)) {
		name = cached_name(text);
		go_to(b, name);
	}
	b->names[b->n++ & (NAMES_KEPT - 1)] = name;
	b->next++;
	expect(begun_at(b, b->next), begun_at(b, b->next + 1));
	return name;
}

/* ---- blocks ---------------------------------------------------------------------------------- */

static void send_block(struct ops *t)
{
	struct op_block *b = t->block;
	uint64_t n = b->n;

	if (t->is_rehearsing)
		t->n_rehearsed += n;
	else if (n &&
		!leadline_link_emit(
			TRACE_RECORD_OPS, b, (uint32_t)(sizeof *b + n * sizeof *t->rows)))
		b->n_lost += n;
	__atomic_store_n(&b->n, 0, __ATOMIC_RELEASE);
	b->sequence++;
	modules_ask();
}

static bool block_new(struct ops *t)
{
	struct trace_granule *g = tree_area(TRACE_GRANULE_BYTES);

	if (!g)
		return false;
	t->block = (struct op_block *)(void *)(g + 1);
	t->rows = (struct op_row *)(void *)(t->block + 1);
	t->block->number = ++all.n_blocks;
	t->block->sequence = 1;
	g->kind = TRACE_GRANULE_OPS;
	__atomic_store_n(&g->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
	return true;
}

static void end_of_thread(void *of)
{
	struct ops *t = of;

	mine = NULL;
	if (t->life != ops_life)
		return; /* its parent's */
	send_block(t);
	t->depth = 0;
	pthread_mutex_lock(&all.lock);
	t->next_free = all.free;
	all.free = t;
	pthread_mutex_unlock(&all.lock);
}

/* A thread's first operator. NULL: not possible. */
static struct ops *attach(void)
{
	struct ops *t;

	if (!all.is_started || !leadline_link_is_live())
		return NULL;
	pthread_mutex_lock(&all.lock);
	t = all.free;
	if (t) {
		all.free = t->next_free;
	} else {
		t = memory_map(sizeof *t);
		if (t && !block_new(t)) {
			memory_unmap(t, sizeof *t);
			t = NULL;
		}
	}
	pthread_mutex_unlock(&all.lock);
	if (!t)
		return NULL;
	t->life = ops_life;
	t->block->tid = (int32_t)syscall(SYS_gettid);
	pthread_setspecific(all.key, t);
	return mine = t;
}

/* ---- the hot path ---------------------------------------------------------------------------- */

/* Most operators are called by others. In a region the program goes on, and may come to the same instruction of a frame at
 * the same address by other ways. */
static bool is_called_by(const struct open_op *o, const struct open_op *outer)
{
	return o->mark.frame == outer->mark.frame && o->mark.at == outer->mark.at &&
		!(outer->place & OP_IS_REGION);
}

void ops_begin(const struct ops_name *name)
{
	struct ops *t = mine;
	struct open_op *o;

	if (unlikely(!t) && !(t = attach()))
		return;
	if (unlikely(t->depth >= OPS_DEPTH)) {
		t->depth++;
		t->block->n_lost++;
		return;
	}
	o = &t->open[t->depth++];
	o->name = name->number;
	o->mark = places_mark();
	o->place = t->depth > 1 && is_called_by(o, o - 1) ? o[-1].place
							  : places_here(&t->places, &o->mark);
	o->start = clock_read(all.clock);
}

static void put_row(struct ops *t, const struct open_op *o, uint64_t now)
{
	uint64_t n = t->block->n;

	t->rows[n] = (struct op_row){ .start = o->start,
		.ticks = now > o->start ? now - o->start : 0,
		.name = o->name,
		.place = o->place };
	__atomic_store_n(&t->block->n, n + 1, __ATOMIC_RELEASE);
	if (unlikely(n + 1 == OP_BLOCK_ROWS))
		send_block(t);
}

void ops_end(void)
{
	uint64_t now = clock_read(all.clock);
	struct ops *t = mine;

	if (unlikely(!t || !t->depth) || unlikely(--t->depth >= OPS_DEPTH))
		return;
	put_row(t, &t->open[t->depth], now);
}

void ops_add(const struct ops_name *name, uint64_t start)
{
	uint64_t now = clock_read(all.clock);
	struct ops *t = mine;

	if (t || (t = attach()))
		put_row(t, &(struct open_op){ .start = start, .name = name->number }, now);
}

/* ---- rehearsals ------------------------------------------------------------------------------ */

bool ops_rehearse(void)
{
	struct ops *t = mine;

	if (!t && !(t = attach()))
		return false;
	send_block(t); /* so that all of what is in the block from now on is rehearsed */
	t->is_rehearsing = true;
	t->n_rehearsed = 0;
	return true;
}

uint64_t ops_rehearsed(void)
{
	struct ops *t = mine;

	if (!t || !t->is_rehearsing)
		return 0;
	send_block(t);
	t->is_rehearsing = false;
	return t->n_rehearsed;
}

/* ---- life ------------------------------------------------------------------------------------ */

bool ops_start(void)
{
	const struct session_header *h = leadline_link_header();

	if (all.is_started)
		return true;
	if (!h || pthread_key_create(&all.key, end_of_thread) != 0)
		return false;
	all.clock = (enum clock_mode)h->clock_mode;
	return all.is_started = true;
}

void ops_forget(void)
{
	pthread_mutex_init(&all.lock, NULL);
	all.free = NULL;
	all.n_blocks = 0;
	mine = NULL;
	ops_life++;
}
