/* SPDX-License-Identifier: MIT
 *
 * What users of other tools type: `leadline timeit …`, `leadline py-spy record …`. Each is answered with the command that does it
 * here, with their own words where these mean the same (habit_answer), else with an example. One row per tool, or per tool and
 * its command, in habits.c; `leadline help TOOL` prints the same. Nothing is run: a script must not take an answer for a result. */
#ifndef CMD_HABITS_H
#define CMD_HABITS_H

#include <stddef.h>

struct buf;

struct habit {
	/* "py-spy pyspy": what it is called, any case; '-' and '_' are the same */
	const char *names;
	const char *word; /* of the tool, after its name: "record"; NULL: any, or none */
	const char *to;   /* what stands here for it: "run --trace" */
	/* Options that mean the same here, each as "-o=" with a value, "-v" without; one that is spelled otherwise as
	 * "-s=>--sort=", one whose value is an operand here as "--logdir=>@", one that says nothing here as "-f=>". NULL: no words can
	 * be taken over. */
	const char *same;
	/* an option that stands before each operand here, which then come last; NULL: none */
	const char *each;
	int operands_most; /* that mean the same; 0: any number */
	/* what stands here where `same` has -p or --pid and it is given; NULL: the same */
	const char *attaches;
	const char *example; /* a line to type, without "leadline " */
	const char *also;    /* a sentence more, or NULL */
};

extern const struct habit habits[];
extern const size_t n_habits;

/* argv[0] is the tool's name; NULL when it is none that is known. */
const struct habit *habit_find(int argc, char **argv);

/* Appends "timeit is 'leadline bench' here:", the command to type, and what else there is to say. */
void habit_answer(const struct habit *h, int argc, char **argv, struct buf *out);

#endif
