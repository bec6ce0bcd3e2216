/* SPDX-License-Identifier: MIT
 * See itt.h. The shapes of what is passed are those of the public interface, version 3. */
#include "agent/torch/itt.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "agent/core/link.h"
#include "agent/torch/ops.h"

enum {
	FUNCTIONS_MOST = 4096,
	RANGES_PER_CHECK = 64, /* of a thread: whether anybody listens */
};

static const unsigned char magic[8] = { 0xed, 0xab, 0xab, 0xec, 0x0d, 0xee, 0xda, 0x30 };

struct itt_function {
	const char *name; /* NULL: the end of the table */
	void **pointer;   /* what callers call */
	void *init, *null;
	int group;
};

/* What a library that tells of ranges keeps. */
struct itt_global {
	unsigned char magic[8];
	unsigned long version[3];
	volatile long states[3];
	pthread_mutex_t mutex;
	void *library, *on_error;
	const char **path;
	struct itt_function *functions;
};

struct itt_domain {
	volatile int flags;
	const char *name;
};

struct itt_id {
	uint64_t parts[3];
};

static bool is_used;
static _Atomic bool is_open;
static struct itt_global *known; /* torch's; NULL: it has not found us */
static void (*tell_over)(void);
static const struct itt_domain *domain_of_torch; /* once one of that name was seen */

bool itt_is_used(void)
{
	return is_used;
}

void itt_open(void (*when_over)(void))
{
	tell_over = when_over;
	is_open = true;
}

/* ---- what torch calls ------------------------------------------------------------------------ */

static bool is_torch(const struct itt_domain *domain)
{
	if (domain == domain_of_torch)
		return true;
	if (!domain->name || strcmp(domain->name, "PyTorch") != 0)
		return false;
	domain_of_torch = domain;
	return true;
}

static struct ops_name *string_handle_create(const char *text)
{
	return ops_name(text && is_open ? text : "");
}

static void task_begin(const struct itt_domain *domain, struct itt_id task, struct itt_id parent,
	const struct ops_name *name)
{
	(void)task;
	(void)parent;
	is_used = true;
	if (is_open && name && is_torch(domain))
		ops_begin(name->mark == OPS_NAME_MARK ? name : ops_name(name->text));
}

static void close_for_good(void);

static void task_end(const struct itt_domain *domain)
{
	static _Thread_local unsigned n __attribute__((tls_model("initial-exec")));

	if (!is_open || !is_torch(domain))
		return;
	ops_end();
	if (++n % RANGES_PER_CHECK == 0 && leadline_link_is_over())
		close_for_good();
}

static const struct {
	const char *name;
	void *function;
} ours[] = {
	{ "__itt_string_handle_create", string_handle_create },
	{ "__itt_task_begin", task_begin },
	{ "__itt_task_end", task_end },
};

/* Where torch keeps a function; NULL: it has none of that name. */
static const struct itt_function *function_of(const char *name)
{
	for (int i = 0; i < FUNCTIONS_MOST && known->functions[i].name; i++)
		if (strcmp(known->functions[i].name, name) == 0)
			return &known->functions[i];
	return NULL;
}

static void close_for_good(void)
{
	if (!atomic_exchange(&is_open, false))
		return;
	for (size_t k = 0; known && k < sizeof ours / sizeof *ours; k++) {
		const struct itt_function *f = function_of(ours[k].name);

		if (f && *f->pointer == ours[k].function)
			*f->pointer = f->null;
	}
	if (tell_over)
		tell_over();
}

#pragma GCC visibility push(default)
void __itt_api_init(struct itt_global *global, int groups);
#pragma GCC visibility pop

/* Called by a library that has found ours. */
void __itt_api_init(struct itt_global *global, int groups)
{
	(void)groups;
	if (memcmp(global->magic, magic, sizeof magic) != 0 || global->version[0] != 3 ||
		!global->functions)
		return;
	known = global;
	for (size_t k = 0; k < sizeof ours / sizeof *ours; k++) {
		const struct itt_function *f = function_of(ours[k].name);

		if (f)
			*f->pointer = ours[k].function;
	}
}
