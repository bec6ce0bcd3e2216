/* SPDX-License-Identifier: MIT
 *
 * The arithmetic of operator calls: floating-point operations of matrix products, convolutions, attention and recurrent
 * layers, forward and backward, from the shapes and arguments they were called with. The formulas are those of torch.utils.flop_counter
 * (two operations for a multiplication with its addition; sums and other cheap operators do not count), and further ones of
 * the same kind for what it does not know: products with vectors, attention on the CPU, oneDNN's layers. Groups of a convolution
 * count in its backward, too, where flop_counter forgets them.
 *
 * Operators call others: conv2d calls convolution. The outermost with a formula counts, so that sums are right. What flops.h counts
 * is torch's own, for torch's table alone. */
#ifndef ANALYZE_TORCH_FLOPS_OWN_H
#define ANALYZE_TORCH_FLOPS_OWN_H

#include <stddef.h>
#include <stdint.h>

struct ops_tree;

/* Of one call. entry: of op_events' shapes. 0: not known. */
uint64_t ops_work(const char *name, const char *entry, size_t n);

/* By node of the tree; the caller frees it. */
uint64_t *ops_work_of_all(const struct ops_tree *t);

#endif
