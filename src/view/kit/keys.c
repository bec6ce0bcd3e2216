/* SPDX-License-Identifier: MIT
 * See keys.h. */
#include "view/kit/keys.h"

#include <string.h>

#include "base/text.h"
#include "base/banned.h"

/* What terminals send behind ESC [ or ESC O: the final letter, or the number before ~. */
static uint32_t final_key(char final, int number)
{
	static const struct {
		char final;
		int number;
		uint32_t key;
	} known[] = {
		{ 'A', 0, KEY_UP },
		{ 'B', 0, KEY_DOWN },
		{ 'C', 0, KEY_RIGHT },
		{ 'D', 0, KEY_LEFT },
		{ 'H', 0, KEY_HOME },
		{ 'F', 0, KEY_END },
		{ 'M', 0, KEY_ENTER },
		{ '~', 1, KEY_HOME },
		{ '~', 4, KEY_END },
		{ '~', 5, KEY_PAGE_UP },
		{ '~', 6, KEY_PAGE_DOWN },
		{ '~', 7, KEY_HOME },
		{ '~', 8, KEY_END },
	};

	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (known[i].final == final && (final != '~' || known[i].number == number))
			return known[i].key;
	return KEY_UNKNOWN;
}

/* ESC [ parameters and intermediates, then a final byte; ESC O one byte; ESC and another key (Alt). */
static size_t decode_escape(const char *bytes, size_t n, int is_all, uint32_t *ret_key)
{
	size_t at = 2;
	int number = 0;

	*ret_key = KEY_ESCAPE;
	if (n == 1)
		return is_all ? 1 : 0;
	if (bytes[1] != '[' && bytes[1] != 'O')
		return 1;
	while (at < n && bytes[at] >= 0x20 && bytes[at] < 0x40 && at < 32) {
		if (bytes[at] >= '0' && bytes[at] <= '9' && number < 1000 &&
			!memchr(bytes, ';', at))
			number = number * 10 + bytes[at] - '0';
		at++;
	}
	*ret_key = KEY_UNKNOWN;
	if (at >= n)
		return is_all ? n : 0;
	*ret_key = final_key(bytes[at], number);
	return at + 1;
}

size_t keys_decode(const char *bytes, size_t n, int is_all, uint32_t *ret_key)
{
	unsigned char first = (unsigned char)bytes[0];
	size_t wanted = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : first >= 0xc0 ? 2 : 1;

	if (first == 0x1b)
		return decode_escape(bytes, n, is_all, ret_key);
	if (first == '\r' || first == '\n') {
		*ret_key = KEY_ENTER;
		return 1;
	}
	if (first == 0x7f || first == 0x08) {
		*ret_key = KEY_ERASE;
		return 1;
	}
	if (n < wanted && !is_all)
		return 0;
	return text_decode(bytes, n, ret_key);
}
