/* SPDX-License-Identifier: MIT
 *
 * What rules say of one recording or trace, whichever subject they look at: findings, and what following all of them saves. Each
 * subject (torch/) has its rules in a folder of its own and makes one of these; views, JSON and the page know nothing else. */
#ifndef ADVISE_ADVICE_H
#define ADVISE_ADVICE_H

#include <stddef.h>

struct finding;

struct advice {
	const struct finding *v; /* findings_sort */
	size_t n;
	/* What all of them save at most, in time: they overlap, so it is less than their sum; NAN where none can be told. */
	double together_s;
};

#endif
