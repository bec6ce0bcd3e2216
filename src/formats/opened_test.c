/* SPDX-License-Identifier: MIT
 * The one door: what each kind of file is opened as, from pipes as well, which can be read only once. */
#include "formats/opened.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>
#include <cmocka.h>

#include "analyze/torch/events.h"
#include "base/buf.h"
#include "base/err.h"
#include "formats/results.h"
#include "store/reader.h"
#include "store/writer.h"

static const char torch[] =
	"{\"traceEvents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::mm\",\"pid\":1,"
	"\"tid\":1,\"ts\":1,\"dur\":2},{\"ph\":\"X\",\"name\":\"mine\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":9}]}";
static const char spans[] =
	"[{\"ph\":\"B\",\"name\":\"f\",\"pid\":1,\"tid\":1,\"ts\":1},{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":3}]";
static const char results[] =
	"{\"benchmarks\":[{\"metadata\":{\"name\":\"a\"},\"runs\":[{\"values\":[1.5]}]}]}";

/* A pipe holds 64 KiB. */
static int pipe_of(const void *bytes, size_t n)
{
	int ends[2];

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(write(ends[1], bytes, n), n);
	close(ends[1]);
	return ends[0];
}

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);

	assert_int_equal(write(fd, bytes, n), n);
	return fd;
}

/* Takes the descriptor. */
static int open_fd(int fd, struct opened *o, struct err *e)
{
	char path[64];
	int status;

	snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
	status = format_open_any(path, o, e);
	close(fd);
	return status;
}

static struct buf packed(const void *bytes, size_t n)
{
	struct buf to = BUF_INIT;
	z_stream z = { .next_in = (Bytef *)(uintptr_t)bytes, .avail_in = (uInt)n };

	assert_int_equal(deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
	z.next_out = buf_reserve(&to, n + 1000);
	z.avail_out = (uInt)n + 1000;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_advance(&to, z.total_out);
	deflateEnd(&z);
	return to;
}

/* As a file, through a pipe, and packed through a pipe. */
static void open_each(const void *bytes, size_t n, void (*look)(struct opened *o))
{
	struct buf gzip = packed(bytes, n);
	int fds[] = { file_of(bytes, n), pipe_of(bytes, n), pipe_of(gzip.data, gzip.n) };

	for (size_t i = 0; i < 3; i++) {
		struct opened o = { .keeps_all = true };
		struct err e = ERR_INIT;

		if (open_fd(fds[i], &o, &e) < 0)
			fail_msg("%s", e.text);
		look(&o);
		opened_done(&o);
	}
	buf_done(&gzip);
}

static void look_at_torch(struct opened *o)
{
	struct reader *r = NULL, *again = NULL;
	struct err e = ERR_INIT;

	assert_non_null(o->ops);
	assert_null(o->reader);
	assert_false(o->has_results);
	assert_int_equal(o->ops->v.n, 1);
	assert_int_equal(o->ops->v_written.n, 1);
	assert_int_equal(o->ops->others.n_spans, 1);
	assert_int_equal(opened_reader(o, &r, &e), 0);
	assert_int_equal(opened_reader(o, &again, &e), 0);
	assert_non_null(r);
	assert_ptr_equal(r, again);
}

static void look_at_stacks(struct opened *o)
{
	assert_null(o->ops);
	assert_non_null(o->reader);
	assert_false(o->has_results);
}

static void look_at_results(struct opened *o)
{
	const struct results *r = NULL;
	struct reader *none = NULL;
	struct err e = ERR_INIT;

	assert_true(o->has_results);
	assert_null(o->ops);
	assert_int_equal(opened_results(o, &r, &e), 0);
	assert_int_equal(r->n, 1);
	assert_string_equal(r->v[0].series.name, "a");
	assert_int_equal(opened_reader(o, &none, &e), -ERR_USAGE);
	assert_null(none);
}

static void a_file_a_pipe_and_gzip_are_the_same(void **state)
{
	struct writer *w;
	struct err e = ERR_INIT;
	struct buf recording = BUF_INIT;
	int fd;

	(void)state;
	open_each(torch, strlen(torch), look_at_torch);
	open_each(spans, strlen(spans), look_at_stacks);
	open_each("main;f 3\n", 9, look_at_stacks);
	open_each(results, strlen(results), look_at_results);
	assert_int_equal(writer_open(&w, NULL, NULL, &e), 0);
	assert_int_equal(writer_close_keep_fd(w, &fd, &e), 0);
	buf_advance(&recording, (size_t)pread(fd, buf_reserve(&recording, 60000), 60000, 0));
	close(fd);
	open_each(recording.data, recording.n, look_at_stacks);
	buf_done(&recording);
}

static void assert_refused(const char *text, const char *why)
{
	struct opened o = { 0 };
	struct err e = ERR_INIT;

	assert_int_equal(open_fd(file_of(text, strlen(text)), &o, &e), -ERR_BAD_FILE);
	if (!strstr(e.text, why))
		fail_msg("%s: %s", text, e.text);
	assert_null(o.reader);
	assert_null(o.ops);
}

static void what_is_of_other_tools_must_be_whole(void **state)
{
	(void)state;
	assert_refused("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"name\":\"a\"},",
		"read as a chrome file: byte 45: the file ends before its events do");
	assert_refused("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"name\":\"a\"}],\"x\":",
		"byte 50: the file ends before it should");
	assert_refused("{\"traceEvents\":[{\"ph\":\"X\" \"ts\":1}]}",
		"byte 26: an event is not valid JSON");
	assert_refused("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1}{\"ph\":\"X\",\"ts\":1}]}",
		"byte 33: one comma belongs before an event");
	assert_refused("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":nan}]}",
		"byte 16: an event is not valid JSON");
	assert_refused("{\"traceEvents\": {}}", "byte 16: traceEvents is not an array");
	assert_refused("{\"traceEvents\":[7]}", "byte 16: an event is not an object");
	assert_refused("{\"traceEvents\":[]}", "it holds no spans");
}

static void what_is_of_torch_is_read_as_far_as_it_goes(void **state)
{
	struct opened o = { 0 };
	struct err e = ERR_INIT;
	struct reader *r;

	(void)state;
	assert_int_equal(open_fd(file_of(torch, strlen(torch) - 30), &o, &e), 0);
	assert_int_equal(o.ops->v.n, 1);
	assert_true(o.ops->is_cut);
	assert_int_equal(opened_reader(&o, &r, &e), 0);
	opened_done(&o);
	assert_refused("{\"schemaVersion\":1,\"deviceProperties\":[],\"traceEvents\":[]}",
		"read as a trace of torch: it holds no events: nothing was profiled");
}

/* A trace may say a lot before its events come; JSON of anybody else is no trace of anybody's. */
static void json_that_nobody_knows_is_looked_at_for_events(void **state)
{
	struct buf text = BUF_INIT;
	struct opened o = { 0 };
	struct err e = ERR_INIT;

	(void)state;
	buf_adds(&text, "{\"distributedInfo\":\"");
	for (size_t i = 0; i < 5000; i++)
		buf_addc(&text, 'x');
	buf_printf(&text, "\",%s", torch + 1);
	assert_int_equal(open_fd(file_of(text.data, text.n), &o, &e), 0);
	assert_int_equal(o.ops->v.n, 1);
	opened_done(&o);
	buf_done(&text);
	assert_refused("{\"a\": 1}", "neither a recording nor");
	assert_refused("[{\"a\": 1}]", "neither a recording nor");
	assert_refused("[1, x", "neither a recording nor");
	assert_refused("", "the file is empty");
	assert_refused("LLRx", "neither a recording nor");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_a_pipe_and_gzip_are_the_same),
		cmocka_unit_test(what_is_of_other_tools_must_be_whole),
		cmocka_unit_test(what_is_of_torch_is_read_as_far_as_it_goes),
		cmocka_unit_test(json_that_nobody_knows_is_looked_at_for_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
