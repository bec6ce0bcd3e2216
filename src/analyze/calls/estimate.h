/* SPDX-License-Identifier: MIT
 *
 * What a function did while a budget had switched it off (rec_budget), estimated from the windows that saw it. A window is a
 * sample of time: calls per ns of a window, less what watching cost, times the ns outside of windows in which it was not counted either. Ranges are
 * made of the spread between windows, with the quantile of as few as there were, and 1 to 2.8 times the
 * calibrated cost (1.9 times is likely), which is what cold caches, instrumentation and the budget's own hooks make of it. They are
 * no confidence intervals: how often they hold the truth depends on the program. A function
 * that fewer than three windows saw much of has no upper bound: it comes in spells that are mostly missed. Without two windows (a loop so
 * tight that telling the time in it would cost more than the budget) it may have gone on as it was when it was switched off, and
 * there is no bound but what was counted. */
#ifndef ANALYZE_CALLS_ESTIMATE_H
#define ANALYZE_CALLS_ESTIMATE_H

#include <stdbool.h>

struct rec_budget;

struct estimate {
	bool is_counted; /* calls and resumptions are exact, only times are estimated */
	double calls, resumes, self_s; /* beyond what was seen */
	/* of them; high is unknown where fewer than two windows were, or few saw any */
	double calls_low, calls_high;
	double self_low_s, self_high_s;
};

/* What is known of a call as long as it was watched: its own time, and what watching adds to it, as calibrated; 0: not known. */
struct estimate_call {
	double own_ns, inside_ns;
};
struct estimate estimate_of(const struct rec_budget *r, const struct estimate_call *call);

#endif
