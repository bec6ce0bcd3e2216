/* SPDX-License-Identifier: MIT
 * The sampler's row for registry.c; see sampler.c. */
#ifndef COLLECT_SAMPLES_SAMPLER_H
#define COLLECT_SAMPLES_SAMPLER_H

extern const struct collector collector_sample;

#endif
