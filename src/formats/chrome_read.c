/* SPDX-License-Identifier: MIT
 *
 * Chrome's trace events of any tool as stacks. The bytes are read by torch_trace, which forgives what is damaged; a file in
 * which no event is torch's must be whole, or the place where it is not is told. */
#include "formats/chrome.h"

#include <inttypes.h>
#include <string.h>

#include "analyze/torch/events.h"
#include "analyze/torch/stacks.h"
#include "base/err.h"
#include "formats/torch/trace.h"
#include "base/banned.h"

static bool has(const char *head, size_t n, const char *word)
{
	return memmem(head, n, word, strlen(word)) != NULL;
}

bool chrome_recognise(const char *head, size_t n)
{
	size_t i = 0;

	while (i < n && strchr(" \t\r\n", head[i]))
		i++;
	if (i < n && head[i] == '[')
		return has(head, n, "\"ph\"") && has(head, n, "\"pid\"");
	return i < n && head[i] == '{' &&
		(has(head, n, "\"traceEvents\"") ||
			(has(head, n, "\"schemaVersion\"") &&
				has(head, n, "\"deviceProperties\"")));
}

int chrome_check(const struct op_events *x, struct err *e)
{
	if (x->v.n || !x->flaw.what)
		return 0;
	return err_set(e, ERR_BAD_FILE, "byte %" PRIu64 ": %s", x->flaw.at_byte, x->flaw.what);
}

int chrome_read(struct input *in, struct foreign *to, struct err *e)
{
	struct op_events x = { 0 };
	int status = torch_trace_read_any(in, &x, e);

	if (status == 0)
		status = chrome_check(&x, e);
	if (status == 0)
		status = op_stacks_write(&x, to, e);
	op_events_done(&x);
	return status;
}
