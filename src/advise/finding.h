/* SPDX-License-Identifier: MIT
 *
 * Something a measurement says should be changed, and all a reader needs to judge it: what it is, where, by which figures, what to
 * do, how much that may save, how sure it is, and how to check. Whatever looks for such things (rules over a trace, over memory, over
 * native or plain Python code) fills this; views and JSON know nothing else of them.
 *
 * A finding is honest: what the data does not tell is NULL, 0 or NAN, never made up. */
#ifndef ADVISE_FINDING_H
#define ADVISE_FINDING_H

#include <stddef.h>
#include <stdint.h>

#include "base/units.h"

/* By which a reader weighs a finding. A rule claims the highest level that its figures carry, and data too thin for that
 * (whoever fills the finding says when) takes it down to heuristic. */
enum finding_confidence {
	/* What the saving adds up was measured in this run, and the change does away with it. */
	FINDING_MEASURED,
	/* It was measured, but the change takes away only a part, and how much a second run must tell. */
	FINDING_BOUND,
	/* Judged by a name, a count or an estimate instead of a measured time or size; or by too little data. */
	FINDING_HEURISTIC,
	FINDING_N_CONFIDENCES
};

extern const char *const finding_confidence_names[FINDING_N_CONFIDENCES]; /* "measured" */
/* The level in a sentence, without the full stop. */
extern const char *const finding_confidence_meanings[FINDING_N_CONFIDENCES];

struct finding_saving {
	double value; /* at most; NAN: cannot be told */
	double estimate; /* most likely, by what such changes brought (docs/decisions/0056); NAN: not known */
	enum unit unit; /* of value, estimate and whole */
	const char *of; /* what it is a part of, "the steps" */
	double whole;   /* all there is of that; NAN: not known */
	/* why value cannot be told, as in "what it saves is …", without the full stop; NULL: it can, or nobody says */
	const char *unknown;
};

/* Commands of leadline. FILE stands for the file that the finding is of, AFTER for one recorded once more with the change. */
struct finding_proof {
	const char *shows;  /* what the finding is about, in FILE */
	const char *proves; /* what the change brought */
};

struct finding {
	const char *rule;  /* its page: `leadline help RULE`, docs/advice/RULE.md */
	const char *title; /* a few words: what a reader scans */
	/* the place with at least half of the finding's time (or of its times, where it has no time); NULL: there is none, or it is not known */
	const char *file;
	uint32_t line;        /* in file; 0: not known */
	const char *evidence; /* a sentence with figures, without the full stop */
	const char *change;   /* what to do, likewise */
	struct finding_saving saving;
	enum finding_confidence confidence;
	struct finding_proof proof;
};

/* Time before other units, the largest saving first, those without one last; equal ones stay in their order. */
void findings_sort(struct finding *v, size_t n);

#endif
