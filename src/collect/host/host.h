/* SPDX-License-Identifier: MIT
 * The host collector's row for registry.c; see host.c. */
#ifndef COLLECT_HOST_HOST_H
#define COLLECT_HOST_HOST_H

extern const struct collector collector_host;

#endif
