/* SPDX-License-Identifier: MIT
 * See budget_table.h. Found without a lock: an index that is full gives way to one of twice its size and stays where it is, as
 * somebody may be looking at it; all of them together are no more than twice the last. */
#include "agent/calls/budget_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/calls/tree.h"
#include "agent/core/codes.h"
#include "agent/core/lookup.h"
#include "agent/core/memory.h"

enum { LOG2_FIRST = 12, SITES_LOG2_FIRST = 10, OFF_MOST = 4096 };

struct slot {
	_Atomic(const void *) key; /* NULL: unused; written last */
	struct budgeted *b;
};

struct index {
	uint32_t log2;
	struct slot slots[];
};

struct site {
	uint64_t hash;   /* 0: unused */
	uint64_t off_at; /* first */
	const void *key; /* what was called there; NULL: more than one thing */
};

static struct {
	_Atomic(struct index *) index; /* NULL: none yet */
	uint32_t n_items;
	struct pool pool; /* of struct budgeted */
	struct site *sites;
	uint32_t sites_log2, n_sites;
	_Atomic uint32_t n_off, version;
	struct budgeted *off[OFF_MOST];
	struct lookup over;                    /* entries of functions that died, by number */
	struct trace_granule *granule, *first; /* where the next entry goes, and the first went */
	pthread_mutex_t lock;                  /* of everything but looking for a function */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

/* ---- functions ------------------------------------------------------------------------------- */

static uint64_t hash_of(const void *key)
{
	return ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u;
}

struct budgeted *budget_table_find(const void *key)
{
	const struct index *x = atomic_load_explicit(&table.index, memory_order_acquire);
	const void *there;

	if (unlikely(!x))
		return NULL;
	for (uint32_t i = (uint32_t)(hash_of(key) >> (64 - x->log2));; i++) {
		const struct slot *s = &x->slots[i & ((1u << x->log2) - 1)];

		there = atomic_load_explicit(&s->key, memory_order_acquire);
		if (likely(there == key))
			return s->b;
		if (!there)
			return NULL;
	}
}

/* The unused one where the key, which is not there yet, is to be. */
static struct slot *slot_for(struct index *x, const void *key)
{
	uint32_t i = (uint32_t)(hash_of(key) >> (64 - x->log2));

	while (x->slots[i].key)
		i = (i + 1) & ((1u << x->log2) - 1);
	return &x->slots[i];
}

static void slot_fill(struct slot *s, struct budgeted *b)
{
	s->b = b;
	atomic_store_explicit(&s->key, b->key, memory_order_release);
}

/* False: no memory. */
static bool index_grow(void)
{
	struct index *x = table.index, *larger;
	uint32_t log2 = x ? x->log2 + 1 : LOG2_FIRST;

	if (x && table.n_items < (1u << x->log2) / 2)
		return true;
	larger = memory_map(sizeof *larger + (sizeof *larger->slots << log2));
	if (!larger)
		return x && table.n_items < (1u << x->log2) - 1;
	larger->log2 = log2;
	for (uint32_t i = 0; x && i < 1u << x->log2; i++)
		if (x->slots[i].key)
			slot_fill(slot_for(larger, x->slots[i].key), x->slots[i].b);
	atomic_store_explicit(&table.index, larger, memory_order_release);
	return true;
}

static struct budgeted *make(const void *key)
{
	struct budgeted *b;

	pthread_mutex_lock(&table.lock);
	b = budget_table_find(key); /* somebody else was faster */
	if (!b && index_grow() && (b = pool_take(&table.pool, sizeof *b))) {
		b->key = key;
		slot_fill(slot_for(table.index, key), b);
		table.n_items++;
	}
	pthread_mutex_unlock(&table.lock);
	return b;
}

struct budgeted *budget_table_get(const void *key)
{
	struct budgeted *b = budget_table_find(key);

	return likely(b != NULL) ? b : make(key);
}

uint32_t budget_table_n_off(void)
{
	return atomic_load_explicit(&table.n_off, memory_order_relaxed);
}

uint32_t budget_table_version(void)
{
	return atomic_load_explicit(&table.version, memory_order_relaxed);
}

/* ---- entries --------------------------------------------------------------------------------- */

static struct budget_entry *entry_new(uint32_t number)
{
	struct trace_granule *g = table.granule;
	struct budget_entry *e;

	if (!g || g->n == BUDGET_ENTRIES) {
		g = tree_area(TRACE_GRANULE_BYTES);
		if (!g)
			return NULL;
		g->kind = TRACE_GRANULE_BUDGET;
		__atomic_store_n(&g->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
		table.granule = g;
		table.first = table.first ? table.first : g;
	}
	e = (struct budget_entry *)(void *)(g + 1) + g->n++;
	e->function = number;
	return e;
}

/* The entry of one that was the same function and died (exec in a loop) goes on: as if it had been off until now for as long as
 * it was. */
static struct budget_entry *entry_again(uint32_t number, uint64_t cpu_ns)
{
	uint64_t hash = lookup_mix(number);
	struct budget_entry *e;

	for (uint32_t i = lookup_first(&table.over, hash); (e = lookup_at(&table.over, &i, hash));)
		if (e->function == number && e->is_over) {
			e->is_over = 0;
			e->off_at = cpu_ns - (e->last - e->off_at);
			e->off_clock = clock_read(tree_clock) - e->off_clock;
			return e;
		}
	return NULL;
}

static struct budget_entry *entry_of(const struct function *f, uint64_t cpu_ns, double rate)
{
	struct budget_entry *e = entry_again(f->number, cpu_ns);

	if (!e && (e = entry_new(f->number))) {
		e->off_at = cpu_ns;
		e->off_clock = clock_read(tree_clock);
		e->off_rate = rate;
	}
	if (e)
		e->last = cpu_ns;
	return e;
}

/* Under the lock. */
static bool off(struct budgeted *b, const struct function *f, uint64_t cpu_ns, double rate)
{
	struct budget_entry *e = NULL;

	if (f && !b->entry && table.n_off < OFF_MOST && (e = entry_of(f, cpu_ns, rate))) {
		b->is_counted = !e->blind;
		e->blind_since = b->is_counted ? 0 : cpu_ns;
		b->counted_before = e->counted + e->counted_resumes;
		b->window_calls = b->window_resumes = b->window_self = 0;
		table.off[table.n_off] = b;
		b->entry = e;
		table.n_off++;
		table.version++;
	}
	return e != NULL;
}

bool budget_table_off(struct budgeted *b, const struct function *f, uint64_t cpu_ns, double rate)
{
	bool is_off;

	pthread_mutex_lock(&table.lock);
	is_off = off(b, f, cpu_ns, rate);
	pthread_mutex_unlock(&table.lock);
	return is_off;
}

static void see(struct budget_entry *e, uint64_t cpu_ns)
{
	if (e->blind_since && cpu_ns > e->blind_since)
		e->blind += cpu_ns - e->blind_since;
	e->blind_since = 0;
}

/* ---- call sites ------------------------------------------------------------------------------ */

static uint64_t site_hash(const void *code, uint32_t offset)
{
	const struct budgeted *b = budget_table_find(code);
	uint64_t h = hash_of(code) ^ offset ^ (uint64_t)(b ? b->generation : 0) << 32;

	return h * 0x9e3779b97f4a7c15u | 1;
}

/* The site, or the unused place where it would be; there are some. */
static struct site *site_at(uint64_t hash)
{
	uint32_t i = (uint32_t)(hash >> (64 - table.sites_log2));

	while (table.sites[i].hash && table.sites[i].hash != hash)
		i = (i + 1) & ((1u << table.sites_log2) - 1);
	return &table.sites[i];
}

static bool sites_grow(void)
{
	struct site *before = table.sites;
	uint32_t log2 = table.sites_log2;
	struct site *larger;

	if (before && table.n_sites < (1u << log2) / 2)
		return true;
	table.sites_log2 = before ? log2 + 1 : SITES_LOG2_FIRST;
	larger = memory_map(sizeof *larger << table.sites_log2);
	if (!larger) {
		table.sites_log2 = log2;
		return before && table.n_sites < (1u << log2) - 1;
	}
	table.sites = larger;
	for (uint32_t i = 0; before && i < 1u << log2; i++)
		if (before[i].hash)
			*site_at(before[i].hash) = before[i];
	memory_unmap(before, sizeof *before << log2);
	return true;
}

bool budget_table_site_off(const void *code, uint32_t offset, const void *key, uint64_t cpu_ns)
{
	uint64_t hash = site_hash(code, offset);
	struct site *s;
	bool has_room;

	pthread_mutex_lock(&table.lock);
	has_room = sites_grow();
	s = has_room ? site_at(hash) : NULL;
	if (s && !s->hash) {
		*s = (struct site){ hash, cpu_ns, key };
		table.n_sites++;
	}
	if (s && s->key != key)
		s->key = NULL;
	pthread_mutex_unlock(&table.lock);
	return has_room;
}

/* It may have been called there since the site was first off. */
static void set_shared(
	struct budgeted *b, const struct function *f, uint64_t since, uint64_t cpu_ns)
{
	struct budget_entry *e = b->entry;

	b->is_shared = b->is_builtin = true;
	if (!e && !off(b, f, since, 0))
		return;
	e = b->entry;
	b->is_counted = false;
	since = since > e->off_at ? since : e->off_at;
	e->blind = cpu_ns > since ? cpu_ns - since : 0;
}

void budget_table_site_seen(
	const void *code, uint32_t offset, const void *key, void *callable, uint64_t cpu_ns)
{
	struct budgeted *b = budget_table_find(key);
	const struct function *f;
	struct site *s;

	if (!table.n_sites || !b || b->is_shared || (b->entry && !b->is_counted))
		return;
	f = b->entry ? NULL : codes_get(key, callable);
	pthread_mutex_lock(&table.lock);
	s = site_at(site_hash(code, offset));
	if (s->hash && s->key != key) {
		s->key = NULL;
		set_shared(b, f, s->off_at, cpu_ns);
	}
	pthread_mutex_unlock(&table.lock);
}

/* ---- windows --------------------------------------------------------------------------------- */

static void add_window(struct budgeted *b, const struct budget_window *w)
{
	struct budget_entry *e = b->entry;
	uint64_t span = w->ended - w->began;
	double net = span > w->cost ? (double)(span - w->cost) : 0;
	double calls = (double)b->window_calls;

	if (!e->n_windows++)
		e->first_rate = net > 0 ? calls / net : 0;
	e->last = w->ended;
	e->span += span;
	e->cost += w->cost;
	e->outside_cost += w->outside_cost;
	e->calls += b->window_calls;
	e->resumes += b->window_resumes;
	e->self += b->window_self;
	e->others_self += w->others_self;
	e->calls_squared += calls * calls;
	e->calls_net += calls * net;
	e->net_squared += net * net;
	b->window_calls = b->window_resumes = b->window_self = 0;
}

void budget_table_sum(const struct budget_window *w)
{
	pthread_mutex_lock(&table.lock);
	for (uint32_t i = 0; i < table.n_off; i++)
		add_window(table.off[i], w);
	pthread_mutex_unlock(&table.lock);
}

/* ---- what is counted ------------------------------------------------------------------------- */

static uint64_t n_counted(const struct budgeted *b)
{
	return b->entry->counted + b->entry->counted_resumes;
}

/* Windows tell from now on what is not counted: those before said nothing of that. */
static void set_blind(struct budgeted *b, uint64_t cpu_ns, double rate)
{
	struct budget_entry *e = b->entry;

	if (!b->is_counted)
		return;
	b->is_counted = false;
	e->n_windows = e->span = e->cost = e->outside_cost = e->calls = e->resumes = e->self = 0;
	e->others_self = 0;
	e->calls_squared = e->calls_net = e->net_squared = 0;
	e->off_rate = rate;
	e->off_at = e->last = e->blind_since = cpu_ns;
	e->off_clock = clock_read(tree_clock);
}

/* Calls of a window, as they would be of a clock. */
static double cost_of(const struct budgeted *b)
{
	return (double)(b->window_calls + b->window_resumes) * budget_table_weight(b);
}

/* NULL: none with so many calls in this window. */
static struct budgeted *cheapest(uint64_t least)
{
	struct budgeted *found = NULL;

	for (uint32_t i = 0; i < table.n_off; i++) {
		struct budgeted *b = table.off[i];

		if (b->window_calls + b->window_resumes < least)
			continue;
		if (b->is_counted)
			return b;
		if (!found || cost_of(b) < cost_of(found))
			found = b;
	}
	return found;
}

void budget_table_open(uint64_t cpu_ns)
{
	pthread_mutex_lock(&table.lock);
	for (uint32_t i = 0; i < table.n_off; i++) {
		struct budget_entry *e = table.off[i]->entry;

		see(e, cpu_ns);
		if (!e->n_windows)
			e->gap = e->blind;
	}
	pthread_mutex_unlock(&table.lock);
}

void budget_table_close(uint64_t cpu_ns, uint64_t least, double most)
{
	struct budgeted *clock;

	pthread_mutex_lock(&table.lock);
	for (uint32_t i = 0; i < table.n_off; i++) {
		struct budgeted *b = table.off[i];

		b->counted_before = n_counted(b);
		b->is_clock = false;
		if (!b->is_counted)
			b->entry->blind_since = cpu_ns;
	}
	clock = cheapest(least);
	if (clock && !clock->is_counted)
		clock->is_clock = cost_of(clock) <= most;
	pthread_mutex_unlock(&table.lock);
}

uint64_t budget_table_uncount(uint64_t cpu_ns, uint64_t span_ns)
{
	struct budgeted *found = NULL;
	uint64_t most = 0;

	pthread_mutex_lock(&table.lock);
	for (uint32_t i = 0; i < table.n_off; i++) {
		struct budgeted *b = table.off[i];
		uint64_t n = (n_counted(b) - b->counted_before) * budget_table_weight(b);

		b->is_clock = false;
		if (b->is_counted && n > most) {
			found = b;
			most = n;
		}
	}
	if (found)
		set_blind(found, cpu_ns,
			(double)(n_counted(found) - found->counted_before) / (double)(span_ns + 1));
	pthread_mutex_unlock(&table.lock);
	return most;
}

void budget_table_alive(uint64_t cpu_ns)
{
	if (!table.first)
		return;
	__atomic_store_n(&table.first->start, cpu_ns, __ATOMIC_RELAXED);
	__atomic_store_n(&table.first->paces, clock_read(tree_clock), __ATOMIC_RELAXED);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static bool is_known_over(const struct budget_entry *e)
{
	uint64_t hash = lookup_mix(e->function);
	const void *found;

	for (uint32_t i = lookup_first(&table.over, hash);
		(found = lookup_at(&table.over, &i, hash));)
		if (found == e)
			return true;
	return false;
}

/* Its entry stays as it is. */
static void forget_off(struct budgeted *b, uint64_t cpu_ns, const struct budget_window *w)
{
	struct budget_entry *e = b->entry;
	uint32_t i = 0;

	if (w)
		add_window(b, w);
	see(e, cpu_ns);
	e->last = cpu_ns > e->last ? cpu_ns : e->last;
	e->is_over = 1;
	e->off_clock = clock_read(tree_clock) - e->off_clock;
	if (!is_known_over(e))
		lookup_add(&table.over, lookup_mix(e->function), e);
	while (i + 1 < table.n_off && table.off[i] != b)
		i++;
	table.off[i] = table.off[table.n_off - 1];
	table.n_off--;
	table.version++;
}

void budget_table_died(const void *key, uint64_t cpu_ns, const struct budget_window *w)
{
	struct budgeted *b = budget_table_find(key);

	if (!b)
		return;
	pthread_mutex_lock(&table.lock);
	if (b->entry)
		forget_off(b, cpu_ns, w);
	*b = (struct budgeted){ .key = b->key, .generation = b->generation + 1 };
	pthread_mutex_unlock(&table.lock);
}

void budget_table_forget(void)
{
	struct index *x = table.index;

	pthread_mutex_init(&table.lock, NULL);
	for (uint32_t i = 0; x && i < 1u << x->log2; i++)
		if (x->slots[i].key)
			*x->slots[i].b = (struct budgeted){ .key = x->slots[i].key };
	memory_unmap(table.sites, sizeof *table.sites << table.sites_log2);
	memory_unmap(table.over.items, sizeof *table.over.items << table.over.log2);
	table.sites = NULL;
	table.over = (struct lookup){ 0 };
	table.granule = table.first = NULL;
	table.n_sites = 0;
	table.n_off = 0;
	table.version++;
}
