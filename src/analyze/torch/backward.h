/* SPDX-License-Identifier: MIT
 *
 * Which operator forward it was that autograd goes back to. Traces of torch.profiler number operators: those backward have the
 * number of theirs, and the thread it ran in, by a count of torch's own. Recordings of leadline have no such numbers. There it is
 * known by the order: autograd runs its nodes in the reverse order of the operators that made them, and names them after these.
 * The nodes of one backward() are laid onto the operators before it, once as late as possible and once as early as possible; only
 * where both come to the same operator, or to one in the same place, it is taken for known. */
#ifndef ANALYZE_TORCH_BACKWARD_H
#define ANALYZE_TORCH_BACKWARD_H

#include <stdbool.h>
#include <stdint.h>

struct ops_tree;

/* By event: the operator forward + 1, for autograd's spans themselves; 0 for all others, also for what they call, and where it is not
 * known. NULL: of none. To be freed.
 *
 * *ret_is_one, likewise: whether it is this very operator, or one that ran in the same module; otherwise it may be another one of the same
 * place, and nobody knows in which module. */
uint32_t *op_backward_find(const struct ops_tree *t, bool **ret_is_one);

#endif
