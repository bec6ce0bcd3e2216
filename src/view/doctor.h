/* SPDX-License-Identifier: MIT
 *
 * The report of `leadline doctor`, for people and as JSON. It gets answers and shows them; it asks
 * the system nothing. All text is borrowed, and may be foreign: it is made safe to print here.
 *
 *	verdict
 *	Checks, Interpreters, Collectors: one row each
 *	    mark and word   name   what was found
 *	                           needed for …       (where the answer is not ok)
 *	                         → what to type
 *	legend
 */
#ifndef VIEW_DOCTOR_H
#define VIEW_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

struct buf;

enum doctor_answer { DOCTOR_YES, DOCTOR_PARTLY, DOCTOR_NO };

struct doctor_check {
	const char *id, *title, *needed_for;
	enum doctor_answer answer;
	const char *reason, *remedy; /* remedy "": none */
};

struct doctor_interpreter {
	const char *path;
	const char *version, *implementation; /* "": it did not say */
	bool is_free_threaded, is_supported;
	const char *reason;    /* why not; "" when supported */
	const char *chosen_by; /* NULL, or what makes `run` take it */
	bool has_agent;        /* calls and lines can be traced */
	const char *remedy;    /* when they cannot; "": none */
	const char *torch;     /* version of PyTorch; "": none */
};

struct doctor_collector {
	const char *name, *sees;
	enum doctor_answer answer;
	const char *reason, *remedy;
};

struct doctor {
	bool is_ok;          /* `run` will work */
	const char *verdict; /* one sentence without a full stop */
	const char *remedy;  /* "" when ok */
	const struct doctor_check *checks;
	size_t n_checks;
	const struct doctor_interpreter *interpreters;
	size_t n_interpreters, n_left_out; /* shown; found but not asked */
	const struct doctor_collector *collectors;
	size_t n_collectors;
};

struct doctor_view {
	size_t width;
	bool colour;
	bool utf8;   /* else only ASCII is written */
	bool legend; /* the line that explains */
};

void doctor_print(const struct doctor *d, const struct doctor_view *v, struct buf *out);
/* One pretty object: ok, verdict, checks, interpreters, collectors. */
void doctor_json(const struct doctor *d, struct buf *out);

#endif
