/* SPDX-License-Identifier: MIT
 * All collectors, in the order they are tried. */
#include "collect/collector.h"
#include "collect/host.h"
#include "collect/py_sample.h"

const struct collector *const collectors[] = {
	&collector_host,
	&collector_sample,
};
const size_t n_collectors = sizeof collectors / sizeof *collectors;
