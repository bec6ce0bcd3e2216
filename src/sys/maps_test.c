/* SPDX-License-Identifier: MIT
 * /proc/PID/maps with names a hostile process could make, remote memory of ourselves and of a child,
 * and where the loader has put our own program. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "sys/elf.h"
#include "sys/maps.h"
#include "sys/remote.h"

static void parse(struct maps *ret, const char *text)
{
	struct buf b = BUF_INIT;

	buf_adds(&b, text);
	maps_parse(ret, &b);
	assert_null(b.data);
}

static void lines_are_parsed(void **state)
{
	static const char text[] =
		"55d0c0000000-55d0c0001000 r--p 00000000 08:01 131 /usr/bin/python3.12\n"
		"55d0c0001000-55d0c0002000 r-xp 00001000 08:01 131 /usr/bin/python3.12\n"
		"55d0c1000000-55d0c1021000 rw-p 00000000 00:00 0   [heap]\n"
		"7f0000000000-7f0000021000 ---p 00000000 00:00 0 \n"
		"7f1000000000-7f1000001000 rw-s 00000000 103:2a 18446744073709551615 /dev/shm/x\n"
		"ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]";
	const struct map *m;
	struct maps maps;

	(void)state;
	parse(&maps, text);
	assert_int_equal(maps.items.n, 6);
	assert_int_equal(maps.n_bad, 0);
	m = &maps.items.v[1];
	assert_int_equal(m->start, 0x55d0c0001000);
	assert_int_equal(m->offset, 0x1000);
	assert_int_equal(m->inode, 131);
	assert_int_equal(m->flags, MAPS_READ | MAPS_EXEC);
	assert_string_equal(m->path, "/usr/bin/python3.12");
	assert_true(map_is_program(m));
	assert_true(map_is_same_file(m, &maps.items.v[0]));
	assert_false(map_is_file(&maps.items.v[2]));
	assert_string_equal(maps.items.v[3].path, "");
	assert_int_equal(maps.items.v[3].flags, 0);
	assert_int_equal(maps.items.v[4].inode, UINT64_MAX);
	assert_int_equal(maps.items.v[5].start, 0xffffffffff600000);
	assert_ptr_equal(maps_find(&maps, 0x55d0c0001fff), m);
	assert_null(maps_find(&maps, 0x55d0c0002000));
	assert_null(maps_find(&maps, 0));
	assert_null(maps_find(&maps, UINT64_MAX));
	maps_done(&maps);
}

static void names_are_any_bytes(void **state)
{
	static const char text[] = "1000-2000 r-xp 0 8:1 5 /tmp/a b  c\n"
				   "2000-3000 r-xp 0 8:1 6 /tmp/new\\012line\n"
				   "3000-4000 r-xp 0 8:1 7 /tmp/gone.so (deleted)\n"
				   "4000-5000 r-xp 0 8:1 8 /tmp/x (deleted) (deleted)\n"
				   "5000-6000 r-xp 0 0:1 9 /memfd:python (deleted)\n"
				   "6000-7000 r-xp 0 8:1 10 /tmp/\xff\x1b[31m\n"
				   "7000-8000 rw-p 0 0:0 0 [anon: (deleted)]\n";
	struct maps maps;

	(void)state;
	parse(&maps, text);
	assert_int_equal(maps.items.n, 7);
	assert_string_equal(maps.items.v[0].path, "/tmp/a b  c");
	assert_string_equal(maps.items.v[1].path, "/tmp/new\nline");
	assert_string_equal(maps.items.v[2].path, "/tmp/gone.so");
	assert_true(maps.items.v[2].flags & MAPS_DELETED);
	assert_string_equal(maps.items.v[3].path, "/tmp/x (deleted)");
	assert_string_equal(maps.items.v[4].path, "/memfd:python");
	assert_string_equal(maps.items.v[5].path, "/tmp/\xff\x1b[31m");
	assert_false(maps.items.v[6].flags & MAPS_DELETED);
	maps_done(&maps);
}

static void broken_lines_are_left_out(void **state)
{
	static const char *const lines[] = { "\n", "x\n", "1000\n", "1000-\n", "1000-2000\n",
		"1000-2000 r-xp\n", "1000-2000 r-xp 0\n", "1000-2000 r-xp 0 8:1\n",
		"1000-2000 r-xp 0 8:1 x\n", "2000-1000 r-xp 0 8:1 5 /x\n",
		"1000-1000 r-xp 0 8:1 5\n", "-1000-2000 r-xp 0 8:1 5\n",
		" 1000-2000 r-xp 0 8:1 5\n", "1000-2000 r-x 0 8:1 5\n" };

	(void)state;
	for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
		struct maps maps;
		char text[200];

		snprintf(text, sizeof text, "%s1000-2000 r-xp 0 8:1 5 /good\n", lines[i]);
		parse(&maps, text);
		assert_int_equal(maps.items.n, 1);
		assert_int_equal(maps.n_bad, 1);
		assert_string_equal(maps.items.v[0].path, "/good");
		maps_done(&maps);
	}
}

static void our_own_maps(void **state)
{
	struct err e = ERR_INIT;
	struct maps maps;
	const struct map *m;
	int on_stack = 0;

	(void)state;
	assert_int_equal(maps_read(&maps, getpid(), &e), 0);
	assert_int_equal(maps.n_bad, 0);
	m = maps_find(&maps, (uintptr_t)&on_stack);
	assert_non_null(m);
	assert_string_equal(m->path, "[stack]");
	m = maps_find(&maps, (uintptr_t)our_own_maps);
	assert_true(m && map_is_program(m));
	maps_done(&maps);
	assert_int_equal(maps_read(&maps, 1 << 30, &e), -ERR_NO_PROCESS);
}

static void the_loader_is_followed(void **state)
{
	unsigned char head[64];
	struct err e = ERR_INIT;
	struct elf_range range;
	struct elf_file f;
	struct maps maps;
	const struct map *m;
	uint64_t bias, head_at;

	(void)state;
	assert_int_equal(maps_read(&maps, getpid(), &e), 0);
	m = maps_find(&maps, (uintptr_t)err_set);
	assert_non_null(m);
	assert_int_equal(elf_file_open_mapped(&f, getpid(), m, &e), 0);
	assert_true(f.is_64bit);
	assert_true(elf_load_bias(&f, m, &bias));
	assert_true(elf_find_symbol(&f, "err_set", &range));
	assert_int_equal(range.address + bias, (uintptr_t)err_set);
	assert_true(range.size_bytes > 0);
	assert_true(elf_find_section(&f, ".text", &range));
	assert_true(range.address + bias <= (uintptr_t)err_set);
	assert_false(elf_find_section(&f, ".nonsense", &range));
	assert_false(elf_find_symbol(&f, "no_such_symbol", &range));
	assert_int_equal(elf_head(&f, head, sizeof head, &head_at), sizeof head);
	assert_memory_equal(head, (const void *)(uintptr_t)(head_at + bias), sizeof head);
	assert_false(elf_needs(&f, "libpython"));
	elf_file_close(&f);
	maps_done(&maps);
}

static void what_is_no_elf_is_refused(void **state)
{
	struct err e = ERR_INIT;
	struct elf_file f;

	(void)state;
	assert_int_equal(elf_file_open(&f, "/etc/passwd", &e), -ERR_BAD_FILE);
	assert_int_equal(elf_file_open(&f, "/nonexistent", &e), -ERR_NO_FILE);
	assert_int_equal(elf_file_open(&f, "/proc/self", &e), -ERR_BAD_FILE);
	assert_int_equal(elf_file_open(&f, "/dev/zero", &e), -ERR_BAD_FILE);
	elf_file_close(&f);
}

/* ---- remote memory --------------------------------------------------------------------------- */

static void check_reads(struct remote *r)
{
	static const char text[] = "somebody's memory";
	char a[8] = "", b[8] = "", c[8] = "";
	struct iovec to[] = { { a, 4 }, { b, 4 }, { c, 4 } };
	struct iovec from[] = { { (void *)(uintptr_t)text, 4 },
		{ (void *)(uintptr_t)(text + 11), 4 }, { (void *)8, 4 } };

	assert_int_equal(remote_read(r, (uintptr_t)text, a, 5), 0);
	assert_memory_equal(a, text, 5);
	assert_int_equal(remote_read(r, 8, a, 4), -EFAULT);
	assert_int_equal(remote_read(r, UINT64_MAX - 2, a, 8), -EFAULT);
	assert_int_equal(remote_readv(r, to, from, 2), 8);
	assert_memory_equal(a, "some", 4);
	assert_memory_equal(b, "memo", 4);
	assert_int_equal(remote_readv(r, to, from, 3), 8);
	assert_int_equal(remote_readv(r, to, from + 2, 1), -EFAULT);
}

static void both_ways_read(void **state)
{
	struct err e = ERR_INIT;
	struct remote r;

	(void)state;
	assert_int_equal(remote_open(&r, getpid(), &e), 0);
	assert_true(r.mem_fd >= 0);
	check_reads(&r);
	r.is_file_only = true;
	check_reads(&r);
	remote_close(&r);
	assert_int_equal(r.mem_fd, -1);
	r.is_file_only = false;
	check_reads(&r);
}

static void a_read_stops_at_the_end(void **state)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *two =
		mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct err e = ERR_INIT;
	struct remote r;
	char to[64];

	(void)state;
	assert_ptr_not_equal(two, MAP_FAILED);
	memset(two, 'x', page);
	munmap(two + page, page);
	assert_int_equal(remote_open(&r, getpid(), &e), 0);
	assert_int_equal(remote_read(&r, (uintptr_t)two + page - 64, to, 64), 0);
	assert_int_equal(remote_read(&r, (uintptr_t)two + page - 32, to, 64), -EFAULT);
	remote_close(&r);
	munmap(two, page);
}

static void the_end_of_a_process_is_told(void **state)
{
	struct err e = ERR_INIT;
	struct remote r;
	pid_t pid = fork();
	siginfo_t info;
	char byte;

	(void)state;
	if (pid == 0) {
		pause();
		_exit(0);
	}
	assert_int_equal(remote_open(&r, pid, &e), 0);
	kill(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	assert_int_equal(remote_read(&r, (uintptr_t)&byte, &byte, 1), -ESRCH);
	assert_int_equal(remote_open(&r, pid, &e), -ERR_NO_PROCESS);
	assert_non_null(strstr(e.text, "has ended and waits"));
	waitpid(pid, NULL, 0);
	assert_int_equal(remote_open(&r, pid, &e), -ERR_NO_PROCESS);
	assert_non_null(strstr(e.text, "there is no process"));
	assert_int_equal(remote_open(&r, -1, &e), -ERR_NO_PROCESS);
	assert_int_equal(remote_open(&r, 0, &e), -ERR_NO_PROCESS);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_parsed),
		cmocka_unit_test(names_are_any_bytes),
		cmocka_unit_test(broken_lines_are_left_out),
		cmocka_unit_test(our_own_maps),
		cmocka_unit_test(the_loader_is_followed),
		cmocka_unit_test(what_is_no_elf_is_refused),
		cmocka_unit_test(both_ways_read),
		cmocka_unit_test(a_read_stops_at_the_end),
		cmocka_unit_test(the_end_of_a_process_is_told),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
