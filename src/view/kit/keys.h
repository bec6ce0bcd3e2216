/* SPDX-License-Identifier: MIT
 * Keys of a terminal out of the bytes it sends: characters, and the names of the few keys that send
 * sequences. Unknown sequences are one KEY_UNKNOWN, not the letters in them. */
#ifndef VIEW_KIT_KEYS_H
#define VIEW_KIT_KEYS_H

#include <stddef.h>
#include <stdint.h>

enum { /* beyond Unicode */
	KEY_UNKNOWN = 0x110000,
	KEY_UP,
	KEY_DOWN,
	KEY_LEFT,
	KEY_RIGHT,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_HOME,
	KEY_END,
	KEY_ENTER,
	KEY_ESCAPE,
	KEY_ERASE, /* the character before the cursor */
};

/* The first key of bytes[0 … n): returns the bytes used. 0: the sequence is not complete; call again with
 * more, or with is_all when no more comes (then ESC is the key of that name). n is at least 1. */
size_t keys_decode(const char *bytes, size_t n, int is_all, uint32_t *ret_key);

#endif
