/* SPDX-License-Identifier: MIT
 * json_write and json_read, alone and one after the other. */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/json_read.h"
#include "base/json_write.h"

#define FFFD "\xef\xbf\xbd"

/* A file that arrives in pieces of `step` bytes, and may break off with a failure. */
struct pieces {
	const char *p;
	size_t n, at, step;
	bool fails;
};

static int fill_pieces(void *ctx, void *to, size_t n)
{
	struct pieces *s = ctx;
	size_t left = s->n - s->at, take = left < s->step ? left : s->step;

	take = take < n ? take : n;
	if (take == 0)
		return s->fails ? -1 : 0;
	memcpy(to, s->p + s->at, take);
	s->at += take;
	return (int)take;
}

/* Writes what r reads as a line per token: "key a", "string b", ..., or "error: text". */
static void describe(struct json_reader *r, struct buf *out)
{
	static const char *const names[] = { "end", "{", "}", "[", "]", "key ", "string ",
		"number ", "true", "false", "null" };
	enum json_token t = JSON_NULL;
	struct err e = ERR_INIT;

	while (json_next(r, &t, &e) == 0) {
		buf_adds(out, names[t]);
		if (t == JSON_KEY || t == JSON_STRING || t == JSON_NUMBER)
			buf_add(out, r->text, r->n);
		buf_addc(out, '\n');
		if (t == JSON_END)
			return;
	}
	buf_printf(out, "error: %s\n", e.text);
}

/* The tokens of n bytes; step 0: from memory, else in pieces. */
static void tokens(struct buf *out, const char *p, size_t n, size_t step)
{
	struct pieces s = { .p = p, .n = n, .step = step };
	struct json_reader r;

	if (step)
		json_reader_init(&r, fill_pieces, &s);
	else
		json_reader_init_memory(&r, p, n);
	describe(&r, out);
	json_reader_done(&r);
}

static void assert_tokens(const char *json, const char *expected)
{
	struct buf b = BUF_INIT;

	for (size_t step = 0; step < 9; step++) {
		buf_clear(&b);
		tokens(&b, json, strlen(json), step);
		assert_string_equal(buf_str(&b), expected);
	}
	buf_done(&b);
}

static void write_sample(struct json_writer *w)
{
	json_object_begin(w);
	json_kv_string(w, "name", "a\"b\\c\n\x01\x7f</é漢");
	json_kv_u64(w, "big", UINT64_MAX);
	json_kv_i64(w, "small", INT64_MIN);
	json_kv_double(w, "third", 1.0 / 3);
	json_kv_bool(w, "yes", true);
	json_kv_string(w, "none", NULL);
	json_key(w, "list");
	json_array_begin(w);
	json_double(w, NAN);
	json_double(w, INFINITY);
	json_array_begin(w);
	json_array_end(w);
	json_object_begin(w);
	json_object_end(w);
	json_array_end(w);
	json_object_end(w);
}

static void writer_writes_compact_and_pretty(void **state)
{
	struct buf b = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_init(&w, &b, false);
	assert_false(json_is_complete(&w));
	write_sample(&w);
	assert_true(json_is_complete(&w));
	assert_string_equal(buf_str(&b),
		"{\"name\":\"a\\\"b\\\\c\\n\\u0001\\u007f</é漢\",\"big\":18446744073709551615,"
		"\"small\":-9223372036854775808,\"third\":0.3333333333333333,\"yes\":true,\"none\":null,\"list\":[null,null,[],{}]}");
	buf_clear(&b);
	json_init(&w, &b, true);
	write_sample(&w);
	assert_string_equal(buf_str(&b),
		"{\n"
		"  \"name\": \"a\\\"b\\\\c\\n\\u0001\\u007f</é漢\",\n"
		"  \"big\": 18446744073709551615,\n"
		"  \"small\": -9223372036854775808,\n"
		"  \"third\": 0.3333333333333333,\n"
		"  \"yes\": true,\n"
		"  \"none\": null,\n"
		"  \"list\": [\n"
		"    null,\n"
		"    null,\n"
		"    [],\n"
		"    {}\n"
		"  ]\n"
		"}");
	buf_done(&b);
}

static void writer_repairs_strings(void **state)
{
	static const char bad[] = "\b\f\r\t\0x\xff\xc3\xed\xa0\x80\xf0\x9f\x98\x80";
	struct buf b = BUF_INIT;
	struct json_writer w;

	(void)state;
	json_init(&w, &b, false);
	json_string_n(&w, bad, sizeof bad - 1);
	assert_string_equal(buf_str(&b), "\"\\b\\f\\r\\t\\u0000x" FFFD FFFD FFFD FFFD FFFD "😀\"");
	buf_done(&b);
}

static void writer_finds_short_doubles(void **state)
{
	static const struct {
		double value;
		const char *text;
	} cases[] = {
		{ 0, "0" },
		{ -0.0, "-0" },
		{ 0.1, "0.1" },
		{ -12, "-12" },
		{ 1.25e-5, "0.0000125" },
		{ 1e-9, "0.000000001" },
		{ 1.5e-9, "1.5e-09" },
		{ 999999.999999999, "999999.999999999" },
		{ 1e6, "1000000" },
		{ 1e22, "1e+22" },
		{ 0.1 + 0.2, "0.30000000000000004" },
		{ 1234567.891, "1234567.891" },
		{ 5e-324, "4.94065645841247e-324" },
		{ DBL_MAX, "1.7976931348623157e+308" },
		{ 9007199254740993.0, "9007199254740992" },
	};
	struct buf b = BUF_INIT;
	struct json_writer w;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		buf_clear(&b);
		json_init(&w, &b, false);
		json_double(&w, cases[i].value);
		assert_string_equal(buf_str(&b), cases[i].text);
		assert_true(strtod(buf_str(&b), NULL) == cases[i].value);
	}
	buf_done(&b);
}

static void value_without_key(struct json_writer *w)
{
	json_object_begin(w);
	json_null(w);
}

static void key_in_array(struct json_writer *w)
{
	json_array_begin(w);
	json_key(w, "k");
}

static void key_outside(struct json_writer *w)
{
	json_key(w, "k");
}

static void key_twice(struct json_writer *w)
{
	json_object_begin(w);
	json_key(w, "k");
	json_key(w, "k");
}

static void end_after_key(struct json_writer *w)
{
	json_object_begin(w);
	json_key(w, "k");
	json_object_end(w);
}

static void wrong_end(struct json_writer *w)
{
	json_array_begin(w);
	json_object_end(w);
}

static void end_of_nothing(struct json_writer *w)
{
	json_array_end(w);
}

static void second_value(struct json_writer *w)
{
	json_null(w);
	json_null(w);
}

static void too_deep(struct json_writer *w)
{
	for (int i = 0; i <= JSON_WRITE_DEPTH; i++)
		json_array_begin(w);
}

/* Whether the calls end in abort(), tried in a child. */
static bool aborts(void (*calls)(struct json_writer *))
{
	const struct rlimit no_core = { 0, 0 };
	int status = 0;
	pid_t child = fork();

	if (child == 0) {
		struct buf b = BUF_INIT;
		struct json_writer w;

		setrlimit(RLIMIT_CORE, &no_core);
		signal(SIGABRT, SIG_DFL); /* cmocka catches it */
		close(STDERR_FILENO);
		json_init(&w, &b, false);
		calls(&w);
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}

static void writer_misuse_asserts(void **state)
{
	void (*const misuses[])(struct json_writer *) = { value_without_key, key_in_array,
		key_outside, key_twice, end_after_key, wrong_end, end_of_nothing, second_value,
		too_deep };

	(void)state;
	for (size_t i = 0; i < sizeof misuses / sizeof *misuses; i++)
		assert_true(aborts(misuses[i]));
	assert_false(aborts(write_sample));
}

static void reader_gives_tokens_in_order(void **state)
{
	(void)state;
	assert_tokens(" { \"a\" : [ 1 , -2.5e+3 , \"x\" ] , \"b\":{},\"c\":[],\"\":null }\r\n\t",
		"{\nkey a\n[\nnumber 1\nnumber -2.5e+3\nstring x\n]\nkey b\n{\n}\nkey c\n[\n]\nkey \nnull\n}\n"
		"end\n");
	assert_tokens("true", "true\nend\n");
	assert_tokens("[false,null]", "[\nfalse\nnull\n]\nend\n");
	assert_tokens("0", "number 0\nend\n");
	assert_tokens("-0.0E-0", "number -0.0E-0\nend\n");
	assert_tokens("\"\"", "string \nend\n");
}

static void reader_decodes_strings(void **state)
{
	(void)state;
	assert_tokens("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "string \"\\/\b\f\n\r\t\nend\n");
	assert_tokens("\"\\u0041\\u00e9\\u6F22\\ud83d\\uDE00 plain text\"",
		"string Aé漢😀 plain text\nend\n");
	assert_tokens("\"\\ud83d\"", "string " FFFD "\nend\n");
	assert_tokens("\"\\ud83dx\"", "string " FFFD "x\nend\n");
	assert_tokens("\"\\ude00\\ud83d\"", "string " FFFD FFFD "\nend\n");
	assert_tokens("\"\\ud83d\\ud83d\\ude00\"", "string " FFFD "😀\nend\n");
	assert_tokens("\"\\ud83d\\n\"", "string " FFFD "\n\nend\n");
	assert_tokens("\"\\ud83d\\uf000\"", "string " FFFD "\xef\x80\x80\nend\n");
	assert_tokens("\"\\ud83d\\u0041\"", "string " FFFD "A\nend\n");
	assert_tokens("\"é漢😀, and \x7f stays\"", "string é漢😀, and \x7f stays\nend\n");
	assert_tokens("\"\xff\xc3(\xed\xa0\x80\xf0\x9f\x98\"",
		"string " FFFD FFFD "(" FFFD FFFD FFFD FFFD FFFD FFFD "\nend\n");
	assert_tokens("{\"\\u006bey\":1}", "{\nkey key\nnumber 1\n}\nend\n");
}

/* JSON that is wrong, and the error; tokens before it are not looked at. */
static const struct {
	const char *json, *error;
} wrong[] = {
	{ "", "byte 0: expected a value, but the input ends" },
	{ " \n ", "byte 3: expected a value, but the input ends" },
	{ "x", "byte 0: expected a value, not 'x'" },
	{ "\xef\xbb\xbf{}", "byte 0: expected a value, not \\xef" },
	{ "]", "byte 0: expected a value, not ']'" },
	{ "[", "byte 1: expected a value or ']', but the input ends" },
	{ "[,", "byte 1: expected a value or ']', not ','" },
	{ "[1,]", "byte 3: expected a value, not ']'" },
	{ "[1 2]", "byte 3: expected ',' or ']', not '2'" },
	{ "[1}", "byte 2: expected ',' or ']', not '}'" },
	{ "[1", "byte 2: expected ',' or ']', but the input ends" },
	{ "[1;", "byte 2: expected ',' or ']', not ';'" },
	{ "{", "byte 1: expected a key or '}', but the input ends" },
	{ "{1", "byte 1: expected a key or '}', not '1'" },
	{ "{]", "byte 1: expected a key or '}', not ']'" },
	{ "{\"a\"", "byte 4: expected ':', but the input ends" },
	{ "{\"a\" 1", "byte 5: expected ':', not '1'" },
	{ "{\"a\":}", "byte 5: expected a value, not '}'" },
	{ "{\"a\":1,}", "byte 7: expected a key, not '}'" },
	{ "{\"a\":1]", "byte 6: expected ',' or '}', not ']'" },
	{ "{\"a\":1 x", "byte 7: expected ',' or '}', not 'x'" },
	{ "{} {}", "byte 3: expected the end of the input, not '{'" },
	{ "1,", "byte 1: expected the end of the input, not ','" },
	{ "truex", "byte 4: expected the end of the input, not 'x'" },
	{ "tru", "byte 3: expected true, but the input ends" },
	{ "[trux]", "byte 4: expected true, not 'x'" },
	{ "falsy", "byte 4: expected false, not 'y'" },
	{ "NaN", "byte 0: expected a value, not 'N'" },
	{ "nul", "byte 3: expected null, but the input ends" },
	{ "[01]", "byte 2: expected no digit after a leading zero, not '1'" },
	{ "-01", "byte 2: expected no digit after a leading zero, not '1'" },
	{ "-", "byte 1: expected a digit, but the input ends" },
	{ "-x", "byte 1: expected a digit, not 'x'" },
	{ "+1", "byte 0: expected a value, not '+'" },
	{ ".5", "byte 0: expected a value, not '.'" },
	{ "[1.]", "byte 3: expected a digit, not ']'" },
	{ "1.e5", "byte 2: expected a digit, not 'e'" },
	{ "1e", "byte 2: expected a digit, but the input ends" },
	{ "1e+]", "byte 3: expected a digit, not ']'" },
	{ "0x10", "byte 1: expected the end of the input, not 'x'" },
	{ "\"abc", "byte 4: expected string text or '\"', but the input ends" },
	{ "\"abc\n\"", "byte 4: expected string text or '\"', not \\x0a" },
	{ "\"0123456789\x1f\"", "byte 11: expected string text or '\"', not \\x1f" },
	{ "\"01\x1f 3456789abcdef\"", "byte 3: expected string text or '\"', not \\x1f" },
	{ "\"\\x\"", "byte 2: expected one of \"\\/bfnrtu after a backslash, not 'x'" },
	{ "\"\\", "byte 2: expected one of \"\\/bfnrtu after a backslash, but the input ends" },
	{ "\"\\u12g4\"", "byte 5: expected four hexadecimal digits, not 'g'" },
	{ "\"\\u12", "byte 5: expected four hexadecimal digits, but the input ends" },
	{ "\"\\ud83d\\u12g4\"", "byte 11: expected four hexadecimal digits, not 'g'" },
	{ "/* */ 1", "byte 0: expected a value, not '/'" },
};

static void reader_errors_say_where_and_what(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
		for (size_t step = 0; step < 5; step++) {
			const char *error;

			buf_clear(&b);
			tokens(&b, wrong[i].json, strlen(wrong[i].json), step);
			b.data[b.n - 1] = '\0'; /* the newline */
			error = strstr(buf_str(&b), "error: ");
			assert_non_null(error);
			assert_string_equal(error + strlen("error: "), wrong[i].error);
		}
	buf_done(&b);
}

static void reader_stays_at_its_end_and_after_errors(void **state)
{
	struct json_reader r;
	enum json_token t;
	struct err e = ERR_INIT;

	(void)state;
	json_reader_init_memory(&r, "1 ", 2);
	assert_int_equal(json_next(&r, &t, &e), 0);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(json_next(&r, &t, &e), 0);
		assert_int_equal(t, JSON_END);
		assert_int_equal(json_skip(&r, &e), 0);
	}
	assert_int_equal(json_offset(&r), 2);
	json_reader_done(&r);
	json_reader_init_memory(&r, "[?", 2);
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_int_equal(json_next(&r, &t, &e), -ERR_BAD_FILE);
	assert_int_equal(t, JSON_ARRAY_BEGIN); /* untouched */
	assert_int_equal(json_next(&r, &t, &e), -ERR_BAD_FILE);
	assert_string_equal(e.text, "byte 1: expected a value or ']', not '?'"); /* still */
	assert_int_equal(json_skip(&r, &e), -ERR_BAD_FILE);
	json_reader_done(&r);
	json_reader_init_memory(&r, NULL, 0);
	assert_int_equal(json_next(&r, &t, &e), -ERR_BAD_FILE);
	json_reader_done(&r);
}

static void reader_limits_depth(void **state)
{
	struct buf json = BUF_INIT, b = BUF_INIT;

	(void)state;
	buf_fill(&json, '[', JSON_DEPTH);
	buf_fill(&json, ']', JSON_DEPTH);
	tokens(&b, json.data, json.n, 0);
	assert_string_equal(buf_str(&b) + b.n - strlen("]\nend\n"), "]\nend\n");
	buf_clear(&json);
	buf_clear(&b);
	buf_fill(&json, '[', JSON_DEPTH + 1);
	tokens(&b, json.data, json.n, 0);
	assert_non_null(strstr(buf_str(&b), "error: byte 256: nested deeper than 256\n"));
	buf_done(&json);
	buf_done(&b);
}

/* Reads one string of n bytes x with a limit; the error's text, "" where it fits. */
static void read_limited(struct buf *out, size_t n, size_t limit, const char *start, size_t step)
{
	struct buf json = BUF_INIT;
	struct pieces s = { .step = step };
	struct json_reader r;
	enum json_token t;
	struct err e = ERR_INIT;

	buf_printf(&json, "\"%s", start);
	buf_fill(&json, 'x', n);
	buf_addc(&json, '"');
	s.p = json.data;
	s.n = json.n;
	if (step)
		json_reader_init(&r, fill_pieces, &s);
	else
		json_reader_init_memory(&r, json.data, json.n);
	if (limit)
		r.limit_bytes = limit;
	buf_clear(out);
	if (json_next(&r, &t, &e) < 0)
		buf_adds(out, e.text);
	else
		assert_int_equal(r.n, n + strlen(start) / 2); /* start is of escapes \n */
	json_reader_done(&r);
	buf_done(&json);
}

static void reader_limits_strings(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	for (size_t step = 0; step <= 7; step += 7) {
		read_limited(&b, 10, 10, "", step);
		assert_string_equal(buf_str(&b), "");
		read_limited(&b, 11, 10, "", step);
		assert_string_equal(buf_str(&b), "byte 0: a string longer than 10 bytes");
		read_limited(&b, 8, 10, "\\n\\n", step);
		assert_string_equal(buf_str(&b), "");
		read_limited(&b, 9, 10, "\\n\\n", step);
		assert_string_equal(buf_str(&b), "byte 0: a string longer than 10 bytes");
	}
	read_limited(&b, JSON_STRING_LIMIT, 0, "", 0);
	assert_string_equal(buf_str(&b), "");
	read_limited(&b, JSON_STRING_LIMIT, 0, "", 100000);
	assert_string_equal(buf_str(&b), "");
	read_limited(&b, JSON_STRING_LIMIT + 1, 0, "", 100000);
	assert_string_equal(buf_str(&b), "byte 0: a string longer than 16777216 bytes");
	buf_done(&b);
}

static void reader_limits_numbers(void **state)
{
	struct buf json = BUF_INIT, b = BUF_INIT;

	(void)state;
	for (size_t step = 0; step <= 1000; step += 500) {
		buf_clear(&json);
		buf_clear(&b);
		buf_fill(&json, '1', JSON_NUMBER_TEXT);
		tokens(&b, json.data, json.n, step);
		assert_int_equal(b.n, strlen("number \nend\n") + JSON_NUMBER_TEXT);
		buf_addc(&json, '1');
		buf_clear(&b);
		tokens(&b, json.data, json.n, step);
		assert_string_equal(
			buf_str(&b), "error: byte 0: a number longer than 1024 bytes\n");
	}
	buf_done(&json);
	buf_done(&b);
}

static void reader_tells_a_failing_fill(void **state)
{
	static const char *const texts[] = { "[1, \"ab", "[1, \"ab\"", "[1,", "12", "{}", "tr",
		"\"\\u12" };
	struct err e = ERR_INIT;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct pieces s = {
			.p = texts[i], .n = strlen(texts[i]), .step = 100, .fails = true
		};
		struct json_reader r;
		enum json_token t = JSON_NULL;
		char expected[64];
		int status;

		json_reader_init(&r, fill_pieces, &s);
		while ((status = json_next(&r, &t, &e)) == 0)
			assert_int_not_equal(t, JSON_END);
		assert_int_equal(status, -ERR_SYSTEM);
		snprintf(expected, sizeof expected, "byte %zu: reading failed", s.n);
		assert_string_equal(e.text, expected);
		json_reader_done(&r);
	}
}

static void reader_reads_descriptors(void **state)
{
	char path[] = "/tmp/leadline-json-XXXXXX";
	int fd = mkstemp(path);
	struct buf b = BUF_INIT;
	struct json_reader r;
	struct err e = ERR_INIT;

	(void)state;
	unlink(path);
	buf_adds(&b, "[7]");
	assert_int_equal(buf_write(&b, fd, &e), 0);
	lseek(fd, 0, SEEK_SET);
	json_reader_init(&r, json_fill_fd, &fd);
	buf_clear(&b);
	describe(&r, &b);
	assert_string_equal(buf_str(&b), "[\nnumber 7\n]\nend\n");
	json_reader_done(&r);
	close(fd);
	fd = -1;
	json_reader_init(&r, json_fill_fd, &fd);
	buf_clear(&b);
	describe(&r, &b);
	assert_string_equal(buf_str(&b), "error: byte 0: reading failed\n");
	json_reader_done(&r);
	buf_done(&b);
}

/* Reads the number in `text`. */
static void read_number(struct json_reader *r, const char *text)
{
	enum json_token t;
	struct err e = ERR_INIT;

	json_reader_init_memory(r, text, strlen(text));
	assert_int_equal(json_next(r, &t, &e), 0);
	assert_int_equal(t, JSON_NUMBER);
}

static void numbers_become_doubles(void **state)
{
	static const char *const texts[] = { "0", "-0", "1", "-1.5", "1234567.891", "0.1", "1e3",
		"1E-7", "9007199254740992", "9007199254740993", "9007199254740993.0",
		"123456789012345678", "12345678901234567890", "0.30000000000000004",
		"1.7976931348623157e308", "5e-324", "1e400", "-1e400", "1e-400",
		"0.00000000000000000000001", "0.0000000000000000000001",
		"3.14159265358979323846264338327950288", "100000000000000000000000",
		"1.000000000000000000000", "0.000000000000000000000000000000000",
		"99999999999999999.5" };
	struct json_reader r;

	(void)state;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		double got, want = strtod(texts[i], NULL);

		read_number(&r, texts[i]);
		got = json_number_double(&r);
		assert_memory_equal(&got, &want, sizeof got);
		json_reader_done(&r);
	}
}

static void numbers_become_integers(void **state)
{
	static const struct {
		const char *text;
		bool is_i64, is_u64;
		int64_t i64;
		uint64_t u64;
	} cases[] = {
		{ "0", true, true, 0, 0 },
		{ "-0", true, false, 0, 0 },
		{ "42", true, true, 42, 42 },
		{ "-42", true, false, -42, 0 },
		{ "9223372036854775807", true, true, INT64_MAX, INT64_MAX },
		{ "9223372036854775808", false, true, 0, (uint64_t)INT64_MAX + 1 },
		{ "-9223372036854775808", true, false, INT64_MIN, 0 },
		{ "-9223372036854775809", false, false, 0, 0 },
		{ "18446744073709551615", false, true, 0, UINT64_MAX },
		{ "18446744073709551616", false, false, 0, 0 },
		{ "1.0", false, false, 0, 0 },
		{ "1e3", false, false, 0, 0 },
	};
	struct json_reader r;

	(void)state;
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		int64_t s = 0;
		uint64_t u = 0;

		read_number(&r, cases[i].text);
		assert_int_equal(json_number_i64(&r, &s), cases[i].is_i64);
		assert_int_equal(json_number_u64(&r, &u), cases[i].is_u64);
		assert_true(s == cases[i].i64 && u == cases[i].u64);
		json_reader_done(&r);
	}
}

static void skipping_values(void **state)
{
	static const char json[] = "{\"a\":{\"x\":[1,{}]},\"b\":[[],2],\"c\":3,\"d\":4}";
	struct json_reader r;
	enum json_token t;
	struct err e = ERR_INIT;

	(void)state;
	json_reader_init_memory(&r, json, sizeof json - 1);
	assert_int_equal(json_next(&r, &t, &e), 0); /* { */
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_true(json_text_is(&r, "a"));
	assert_false(json_text_is(&r, "ab"));
	assert_false(json_text_is(&r, ""));
	assert_int_equal(json_skip(&r, &e), 0); /* the value of a */
	assert_int_equal(json_skip(&r, &e), 0); /* nothing */
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_true(t == JSON_KEY && json_text_is(&r, "b"));
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_int_equal(t, JSON_ARRAY_BEGIN);
	assert_int_equal(json_skip(&r, &e), 0); /* the array just begun */
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_true(t == JSON_KEY && json_text_is(&r, "c"));
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_int_equal(json_skip(&r, &e), 0); /* nothing: a number is over */
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_true(t == JSON_KEY && json_text_is(&r, "d"));
	assert_int_equal(json_skip(&r, &e), 0);
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_int_equal(t, JSON_OBJECT_END);
	json_reader_done(&r);

	json_reader_init_memory(&r, json, sizeof json - 1);
	assert_int_equal(json_skip(&r, &e), 0); /* all of it */
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_int_equal(t, JSON_END);
	json_reader_done(&r);

	json_reader_init_memory(&r, json, 20);
	assert_int_equal(json_skip(&r, &e), -ERR_BAD_FILE);
	json_reader_done(&r);
}

static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 33;
}

static void write_random_string(struct json_writer *w, struct buf *text, uint64_t *seed)
{
	static const char *const parts[] = { "plain", "x", "\"", "\\", "\n", "\x01", "é", "漢字",
		"😀", "/", "a longer run of plain text", "\x7f" };

	buf_clear(text);
	for (uint64_t n = next_random(seed) % 8; n > 0; n--)
		buf_adds(text, parts[next_random(seed) % (sizeof parts / sizeof *parts)]);
	json_string_n(w, buf_str(text), text->n);
}

/* Writes a random array; what a reader should see goes to `expected`, as describe writes it. */
static void write_random(struct json_writer *w, struct buf *expected, uint64_t seed)
{
	struct buf text = BUF_INIT;

	json_array_begin(w);
	buf_adds(expected, "[\n");
	for (int i = 0; i < 300; i++) {
		uint64_t kind = next_random(&seed) % 6;
		bool in_object = w->levels[w->depth - 1].is_object;

		if (kind == 0 && w->depth > 1) {
			(in_object ? json_object_end : json_array_end)(w);
			buf_adds(expected, in_object ? "}\n" : "]\n");
			continue;
		}
		if (in_object) {
			json_key(w, "k\t");
			buf_adds(expected, "key k\t\n");
		}
		if (kind <= 2 && w->depth < 20) {
			(kind == 2 ? json_object_begin : json_array_begin)(w);
			buf_adds(expected, kind == 2 ? "{\n" : "[\n");
		} else if (kind <= 4) {
			write_random_string(w, &text, &seed);
			buf_printf(expected, "string %s\n", buf_str(&text));
		} else {
			json_i64(w, (int64_t)seed);
			buf_printf(expected, "number %lld\n", (long long)seed);
		}
	}
	while (w->depth) {
		bool is_object = w->levels[w->depth - 1].is_object;

		(is_object ? json_object_end : json_array_end)(w);
		buf_adds(expected, is_object ? "}\n" : "]\n");
	}
	buf_adds(expected, "end\n");
	buf_done(&text);
}

static void what_is_written_is_read_again(void **state)
{
	struct buf json = BUF_INIT, expected = BUF_INIT, got = BUF_INIT;

	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		struct json_writer w;

		buf_clear(&json);
		buf_clear(&expected);
		buf_clear(&got);
		json_init(&w, &json, seed % 2);
		write_random(&w, &expected, seed);
		assert_true(json_is_complete(&w));
		tokens(&got, json.data, json.n, seed % 3 ? seed : 0);
		assert_string_equal(buf_str(&got), buf_str(&expected));
	}
	buf_done(&json);
	buf_done(&expected);
	buf_done(&got);
}

static void doubles_survive_the_round_trip(void **state)
{
	uint64_t seed = 42, bits;
	struct buf b = BUF_INIT;

	(void)state;
	for (int i = 0; i < 100000; i++) {
		struct json_writer w;
		struct json_reader r;
		enum json_token t;
		struct err e = ERR_INIT;
		double value, got;

		bits = next_random(&seed) << 33 ^ next_random(&seed) << 10 ^ next_random(&seed);
		memcpy(&value, &bits, sizeof value);
		if (i % 2) /* the kind found in traces: microseconds with three decimals */
			value = (double)(bits >> 24) / 1000;
		if (!isfinite(value))
			continue;
		buf_clear(&b);
		json_init(&w, &b, false);
		json_double(&w, value);
		json_reader_init_memory(&r, b.data, b.n);
		assert_int_equal(json_next(&r, &t, &e), 0);
		got = json_number_double(&r);
		assert_memory_equal(&got, &value, sizeof got);
		json_reader_done(&r);
	}
	buf_done(&b);
}

/* A file larger than the window, so that every kind of token crosses its edge at some size. */
static void tokens_cross_the_edge_of_the_window(void **state)
{
	static const char item[] =
		"{\"name\":\"aten::mm \\u00e9 漢\",\"ts\":123456.789,\"ok\":true,\"no\":null}";
	static const char item_tokens[] =
		"{\nkey name\nstring aten::mm é 漢\nkey ts\nnumber 123456.789\n"
		"key ok\ntrue\nkey no\nnull\n}\n";
	enum { ITEMS = 8000 };
	struct buf json = BUF_INIT, expected = BUF_INIT, got = BUF_INIT;

	(void)state;
	for (size_t shift = 0; shift < sizeof item + 1; shift++) {
		buf_clear(&json);
		buf_clear(&expected);
		buf_clear(&got);
		buf_fill(&json, ' ', shift);
		buf_addc(&json, '[');
		buf_adds(&expected, "[\n");
		for (int i = 0; i < ITEMS; i++) {
			buf_adds(&json, i ? "," : "");
			buf_adds(&json, item);
			buf_adds(&expected, item_tokens);
		}
		buf_addc(&json, ']');
		buf_adds(&expected, "]\nend\n");
		tokens(&got, json.data, json.n, SIZE_MAX);
		assert_int_equal(got.n, expected.n);
		assert_memory_equal(got.data, expected.data, got.n);
	}
	buf_done(&json);
	buf_done(&expected);
	buf_done(&got);
}

/* Damaged files: no crash, and the same answer from memory as in pieces. */
static void random_damage_does_no_harm(void **state)
{
	struct buf json = BUF_INIT, expected = BUF_INIT, a = BUF_INIT, b = BUF_INIT;
	uint64_t seed = 7;
	struct json_writer w;

	(void)state;
	json_init(&w, &json, true);
	write_random(&w, &expected, 3);
	for (int i = 0; i < 5000; i++) {
		size_t at = next_random(&seed) % json.n, n = json.n;
		char before = json.data[at];
		static const char odd[] = "\"\\[]{},:0-e.\n\x00\xff\xe6 ut";

		json.data[at] = next_random(&seed) % 4 ? odd[next_random(&seed) % (sizeof odd - 1)]
						       : (char)next_random(&seed);
		if (i % 5 == 0)
			n = next_random(&seed) % n;
		buf_clear(&a);
		buf_clear(&b);
		tokens(&a, json.data, n, 0);
		tokens(&b, json.data, n, 1 + next_random(&seed) % 50);
		assert_int_equal(a.n, b.n);
		assert_memory_equal(a.data, b.data, a.n);
		json.data[at] = i % 10 ? before : json.data[at];
	}
	buf_done(&json);
	buf_done(&expected);
	buf_done(&a);
	buf_done(&b);
}

/* What json_take_u32s takes, and what json_next says after it. */
static void assert_taken(const char *text, size_t want, uint32_t last, enum json_token then)
{
	struct json_reader r;
	struct err e = ERR_INIT;
	enum json_token t;
	uint32_t v[8] = { 0 };

	json_reader_init_memory(&r, text, strlen(text));
	assert_int_equal(json_next(&r, &t, &e), 0);
	assert_int_equal(json_take_u32s(&r, v, 8), want);
	if (want)
		assert_int_equal(v[want - 1], last);
	if (then == JSON_END) /* an error */
		assert_true(json_next(&r, &t, &e) < 0);
	else
		assert_int_equal(json_next(&r, &t, &e), 0);
	if (then != JSON_END)
		assert_int_equal(t, then);
	json_reader_done(&r);
}

static void small_numbers_are_taken_at_once(void **state)
{
	(void)state;
	assert_taken("[1,23,456789012,7]          ", 3, 456789012, JSON_NUMBER);
	assert_taken("[1234567890,2,3,4,5,6]      ", 0, 0, JSON_NUMBER);
	assert_taken("[1,-2,3,4,5,6,7,8]          ", 1, 1, JSON_NUMBER);
	assert_taken("[1,2.5,3,4,5,6,7,8]         ", 1, 1, JSON_NUMBER);
	assert_taken("[1,02,3,4,5,6,7,8]          ", 1, 1, JSON_END);
	assert_taken("[1,2,]                      ", 2, 2, JSON_END);
	assert_taken("[1,\"x\",3,4,5,6,7]       ", 1, 1, JSON_STRING);
	assert_taken("[]                          ", 0, 0, JSON_ARRAY_END);
	assert_taken("[0,1,2,3,4,5,6,7,8,9,10,11] ", 8, 7, JSON_NUMBER);
	assert_taken("{\"a\":1,\"b\":2}       ", 0, 0, JSON_KEY);
	assert_taken("[1,2", 0, 0, JSON_NUMBER); /* too near to the end to be sure */
}

/* Whatever json_take_doubles takes is what json_next would have said. */
static void numbers_with_fractions_are_taken_at_once(void **state)
{
	static const char *const arrays[] = { "[1,2.5,0.001,123456789012345,0,0.5,7,8]            ",
		"[1.,2,3]                       ", "[01.5,2]                       ",
		"[.5,2]                         ", "[1.2.3,4]                      ",
		"[1234567890123456,2]           ", "[1.23456789012345,2]           ",
		"[1e5,2]                        ", "[-1,2]                         ",
		"[0.1,0.2,0.3,4.7,1794783672.02]             " };
	static const size_t taken[] = { 6, 0, 0, 0, 0, 0, 0, 0, 0, 3 };

	(void)state;
	for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
		struct json_reader fast, slow;
		struct err e = ERR_INIT;
		enum json_token t;
		double v[6];
		size_t n;

		json_reader_init_memory(&fast, arrays[i], strlen(arrays[i]));
		json_reader_init_memory(&slow, arrays[i], strlen(arrays[i]));
		assert_int_equal(json_next(&fast, &t, &e), 0);
		assert_int_equal(json_next(&slow, &t, &e), 0);
		n = json_take_doubles(&fast, v, 6);
		assert_true(n >= taken[i] && (taken[i] || !n));
		for (size_t k = 0; k < n; k++) {
			assert_int_equal(json_next(&slow, &t, &e), 0);
			assert_true(v[k] == json_number_double(&slow));
		}
		json_reader_done(&fast);
		json_reader_done(&slow);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(writer_writes_compact_and_pretty),
		cmocka_unit_test(writer_repairs_strings),
		cmocka_unit_test(writer_finds_short_doubles),
		cmocka_unit_test(writer_misuse_asserts),
		cmocka_unit_test(reader_gives_tokens_in_order),
		cmocka_unit_test(reader_decodes_strings),
		cmocka_unit_test(reader_errors_say_where_and_what),
		cmocka_unit_test(reader_stays_at_its_end_and_after_errors),
		cmocka_unit_test(reader_limits_depth),
		cmocka_unit_test(reader_limits_strings),
		cmocka_unit_test(reader_limits_numbers),
		cmocka_unit_test(reader_tells_a_failing_fill),
		cmocka_unit_test(reader_reads_descriptors),
		cmocka_unit_test(numbers_become_doubles),
		cmocka_unit_test(numbers_become_integers),
		cmocka_unit_test(skipping_values),
		cmocka_unit_test(what_is_written_is_read_again),
		cmocka_unit_test(doubles_survive_the_round_trip),
		cmocka_unit_test(tokens_cross_the_edge_of_the_window),
		cmocka_unit_test(small_numbers_are_taken_at_once),
		cmocka_unit_test(numbers_with_fractions_are_taken_at_once),
		cmocka_unit_test(random_damage_does_no_harm),
	};

	return cmocka_run_group_tests_name("json", tests, NULL, NULL);
}
