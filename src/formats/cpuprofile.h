/* SPDX-License-Identifier: MIT
 * The row of registry.c for V8's CPU profiles; see cpuprofile.c. */
#ifndef FORMATS_CPUPROFILE_H
#define FORMATS_CPUPROFILE_H

extern const struct format format_cpuprofile;

#endif
