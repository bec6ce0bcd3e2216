/* SPDX-License-Identifier: MIT
 * See tty.h. */
#include "base/tty.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/text.h"
#include "base/banned.h"

size_t tty_columns_of(const char *columns, bool is_terminal, unsigned told)
{
	uint64_t asked;

	if (columns && text_parse_u64(columns, &asked) && asked > 0)
		return (size_t)asked;
	if (!is_terminal)
		return TEXT_UNBOUNDED;
	if (!told)
		return TTY_COLUMNS_USUAL;
	return told < TTY_COLUMNS_MOST ? told : TTY_COLUMNS_MOST;
}

size_t tty_columns(int fd)
{
	struct winsize size = { 0 };
	bool is_terminal = isatty(fd);

	if (is_terminal && ioctl(fd, TIOCGWINSZ, &size) < 0)
		size.ws_col = 0;
	return tty_columns_of(getenv("COLUMNS"), is_terminal, size.ws_col);
}

bool tty_is_utf8_of(const char *lc_all, const char *lc_ctype, const char *lang)
{
	const char *name = lc_all && *lc_all ? lc_all : lc_ctype && *lc_ctype ? lc_ctype : lang;

	return !name || !*name || strcasestr(name, "utf-8") || strcasestr(name, "utf8");
}

bool tty_is_utf8(void)
{
	return tty_is_utf8_of(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG"));
}
