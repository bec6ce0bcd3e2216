/* SPDX-License-Identifier: MIT
 * What programs send, and what they are answered. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/err.h"
#include "collect/torch/kineto.h"

static size_t make(char *to, const char *type, const void *payload, size_t n)
{
	uint64_t size = n;

	memset(to, 0, 40);
	memcpy(to, &size, 8);
	memcpy(to + 8, type, strlen(type));
	memcpy(to + 40, payload, n);
	return 40 + n;
}

static void requests_are_read_and_lengths_are_checked(void **state)
{
	int32_t request[] = { 3, 2, 7, 0, 4711, 1 };
	int32_t context[] = { 0, 4711, 7, 0 };
	struct kineto_message m;
	char data[256];
	size_t n = make(data, "req", request, sizeof request);

	(void)state;
	assert_true(kineto_parse(data, n, &m));
	assert_int_equal(m.kind, KINETO_REQUEST);
	assert_true(m.wants_trace);
	assert_int_equal(m.own_pid, 4711);
	for (size_t cut = 0; cut < n; cut++)
		assert_false(kineto_parse(data, cut, &m));
	request[1] = 1000;
	assert_false(kineto_parse(data, make(data, "req", request, sizeof request), &m));
	request[1] = -1;
	assert_false(kineto_parse(data, make(data, "req", request, sizeof request), &m));
	request[1] = 1;
	request[0] = 1;
	assert_true(kineto_parse(data, make(data, "req", request, sizeof request), &m));
	assert_false(m.wants_trace);
	assert_true(kineto_parse(data, make(data, "ctxt", context, sizeof context), &m));
	assert_int_equal(m.kind, KINETO_CONTEXT);
	assert_true(kineto_parse(data, make(data, "else", NULL, 0), &m));
	assert_int_equal(m.kind, KINETO_OTHER);
	memset(data + 8, 'x', 32);
	assert_false(kineto_parse(data, 40, &m));
}

static void a_wish_is_for_seconds_or_for_steps(void **state)
{
	struct kineto_wish w = { .file = "/tmp/x.pt.trace.json", .start_ms = 12, .length_ms = 34 };
	struct buf text = BUF_INIT;

	(void)state;
	kineto_config(&text, &w);
	assert_string_equal(buf_str(&text),
		"ACTIVITIES_LOG_FILE=/tmp/x.pt.trace.json\nPROFILE_START_TIME=12\n"
		"ACTIVITIES_WARMUP_PERIOD_SECS=0\nACTIVITIES_DURATION_MSECS=34\n"
		"PROFILE_REPORT_INPUT_SHAPES=true\nPROFILE_PROFILE_MEMORY=true\n");
	buf_clear(&text);
	w.n_steps = 3;
	kineto_config(&text, &w);
	assert_non_null(strstr(buf_str(&text), "ACTIVITIES_ITERATIONS=3\n"));
	assert_null(strstr(buf_str(&text), "START_TIME"));
	buf_done(&text);
}

static int client(const char *folder)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX }, to = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);

	snprintf(a.sun_path, sizeof a.sun_path, "%s/client", folder);
	snprintf(to.sun_path, sizeof to.sun_path, "%s/dynolog", folder);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof a), 0);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof to), 0);
	return fd;
}

static void a_program_is_known_by_the_kernels_word_and_gets_its_answer(void **state)
{
	int32_t request[] = { 2, 1, 0, 0, 5 };
	char folder[] = "/tmp/leadline-XXXXXX", data[256], path[64];
	struct buf config = BUF_INIT;
	struct err e = ERR_INIT;
	struct kineto_peer peer;
	int daemon, second, fd;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_int_equal(kineto_listen(folder, &daemon, &e), 0);
	assert_true(kineto_listen(folder, &second, &e) < 0);
	assert_int_equal(e.sys, EADDRINUSE);
	fd = client(folder);
	assert_false(kineto_receive(daemon, &peer));
	assert_true(send(fd, data, make(data, "req", request, sizeof request), 0) > 0);
	assert_true(kineto_receive(daemon, &peer));
	assert_int_equal(peer.pid, getpid());
	assert_int_equal(peer.message.own_pid, 5);
	buf_adds(&config, "A=1\n");
	assert_true(kineto_answer(daemon, &peer, &config));
	assert_int_equal(recv(fd, data, sizeof data, 0), 44);
	assert_memory_equal(data + 8, "req", 4);
	assert_memory_equal(data + 40, "A=1\n", 4);
	assert_true(kineto_answer(daemon, &peer, NULL));
	assert_int_equal(recv(fd, data, sizeof data, 0), 40);
	assert_true(send(fd, "nonsense", 8, 0) > 0);
	assert_true(kineto_receive(daemon, &peer));
	assert_int_equal(peer.message.kind, KINETO_OTHER);
	close(daemon);
	assert_int_equal(kineto_listen(folder, &daemon, &e), 0); /* the old file is no obstacle */
	close(daemon);
	close(fd);
	snprintf(path, sizeof path, "%s/dynolog", folder);
	unlink(path);
	snprintf(path, sizeof path, "%s/client", folder);
	unlink(path);
	rmdir(folder);
	buf_done(&config);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_are_read_and_lengths_are_checked),
		cmocka_unit_test(a_wish_is_for_seconds_or_for_steps),
		cmocka_unit_test(a_program_is_known_by_the_kernels_word_and_gets_its_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
