/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/err.h"
#include "base/log.h"

static void set_and_note(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	assert_int_equal(err_set(&e, ERR_BAD_FILE, "chunk %d", 3), -ERR_BAD_FILE);
	assert_int_equal(err_note(&e, "x.lead"), -ERR_BAD_FILE);
	assert_string_equal(e.text, "x.lead: chunk 3");
	assert_int_equal(err_exit_status(&e), 6);
	assert_true(strlen(err_advice(&e)) > 0);
}

static void errno_chooses_the_code(void **state)
{
	struct err e = ERR_INIT;

	(void)state;
	errno = EPERM;
	assert_int_equal(err_errno(&e, ERR_SYSTEM, "open"), -ERR_NO_PERMISSION);
	assert_string_equal(e.text, "open: Operation not permitted");
	assert_int_equal(e.sys, EPERM);
	errno = EMFILE;
	assert_int_equal(err_errno(&e, ERR_SYSTEM, "open"), -ERR_SYSTEM);
	assert_int_equal(err_exit_status(&e), 7);
}

static void long_texts_are_cut_not_overrun(void **state)
{
	struct err e = ERR_INIT;
	char text[600];

	(void)state;
	memset(text, 'x', sizeof text - 1);
	text[sizeof text - 1] = '\0';
	err_set(&e, ERR_USAGE, "%s", text);
	err_note(&e, "%s", text);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
	errno = EACCES;
	err_errno(&e, ERR_SYSTEM, "%s", text);
	assert_int_equal(strlen(e.text), sizeof e.text - 1);
}

static void log_topics_and_levels(void **state)
{
	(void)state;
	assert_false(log_wants("store", 1));
	log_init("store:2,tree");
	assert_true(log_wants("store", 2));
	assert_false(log_wants("store", 3));
	assert_true(log_wants("tree", 1));
	assert_false(log_wants("tree", 2));
	assert_false(log_wants("stor", 1));
	log_init("all:1");
	assert_true(log_wants("anything", 1));
	log_init(NULL);
	assert_false(log_wants("store", 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(set_and_note),
		cmocka_unit_test(errno_chooses_the_code),
		cmocka_unit_test(long_texts_are_cut_not_overrun),
		cmocka_unit_test(log_topics_and_levels),
	};

	return cmocka_run_group_tests_name("err", tests, NULL, NULL);
}
