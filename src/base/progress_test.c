/* SPDX-License-Identifier: MIT
 * The line as text, and what reaches a (pseudo) terminal when. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/buf.h"
#include "base/progress.h"
#include "base/text.h"

#define MS (uint64_t)1000000

/* The line after `elapsed_ns`. */
static const char *line(struct buf *b, const char *label, uint64_t done, uint64_t total,
	size_t width, uint64_t elapsed_ns)
{
	struct progress p = { .label = label, .done = done, .total = total, .started_ns = 7 };

	buf_clear(b);
	progress_format(&p, b, width, elapsed_ns + 7);
	return buf_str(b);
}

static void bar_percent_and_time_left(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		line(&b, "reading", 0, 100, 50, 300 * MS), "reading ▕                ▏  0 %");
	assert_string_equal(line(&b, "reading", 25, 100, 50, 1000 * MS),
		"reading ▕████            ▏ 25 %  3.00 s left");
	assert_string_equal(line(&b, "reading", 50, 100, 49, 1000 * MS),
		"reading ▕███████▌       ▏ 50 %  1.00 s left");
	assert_string_equal(line(&b, "reading", 99, 100, 50, 99000 * MS),
		"reading ▕███████████████▊▏ 99 %  1.00 s left");
	assert_string_equal(
		line(&b, "reading", 100, 100, 50, 1000 * MS), "reading ▕████████████████▏ 100 %");
	assert_string_equal(
		line(&b, "reading", 700, 100, 50, 1000 * MS), "reading ▕████████████████▏ 100 %");
	assert_string_equal(line(&b, "r", 1, 3, 200, 1000 * MS),
		"r ▕█████████████▎                          ▏ 33 %  2.00 s left");
	assert_string_equal(line(&b, "r", UINT64_MAX / 2, UINT64_MAX, 50, 600000 * MS),
		"r ▕███████████           ▏ 50 %  10 min 00 s left");
	buf_done(&b);
}

static void every_eighth_has_its_block(void **state)
{
	static const char *const bars[] = { "     ", "▏    ", "▎    ", "▍    ", "▌    ", "▋    ",
		"▊    ", "▉    ", "█    " };
	struct buf b = BUF_INIT;

	(void)state;
	for (uint64_t i = 1; i <= 8; i++) {
		line(&b, "x", i * 10, 8 * 5 * 10, 33, 0);
		assert_memory_equal(buf_str(&b) + strlen("x ▕"), bars[i], strlen(bars[i]));
	}
	buf_done(&b);
}

static void unknown_totals_spin(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		line(&b, "reading", 12345, 0, 80, 200 * MS), "⠹ reading  12.3 k  200 ms");
	assert_string_equal(
		line(&b, "reading", 12345, 0, 80, 1300 * MS), "⠸ reading  12.3 k  1.30 s");
	assert_string_equal(line(&b, "reading", 12345, 0, 10, 1300 * MS), "⠸ readin…");
	buf_done(&b);
}

static void narrow_terminals_never_wrap(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(
		line(&b, "reading", 25, 100, 30, 1000 * MS), "reading 25 %  3.00 s left");
	assert_string_equal(line(&b, "reading", 25, 100, 22, 1000 * MS), "re… 25 %  3.00 s left");
	assert_string_equal(line(&b, "reading", 25, 100, 12, 1000 * MS), " 25 %  3.0…");
	for (size_t width = 0; width < 100; width++) {
		size_t room = width ? width - 1 : 0;

		assert_true(text_width(line(&b, "漢字 e\xcc\x81", 1, 3, width, 1000 * MS)) <= room);
		assert_true(text_width(line(&b, "漢字 e\xcc\x81", 1, 0, width, 1000 * MS)) <= room);
	}
	buf_done(&b);
}

static void labels_are_made_printable(void **state)
{
	struct buf b = BUF_INIT;

	(void)state;
	assert_string_equal(line(&b, "a\nb\x1b", 1, 0, 80, 0), "⠋ a\\nb\\x1b  1  0 s");
	buf_done(&b);
}

struct terminal {
	int master, slave;
};

static void open_terminal(struct terminal *t, unsigned short width)
{
	struct winsize size = { .ws_col = width, .ws_row = 24 };
	char name[64];

	t->master = posix_openpt(O_RDWR | O_NOCTTY | O_NONBLOCK);
	assert_true(t->master >= 0);
	assert_int_equal(grantpt(t->master), 0);
	assert_int_equal(unlockpt(t->master), 0);
	assert_int_equal(ptsname_r(t->master, name, sizeof name), 0);
	t->slave = open(name, O_RDWR | O_NOCTTY);
	assert_true(t->slave >= 0);
	assert_int_equal(ioctl(t->slave, TIOCSWINSZ, &size), 0);
}

/* What was written since the last call. */
static const char *shown(const struct terminal *t, struct buf *b)
{
	ssize_t got;

	buf_clear(b);
	tcdrain(t->slave);
	while ((got = read(t->master, buf_reserve(b, 4096), 4096)) > 0)
		buf_advance(b, (size_t)got);
	buf_advance(b, 0); /* the room asked for last has no NUL yet */
	return buf_str(b);
}

static void redraws_are_few_and_the_line_is_erased(void **state)
{
	const struct winsize narrow = { .ws_col = 12, .ws_row = 24 };
	struct terminal t;
	struct progress p;
	struct buf b = BUF_INIT;
	uint64_t start;

	(void)state;
	open_terminal(&t, 40);
	progress_init(&p, t.slave, true, "work", 100);
	start = p.started_ns;
	progress_set_at(&p, 10, start + 199 * MS);
	assert_string_equal(shown(&t, &b), "");
	progress_set_at(&p, 50, start + 200 * MS);
	assert_string_equal(shown(&t, &b), "\rwork ▕████▌    ▏ 50 %  200 ms left\x1b[K");
	progress_set_at(&p, 60, start + 299 * MS);
	assert_string_equal(shown(&t, &b), "");
	ioctl(t.slave, TIOCSWINSZ, &narrow);
	progress_set_at(&p, 75, start + 300 * MS);
	assert_string_equal(shown(&t, &b), "\r 75 %  100…\x1b[K");
	progress_done(&p);
	assert_string_equal(shown(&t, &b), "\r\x1b[K");
	progress_done(&p);
	assert_string_equal(shown(&t, &b), "");
	close(t.slave);
	close(t.master);
	buf_done(&b);
}

static void nothing_is_written_when_not_needed(void **state)
{
	struct terminal t;
	struct progress p;
	struct buf b = BUF_INIT;

	(void)state;
	open_terminal(&t, 80);
	progress_init(&p, t.slave, false, "work", 100);
	progress_set(&p, 10);
	progress_set_at(&p, 50, UINT64_MAX);
	progress_done(&p);
	progress_init(&p, t.slave, true, "work", 100);
	progress_set(&p, 100); /* over at once */
	progress_done(&p);
	assert_string_equal(shown(&t, &b), "");
	close(t.slave);
	close(t.master);
	buf_done(&b);
}

static void the_clock_runs_and_failing_writes_end_it(void **state)
{
	struct terminal t;
	struct progress p;
	struct buf b = BUF_INIT;

	(void)state;
	open_terminal(&t, 80);
	progress_init(&p, t.slave, true, "work", 100);
	usleep(210000);
	for (int i = 0; i < 1000; i++)
		progress_set(&p, 30);
	assert_memory_equal(shown(&t, &b), "\rwork ▕", strlen("\rwork ▕"));
	assert_ptr_equal(strrchr(buf_str(&b), '\r'), buf_str(&b)); /* once */
	close(t.slave);
	close(t.master);
	p.fd = -1;
	usleep(110000);
	progress_set(&p, 40);
	assert_false(p.enabled);
	progress_done(&p);
	buf_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bar_percent_and_time_left),
		cmocka_unit_test(every_eighth_has_its_block),
		cmocka_unit_test(unknown_totals_spin),
		cmocka_unit_test(narrow_terminals_never_wrap),
		cmocka_unit_test(labels_are_made_printable),
		cmocka_unit_test(redraws_are_few_and_the_line_is_erased),
		cmocka_unit_test(nothing_is_written_when_not_needed),
		cmocka_unit_test(the_clock_runs_and_failing_writes_end_it),
	};

	return cmocka_run_group_tests_name("progress", tests, NULL, NULL);
}
