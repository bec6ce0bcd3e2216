/* SPDX-License-Identifier: MIT
 * See advice.h. */
#include "advise/torch/advice.h"

#include <math.h>
#include <stdbool.h>

#include "advise/advice.h"
#include "advise/pages.h"
#include "advise/torch/rule.h"
#include "analyze/torch/host.h"
#include "analyze/torch/results.h"
#include "analyze/torch/steps.h"
#include "base/arena.h"
#include "base/units.h"
#include "base/banned.h"

static const struct op_rule *const tables[] = {
	op_rules_device,
	op_rules_types,
	op_rules_memory,
	op_rules_cpu,
	op_rules_run,
	op_rules_training,
};

enum { TABLES = sizeof tables / sizeof *tables };

const struct op_rule *op_rule_at(size_t i)
{
	for (size_t at = 0; at < TABLES; at++)
		for (const struct op_rule *rule = tables[at]; rule->name; rule++)
			if (i-- == 0)
				return rule;
	return NULL;
}

/* Times of one kind are within each other, those of two kinds may be beside each other. */
static double together(const struct op_steps *steps, const double sums[N_SAVES])
{
	double host = fmin(sums[SAVES_HOST], steps->seconds);
	double idle = fmin(sums[SAVES_IDLE], fmax(steps->seconds - steps->busy_s, 0));
	double all = host + idle + fmin(sums[SAVES_BUSY], steps->busy_s);

	return all > 0 ? fmin(all, steps->seconds) : NAN;
}

/* As the table has it, before the rule looks. */
static struct finding finding_of(const struct op_facts *f, const struct op_rule *rule)
{
	return (struct finding){
		.rule = rule->name,
		.change = rule->change,
		.saving = { .value = NAN,
			.estimate = NAN,
			.unit = UNIT_SECONDS,
			.of = "the steps",
			.whole = f->steps->seconds > 0 ? f->steps->seconds : NAN },
		.confidence = rule->confidence,
		.proof = rule->proof,
	};
}

static bool look(struct op_facts *f, const struct op_rule *rule, struct finding *to)
{
	map_clear(&f->lines->by_name);
	*f->lines = (struct op_lines){ .by_name = f->lines->by_name };
	*to = finding_of(f, rule);
	if (!rule->check(f, rule->threshold, to))
		return false;
	if (to->saving.estimate > to->saving.value) /* both are sums, and a bound is a bound */
		to->saving.estimate = to->saving.value;
	if (!units_is_known(to->saving.value))
		to->saving.unknown = advice_page_unknown(f->a, rule->name);
	to->title = advice_page_title(f->a, rule->name);
	op_lines_tell(f, to);
	if (f->steps->n < OP_ADVICE_STEPS || *op_events_missing(f->x))
		to->confidence = FINDING_HEURISTIC;
	return true;
}

const struct advice *op_advice_build(struct arena *a, struct op_events *x,
	const struct op_steps *steps, const struct op_kernels *kernels, const struct ops *ops,
	const struct op_host *host)
{
	struct op_facts f = {
		.a = a, .x = x, .steps = steps, .kernels = kernels, .ops = ops, .host = host
	};
	struct advice *to = arena_new(a, struct advice);
	double sums[N_SAVES] = { 0 };
	const struct op_rule *rule;
	struct finding *v;
	size_t n_rules = 0;

	while (op_rule_at(n_rules))
		n_rules++;
	v = arena_new_n(a, struct finding, n_rules);
	op_facts_init(&f);
	for (size_t i = 0; (rule = op_rule_at(i)); i++) {
		const struct finding_saving *saving = &v[to->n].saving;

		if (!look(&f, rule, &v[to->n]))
			continue;
		if (units_is_known(saving->value) && saving->unit == UNIT_SECONDS)
			sums[rule->saves] += saving->value;
		to->n++;
	}
	op_facts_done(&f);
	findings_sort(v, to->n);
	to->v = v;
	to->together_s = together(steps, sums);
	return to;
}

const struct advice *torch_advice(struct torch *t)
{
	struct torch *lead = torch_lead(t);

	if (!t->advice)
		t->advice = op_advice_build(&t->arena, &lead->x, torch_steps(t),
			torch_kernels(lead), torch_ops(lead, false),
			t->tables ? op_host_build(&t->arena, t->tables) : NULL);
	return t->advice;
}
