/* SPDX-License-Identifier: MIT
 * See budget_table.h. */
#include "agent/budget_table.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "agent/codes.h"
#include "agent/memory.h"
#include "agent/tree.h"

enum { LOG2 = 16, SITES_LOG2 = 15, OFF_MOST = 4096, CLOCKS_MOST = 3 };

struct site {
	uint64_t hash; /* 0: unused */
	uint64_t off_at;
};

static struct {
	struct budgeted *items;
	struct site *sites;
	_Atomic uint32_t n_items, n_sites, n_off;
	struct budgeted *off[OFF_MOST];
	struct trace_granule *granule; /* where the next entry goes */
	pthread_mutex_t lock;          /* of making entries */
} table = { .lock = PTHREAD_MUTEX_INITIALIZER };

static uint64_t hash_of(const void *key)
{
	return ((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15u;
}

struct budgeted *budget_table_find(const void *key)
{
	uint32_t i = (uint32_t)(hash_of(key) >> (64 - LOG2));

	if (!table.items)
		return NULL;
	while (table.items[i].key && table.items[i].key != key)
		i = (i + 1) & ((1u << LOG2) - 1);
	return table.items[i].key ? &table.items[i] : NULL;
}

static struct budgeted *make(const void *key)
{
	uint32_t i = (uint32_t)(hash_of(key) >> (64 - LOG2));
	struct budgeted *found = NULL;

	pthread_mutex_lock(&table.lock);
	if (!table.items)
		table.items = memory_map(sizeof *table.items << LOG2);
	if (table.items && table.n_items < (1u << LOG2) / 2) {
		while (table.items[i].key && table.items[i].key != key)
			i = (i + 1) & ((1u << LOG2) - 1);
		table.n_items += !table.items[i].key;
		table.items[i].key = key;
		found = &table.items[i];
	}
	pthread_mutex_unlock(&table.lock);
	return found;
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

static struct budget_entry *entry_new(void)
{
	struct trace_granule *g = table.granule;

	if (!g || g->n == BUDGET_ENTRIES) {
		g = tree_area(TRACE_GRANULE_BYTES);
		if (!g)
			return NULL;
		g->kind = TRACE_GRANULE_BUDGET;
		__atomic_store_n(&g->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
		table.granule = g;
	}
	return (struct budget_entry *)(void *)(g + 1) + g->n++;
}

bool budget_table_off(struct budgeted *b, const struct function *f, uint64_t cpu_ns, double rate)
{
	struct budget_entry *e = NULL;

	pthread_mutex_lock(&table.lock);
	if (f && !b->entry && table.n_off < OFF_MOST && (e = entry_new())) {
		e->function = f->number;
		e->off_at = e->last = cpu_ns;
		e->off_rate = rate;
		b->window_calls = b->window_resumes = b->window_self = 0;
		table.off[table.n_off] = b;
		b->entry = e;
		table.n_off++;
	}
	pthread_mutex_unlock(&table.lock);
	return e != NULL;
}

/* ---- call sites ------------------------------------------------------------------------------ */

static struct site *site_at(const void *code, uint32_t offset)
{
	uint64_t hash = (hash_of(code) ^ offset) * 0x9e3779b97f4a7c15u | 1;
	uint32_t i = (uint32_t)(hash >> (64 - SITES_LOG2));

	while (table.sites[i].hash && table.sites[i].hash != hash)
		i = (i + 1) & ((1u << SITES_LOG2) - 1);
	if (!table.sites[i].hash && table.n_sites < (1u << SITES_LOG2) / 2) {
		table.sites[i].hash = hash;
		table.n_sites++;
	}
	return table.sites[i].hash == hash ? &table.sites[i] : NULL;
}

void budget_table_site_off(const void *code, uint32_t offset, uint64_t now)
{
	struct site *s;

	pthread_mutex_lock(&table.lock);
	if (!table.sites)
		table.sites = memory_map(sizeof *table.sites << SITES_LOG2);
	s = table.sites ? site_at(code, offset) : NULL;
	if (s && !s->off_at)
		s->off_at = now;
	pthread_mutex_unlock(&table.lock);
}

void budget_table_site_seen(const void *code, uint32_t offset, const void *key, void *callable)
{
	struct budgeted *b = budget_table_find(key);
	const struct site *s;
	uint64_t off_at = 0;

	if (!b || b->entry || !table.sites)
		return;
	pthread_mutex_lock(&table.lock);
	s = site_at(code, offset);
	off_at = s ? s->off_at : 0;
	pthread_mutex_unlock(&table.lock);
	if (off_at) {
		b->is_builtin = true;
		budget_table_off(b, codes_get(key, callable), off_at, 0);
	}
}

/* ---- windows --------------------------------------------------------------------------------- */

void budget_table_sum(const struct budget_window *w)
{
	uint32_t n = table.n_off;
	uint64_t span = w->ended - w->began;
	double net = span > w->cost ? (double)(span - w->cost) : 0;

	for (uint32_t i = 0; i < n; i++) {
		struct budgeted *b = table.off[i];
		struct budget_entry *e = b->entry;
		double calls = (double)b->window_calls;

		if (!e->n_windows++) {
			e->gap = w->began > e->off_at ? w->began - e->off_at : 0;
			e->first_rate = net > 0 ? calls / net : 0;
		}
		e->last = w->ended;
		e->span += span;
		e->cost += w->cost;
		e->outside_cost += w->outside_cost;
		e->calls += b->window_calls;
		e->resumes += b->window_resumes;
		e->self += b->window_self;
		e->calls_squared += calls * calls;
		e->calls_net += calls * net;
		e->net_squared += net * net;
		b->window_calls = b->window_resumes = b->window_self = 0;
	}
}

static uint64_t clock_cost(const struct budgeted *b)
{
	return (b->window_calls + b->window_resumes) * budget_table_weight(b);
}

/* NULL: none that is no clock yet. */
static struct budgeted *cheapest_clock(uint64_t least)
{
	struct budgeted *found = NULL;

	for (uint32_t i = 0; i < table.n_off; i++) {
		struct budgeted *b = table.off[i];

		if (!b->is_clock && b->window_calls + b->window_resumes >= least &&
			(!found || clock_cost(b) < clock_cost(found)))
			found = b;
	}
	return found;
}

void budget_table_choose_clocks(uint64_t least, double most, double lone_most)
{
	struct budgeted *b;
	double n = 0;

	for (uint32_t i = 0; i < table.n_off; i++)
		table.off[i]->is_clock = false;
	for (int i = 0; i < CLOCKS_MOST && (b = cheapest_clock(least)); i++) {
		n += (double)clock_cost(b);
		if (n > (i == 0 ? lone_most : most))
			break;
		b->is_clock = true;
	}
}

void budget_table_last(uint64_t cpu_ns)
{
	for (uint32_t i = 0; i < table.n_off; i++)
		table.off[i]->entry->last = cpu_ns;
}

void budget_table_forget(void)
{
	pthread_mutex_init(&table.lock, NULL);
	memory_unmap(table.items, sizeof *table.items << LOG2);
	memory_unmap(table.sites, sizeof *table.sites << SITES_LOG2);
	table.items = NULL;
	table.sites = NULL;
	table.granule = NULL;
	table.n_items = table.n_sites = table.n_off = 0;
}
