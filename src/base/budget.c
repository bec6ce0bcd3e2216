/* SPDX-License-Identifier: MIT
 * See budget.h. */
#include "base/budget.h"

#include "base/err.h"
#include "base/units.h"
#include "base/banned.h"

static uint64_t limit(uint64_t file_bytes, uint64_t least, uint64_t each)
{
	return file_bytes > (UINT64_MAX - least) / each ? UINT64_MAX : least + each * file_bytes;
}

struct budget budget_for(uint64_t file_bytes)
{
	return (struct budget){ .file_bytes = file_bytes,
		.most_bytes = limit(file_bytes, BUDGET_LEAST_BYTES, BUDGET_BYTES),
		.most_steps = limit(file_bytes, BUDGET_LEAST_STEPS, BUDGET_STEPS) };
}

void budget_grow(struct budget *b, uint64_t file_bytes)
{
	struct budget now = budget_for(file_bytes);

	if (file_bytes <= b->file_bytes)
		return;
	now.bytes = b->bytes;
	now.steps = b->steps;
	*b = now;
}

int budget_error(const struct budget *b, struct err *e)
{
	char own[UNITS_TEXT], most[UNITS_TEXT];

	units_format(own, UNIT_BYTES, (double)b->file_bytes);
	if (b->bytes > b->most_bytes)
		return err_set(e, ERR_BAD_FILE,
			"it would take more than %s of memory, for a file of %s: damaged, or made to exhaust memory",
			units_format(most, UNIT_BYTES, (double)b->most_bytes), own);
	return err_set(e, ERR_BAD_FILE,
		"it would take more than %llu million steps to read, for a file of %s: damaged, or made to exhaust the machine",
		(unsigned long long)(b->most_steps / 1000000), own);
}
