/* SPDX-License-Identifier: MIT
 *
 * A rule over PyTorch traces: one row, which stands in a rules_*.c below the check that it names, and one page, docs/advice/NAME.md,
 * whose heading is the title of its findings.
 *
 * A check gets its threshold, and a finding filled with what its row says. It tells whether it speaks; then it has set the
 * evidence and, where it can be told, the saving. Each event that it counts it gives to op_add_line, which finds out where most
 * of the time was asked for. It lowers the confidence where the trace tells less than the row claims. */
#ifndef ADVISE_TORCH_RULE_H
#define ADVISE_TORCH_RULE_H

#include <stdbool.h>

#include "advise/finding.h"
#include "advise/torch/facts.h"

/* Which time a rule saves: together no more of it than there is. */
enum op_saves {
	SAVES_HOST,
	SAVES_IDLE, /* in which the device has nothing to do */
	SAVES_BUSY, /* of what it does */
	N_SAVES,
};

struct op_rule {
	const char *name;
	double threshold; /* a share; of no-grad a number, of threads how many for each CPU */
	enum op_saves saves;
	enum finding_confidence confidence; /* the most that its figures carry */
	/* Whether it speaks; then the evidence, the saving and, where it is not always the same, the change. */
	bool (*check)(const struct op_facts *f, double threshold, struct finding *to);
	const char *change;
	struct finding_proof proof;
};

/* What shows a finding, and proves a change. */
#define DIFF "leadline diff FILE AFTER --ops"
#define BY_STEPS                                               \
	{                                                      \
		"leadline report FILE --steps --limit 0", DIFF \
	}
#define BY_OPS                                               \
	{                                                    \
		"leadline report FILE --ops --limit 0", DIFF \
	}
#define BY_SHAPES                                                             \
	{                                                                     \
		"leadline report FILE --ops --group-by-shape --limit 0", DIFF \
	}
#define BY_KERNELS                                               \
	{                                                        \
		"leadline report FILE --kernels --limit 0", DIFF \
	}
#define BY_STREAMS                                     \
	{                                              \
		"leadline report FILE --streams", DIFF \
	}
#define BY_MEMORY                                                                 \
	{                                                                         \
		"leadline report FILE --memory", "leadline report AFTER --memory" \
	}
#define BY_HOST                                                 \
	{                                                       \
		"leadline report FILE", "leadline report AFTER" \
	}
#define BY_COMPILE                                                                  \
	{                                                                           \
		"leadline report FILE --compile", "leadline report AFTER --compile" \
	}

/* By what they are about; each ends with a row without a name. Where savings are equal or unknown, findings stand in this order. */
extern const struct op_rule op_rules_device[];
extern const struct op_rule op_rules_types[];
extern const struct op_rule op_rules_memory[];
extern const struct op_rule op_rules_cpu[];
extern const struct op_rule op_rules_run[];
extern const struct op_rule op_rules_training[];

/* All of them, one after the other; NULL after the last. */
const struct op_rule *op_rule_at(size_t i);

#endif
