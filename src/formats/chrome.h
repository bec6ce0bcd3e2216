/* SPDX-License-Identifier: MIT
 * The row of registry.c for Chrome's trace events; see chrome.c. */
#ifndef FORMATS_CHROME_H
#define FORMATS_CHROME_H

extern const struct format format_chrome;

#endif
