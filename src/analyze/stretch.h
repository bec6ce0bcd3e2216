/* SPDX-License-Identifier: MIT
 *
 * Stretches of time that a user means, such as those of a training's phase: in the order of time, none in another. */
#ifndef ANALYZE_STRETCH_H
#define ANALYZE_STRETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct stretch {
	int64_t start_ns, end_ns;
};

/* Whether a moment is in one of them. */
bool stretches_hold(const struct stretch *v, size_t n, int64_t t_ns);

#endif
