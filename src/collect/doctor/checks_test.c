/* SPDX-License-Identifier: MIT
 * checks: every row is complete and answers quickly, and the decisions name the missing piece. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/text.h"
#include "collect/doctor/checks.h"
#include "sys/privilege.h"
#include "wire/clock.h"

/* A complete sentence, not one that did not fit. */
static void assert_told(const struct probe *p)
{
	assert_in_range(strlen(p->reason), 1, sizeof p->reason - 2);
	assert_true(strlen(p->remedy) < sizeof p->remedy - 1);
	assert_int_equal(p->remedy[0] == '\0', p->answer == PROBE_YES);
}

static void every_row_is_complete(void **state)
{
	(void)state;
	assert_true(n_checks >= 12);
	for (size_t i = 0; i < n_checks; i++) {
		assert_true(checks[i].id[0] && checks[i].title[0] && checks[i].needed_for[0]);
		assert_true(text_width(checks[i].title) <= 16);
		assert_ptr_equal(check_find(checks[i].id), &checks[i]);
		assert_int_equal(
			checks[i].id[strspn(checks[i].id, "abcdefghijklmnopqrstuvwxyz-")], '\0');
	}
	assert_null(check_find("none"));
}

static void every_probe_answers_quickly(void **state)
{
	(void)state;
	for (size_t i = 0; i < n_checks; i++) {
		uint64_t best_ns = UINT64_MAX;
		struct probe p;

		for (int turn = 0; turn < 5; turn++) { /* of five: others use this machine too */
			uint64_t begin_ns = clock_monotonic_ns();

			memset(&p, 'x', sizeof p);
			check_run(&checks[i], &p);
			begin_ns = clock_monotonic_ns() - begin_ns;
			best_ns = begin_ns < best_ns ? begin_ns : best_ns;
		}
		assert_told(&p);
		if (best_ns >
			100000000) /* milliseconds each; this is one that waits for something */
			fail_msg("%s takes %.1f ms", checks[i].id, (double)best_ns / 1e6);
	}
}

/* ---- decisions ------------------------------------------------------------------------------- */

static struct privilege user(void)
{
	return (struct privilege){ .uid = 1000,
		.yama_scope = YAMA_ABSENT,
		.is_initial_user_ns = true,
		.is_initial_pid_ns = true,
		.is_dumpable = true };
}

static struct privilege root(void)
{
	struct privilege p = user();

	p.uid = 0;
	p.capabilities = UINT64_MAX >> 23;
	return p;
}

static void assert_says(
	const struct probe *p, enum probe_answer answer, const char *reason, const char *remedy)
{
	assert_told(p);
	assert_int_equal(p->answer, answer);
	if (!strstr(p->reason, reason))
		fail_msg("'%s' is not in '%s'", reason, p->reason);
	if (!strstr(p->remedy, remedy))
		fail_msg("'%s' is not in '%s'", remedy, p->remedy);
}

static void remote_memory_names_the_piece(void **state)
{
	struct privilege p = root();
	struct probe said;

	(void)state;
	check_judge_remote_memory(&p, 0, &said);
	assert_says(&said, PROBE_YES, "every process (CAP_SYS_PTRACE)", "");
	p.is_initial_user_ns = false;
	check_judge_remote_memory(&p, 0, &said);
	assert_says(&said, PROBE_YES, "of this user namespace", "");

	p = user();
	check_judge_remote_memory(&p, 0, &said);
	assert_says(&said, PROBE_PARTLY,
		"uid 1000, but not other users': CAP_SYS_PTRACE is missing", "sudo");
	p.yama_scope = 1;
	check_judge_remote_memory(&p, 0, &said);
	assert_says(&said, PROBE_PARTLY, "Yama scope 1 (descendants only", "\"leadline run\"");
	p.seccomp = SECCOMP_FILTERED;
	p.is_initial_pid_ns = p.is_initial_user_ns = p.is_dumpable = false;
	check_judge_remote_memory(&p, 0, &said);
	assert_says(
		&said, PROBE_PARTLY, "a seccomp filter, a user namespace", "--cap-add SYS_PTRACE");
	check_judge_remote_memory(&p, EPERM, &said);
	assert_says(&said, PROBE_NO, "seccomp filter", "--cap-add SYS_PTRACE");

	p = user();
	p.uid = 0; /* whose capabilities were taken away */
	check_judge_remote_memory(&p, 0, &said);
	assert_says(&said, PROBE_PARTLY, "uid 0", "--cap-add SYS_PTRACE");

	p = user();
	p.yama_scope = 2;
	check_judge_remote_memory(&p, EPERM, &said);
	assert_says(&said, PROBE_NO, "Yama scope 2", "ptrace_scope=1");
	p.yama_scope = 3;
	check_judge_remote_memory(&p, EPERM, &said);
	assert_says(&said, PROBE_NO, "Yama scope 3", "boot");
	p = root();
	check_judge_remote_memory(&p, ENOSYS, &said);
	assert_says(&said, PROBE_NO, "no process_vm_readv", "--trace");
	check_judge_remote_memory(&p, EPERM, &said);
	assert_says(&said, PROBE_NO, "Operation not permitted", "security module");
}

static void ebpf_names_the_piece(void **state)
{
	struct privilege p = root();
	struct ebpf_facts f = { .has_btf = true, .unprivileged_disabled = 2 };
	struct probe said;

	(void)state;
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_YES, "btf", "");
	f.has_btf = false;
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_PARTLY, "no /sys/kernel/btf/vmlinux", "CONFIG_DEBUG_INFO_BTF");
	f.map_errno = EPERM;
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_NO, "despite CAP_BPF", "lockdown");
	p.is_initial_user_ns = false;
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_NO, "user namespace", "host");
	p = user();
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_NO, "CAP_BPF and CAP_PERFMON are missing (uid 1000)", "setcap");
	assert_non_null(strstr(said.reason, "unprivileged_bpf_disabled = 2 (root only)"));
	p.capabilities = 1ull << CAP_BPF;
	f.map_errno = 0;
	f.program_errno = EPERM;
	p.seccomp = SECCOMP_FILTERED;
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_NO, "CAP_PERFMON is missing", "--cap-add BPF");
	f.map_errno = ENOSYS;
	check_judge_ebpf(&p, &f, &said);
	assert_says(&said, PROBE_NO, "no bpf()", "CONFIG_BPF_SYSCALL");
}

static void perf_events_tell_what_is_permitted(void **state)
{
	struct privilege p = user();
	struct perf_facts f = { .paranoid = 2 };
	struct probe said;

	(void)state;
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_PARTLY, "= 2 (own processes, user space only)",
		"perf_event_paranoid=1");
	f.paranoid = 1;
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_YES, "hardware counters", "");
	f.instructions_errno = ENOENT;
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_PARTLY, "no hardware counters", "virtual PMU");
	f = (struct perf_facts){
		.paranoid = 4, .clock_errno = EACCES, .instructions_errno = EACCES
	};
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_NO, "= 4 (nothing without CAP_PERFMON)", "sudo sysctl");
	p.seccomp = SECCOMP_FILTERED;
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_NO, "seccomp", "--cap-add PERFMON");
	f.paranoid = PERF_ABSENT;
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_NO, "no perf events", "CONFIG_PERF_EVENTS");
	p = root();
	f = (struct perf_facts){ .paranoid = 3 };
	check_judge_perf_events(&p, &f, &said);
	assert_says(&said, PROBE_YES, "CAP_PERFMON lifts", "");
}

static void memory_limits_are_parsed(void **state)
{
	(void)state;
	assert_true(check_parse_memory_limit("max\n") == UINT64_MAX);
	assert_true(check_parse_memory_limit("") == UINT64_MAX);
	assert_true(check_parse_memory_limit("9223372036854771712\n") == UINT64_MAX);
	assert_true(check_parse_memory_limit("99999999999999999999999\n") == UINT64_MAX);
	assert_int_equal(check_parse_memory_limit("1073741824\n"), 1073741824);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_is_complete),
		cmocka_unit_test(every_probe_answers_quickly),
		cmocka_unit_test(remote_memory_names_the_piece),
		cmocka_unit_test(ebpf_names_the_piece),
		cmocka_unit_test(perf_events_tell_what_is_permitted),
		cmocka_unit_test(memory_limits_are_parsed),
	};

	return cmocka_run_group_tests_name("checks", tests, NULL, NULL);
}
