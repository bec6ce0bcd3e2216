/* SPDX-License-Identifier: MIT
 * See scratch.h. */
#include "cmd/scratch.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/err.h"
#include "base/banned.h"

int scratch_make(char ret[SCRATCH_PATH], const char *what_for, struct err *e)
{
	const char *tmp = getenv("TMPDIR");

	snprintf(ret, SCRATCH_PATH, "%.200s/leadline.XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(ret))
		return 0;
	ret[0] = '\0';
	return err_errno(e, ERR_SYSTEM, "cannot make a folder %s", what_for);
}
