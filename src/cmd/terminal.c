/* SPDX-License-Identifier: MIT
 * See terminal.h. */
#include "cmd/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buf.h"
#include "base/tty.h"
#include "base/err.h"
#include "base/banned.h"

enum { FIRST_FD = 10 }; /* ours: away from those programs are used to */

/* ECMA-48 and what xterm made common: the other screen, no cursor; and back. Those that do not know the
 * other screen ignore it. */
static const char ENTER[] = "\033[?1049h\033[?25l\033[0m\033[2J\033[H";
static const char LEAVE[] = "\033[0m\033[2J\033[H\033[?1049l\033[?25h";

static struct terminal *active; /* for the handler of crashes */

static void on_crash(int signal)
{
	if (active) {
		tcsetattr(active->in, TCSANOW, &active->before);
		if (write(active->out, LEAVE, sizeof LEAVE - 1) < 0)
			active = NULL;
	}
	raise(signal); /* once more, with the default action */
}

static bool can_place_cursor(const char *term)
{
	static const char *const cannot[] = { "", "dumb", "unknown", "emacs", "network", "dialup" };

	for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++)
		if (strcmp(term, cannot[i]) == 0)
			return false;
	return strncmp(term, "dumb-", 5) != 0;
}

int terminal_open(struct terminal *t, struct err *e)
{
	const char *term = getenv("TERM"), *no_color = getenv("NO_COLOR");
	int in;

	*t = (struct terminal){ .in = -1, .out = -1, .colour = !no_color || !*no_color };
	if (!isatty(STDOUT_FILENO))
		return err_set(e, ERR_USAGE,
			"needs a terminal, and standard output is not one; use 'leadline attach' or 'leadline run'");
	if (!can_place_cursor(term ? term : ""))
		return err_set(e, ERR_USAGE,
			"needs a terminal that can place a cursor (TERM is '%s'); use 'leadline attach' or 'leadline run'",
			term ? term : "");
	in = isatty(STDIN_FILENO) ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, FIRST_FD)
				  : open("/dev/tty", O_RDWR | O_CLOEXEC);
	if (in < 0 || tcgetattr(in, &t->before) < 0) {
		if (in >= 0)
			close(in);
		return err_set(e, ERR_USAGE,
			"there is no keyboard: standard input is not a terminal, and there is no other");
	}
	t->in = in;
	t->out = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, FIRST_FD);
	if (t->out < 0) {
		close(in);
		return err_errno(e, ERR_SYSTEM, "cannot use the terminal");
	}
	return 0;
}

void terminal_close(struct terminal *t)
{
	terminal_leave(t);
	close(t->in);
	close(t->out);
}

static void write_all(struct terminal *t, const char *p, size_t n)
{
	while (n > 0 && !t->has_hung_up) {
		ssize_t put = write(t->out, p, n);

		if (put < 0 && errno == EAGAIN)
			poll(&(struct pollfd){ .fd = t->out, .events = POLLOUT }, 1, 1000);
		else if (put < 0 && errno != EINTR)
			t->has_hung_up = true;
		if (put > 0) {
			p += put;
			n -= (size_t)put;
		}
	}
}

void terminal_enter(struct terminal *t)
{
	static const int crashes[] = { SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT };
	struct termios raw = t->before;

	cfmakeraw(&raw);
	raw.c_cc[VMIN] = 0;
	raw.c_cc[VTIME] = 0;
	active = t;
	for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
		sigaction(crashes[i],
			&(struct sigaction){
				.sa_handler = on_crash, .sa_flags = (int)SA_RESETHAND },
			NULL);
	tcsetattr(t->in, TCSAFLUSH, &raw);
	t->is_entered = true;
	write_all(t, ENTER, sizeof ENTER - 1);
}

void terminal_leave(struct terminal *t)
{
	if (!t->is_entered)
		return;
	write_all(t, LEAVE, sizeof LEAVE - 1);
	tcsetattr(t->in, TCSADRAIN, &t->before);
	t->is_entered = false;
	active = NULL;
}

void terminal_size(const struct terminal *t, int *ret_rows, int *ret_columns)
{
	struct winsize w;
	bool is_known = ioctl(t->out, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 && w.ws_col > 0;

	*ret_rows = is_known ? w.ws_row : 24;
	*ret_columns = is_known ? w.ws_col : 80;
}

void terminal_write(struct terminal *t, const struct buf *bytes)
{
	struct buf ascii = BUF_INIT;

	bytes = ascii_where_needed(bytes, &ascii, ascii_add_cells);
	write_all(t, bytes->data, bytes->n);
	buf_done(&ascii);
}

size_t terminal_read(struct terminal *t, char *to, size_t size)
{
	struct pollfd fd = { .fd = t->in, .events = POLLIN };
	ssize_t got;

	if (poll(&fd, 1, 0) <= 0)
		return 0;
	got = read(t->in, to, size);
	if ((got < 0 && errno != EINTR && errno != EAGAIN) || fd.revents & (POLLHUP | POLLNVAL))
		t->has_hung_up = true;
	return got > 0 ? (size_t)got : 0;
}
