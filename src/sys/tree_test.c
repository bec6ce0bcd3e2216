/* SPDX-License-Identifier: MIT
 * Trees in which processes come and go. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "sys/tree.h"
#include "wire/clock.h"
#include "base/banned.h"

enum { CHILDREN = 300 };

struct heard {
	size_t n_forked, n_ended;
	uint64_t last_serial;
	uint64_t cpu_ns;
};

static void listen(void *ctx, const struct tree_event *ev)
{
	struct heard *h = ctx;

	if (ev->kind == TREE_FORK) {
		if (h->n_forked++)
			assert_int_equal(ev->process->serial, h->last_serial + 1);
		h->last_serial = ev->process->serial;
	} else if (ev->kind == TREE_REAPED) {
		h->n_ended++;
		h->cpu_ns = ev->end->cpu_ns;
	}
}

/* Computes for at least so long by its own clock. */
static void compute(uint64_t ns)
{
	uint64_t at = tree_cpu_ns(getpid());

	while (tree_cpu_ns(getpid()) - at < ns)
		;
}

static pid_t fork_child(uint64_t compute_ns)
{
	pid_t pid = fork();

	if (pid == 0) {
		compute(compute_ns);
		_exit(0);
	}
	assert_true(pid > 0);
	return pid;
}

static void wait_until_ended(pid_t pid)
{
	siginfo_t who;

	assert_int_equal(waitid(P_PID, (id_t)pid, &who, WEXITED | WNOWAIT), 0);
}

static struct tree *open_tree(struct heard *h)
{
	struct tree_options o = { .no_connector = true, .listener = listen, .ctx = h };
	struct err e = ERR_INIT;
	struct tree *t;

	assert_int_equal(tree_open(&t, &o, &e), 0);
	return t;
}

static void the_dead_are_forgotten(void **state)
{
	struct heard h = { 0 };
	struct tree *t = open_tree(&h);
	const struct tree_process *all;
	size_t n;

	(void)state;
	for (int i = 0; i < CHILDREN; i++) {
		wait_until_ended(fork_child(0));
		tree_reap(t, clock_monotonic_ns());
	}
	assert_int_equal(h.n_ended, CHILDREN);
	assert_int_equal(h.last_serial, CHILDREN - 1);
	tree_poll(t, clock_monotonic_ns());
	all = tree_processes(t, &n);
	assert_non_null(all);
	assert_true(n < CHILDREN / 2);
	tree_close(t);
}

static void the_last_of_the_clock_is_read(void **state)
{
	static const uint64_t COMPUTED_NS = 20000000;
	struct heard h = { 0 };
	struct tree *t = open_tree(&h);
	pid_t pid = fork_child(COMPUTED_NS);

	(void)state;
	tree_add_root(t, pid, clock_monotonic_ns());
	wait_until_ended(pid);
	tree_reap(t, clock_monotonic_ns());
	assert_false(tree_has_root(t));
	assert_true(h.cpu_ns >= COMPUTED_NS && h.cpu_ns != PROC_UNKNOWN);
	assert_true(tree_cpu_ns(pid) == PROC_UNKNOWN);
	tree_close(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_dead_are_forgotten),
		cmocka_unit_test(the_last_of_the_clock_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
