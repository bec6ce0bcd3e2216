/* SPDX-License-Identifier: MIT
 * The variables of compat.h, which differ by version as it does. */
#define COMPAT_VARIABLES
#include "agent/core/compat.h"
