/* SPDX-License-Identifier: MIT
 * The row of registry.c for Perfetto's traces; see perfetto.c. */
#ifndef FORMATS_PERFETTO_H
#define FORMATS_PERFETTO_H

extern const struct format format_perfetto;

#endif
