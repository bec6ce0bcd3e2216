/* SPDX-License-Identifier: MIT
 *
 * A name as UTF-8, cut as wire/name.h says, without asking Python for anything: no memory, no copy kept with the str. */
#ifndef AGENT_CORE_NAME_TEXT_H
#define AGENT_CORE_NAME_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "agent/core/compat.h"
#include "wire/name.h"

/* Room for the longest one. */
#define NAME_TEXT_BYTES(most) ((most)*4 + NAME_MARK_BYTES)

/* Whether it is longer than `most` characters. */
static inline bool name_text_is_long(PyObject *text, size_t most)
{
	return text && PyUnicode_Check(text) && (size_t)PyUnicode_GetLength(text) > most;
}

/* Bytes written: at most NAME_TEXT_BYTES(most). What is no character (half of a surrogate pair: a byte of a file's name that is not
 * UTF-8) becomes a question mark; 0 for what is no text. */
uint32_t name_text_put(unsigned char *to, PyObject *text, size_t most);

#endif
