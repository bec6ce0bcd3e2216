/* SPDX-License-Identifier: MIT
 * The sampler's row for registry.c; see py_sample.c. */
#ifndef COLLECT_PY_SAMPLE_H
#define COLLECT_PY_SAMPLE_H

extern const struct collector collector_sample;

#endif
