/* SPDX-License-Identifier: MIT
 * See top_screen.h. */
#include "cmd/top_screen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "analyze/samples/live.h"
#include "base/err.h"
#include "base/xalloc.h"
#include "cmd/terminal.h"
#include "store/reader.h"
#include "store/tables.h"
#include "view/kit/grid.h"
#include "view/kit/keys.h"
#include "view/samples/top.h"
#include "base/banned.h"

enum {
	REFRESH_MS = 500,
	SCREEN_NICE = 10,
	FIRST_REFRESH_MS = 200, /* in the first seconds, until there is something to see */
	FIRST_MS = 3000,
	ESCAPE_MS = 50,      /* how long the rest of a key's sequence is waited for */
	ENDING_MS = 3000,    /* how long a program may take to end when it is asked to */
	LAST_ROWS = 3,       /* less than the screen's on the normal one: room for what follows */
	OUTPUT_TAIL = 32768, /* of what it wrote, for the screen */
};

struct top_screen {
	struct top_screen_options o;
	pthread_t thread;
	int wake; /* eventfd */
	atomic_int told;
	/* the thread's own from here on */
	struct reader *reader;
	struct tables *tables;
	struct live *live;
	const struct live_view *view;
	struct top top;
	struct grid shown, next;
	bool is_over, is_done, is_dirty;
	uint64_t started_ms, refresh_ms, ending_ms; /* ending: when patience ends, 0: not asked */
	char keys[64];                              /* bytes that are no whole key yet */
	size_t n_keys;
	struct buf output;
	char note[200];
};

static uint64_t clock_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

static void raise_fd(int fd)
{
	uint64_t one = 1;

	while (write(fd, &one, sizeof one) < 0 && errno == EINTR)
		;
}

/* ---- what is shown --------------------------------------------------------------------------- */

/* A paused view stays as it is; what was recorded meanwhile is taken in afterwards. */
static void refresh(struct top_screen *s, uint64_t now)
{
	struct err e = ERR_INIT;
	bool is_first = now - s->started_ms < FIRST_MS;

	s->refresh_ms = now + (is_first ? FIRST_REFRESH_MS : REFRESH_MS);
	if (s->top.is_paused)
		return;
	if (live_refresh(s->live, &e) < 0)
		snprintf(s->note, sizeof s->note, "The recording cannot be read: %.160s", e.text);
	s->view = live_build(s->live, &s->top.select);
	s->is_dirty = true;
}

static void read_output(struct top_screen *s)
{
	off_t size = lseek(s->o.output, 0, SEEK_END);
	ssize_t got;

	buf_clear(&s->output);
	if (size <= 0)
		return;
	got = pread(s->o.output, buf_reserve(&s->output, OUTPUT_TAIL), OUTPUT_TAIL,
		size > OUTPUT_TAIL ? size - OUTPUT_TAIL : 0);
	if (got > 0)
		buf_advance(&s->output, (size_t)got);
}

static void draw(struct top_screen *s)
{
	struct top_facts f = { .save_name = s->o.save_name,
		.note = *s->note ? s->note : NULL,
		.rate_asked_hz = s->o.rate_hz,
		.is_over = s->is_over,
		.is_last = s->is_done };
	struct buf bytes = BUF_INIT;
	struct grid before;
	int rows, columns;

	if (s->o.output >= 0) {
		if (s->top.pane == TOP_OUTPUT)
			read_output(s);
		f.output = buf_str(&s->output);
	}
	terminal_size(s->o.terminal, &rows, &columns);
	if (s->is_done && rows > LAST_ROWS + 8)
		rows -= LAST_ROWS;
	grid_resize(&s->next, rows, columns);
	top_draw(&s->top, s->view, &f, &s->next);
	grid_diff(&s->shown, &s->next, s->o.terminal->colour, &bytes);
	terminal_write(s->o.terminal, &bytes);
	buf_done(&bytes);
	before = s->shown;
	s->shown = s->next;
	s->next = before;
	s->is_dirty = false;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* A program that is to end is waited for: its end belongs to the recording. */
static void quit(struct top_screen *s)
{
	if (!s->top.wants_end || s->is_over) {
		s->is_done = true;
		return;
	}
	kill((pid_t)s->view->pid, SIGTERM);
	s->ending_ms = clock_ms() + ENDING_MS;
	snprintf(s->note, sizeof s->note, "Waiting for the program to end…");
	s->top.question = TOP_ASKS_NOTHING;
}

static void take_key(struct top_screen *s, uint32_t key)
{
	s->is_dirty = true;
	s->note[0] = '\0';
	s->top.can_end = s->o.output >= 0 && !s->is_over && s->view->pid > 0;
	s->top.can_save = !s->o.is_named;
	if (key == 12) /* Ctrl-L */
		grid_done(&s->shown);
	switch (top_key(&s->top, key, s->view)) {
	case TOP_DRAW:
		break;
	case TOP_RESET:
		live_reset(s->live);
		s->view = live_build(s->live, &s->top.select);
		break;
	case TOP_BUILD:
		s->view = live_build(s->live, &s->top.select);
		break;
	case TOP_QUIT:
		quit(s);
		break;
	}
	if (!s->top.is_paused && (key == 'p' || key == ' '))
		s->refresh_ms = 0;
}

static void take_keys(struct top_screen *s, bool is_all)
{
	size_t at = 0;

	s->n_keys += terminal_read(s->o.terminal, s->keys + s->n_keys, sizeof s->keys - s->n_keys);
	while (at < s->n_keys && !s->is_done) {
		uint32_t key;
		size_t used = keys_decode(
			s->keys + at, s->n_keys - at, is_all || s->n_keys == sizeof s->keys, &key);

		if (used == 0)
			break;
		at += used;
		take_key(s, key);
	}
	memmove(s->keys, s->keys + at, s->n_keys - at);
	s->n_keys -= at;
}

/* ---- the thread ------------------------------------------------------------------------------ */

static void take_news(struct top_screen *s)
{
	uint64_t unused;
	int told;

	while (read(s->wake, &unused, sizeof unused) > 0)
		;
	told = atomic_exchange(&s->told, 0);
	s->is_dirty |= (told & TOP_TELL_SIZE) != 0;
	if (told & TOP_TELL_OVER) {
		s->is_over = true;
		s->note[0] = '\0';
		if (s->ending_ms)
			s->is_done = true;
		refresh(s, clock_ms());
	}
	if (told & TOP_TELL_LEAVE || s->o.terminal->has_hung_up)
		s->is_done = true;
}

static void wait_for_news(struct top_screen *s)
{
	struct pollfd fds[] = { { .fd = s->o.terminal->in, .events = POLLIN },
		{ .fd = s->wake, .events = POLLIN } };
	uint64_t now = clock_ms(), next = s->is_over ? now + 60000 : s->refresh_ms;

	if (s->n_keys)
		next = now + ESCAPE_MS;
	poll(fds, 2, next > now ? (int)(next - now) : 0);
	if (fds[0].revents || s->n_keys)
		take_keys(s, fds[0].revents == 0);
}

static void *screen_main(void *ctx)
{
	struct top_screen *s = ctx;

	setpriority(PRIO_PROCESS, 0, SCREEN_NICE); /* of this thread alone: looks come first */
	terminal_enter(s->o.terminal);
	s->started_ms = clock_ms();
	while (!s->is_done) {
		take_news(s);
		if (clock_ms() >= s->refresh_ms && !s->is_over)
			refresh(s, clock_ms());
		if (s->ending_ms && clock_ms() > s->ending_ms)
			s->is_done = true;
		if (s->is_dirty)
			draw(s);
		if (!s->is_done)
			wait_for_news(s);
	}
	s->top.question = TOP_ASKS_NOTHING;
	s->top.is_typing = false;
	s->note[0] = '\0';
	draw(s);
	terminal_leave(s->o.terminal);
	raise_fd(s->o.stop);
	return NULL;
}

/* ---- start and end --------------------------------------------------------------------------- */

static int start_thread(struct top_screen *s, struct err *e)
{
	sigset_t all, before;
	int failed;

	/* Signals are the recorder's; those of crashes are nobody's to block. */
	sigfillset(&all);
	sigdelset(&all, SIGSEGV);
	sigdelset(&all, SIGBUS);
	sigdelset(&all, SIGILL);
	sigdelset(&all, SIGFPE);
	sigdelset(&all, SIGABRT);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(&s->thread, NULL, screen_main, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	errno = failed;
	return failed ? err_errno(e, ERR_SYSTEM, "cannot start the screen") : 0;
}

static void screen_free(struct top_screen *s)
{
	live_free(s->live);
	tables_free(s->tables);
	reader_close(s->reader);
	grid_done(&s->shown);
	grid_done(&s->next);
	buf_done(&s->output);
	close(s->wake);
	free(s);
}

int top_screen_start(struct top_screen **ret, const struct top_screen_options *o, struct err *e)
{
	struct top_screen *s = xcalloc(1, sizeof *s);

	s->o = *o;
	top_init(&s->top);
	if (o->gil)
		s->top.select.state = STACKS_GIL;
	s->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (reader_open_own(
		    &s->reader, fcntl(o->recording, F_DUPFD_CLOEXEC, 0), "the recording", e) < 0 ||
		tables_load(&s->tables, s->reader, e) < 0) {
		screen_free(s);
		return -(int)e->code;
	}
	s->live = live_new(s->tables);
	s->view = live_build(s->live, &s->top.select);
	if (start_thread(s, e) < 0) {
		screen_free(s);
		return -(int)e->code;
	}
	*ret = s;
	return 0;
}

void top_screen_tell(struct top_screen *s, enum top_tell what)
{
	atomic_fetch_or(&s->told, (int)what);
	raise_fd(s->wake);
}

void top_screen_finish(struct top_screen *s, struct top_screen_result *ret)
{
	pthread_join(s->thread, NULL);
	*ret = (struct top_screen_result){ .wants_save = s->top.wants_save };
	grid_emit(&s->shown, true, s->o.terminal->colour, &ret->last);
	screen_free(s);
}
