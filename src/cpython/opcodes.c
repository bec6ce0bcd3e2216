/* SPDX-License-Identifier: MIT
 * See opcodes.h. The numbers are those of opcode.opmap of each version (RETURN_VALUE, RETURN_CONST and
 * their INSTRUMENTED forms); tests/e2e/test_layout.py asks the interpreters. */
#include "cpython/opcodes.h"

#include <stddef.h>
#include <string.h>

#include "wire/py_layout.h"
#include "base/banned.h"

static const struct {
	uint32_t minor;
	uint8_t returning[4]; /* 0: no more */
} versions[] = {
	{ 11, { 83 } },
	{ 12, { 83, 121, 242, 247 } },
	{ 13, { 36, 103, 239, 240 } },
	{ 14, { 35, 246 } },
	{ 15, { 33, 245 } },
};

bool opcodes_returning(const struct py_layout *l, bool is[256])
{
	memset(is, 0, 256 * sizeof *is);
	for (size_t i = 0; i < sizeof versions / sizeof *versions; i++) {
		if (l->major != 3 || versions[i].minor != l->minor)
			continue;
		for (int k = 0; k < 4 && versions[i].returning[k]; k++)
			is[versions[i].returning[k]] = true;
		return true;
	}
	return false;
}
