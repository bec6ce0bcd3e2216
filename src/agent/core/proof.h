/* SPDX-License-Identifier: MIT
 *
 * Whether this agent fits the interpreter that loads it. An agent reads fields of code objects, frames and threads where the headers
 * it was built with say they lie, and an interpreter of the same version need not have been built with the same: another patch
 * release, a pre-release, a vendor's own build. So a function with known arguments is called, which calls back, and every field is read
 * where we believe it to be and held against what the interpreter's own functions say. What has no function of its own lies between
 * two that have, at the same distance. Nothing is followed that was not proven before. */
#ifndef AGENT_CORE_PROOF_H
#define AGENT_CORE_PROOF_H

#pragma GCC visibility push(hidden)

/* NULL: it fits. Else what does not, a constant; no exception is set. */
const char *proof_problem(void);

#pragma GCC visibility pop

#endif
