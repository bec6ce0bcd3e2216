/* SPDX-License-Identifier: MIT
 * See tree.h: threads, nodes, and what happens when something is seen for the first time. */
#include "agent/calls/tree.h"

#include <pthread.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/calls/greenlets.h"
#include "agent/calls/timeline.h"
#include "agent/core/cpu_speed.h"
#include "agent/core/link.h"
#include "agent/core/memory.h"
#include "wire/session_layout.h"

enum {
	STACK_FIRST = 1024, /* activations */
	EDGES_LOG2_FIRST = 11,
	TREES_APART =
		512, /* threads that have one each; from then on, one goes on with that of one that has ended */
	AREA_APART = 4,        /* … or when this part of the area is in use */
	EDGES_LOG2_ROOMY = 17, /* up to that, one place in eight is in use at most */
	SUSPENDED_LOG2_FIRST = 8,
	SUSPENDED_LOG2_MOST = 20,
	FOLD_STEPS = 4096, /* callers looked at for one that is the same */
	REHEARSAL_BYTES = 64 << 10,
};

enum clock_mode tree_clock;
bool tree_has_timeline;
uint64_t tree_ns_per_tick = (uint64_t)1 << 32;
_Thread_local struct tracer *tree_mine __attribute__((tls_model("initial-exec")));

static struct {
	pthread_key_t key; /* its destructor frees a thread's tracer */
	bool has_key;
	struct suspensions suspended; /* of all threads, guarded by the GIL */
	uint32_t epoch;               /* of the link in which … */
	_Atomic uint32_t n_threads;   /* … so many threads have a tree of their own */
	_Atomic uint32_t n_timelines; /* all */
	const unsigned char *area;    /* the sparse area */
	uint64_t area_bytes;
	unsigned char *rehearsal; /* takes its place; NULL: none now */
	uint32_t n_rehearsal;     /* bytes of it in use */
	uint64_t timeline_min_ns; /* shorter calls are no part of the timeline */
	struct trace_cost cost;   /* calibrated; all 0: not known */
	pthread_mutex_t lock;     /* of the list, which threads enter once and leave once */
	struct tracer *tracers;   /* of all threads */
	struct tracer *ended;     /* of none: for the next thread */
} process = { .lock = PTHREAD_MUTEX_INITIALIZER };

static const double SLOWER_MOST = 4;    /* more is not believed */
static const uint64_t RARE_NS = 250000; /* so long after a look is due no event came */
static const uint64_t LOOK_PACES =
	8; /* times the piece of work that tells the pace; it is done thrice */

/* Without the GIL each thread keeps its own. */
static bool is_free_threaded;

/* ---- nodes ----------------------------------------------------------------------------------- */

uint32_t tree_ref(const struct trace_node *node)
{
	uint64_t offset = (uint64_t)((const unsigned char *)node - process.area);
	uint64_t in_granule = offset % TRACE_GRANULE_BYTES - sizeof(struct trace_granule);

	return (uint32_t)(offset / TRACE_GRANULE_BYTES * TRACE_REF_STRIDE +
		in_granule / sizeof *node + 1);
}

static struct trace_node *nodes_of(struct trace_granule *g)
{
	return (struct trace_node *)(void *)(g + 1);
}

static struct trace_node *node_at(uint32_t ref)
{
	uint64_t at = (uint64_t)((ref - 1) / TRACE_REF_STRIDE) * TRACE_GRANULE_BYTES;

	return nodes_of((struct trace_granule *)(uintptr_t)(process.area + at)) +
		(ref - 1) % TRACE_REF_STRIDE;
}

static void *rehearsal_area(uint32_t n_bytes)
{
	if (n_bytes > REHEARSAL_BYTES - process.n_rehearsal)
		return NULL;
	process.n_rehearsal += n_bytes;
	return process.rehearsal + process.n_rehearsal - n_bytes;
}

void *tree_area(uint32_t n_bytes)
{
	n_bytes = (n_bytes + TRACE_GRANULE_BYTES - 1) / TRACE_GRANULE_BYTES * TRACE_GRANULE_BYTES;
	return process.rehearsal ? rehearsal_area(n_bytes) : leadline_link_alloc(n_bytes);
}

static struct trace_granule *granule_new(const struct tracer *t)
{
	struct trace_granule *g = tree_area(TRACE_GRANULE_BYTES);

	if (!g)
		return NULL;
	g->kind = TRACE_GRANULE_NODES;
	g->thread = t->number;
	g->tid = t->tid;
	g->start = t->start;
	__atomic_store_n(&g->magic, TRACE_GRANULE_MAGIC, __ATOMIC_RELEASE);
	return g;
}

/* The last part of the area is for nodes directly below a thread's own: when contexts have to be folded,
 * each function still gets one. */
static bool has_room(const struct tracer *t, const struct trace_node *parent)
{
	return !parent || parent == t->bottom->node || process.rehearsal ||
		leadline_link_offset(t->granule) < process.area_bytes / 8 * 7;
}

/* NULL when there is no room. parent NULL: the thread itself. */
static struct trace_node *node_new(
	struct tracer *t, uint32_t function, const struct trace_node *parent)
{
	struct trace_granule *g = t->granule;
	struct trace_node *node;

	if (!g || g->n == TRACE_NODES) {
		g = has_room(t, parent) ? granule_new(t) : NULL;
		if (!g)
			return NULL;
		t->granule = g;
	}
	node = &nodes_of(g)[g->n];
	node->function = function;
	node->parent = parent ? tree_ref(parent) : 0;
	__atomic_store_n(&g->n, g->n + 1, __ATOMIC_RELEASE);
	return node;
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* The second key of an edge: an odd number, so it is no address. */
static const void *key_of_number(const struct function *f)
{
	return (const void *)(uintptr_t)((uint64_t)f->number << 1 | 1);
}

static bool is_edge_stale(const struct edge *e)
{
	return !((uintptr_t)e->key & 1) && e->function->key != e->key;
}

static void edge_put(struct tracer *t, const struct edge *new)
{
	uint32_t mask = (1u << t->edges_log2) - 1;
	uint32_t i = (uint32_t)(tree_edge_at(t, new->parent, new->key) - t->edges);

	while (t->edges[i].key &&
		!(t->edges[i].key == new->key && t->edges[i].parent == new->parent))
		i = (i + 1) & mask;
	t->n_edges += !t->edges[i].key;
	t->edges[i] = *new;
}

/* An edge that is not where it is looked for first costs a walk at each call: the table is kept mostly empty. */
static void edges_grow(struct tracer *t)
{
	struct edge *before = t->edges;
	uint32_t log2 = t->edges_log2;
	struct edge *larger;

	if (t->n_edges < (1u << log2) / (log2 < EDGES_LOG2_ROOMY ? 8 : 2))
		return;
	larger = memory_map(sizeof *larger << (log2 + 1));
	if (!larger)
		return;
	t->edges = larger;
	t->edges_log2 = log2 + 1;
	t->n_edges = 0;
	for (uint32_t i = 0; i < 1u << log2; i++)
		if (before[i].key && !is_edge_stale(&before[i]))
			edge_put(t, &before[i]);
	memory_unmap(before, sizeof *before << log2);
}

static const struct edge *edge_find(
	const struct tracer *t, const struct trace_node *parent, const void *key)
{
	uint32_t mask = (1u << t->edges_log2) - 1;
	uint32_t i = (uint32_t)(tree_edge_at(t, parent, key) - t->edges);

	for (; t->edges[i].key; i = (i + 1) & mask)
		if (t->edges[i].key == key && t->edges[i].parent == parent)
			return is_edge_stale(&t->edges[i]) ? NULL : &t->edges[i];
	return NULL;
}

/* ---- a context seen for the first time ------------------------------------------------------- */

/* The table may be full when memory is short: then the edge is looked for each time. */
static void remember(struct tracer *t, const struct edge *e)
{
	struct edge by_number = *e;

	edges_grow(t);
	if (t->n_edges + 2 >= 1u << t->edges_log2)
		return;
	edge_put(t, e);
	by_number.key = key_of_number(e->function);
	edge_put(t, &by_number);
}

/* There is no room for a node of its own. */
static struct trace_node *fold(struct tracer *t, struct trace_node *parent,
	const struct function *f, const void *key, void *callable)
{
	struct trace_node *n = parent, *root = t->bottom->node;

	t->first->n_folded++;
	for (int i = 0; i < FOLD_STEPS && n->parent; i++, n = node_at(n->parent))
		if (n->function == f->number) {
			n->recursive_calls++;
			return n;
		}
	return parent == root ? root : tree_child(t, root, key, callable);
}

struct trace_node *tree_child(
	struct tracer *t, struct trace_node *parent, const void *key, void *callable)
{
	const struct edge *known = edge_find(t, parent, key);
	const struct function *f;
	struct edge e;

	if (unlikely(greenlets_are_there) && !t->greenlets)
		greenlets_watch(t);
	if (known)
		return known->node;
	f = codes_get(key, callable);
	if (!f)
		return t->bottom->node;
	/* Under another address it may have been here before: exec in a loop. */
	known = edge_find(t, parent, key_of_number(f));
	e = (struct edge){ .key = key, .parent = parent, .function = f };
	e.node = known ? known->node : node_new(t, f->number, parent);
	if (!e.node) /* not remembered, so that each time is counted */
		return fold(t, parent, f, key, callable);
	remember(t, &e);
	return e.node;
}

/* ---- the stack ------------------------------------------------------------------------------- */

bool tree_grow(struct tracer *t)
{
	size_t n = (size_t)(t->limit - t->bottom), top = (size_t)(t->top - t->bottom);
	void *p =
		mremap(t->bottom, n * sizeof *t->bottom, 2 * n * sizeof *t->bottom, MREMAP_MAYMOVE);

	if (p == MAP_FAILED)
		return false;
	t->bottom = p;
	t->top = t->bottom + top;
	t->limit = t->bottom + 2 * n;
	return true;
}

bool tree_resync(struct tracer *t, const void *key)
{
	for (struct shadow *s = t->top; s > t->bottom; s--)
		if (s->key == key) {
			t->first->n_resynced++;
			t->top = s;
			return true;
		}
	return false;
}

/* ---- suspended activations ------------------------------------------------------------------- */

static uint32_t suspended_index(const struct suspensions *s, const void *activation)
{
	uint32_t mask = (1u << s->log2) - 1;
	uint32_t i = (uint32_t)(((uintptr_t)activation >> 4) * 0x9e3779b97f4a7c15u >> 40) & mask;

	while (s->items[i].activation && s->items[i].activation != activation)
		i = (i + 1) & mask;
	return i;
}

static bool suspended_grow(struct suspensions *s)
{
	struct suspensions larger = { .log2 = s->items ? s->log2 + 1 : SUSPENDED_LOG2_FIRST };

	if (s->items && s->n < (1u << s->log2) / 2)
		return true;
	if (larger.log2 > SUSPENDED_LOG2_MOST)
		return s->n < (1u << s->log2) - 1;
	larger.items = memory_map(sizeof *larger.items << larger.log2);
	if (!larger.items)
		return s->items && s->n < (1u << s->log2) - 1;
	for (uint32_t i = 0; s->items && i < 1u << s->log2; i++)
		if (s->items[i].activation)
			larger.items[suspended_index(&larger, s->items[i].activation)] =
				s->items[i];
	larger.n = s->n;
	if (s->items)
		memory_unmap(s->items, sizeof *s->items << s->log2);
	*s = larger;
	return true;
}

/* One that is never resumed stays until its address is used again. */
void tree_suspended_put(struct tracer *t, const void *activation, uint64_t since, uint64_t ran)
{
	struct suspensions *s = t->suspended;
	uint32_t i;

	if (!suspended_grow(s))
		return;
	i = suspended_index(s, activation);
	s->n += !s->items[i].activation;
	s->items[i] = (struct suspended){ .activation = activation, .since = since, .ran = ran };
}

/* Those behind it move up, so that none is lost from sight. */
static void suspended_remove(struct suspensions *s, uint32_t gap)
{
	uint32_t mask = (1u << s->log2) - 1;

	s->items[gap].activation = NULL;
	s->n--;
	for (uint32_t i = (gap + 1) & mask; s->items[i].activation; i = (i + 1) & mask) {
		struct suspended moved = s->items[i];

		s->items[i].activation = NULL;
		s->items[suspended_index(s, moved.activation)] = moved;
	}
}

bool tree_suspended_take(struct tracer *t, const void *activation, struct suspended *ret)
{
	struct suspensions *s = t->suspended;
	uint32_t i;

	if (!s->items)
		return false;
	i = suspended_index(s, activation);
	if (!s->items[i].activation)
		return false;
	*ret = s->items[i];
	suspended_remove(s, i);
	return true;
}

static void set_costs(struct tracer *t, uint64_t pace)
{
	const struct trace_cost *c = &process.cost;
	double slower = pace && c->pace ? (double)pace / (double)c->pace : 1;
	const struct {
		uint64_t *at, calibrated;
	} all[] = { { &t->costs.call.inside, c->call_inside },
		{ &t->costs.call.outside, c->call_outside },
		{ &t->costs.builtin.inside, c->builtin_inside },
		{ &t->costs.builtin.outside, c->builtin_outside },
		{ &t->costs.resume.inside, c->resume_inside },
		{ &t->costs.resume.outside, c->resume_outside },
		{ &t->costs.other, c->other_outside } };

	if (slower > SLOWER_MOST) /* the CPU was away meanwhile */
		slower = SLOWER_MOST;
	slower = trace_cost_growth(slower);
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		*all[i].at = (uint64_t)((double)all[i].calibrated * slower);
}

/* What a look took, of the function's time that has just begun. Where the CPU was taken away meanwhile, that is a wait like any
 * other, and no cost. */
static void charge_look(struct tracer *t, uint64_t now, uint64_t pace)
{
	uint64_t took = clock_read(tree_clock) - now,
		 most = LOOK_PACES * (pace ? pace : process.cost.pace);

	t->top->node->cost += (most && took > most ? most : took) << 8;
}

/* Where events are rare what they cost is next to nothing at any pace, and a look at it would cost a hundred times as much. */
void tree_check(struct tracer *t, uint64_t now)
{
	bool is_rare = now > t->check_at && tree_ns(now - t->check_at) > RARE_NS;
	uint64_t pace = now && t->first && !is_rare ? cpu_speed_measure(tree_clock) : 0;

	if (pace) {
		t->first->paces += pace;
		t->first->n_paces++;
		set_costs(t, pace);
	}
	t->check_at = detach_check(now);
	if (now)
		charge_look(t, now, pace);
}

/* ---- threads --------------------------------------------------------------------------------- */

static void list_add(struct tracer *t)
{
	pthread_mutex_lock(&process.lock);
	t->next = process.tracers;
	t->previous = &process.tracers;
	if (t->next)
		t->next->previous = &t->next;
	process.tracers = t;
	pthread_mutex_unlock(&process.lock);
}

static void list_remove(struct tracer *t)
{
	pthread_mutex_lock(&process.lock);
	if (t->previous) {
		*t->previous = t->next;
		if (t->next)
			t->next->previous = t->previous;
	}
	t->previous = NULL;
	pthread_mutex_unlock(&process.lock);
}

static void tracer_free(void *tracer)
{
	struct tracer *t = tracer;

	if (tree_mine == t)
		tree_mine = NULL;
	list_remove(t);
	timeline_free(t->timeline);
	greenlets_drop(t);
	memory_unmap(t->sketches, t->n_sketches * sizeof *t->sketches);
	if (t->own.items)
		memory_unmap(t->own.items, sizeof *t->own.items << t->own.log2);
	memory_unmap(t->edges, sizeof *t->edges << t->edges_log2);
	memory_unmap(t->bottom, (size_t)((char *)t->limit - (char *)t->bottom));
	memory_unmap(t, sizeof *t);
}

/* Programs that make a thread for each piece of work never stop: its tree is the next one's, so that memory, here, in the tool
 * and in the recording, is what threads need that run at the same time. The first ones are told apart. */
static bool is_for_the_next(const struct tracer *t)
{
	return t->epoch == leadline_link_epoch() && !process.rehearsal &&
		(atomic_load(&process.n_threads) > TREES_APART ||
			leadline_link_offset(t->granule) > process.area_bytes / AREA_APART);
}

/* Its stack is empty, nothing of its thread's is left. */
static void put_by(struct tracer *t)
{
	if (tree_mine == t)
		tree_mine = NULL;
	list_remove(t);
	timeline_leave(t);
	greenlets_drop(t);
	t->top = t->bottom;
	pthread_mutex_lock(&process.lock);
	t->next = process.ended;
	process.ended = t;
	pthread_mutex_unlock(&process.lock);
}

static void thread_end(void *tracer)
{
	struct tracer *t = tracer;

	if (is_for_the_next(t))
		put_by(t);
	else
		tracer_free(t);
}

static struct tracer *take_ended(void)
{
	struct tracer *t;

	pthread_mutex_lock(&process.lock);
	t = process.ended;
	if (t)
		process.ended = t->next;
	pthread_mutex_unlock(&process.lock);
	return t;
}

/* The tree of a thread that has ended; NULL: there is none. */
static struct tracer *take_over(void)
{
	struct tracer *t = take_ended();

	for (; t && t->epoch != leadline_link_epoch(); t = take_ended())
		tracer_free(t);
	if (!t)
		return NULL;
	t->tid = (int32_t)syscall(SYS_gettid);
	t->last = clock_read(tree_clock);
	t->n_off = 0;
	t->off_seen = UINT32_MAX;
	t->first->n_threads++;
	if (t->timeline)
		timeline_take_over(t, atomic_fetch_add(&process.n_timelines, 1) + 1);
	return t;
}

static bool fill(struct tracer *t)
{
	t->bottom = memory_map(STACK_FIRST * sizeof *t->bottom);
	t->edges = memory_map(sizeof *t->edges << EDGES_LOG2_FIRST);
	if (!t->bottom || !t->edges)
		return false;
	t->limit = t->bottom + STACK_FIRST;
	t->top = t->bottom;
	t->edges_log2 = EDGES_LOG2_FIRST;
	t->number = atomic_fetch_add(&process.n_threads, 1) + 1;
	t->tid = (int32_t)syscall(SYS_gettid);
	t->start = t->last = clock_read(tree_clock);
	set_costs(t, 0);
	t->suspended = is_free_threaded ? &t->own : &process.suspended;
	t->bottom->node = node_new(t, 0, NULL);
	t->first = t->granule;
	if (t->first)
		t->first->n_threads = 1;
	if (tree_has_timeline && t->first)
		t->timeline = timeline_new(
			t, atomic_fetch_add(&process.n_timelines, 1) + 1, process.timeline_min_ns);
	return t->bottom->node && (!tree_has_timeline || t->timeline);
}

/* After a pause. A tracer of a former session is of no use. */
static struct tracer *attach_again(void)
{
	struct tracer *t = pthread_getspecific(process.key);

	if (!t)
		return NULL;
	if (t->epoch != leadline_link_epoch()) {
		pthread_setspecific(process.key, NULL);
		tracer_free(t);
		return NULL;
	}
	timeline_reset(t);
	greenlets_drop(t);
	t->top = t->bottom;
	t->last = clock_read(tree_clock);
	return tree_mine = t;
}

static struct tracer *tracer_new(void)
{
	struct tracer *t = take_over();

	if (t)
		return t;
	t = memory_map(sizeof *t);
	if (!t || fill(t))
		return t;
	tracer_free(t);
	return NULL;
}

struct tracer *tree_attach(void)
{
	static _Thread_local uint32_t n_refused;
	struct tracer *t = attach_again();

	if (t)
		return t;
	if (n_refused && ++n_refused % 1024)
		return NULL;
	t = leadline_link_is_live() && leadline_link_thread() ? tracer_new() : NULL;
	if (!t) {
		if (!n_refused++)
			leadline_link_missed(true);
		detach_check(0);
		return NULL;
	}
	t->epoch = leadline_link_epoch();
	t->mine = &tree_mine;
	list_add(t);
	pthread_setspecific(process.key, t);
	return tree_mine = t;
}

/* ---- the process ----------------------------------------------------------------------------- */

bool tree_start(bool without_gil)
{
	const struct session_header *h = leadline_link_header();
	struct agent_options options = leadline_link_options();
	struct session_layout l;

	if (!h || !session_layout_init(&l, h->n_slots, h->ring_bytes, h->sparse_bytes) ||
		(!process.has_key && pthread_key_create(&process.key, thread_end) != 0))
		return false;
	process.has_key = true;
	if (process.epoch != leadline_link_epoch()) {
		process.epoch = leadline_link_epoch();
		atomic_store(&process.n_threads, 0);
		atomic_store(&process.n_timelines, 0);
	}
	process.area = (const unsigned char *)h + l.sparse_offset;
	process.area_bytes = l.sparse_bytes;
	is_free_threaded = without_gil;
	tree_clock = (enum clock_mode)h->clock_mode;
	tree_ns_per_tick = h->ns_per_tick;
	tree_has_timeline = options.wants_timeline;
	process.timeline_min_ns = options.timeline_min_ns;
	return true;
}

void tree_set_cost(const struct trace_cost *cost)
{
	process.cost = *cost;
}

bool tree_is_rehearsing(void)
{
	return process.rehearsal != NULL;
}

bool tree_rehearse(void)
{
	process.rehearsal = memory_map(REHEARSAL_BYTES);
	process.n_rehearsal = 0;
	process.area = process.rehearsal;
	return process.rehearsal != NULL;
}

void tree_rehearsed(void)
{
	struct tracer *t = pthread_getspecific(process.key);

	if (t) {
		pthread_setspecific(process.key, NULL);
		tracer_free(t);
	}
	memory_unmap(process.rehearsal, REHEARSAL_BYTES);
	process.rehearsal = NULL;
	atomic_store(&process.n_threads, 0);
	atomic_store(&process.n_timelines, 0);
}

const struct trace_node *tree_rehearsal_find(uint64_t calls)
{
	const struct trace_node *newest = NULL;

	for (uint32_t at = 0; at < process.n_rehearsal; at += TRACE_GRANULE_BYTES) {
		struct trace_granule *g = (struct trace_granule *)(void *)(process.rehearsal + at);

		for (uint32_t i = 0; i < g->n; i++)
			if (nodes_of(g)[i].calls >= calls)
				newest = &nodes_of(g)[i];
	}
	return newest;
}

static void suspended_clear(struct suspensions *s)
{
	if (s->items)
		memset(s->items, 0, sizeof *s->items << s->log2);
	s->n = 0;
}

void tree_pause(void)
{
	uint64_t now = clock_read(tree_clock);

	pthread_mutex_lock(&process.lock);
	for (struct tracer *t = process.tracers; t; t = t->next) {
		if (*t->mine && t->epoch == leadline_link_epoch())
			t->top->node->self += now - t->last;
		*t->mine = NULL;
		suspended_clear(&t->own);
	}
	suspended_clear(&process.suspended);
	pthread_mutex_unlock(&process.lock);
}

/* The tracers of threads that are not here any more stay where they are: a few pages. */
void tree_forget(void)
{
	pthread_mutex_init(&process.lock, NULL);
	process.tracers = process.ended = NULL;
	tree_mine = NULL;
	if (process.has_key)
		pthread_setspecific(process.key, NULL);
	memset(&process.suspended, 0, sizeof process.suspended);
	atomic_store(&process.n_threads, 0);
	atomic_store(&process.n_timelines, 0);
}
