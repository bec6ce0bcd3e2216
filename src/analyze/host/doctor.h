/* SPDX-License-Identifier: MIT
 *
 * What `leadline doctor` found: what can be recorded here, with which interpreters, and what to do about the rest. */
#ifndef ANALYZE_HOST_DOCTOR_H
#define ANALYZE_HOST_DOCTOR_H

#include <stdbool.h>
#include <stddef.h>

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
	bool has_agent;        /* calls and lines can be traced: it has loaded the agent */
	const char *no_agent;  /* what it said instead; "": it has loaded it, or there is none */
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

#endif
