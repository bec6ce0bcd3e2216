/* SPDX-License-Identifier: MIT
 *
 * The live view: its settings, what keys do to them, and the screen drawn into a grid. Knows neither
 * terminal nor clock: analyze/samples/live in, cells out.
 *
 *	struct top t;
 *	top_init(&t);
 *	what = top_key(&t, key, v);        what is left to do for the caller
 *	top_draw(&t, v, &facts, &grid);
 *
 * From 60 × 12 on all of it fits; smaller screens show what they can. */
#ifndef VIEW_SAMPLES_TOP_H
#define VIEW_SAMPLES_TOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/samples/live.h"

struct grid;

enum top_sort { TOP_SELF_NOW, TOP_TOTAL_NOW, TOP_SELF, TOP_TOTAL, TOP_SORTS };
enum top_pane { TOP_FUNCTIONS, TOP_LINES, TOP_THREADS, TOP_OUTPUT, TOP_HELP };
enum top_question { TOP_ASKS_NOTHING, TOP_ASKS_END, TOP_ASKS_SAVE };

enum top_request {
	TOP_DRAW,  /* the screen may have changed */
	TOP_BUILD, /* another selection: live_build before the next drawing */
	TOP_RESET, /* live_reset, then as TOP_BUILD */
	TOP_QUIT,  /* wants_save and wants_end say how */
};

struct top {
	struct live_select select;
	enum top_sort sort;
	enum top_pane pane;
	enum top_pane table; /* TOP_FUNCTIONS or TOP_LINES: where the other panes go back to */
	enum top_question question;
	bool is_paused, is_typing;
	bool can_end;     /* set by the caller: the program is ours and runs */
	bool can_save;    /* set by the caller: the recording has no name yet */
	bool wants_save;  /* the recording is to be kept */
	bool wants_end;   /* the program is to be ended */
	char filter[64];  /* part of a name or file, any case; "" shows all */
	size_t first;     /* row on top of the table */
	size_t cursor;    /* thread that Enter chooses */
	size_t page_rows; /* of the table, as last drawn */
};

struct top_facts {             /* what the recording does not say */
	const char *save_name; /* of the recording, when it is saved */
	const char *note;      /* NULL, or one line for the reader: what went wrong */
	const char *output;    /* end of what the program wrote; NULL: it is not ours */
	double rate_asked_hz;  /* 0: as often as possible */
	bool is_over;          /* nothing is recorded any more */
	bool is_last;          /* the screen that stays: no keys */
};

void top_init(struct top *t);
/* `v` is what is on the screen. */
enum top_request top_key(struct top *t, uint32_t key, const struct live_view *v);
/* Draws all of the grid, in its size. `t` keeps what was on the screen (page_rows). */
void top_draw(struct top *t, const struct live_view *v, const struct top_facts *f, struct grid *g);

/* The rows of the table: those that pass the filter, in order. Returned array is the caller's. */
const struct live_row **top_rows(const struct top *t, const struct live_view *v, size_t *ret_n);
/* The threads of the pane, busiest first. The same. */
const struct live_thread **top_threads(const struct live_view *v, size_t *ret_n);

#endif
