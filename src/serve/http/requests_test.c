/* SPDX-License-Identifier: MIT
 * Requests as they may come: parameters, who may ask, encodings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "serve/http/compress.h"
#include "serve/http/guard.h"
#include "serve/http/params.h"

static void parameters_are_taken_apart(void **state)
{
	struct params p;
	struct err e = ERR_INIT;
	const char *const *all;
	double x = 7;

	(void)state;
	assert_int_equal(params_parse(&p, "a=1&b=x%20y+z&&drop=p&drop=%5Bq&empty=&n=2.5", &e), 0);
	assert_string_equal(params_find(&p, "b"), "x y z");
	assert_string_equal(params_find(&p, "empty"), "");
	assert_null(params_find(&p, "c"));
	assert_true(params_is_set(&p, "a"));
	assert_int_equal(params_all(&p, "drop", &all), 2);
	assert_string_equal(all[1], "[q");
	assert_int_equal(params_number(&p, "n", 0, 10, &x, &e), 0);
	assert_float_equal(x, 2.5, 0);
	assert_int_equal(params_number(&p, "missing", 0, 10, &x, &e), 0);
	assert_float_equal(x, 2.5, 0);
	assert_true(params_number(&p, "n", 3, 10, &x, &e) < 0);
	assert_true(params_number(&p, "b", 0, 10, &x, &e) < 0);
	params_done(&p);
}

static void what_is_no_text_is_refused(void **state)
{
	static const char *const bad[] = { "a=%", "a=%4", "a=%zz", "a=%00", "%00=1", "a=b%4" };
	char many[4 * (PARAMS_MOST + 2)] = "", *longest = malloc(PARAMS_BYTES + 2);
	struct params p;

	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		struct err e = ERR_INIT;

		assert_true(params_parse(&p, bad[i], &e) < 0);
		assert_int_equal(e.code, ERR_USAGE);
		params_done(&p);
	}
	for (size_t i = 0; i <= PARAMS_MOST; i++)
		memcpy(many + 3 * i, "a=&", 4);
	assert_true(params_parse(&p, many, &(struct err){ 0 }) < 0);
	params_done(&p);
	memset(longest, 'a', PARAMS_BYTES + 1);
	longest[PARAMS_BYTES + 1] = '\0';
	assert_true(params_parse(&p, longest, &(struct err){ 0 }) < 0);
	params_done(&p);
	free(longest);
}

static void only_this_machine_and_names_that_were_allowed_may_be_asked(void **state)
{
	static const char *const allowed[] = { "hub.example.org" };
	static const char *const good[] = { "localhost", "LocalHost:8000", "127.0.0.1:1",
		"[::1]:65535", "[::1]", "hub.example.org", "HUB.example.org:443" };
	static const char *const bad[] = { "", "example.org", "localhost.example.org",
		"localhost:", "localhost:1x", "localhost:1234567", "127.0.0.1.nip.io", "[::1",
		"[::2]", ":80", "localhost:80:80", "hub.example.org.evil", "xlocalhost",
		"127.0.0.2" };
	struct guard g = { .allowed_hosts = allowed, .n_allowed_hosts = 1 };

	(void)state;
	for (size_t i = 0; i < sizeof good / sizeof *good; i++)
		assert_true(guard_host(&g, good[i]));
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_false(guard_host(&g, bad[i]));
	assert_false(guard_host(&g, NULL));
	assert_true(guard_origin(&g, NULL, "localhost:8000"));
	assert_true(guard_origin(&g, "http://localhost:8000", "localhost:8000"));
	assert_true(guard_origin(&g, "http://LOCALHOST", "localhost"));
	assert_true(guard_origin(&g, "https://hub.example.org", "localhost:8000"));
	assert_false(guard_origin(&g, "http://localhost:8001", "localhost:8000"));
	assert_false(guard_origin(&g, "http://127.0.0.1:8000", "localhost:8000"));
	assert_false(guard_origin(&g, "http://localhost:8000", NULL));
	assert_false(guard_origin(&g, "null", "localhost:8000"));
	assert_false(guard_origin(&g, "http://evil.example", "localhost:8000"));
	assert_false(guard_origin(&g, "file://localhost", "localhost"));
	assert_false(guard_origin(&g, "http://localhost:8000/x", "localhost:8000"));
}

static void tokens_differ_and_must_be_whole(void **state)
{
	struct guard g = { 0 }, other = { 0 };
	char part[GUARD_TOKEN + 1];

	(void)state;
	guard_random(g.token, GUARD_TOKEN);
	guard_random(other.token, GUARD_TOKEN);
	assert_int_equal(strlen(g.token), GUARD_TOKEN);
	assert_true(guard_token(&g, g.token));
	assert_false(guard_token(&g, other.token));
	assert_false(guard_token(&g, NULL));
	assert_false(guard_token(&g, ""));
	memcpy(part, g.token, sizeof part);
	part[GUARD_TOKEN - 1] = '\0';
	assert_false(guard_token(&g, part));
}

static void a_code_is_good_once(void **state)
{
	struct guard g = { 0 };
	char code[GUARD_TOKEN + 1], none[GUARD_TOKEN + 1] = { 0 };

	(void)state;
	assert_false(guard_code(&g, none));
	guard_random(g.code, GUARD_TOKEN);
	memcpy(code, g.code, sizeof code);
	assert_false(guard_code(&g, NULL));
	assert_false(guard_code(&g, ""));
	assert_false(guard_token(&g, code));
	assert_true(guard_code(&g, code));
	assert_false(guard_code(&g, code));
	assert_false(guard_code(&g, none));
}

static void encodings_are_those_asked_for(void **state)
{
	struct buf out = BUF_INIT;

	(void)state;
	assert_int_equal(encoding_choose(NULL), ENCODING_NONE);
	assert_int_equal(encoding_choose("gzip, deflate, br"), ENCODING_GZIP);
	assert_int_equal(encoding_choose("gzip, deflate, br, zstd"), ENCODING_ZSTD);
	assert_int_equal(encoding_choose("gzip;q=0, br"), ENCODING_NONE);
	assert_int_equal(encoding_choose("xgzip, gzipx"), ENCODING_NONE);
	assert_int_equal(encoding_choose(",,,"), ENCODING_NONE);
	compress_base64("leadline", 8, &out);
	assert_string_equal(buf_str(&out), "bGVhZGxpbmU=");
	buf_clear(&out);
	compress_base64("lead", 4, &out);
	assert_string_equal(buf_str(&out), "bGVhZA==");
	buf_done(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameters_are_taken_apart),
		cmocka_unit_test(what_is_no_text_is_refused),
		cmocka_unit_test(only_this_machine_and_names_that_were_allowed_may_be_asked),
		cmocka_unit_test(tokens_differ_and_must_be_whole),
		cmocka_unit_test(a_code_is_good_once),
		cmocka_unit_test(encodings_are_those_asked_for),
	};

	return cmocka_run_group_tests_name("requests", tests, NULL, NULL);
}
