/* SPDX-License-Identifier: MIT
 * The row of registry.c for the Firefox Profiler's files; see firefox.c. */
#ifndef FORMATS_FIREFOX_H
#define FORMATS_FIREFOX_H

extern const struct format format_firefox;

#endif
