/* SPDX-License-Identifier: MIT
 *
 * What the place that text goes to can show: how many columns, and which characters. One rule each, for every command:
 *
 * - COLUMNS in the environment counts first. Else a terminal has the width it says; a pipe and a file have none, so nothing
 *   is cut there (TEXT_UNBOUNDED).
 * - A locale that is named and is not UTF-8 (LC_ALL, else LC_CTYPE, else LANG: "C", "de_DE.ISO-8859-1") gets ASCII
 *   (base/ascii.h). Where none is named, as in most containers, nobody asked for less than UTF-8. */
#ifndef BASE_TTY_H
#define BASE_TTY_H

#include <stdbool.h>
#include <stddef.h>

enum { TTY_COLUMNS_MOST = 240, TTY_COLUMNS_USUAL = 80 };

/* For text written to this descriptor; -1: a file. */
size_t tty_columns(int fd);
/* The same, of these: COLUMNS' value (NULL: unset), whether it is a terminal, and what that says (0: nothing). */
size_t tty_columns_of(const char *columns, bool is_terminal, unsigned told);

bool tty_is_utf8(void);
/* The same, of the locale's variables; NULL: unset. */
bool tty_is_utf8_of(const char *lc_all, const char *lc_ctype, const char *lang);

#endif
