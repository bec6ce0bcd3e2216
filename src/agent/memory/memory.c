/* SPDX-License-Identifier: MIT
 * See memory.h. */
#include "agent/memory/memory.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "agent/core/link.h"
#include "agent/memory/distance.h"
#include "agent/memory/python.h"
#include "agent/memory/real.h"
#include "agent/memory/weak.h"
#include "wire/clock.h"
#include "wire/session_layout.h"

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

enum { MAPS_MOST = 1024 };

/* A sampled mapping; unmapping may take it away piece by piece. It ends with its last byte. */
struct map {
	_Atomic uint64_t begin; /* 0: none */
	uint64_t n_bytes;
	_Atomic uint64_t n_left;
};

/* Wiped in a forked child, with the table of blocks. */
struct wiped {
	struct live live;
	struct map maps[MAPS_MOST];
	_Atomic uint32_t n_maps; /* places ever in use */
};

static struct memory_hot before = { .state = MEMORY_OFF };
struct memory_hot *_Atomic memory_hot = &before;
struct live *memory_live;
_Thread_local struct memory_self memory_self __attribute__((tls_model("initial-exec")));

static struct wiped *wiped;
static pthread_key_t key;

static struct memory_hot *hot(void)
{
	return atomic_load_explicit(&memory_hot, memory_order_relaxed);
}

/* ---- counters of threads --------------------------------------------------------------------- */

static void end_of_thread(void *self)
{
	struct memory_self *t = self;

	if (t->counter && t->epoch == hot()->epoch)
		atomic_store_explicit(&t->counter->owner, 0, memory_order_release);
	t->counter = NULL;
	t->epoch = 0;
}

static bool take_counter(struct memory_counter *c, uint32_t tid)
{
	uint32_t none = 0;

	return atomic_load_explicit(&c->owner, memory_order_relaxed) == 0 &&
		atomic_compare_exchange_strong(&c->owner, &none, tid);
}

/* One that was given back, or a fresh one; the last is for all that find neither. */
static struct memory_counter *find_counter(struct memory_area *area, uint32_t tid)
{
	uint32_t n = atomic_load(&area->n_counters);

	for (uint32_t i = 0; i < n && i < MEMORY_COUNTERS - 1; i++)
		if (take_counter(&area->counters[i], tid))
			return &area->counters[i];
	while (n < MEMORY_COUNTERS - 1) {
		n = atomic_fetch_add(&area->n_counters, 1);
		if (n < MEMORY_COUNTERS - 1 && take_counter(&area->counters[n], tid))
			return &area->counters[n];
	}
	return NULL;
}

static uint64_t seed(void)
{
	uint64_t random = 0;

	if (syscall(SYS_getrandom, &random, sizeof random, 1 /* GRND_NONBLOCK */) != sizeof random)
		random = clock_monotonic_ns() ^ (uintptr_t)&random << 20;
	return random ? random : 1;
}

static void claim(struct memory_self *t)
{
	struct memory_hot *h = hot();

	t->epoch = h->epoch;
	t->tid = (int32_t)syscall(SYS_gettid);
	t->counter = find_counter(h->area, (uint32_t)t->tid);
	t->is_shared = !t->counter;
	if (t->is_shared)
		return;
	if (!t->counter->random) {
		t->counter->random = seed();
		t->counter->next_bytes = t->counter->allocated_bytes +
			distance_next(&t->counter->random, h->period_bytes);
	}
	pthread_setspecific(key, t);
}

/* ---- samples --------------------------------------------------------------------------------- */

static struct memory_counter *counter_of(const struct memory_self *t)
{
	return t->counter ? t->counter : &hot()->area->counters[MEMORY_COUNTERS - 1];
}

static void count(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Keeps in mind that it lives; false: there is no room. */
static bool remember(const void *p, size_t n, enum memory_domain domain)
{
	uint32_t i, n_maps;

	if (domain != MEMORY_MMAP)
		return live_add(&wiped->live, (uintptr_t)p);
	n_maps = atomic_load(&wiped->n_maps);
	for (i = 0; i < MAPS_MOST; i++) {
		struct map *m = &wiped->maps[i];
		uint64_t none = 0;

		if (atomic_load(&m->begin) != 0 ||
			!atomic_compare_exchange_strong(&m->begin, &none, 1))
			continue;
		m->n_bytes = n;
		atomic_store(&m->n_left, n);
		atomic_store(&m->begin, (uintptr_t)p);
		while (n_maps <= i && !atomic_compare_exchange_weak(&wiped->n_maps, &n_maps, i + 1))
			;
		return true;
	}
	return false;
}

static void forget(const void *p, enum memory_domain domain)
{
	if (domain != MEMORY_MMAP)
		live_remove(&wiped->live, (uintptr_t)p);
	for (uint32_t i = 0; domain == MEMORY_MMAP && i < MAPS_MOST; i++)
		if (atomic_load(&wiped->maps[i].begin) == (uintptr_t)p)
			atomic_store(&wiped->maps[i].begin, 0);
}

static uint32_t add_name(void *to)
{
	memset(to, 0, MEMORY_NAME_BYTES);
	syscall(SYS_prctl, PR_GET_NAME, to, 0, 0, 0);
	return MEMORY_NAME_BYTES;
}

/* A frame of its own, for the room that it takes on the program's stack. */
static __attribute__((noinline)) bool emit_alloc(
	const struct memory_self *t, const void *p, size_t n, enum memory_domain domain)
{
	struct {
		struct memory_alloc head;
		struct memory_frame frames[MEMORY_FRAMES_MOST];
	} r;
	uint32_t n_bytes = sizeof r.head;

	r.head = (struct memory_alloc){
		.address = (uintptr_t)p, .size_bytes = n, .tid = t->tid, .domain = (uint8_t)domain
	};
	python_stack(hot()->area, &r.head, r.frames);
	if (r.head.where == MEMORY_NO_PYTHON)
		n_bytes += add_name(r.frames);
	else
		n_bytes += r.head.n_frames * (uint32_t)sizeof *r.frames;
	r.head.t_ns = clock_monotonic_ns();
	return leadline_link_emit(MEMORY_RECORD_ALLOC, &r, n_bytes);
}

static void take_sample(struct memory_self *t, void *p, size_t n, enum memory_domain domain)
{
	struct memory_counter *c = counter_of(t);

	if (!leadline_link_is_live()) {
		if (leadline_link_is_over())
			atomic_store(&hot()->state, MEMORY_OFF);
		return;
	}
	count(&c->n_sampled);
	if (domain >= MEMORY_MALLOC)
		pymem_check();
	if (!remember(p, n, domain)) {
		count(&c->n_dropped);
	} else if (!emit_alloc(t, p, n, domain)) {
		forget(p, domain);
		count(&c->n_dropped);
	}
}

/* The caller is in a hook: whatever is called here and allocates is not looked at. */
void memory_sample(void *p, size_t n, enum memory_domain domain)
{
	struct memory_self *t = &memory_self;
	struct memory_counter *c = t->counter;
	int saved = errno;

	if (t->epoch != hot()->epoch) { /* a forked child: the counter was its parent's */
		c->allocated_bytes -= n;
		c->n_allocated--;
		t->counter = NULL;
		memory_take_slowly(p, n, domain);
	} else {
		c->next_bytes = c->allocated_bytes + distance_next(&c->random, hot()->period_bytes);
		take_sample(t, p, n, domain);
	}
	errno = saved;
}

/* Threads without a counter of their own share one: its words are changed by atomic operations alone. */
static void take_shared(struct memory_self *t, void *p, size_t n, enum memory_domain domain)
{
	struct memory_counter *c = counter_of(t);
	uint64_t before_bytes = __atomic_fetch_add(&c->allocated_bytes, n, __ATOMIC_RELAXED);
	uint64_t next = __atomic_load_n(&c->next_bytes, __ATOMIC_RELAXED);
	uint64_t random = __atomic_load_n(&c->random, __ATOMIC_RELAXED), then;

	__atomic_fetch_add(&c->n_allocated, 1, __ATOMIC_RELAXED);
	if (before_bytes + n < next)
		return;
	if (!random)
		random = seed();
	then = before_bytes + n + distance_next(&random, hot()->period_bytes);
	__atomic_store_n(&c->random, random, __ATOMIC_RELAXED);
	if (__atomic_compare_exchange_n(
		    &c->next_bytes, &next, then, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
		next)
		take_sample(t, p, n, domain);
}

void memory_take_slowly(void *p, size_t n, enum memory_domain domain)
{
	struct memory_self *t = &memory_self;
	int saved = errno;

	if (t->epoch != hot()->epoch)
		claim(t);
	if (t->is_shared)
		take_shared(t, p, n, domain);
	else
		memory_took(p, n, domain);
	errno = saved;
}

/* ---- releases -------------------------------------------------------------------------------- */

void memory_tell_release(const void *p, uint64_t t_ns)
{
	struct memory_self *t = &memory_self;
	uint32_t depth = t->depth;
	int saved = errno;

	t->depth = 1;
	if (t->epoch != hot()->epoch)
		claim(t);
	if (leadline_link_is_live()) {
		struct memory_free r = { .t_ns = t_ns, .address = (uintptr_t)p, .tid = t->tid };

		if (!leadline_link_emit(MEMORY_RECORD_FREE, &r, sizeof r))
			count(&counter_of(t)->n_frees_dropped);
	} else if (leadline_link_is_over()) {
		atomic_store(&hot()->state, MEMORY_OFF);
	}
	t->depth = depth;
	errno = saved;
}

bool memory_forget(const void *p, uint64_t *ret_t_ns)
{
	if (atomic_load_explicit(&hot()->state, memory_order_relaxed) != MEMORY_ON ||
		!live_remove(memory_live, (uintptr_t)p))
		return false;
	*ret_t_ns = clock_monotonic_ns();
	return true;
}

void memory_keep(const void *p)
{
	live_add(memory_live, (uintptr_t)p);
}

bool memory_release(const void *p)
{
	uint64_t t_ns;

	if (!memory_forget(p, &t_ns))
		return false;
	memory_tell_release(p, t_ns);
	return true;
}

static void unmap_part(struct map *m, uint64_t begin, uint64_t end)
{
	uint64_t from = atomic_load(&m->begin), to = from + m->n_bytes;
	uint64_t low = begin > from ? begin : from, high = end < to ? end : to;

	if (from <= 1 || low >= high)
		return;
	if (atomic_fetch_sub(&m->n_left, high - low) > high - low)
		return;
	atomic_store(&m->begin, 0);
	memory_tell_release((const void *)(uintptr_t)from, clock_monotonic_ns());
}

void memory_unmapped(const void *p, size_t n)
{
	uint32_t n_maps;

	if (atomic_load_explicit(&hot()->state, memory_order_relaxed) != MEMORY_ON ||
		memory_self.depth || !wiped)
		return;
	n_maps = atomic_load_explicit(&wiped->n_maps, memory_order_relaxed);
	n = (n + 4095) & ~(size_t)4095;
	for (uint32_t i = 0; i < n_maps && i < MAPS_MOST; i++)
		unmap_part(&wiped->maps[i], (uintptr_t)p, (uintptr_t)p + n);
}

bool memory_remapped(const void *p, size_t n)
{
	bool is_known = false;

	if (atomic_load_explicit(&hot()->state, memory_order_relaxed) != MEMORY_ON || !wiped)
		return false;
	for (uint32_t i = 0; i < atomic_load(&wiped->n_maps) && i < MAPS_MOST; i++)
		is_known |= atomic_load(&wiped->maps[i].begin) == (uintptr_t)p;
	if (is_known)
		memory_unmapped(p, n);
	return is_known;
}

/* ---- the session ----------------------------------------------------------------------------- */

/* The area is the first thing in the sparse area, which is all zero. */
static bool make_area(struct memory_hot *h)
{
	struct agent_options o = leadline_link_options();
	struct memory_area *area;

	if (!o.memory_period_bytes)
		return false;
	area = leadline_link_alloc(sizeof *area);
	if (!area || leadline_link_offset(area) != 0)
		return false;
	area->period_bytes = h->period_bytes = o.memory_period_bytes;
	h->area = area;
	h->epoch = leadline_link_epoch();
	python_begin(leadline_link_header());
	__atomic_store_n(&area->magic, MEMORY_AREA_MAGIC, __ATOMIC_RELEASE);
	return true;
}

bool memory_join(void)
{
	struct memory_hot *h = hot();
	uint32_t expected = MEMORY_NEW, depth = memory_self.depth;
	int saved = errno;
	bool is_on;

	if (!atomic_compare_exchange_strong(&h->state, &expected, MEMORY_JOINING))
		return expected == MEMORY_ON;
	memory_self.depth = 1;
	is_on = leadline_link_is_live() && make_area(h);
	memory_self.depth = depth;
	atomic_store_explicit(&h->state, is_on ? MEMORY_ON : MEMORY_OFF, memory_order_release);
	errno = saved;
	return is_on;
}

static void *map_wiped(size_t n)
{
	void *p = real.mmap(NULL, n, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (p == MAP_FAILED)
		return NULL;
	/* Kernels before 4.14: a forked child could not be told from its parent. */
	if (madvise(p, n, MADV_WIPEONFORK) < 0 || madvise(p, n, MADV_DONTDUMP) < 0) {
		real.munmap(p, n);
		return NULL;
	}
	return p;
}

/* Programs without Python are left alone: their hooks are off for good. */
static __attribute__((constructor)) void memory_begin(void)
{
	struct memory_hot *page;
	int saved = errno;

	if (!real.malloc)
		real_find();
	memory_self.depth = 1;
	if (real.malloc && weak_are_there() && secure_getenv(MEMORY_ENV) && python_find() &&
		pthread_key_create(&key, end_of_thread) == 0 &&
		(wiped = map_wiped(sizeof *wiped)) && (page = map_wiped(SESSION_PAGE_BYTES)) &&
		leadline_link_open_by(MEMORY_ENV, python_version()) == 0) {
		memory_live = &wiped->live;
		atomic_store(&memory_hot, page);
		if (memory_join())
			pymem_install();
	}
	memory_self.depth = 0;
	errno = saved;
}
