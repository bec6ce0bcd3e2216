/* SPDX-License-Identifier: MIT
 * The collector of regions for programs that are sampled: a directory as of a session, but without a socket, in which the leadline package finds where to write
 * them. A program that is traced has such a directory anyway. */
#ifndef COLLECT_SAMPLES_REGIONS_H
#define COLLECT_SAMPLES_REGIONS_H

extern const struct collector collector_regions;

#endif
