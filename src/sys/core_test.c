/* SPDX-License-Identifier: MIT
 * Core files made by hand: whole ones, cut-off ones, and ones that lie. */
#include <elf.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "sys/core.h"
#include "sys/maps.h"

enum { PAGE = 4096, DATA = 0x10000, PROGRAM = 0x400000, N_PARTS = 3, N_MAPPED = 3 * PAGE };

/* A core file, and the program file that it says was mapped: its first page is in the core file, the second
 * is not, the third was changed by the process. */
struct rig {
	struct buf core;
	char core_path[64], program_path[64];
	int core_fd, program_fd;
	unsigned char program[N_MAPPED];
};

static void add_note(struct buf *to, uint32_t type, const void *p, size_t n)
{
	Elf64_Nhdr head = { .n_namesz = 5, .n_descsz = (uint32_t)n, .n_type = type };

	buf_add(to, &head, sizeof head);
	buf_add(to, "CORE\0\0\0", 8);
	buf_add(to, p, n);
	while (to->n % 4)
		buf_addc(to, '\0');
}

static void add_notes(const struct rig *r, struct buf *to)
{
	struct elf_prstatus first = { .pr_pid = 12, .pr_cursig = 11 }, second = { .pr_pid = 10 };
	struct elf_prpsinfo info = { .pr_pid = 10, .pr_psargs = "python3 x.py " };
	Elf64_auxv_t aux[] = { { .a_type = AT_ENTRY, .a_un.a_val = PROGRAM + PAGE + 8 }, { 0 } };
	uint64_t files[] = { 1, PAGE, PROGRAM, PROGRAM + N_MAPPED, 0 };
	struct buf note = BUF_INIT;

	add_note(to, NT_PRSTATUS, &first, sizeof first);
	add_note(to, NT_PRSTATUS, &second, sizeof second);
	add_note(to, NT_PRPSINFO, &info, sizeof info);
	add_note(to, NT_AUXV, aux, sizeof aux);
	buf_add(&note, files, sizeof files);
	buf_add(&note, r->program_path, strlen(r->program_path) + 1);
	add_note(to, NT_FILE, note.data, note.n);
	buf_done(&note);
}

static int make_file(const char *name, const void *p, size_t n, char path[64])
{
	int fd = memfd_create(name, 0);

	assert_int_equal(write(fd, p, n), (ssize_t)n);
	snprintf(path, 64, "/proc/self/fd/%d", fd);
	return fd;
}

static void open_rig(struct rig *r)
{
	Elf64_Ehdr head = { .e_ident = ELFMAG,
		.e_type = ET_CORE,
		.e_phoff = sizeof head,
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = N_PARTS + 1 };
	struct buf notes = BUF_INIT;
	unsigned char data[PAGE];
	uint64_t at;

	*r = (struct rig){ .core = BUF_INIT };
	head.e_ident[EI_CLASS] = ELFCLASS64;
	for (size_t i = 0; i < sizeof r->program; i++)
		r->program[i] = (unsigned char)(i * 7 + i / PAGE);
	memset(data, 'd', sizeof data);
	r->program_fd = make_file("program", r->program, sizeof r->program, r->program_path);
	add_notes(r, &notes);
	at = sizeof head + (N_PARTS + 1) * sizeof(Elf64_Phdr);
	Elf64_Phdr parts[] = {
		{ .p_type = PT_NOTE, .p_offset = at, .p_filesz = notes.n },
		{ .p_type = PT_LOAD,
			.p_flags = PF_R | PF_X,
			.p_vaddr = PROGRAM,
			.p_memsz = 2 * PAGE,
			.p_offset = at + notes.n,
			.p_filesz = PAGE },
		{ .p_type = PT_LOAD,
			.p_flags = PF_R | PF_W,
			.p_vaddr = PROGRAM + 2 * PAGE,
			.p_memsz = PAGE,
			.p_offset = at + notes.n + PAGE,
			.p_filesz = PAGE },
		{ .p_type = PT_LOAD, /* not in the order of addresses */
			.p_flags = PF_R | PF_W,
			.p_vaddr = DATA,
			.p_memsz = 2 * PAGE,
			.p_offset = at + notes.n + PAGE,
			.p_filesz = PAGE },
	};
	buf_add(&r->core, &head, sizeof head);
	buf_add(&r->core, parts, sizeof parts);
	buf_add(&r->core, notes.data, notes.n);
	buf_add(&r->core, r->program, PAGE);
	buf_add(&r->core, data, PAGE);
	buf_done(&notes);
	r->core_fd = make_file("core", r->core.data, r->core.n, r->core_path);
}

static void close_rig(struct rig *r)
{
	close(r->core_fd);
	close(r->program_fd);
	buf_done(&r->core);
}

static int read_byte(struct core *c, uint64_t address)
{
	unsigned char byte;

	return core_read(c, address, &byte, 1) == 0 ? byte : -1;
}

/* As gdb's gcore does it. */
static void what_has_no_part_is_read_from_its_file(void **state)
{
	struct err e = ERR_INIT;
	Elf64_Phdr *first;
	struct core c;
	struct rig r;

	(void)state;
	open_rig(&r);
	first = (Elf64_Phdr *)(r.core.data + sizeof(Elf64_Ehdr)) + 1;
	first->p_memsz = PAGE;
	assert_int_equal(pwrite(r.core_fd, r.core.data, r.core.n, 0), (ssize_t)r.core.n);
	assert_int_equal(core_open(&c, r.core_path, NULL, &e), 0);
	assert_string_equal(c.executable, r.program_path);
	assert_int_equal(read_byte(&c, PROGRAM + PAGE + 9), r.program[PAGE + 9]);
	assert_int_equal(read_byte(&c, PROGRAM + 2 * PAGE), 'd'); /* the process's own again */
	assert_int_equal(read_byte(&c, PROGRAM + 3 * PAGE), -1);
	core_close(&c);
	close_rig(&r);
}

static void what_it_says_of_the_process(void **state)
{
	struct err e = ERR_INIT;
	struct core c;
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(core_open(&c, r.core_path, NULL, &e), 0);
	assert_int_equal(c.pid, 10);
	assert_int_equal(c.signal, 11);
	assert_string_equal(c.command, "python3 x.py");
	assert_string_equal(c.executable, r.program_path);
	assert_int_equal(c.threads.n, 2);
	assert_int_equal(c.threads.v[0], 12);
	assert_true(map_is_program(&c.maps->items.v[0]));
	core_close(&c);
	assert_int_equal(core_open(&c, r.core_path, "/elsewhere", &e), 0);
	assert_string_equal(c.executable, r.program_path);
	assert_int_equal(read_byte(&c, PROGRAM + PAGE), -1);
	core_close(&c);
	close_rig(&r);
}

static void memory_comes_from_the_core_and_from_the_files_that_were_mapped(void **state)
{
	struct err e = ERR_INIT;
	unsigned char both[2 * PAGE];
	struct core c;
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(core_open(&c, r.core_path, NULL, &e), 0);
	assert_int_equal(read_byte(&c, DATA), 'd');
	assert_int_equal(read_byte(&c, DATA + PAGE), -1); /* neither here nor there */
	assert_int_equal(read_byte(&c, DATA - 1), -1);
	assert_int_equal(read_byte(&c, UINT64_MAX), -1);
	assert_int_equal(core_read(&c, PROGRAM + 8, both, sizeof both), 0);
	assert_memory_equal(both, r.program + 8, 2 * PAGE - 8);
	assert_memory_equal(both + 2 * PAGE - 8, "dddddddd", 8);
	assert_int_equal(core_read(&c, PROGRAM + 2 * PAGE, both, PAGE + 1), -EFAULT);
	core_close(&c);
	close_rig(&r);
}

static void a_file_that_was_replaced_is_not_believed(void **state)
{
	struct err e = ERR_INIT;
	struct core c;
	struct rig r;

	(void)state;
	open_rig(&r);
	assert_int_equal(pwrite(r.program_fd, "another", 7, 100), 7);
	assert_int_equal(core_open(&c, r.core_path, NULL, &e), 0);
	assert_int_equal(read_byte(&c, PROGRAM), r.program[0]);
	assert_int_equal(read_byte(&c, PROGRAM + PAGE), -1);
	core_close(&c);
	close_rig(&r);
}

static void use(const char *path)
{
	static const uint64_t addresses[] = { 0, DATA, DATA + PAGE - 4, PROGRAM, PROGRAM + PAGE,
		PROGRAM + 3 * PAGE - 4, UINT64_MAX - 4 };
	struct err e = ERR_INIT;
	unsigned char bytes[64];
	struct core c;

	if (core_open(&c, path, NULL, &e) < 0) {
		assert_true(*e.text);
		return;
	}
	for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
		core_read(&c, addresses[i], bytes, sizeof bytes);
	core_close(&c);
}

/* Bytes changed anywhere in headers and notes, and a file that ends anywhere: no crash, and the sanitizers in
 * their build have nothing to say. */
static void one_that_lies_harms_nobody(void **state)
{
	struct rig r;
	size_t n;

	(void)state;
	open_rig(&r);
	n = r.core.n - 2 * PAGE;
	for (size_t i = 0; i < n; i++) {
		static const char bytes[] = { 0, 1, 0x7f, -1 };
		char byte = bytes[i % 4];

		assert_int_equal(pwrite(r.core_fd, &byte, 1, (off_t)i), 1);
		use(r.core_path);
		assert_int_equal(pwrite(r.core_fd, r.core.data + i, 1, (off_t)i), 1);
	}
	for (size_t i = n; i > 8; i -= 7) {
		assert_int_equal(ftruncate(r.core_fd, (off_t)i), 0);
		use(r.core_path);
	}
	close_rig(&r);
}

static void what_is_no_core_file_is_said(void **state)
{
	struct err e = ERR_INIT;
	struct core c;

	(void)state;
	assert_true(core_open(&c, "/proc/self/exe", NULL, &e) < 0);
	assert_non_null(strstr(e.text, "a program or library"));
	assert_true(core_open(&c, "/dev/null", NULL, &e) < 0);
	assert_true(core_open(&c, "/nonexistent", NULL, &e) < 0);
	assert_int_equal(e.code, ERR_NO_FILE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_it_says_of_the_process),
		cmocka_unit_test(what_has_no_part_is_read_from_its_file),
		cmocka_unit_test(memory_comes_from_the_core_and_from_the_files_that_were_mapped),
		cmocka_unit_test(a_file_that_was_replaced_is_not_believed),
		cmocka_unit_test(one_that_lies_harms_nobody),
		cmocka_unit_test(what_is_no_core_file_is_said),
	};

	return cmocka_run_group_tests_name("core", tests, NULL, NULL);
}
