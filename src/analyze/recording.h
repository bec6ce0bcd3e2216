/* SPDX-License-Identifier: MIT
 *
 * Recording: the one way from an open file to any result. A file is opened once (formats/format.h: format_load), what of it is
 * meant is chosen once, and every result is made when it is first asked for and kept.
 *
 *	struct recording *r;
 *	struct selection *s;
 *
 *	format_load(&r, "x.lead", &e);
 *	recording_select(r, &(struct choice){ .state = STACKS_CPU, .threads = "#1" }, &s, &e);
 *	selection_profile(s) …
 *	recording_free(r);
 *
 * Commands, exports and the page ask here, so what one of them shows for a choice is what the others show for it. */
#ifndef ANALYZE_RECORDING_H
#define ANALYZE_RECORDING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/fidelity.h"
#include "analyze/host/bound.h"
#include "analyze/origin.h"
#include "analyze/selection.h"
#include "base/arena.h"
#include "base/err.h"
#include "store/damage.h"

struct books;
struct files;
struct memory;
struct reader;
struct regions;
struct thread_states;
struct tables;
struct source_texts;
struct torch;
struct training;
struct usage;

enum { RECORDING_SELECTIONS = 6 };

struct recording {
	struct arena arena;
	const char *path, *name;
	struct torch *torch; /* its operators of PyTorch, once asked for (recording_torch) */
	bool is_trace;       /* whose stacks were not asked for so far */
	struct err problem;  /* why nothing of a run could be read */
	/* NULL where nothing but operators can be shown of it (a trace that is cut off, or until recording_run; a recording damaged
	 * where it tells of the run), and so is what follows; of traces the reader and the tables, too: */
	const struct usage *usage;
	struct reader *reader;
	struct tables *tables;
	struct frames *frames; /* of all selections: function numbers stay */
	struct bound bound;
	struct fidelity fidelity;
	struct origin origin;
	const struct regions *regions;
	/* For whoever shows it; see the functions below: */
	const struct training *training;
	struct source_texts *texts;
	struct files *files;
	const struct thread_states *strips;
	const struct books *books;
	bool has_books; /* they were looked for */
	struct memory *memory;
	bool has_memory; /* it was looked for */
	struct selection *selections[RECORDING_SELECTIONS];
	size_t n_places; /* of all its stacks, once known: how large it is */
	uint64_t n_asked;
	char damage[DAMAGE_TEXT];
};

/* Takes the reader. What cannot be had of it is told when it is asked for. */
struct recording *recording_of_reader(struct reader *reader, const char *path);
/* Of a trace: takes what was read of it (torch_of_events). Its spans become stacks when those are asked for. */
struct recording *recording_of_trace(struct torch *torch, const char *path);
void recording_free(struct recording *r); /* NULL is fine */

/* Samples, weights or counted calls: not operators alone. */
bool recording_has_stacks(const struct recording *r);
/* Makes sure that what it tells of a run is there, of a trace its stacks. ERR_BAD_FILE: it is not to be had; ERR_UNSUPPORTED: but
 * operators are. */
int recording_run(struct recording *r, struct err *e);
/* What is missing of the file, in one line, as far as it is known by now; "": it is whole. */
const char *recording_damage(struct recording *r);
/* Of its records alone, without what its operators tell of theirs. */
const char *recording_damage_of_records(struct recording *r);
bool recording_is_partial(struct recording *r);
/* Why something is not in it: `usual`, unless it may have been in what is lost. "" stays "". */
const char *recording_why(struct recording *r, const char *usual);
/* Made when first asked for; none is NULL but for the training of a program that told no steps. */
struct source_texts *recording_texts(struct recording *r);
const struct thread_states *recording_strips(struct recording *r);
const struct training *recording_training(struct recording *r);
struct files *recording_files(struct recording *r);
/* NULL: unknown, as of recordings that were not sampled. */
const struct books *recording_books(struct recording *r);
/* Its sampled allocations; NULL: it holds none. */
const struct memory *recording_memory(struct recording *r);
/* Its operators of PyTorch; NULL: it holds none. */
struct torch *recording_torch(struct recording *r);

#endif
