/* SPDX-License-Identifier: MIT
 * FLOPs of operator calls from their shapes, by hand; and that calls within calls count once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "analyze/torch/flops_own.h"
#include "analyze/torch/rig.h"
#include "analyze/torch/tree.h"

#define WORK(name, entry) ops_work(name, entry, sizeof(entry) - 1) /* entries may hold NULs */

static void products(void **state)
{
	(void)state;
	assert_int_equal(WORK("aten::mm", "[[8, 16], [16, 4]]"), 2 * 8 * 16 * 4);
	assert_int_equal(WORK("aten::addmm", "[[4], [8, 16], [16, 4], [], []]"), 2 * 8 * 16 * 4);
	assert_int_equal(
		WORK("aten::_addmm_activation", "[[4], [8, 16], [16, 4]]"), 2 * 8 * 16 * 4);
	assert_int_equal(WORK("aten::_scaled_mm", "[[8, 16], [16, 4], [], []]"), 2 * 8 * 16 * 4);
	assert_int_equal(WORK("aten::bmm", "[[3, 8, 16], [3, 16, 4]]"), 3 * 2 * 8 * 16 * 4);
	assert_int_equal(
		WORK("aten::baddbmm", "[[1], [3, 8, 16], [3, 16, 4]]"), 3 * 2 * 8 * 16 * 4);
	assert_int_equal(WORK("aten::addbmm", "[[1], [3, 8, 16], [3, 16, 4]]"), 3 * 2 * 8 * 16 * 4);
	assert_int_equal(WORK("aten::mv", "[[8, 16], [16]]"), 2 * 8 * 16);
	assert_int_equal(WORK("aten::addmv", "[[8], [8, 16], [16]]"), 2 * 8 * 16);
	assert_int_equal(WORK("aten::dot", "[[16], [16]]"), 2 * 16);
	assert_int_equal(WORK("aten::vdot", "[[16], [16]]"), 2 * 16);
	assert_int_equal(
		WORK("mkl::_mkl_linear", "[[2, 8, 16], [999], [4, 16], [4]]"), 2 * 2 * 8 * 16 * 4);
	assert_int_equal(WORK("mkldnn::_linear_pointwise", "[[8, 16], [4, 16]]"), 2 * 8 * 16 * 4);
	assert_int_equal(
		WORK("aten::mkldnn_rnn_layer", "[[5, 3, 10], [80, 10], [80, 20], [80], [80]]"),
		2 * 5 * 3 * (80 * 10 + 80 * 20));
	assert_int_equal(
		WORK("aten::mkldnn_rnn_layer_backward", "[[5, 3, 10], [80, 10], [80, 20]]"),
		2 * 2 * 5 * 3 * (80 * 10 + 80 * 20));
}

static void what_does_not_fit_is_not_known(void **state)
{
	(void)state;
	assert_int_equal(WORK("aten::mm", "[[8, 16], [15, 4]]"), 0);
	assert_int_equal(WORK("aten::mm", "[[8, 16]]"), 0);
	assert_int_equal(WORK("aten::mm", "[[-8, 16], [16, 4]]"), 0);
	assert_int_equal(
		WORK("aten::mm", "[[2147483647, 2147483647], [2147483647, 2147483647]]"), 0);
	assert_int_equal(WORK("aten::mm", ""), 0);
	assert_int_equal(WORK("aten::bmm", "[[[3, 8]], [3, 16, 4]]"), 0);
	/* no arguments */
	assert_int_equal(WORK("aten::conv2d", "[[2, 3, 8, 8], [4, 3, 3, 3]]"), 0);
	assert_int_equal(
		WORK("aten::conv2d",
			"[[2, 3, 8, 8], [4, 3, 3, 3], [4]]\0[\"\", \"\", \"\", \"[1, 1]\", \"same\", \"[1, 1]\", \"1\"]"),
		0); /* what it calls knows */
	assert_int_equal(WORK("aten::add", "[[8, 16], [8, 16]]"), 0);
	assert_int_equal(WORK("aten::matmul", "[[8, 16], [16, 4]]"), 0);
}

#define FORWARD \
	"\0[\"\", \"\", \"\", \"[2, 1]\", \"[1, 0]\", \"[1, 2]\", \"False\", \"[0, 0]\", \"1\"]"
#define OUT ((8 + 2 - 2 - 1) / 2 + 1) * ((8 - 2 * 2 - 1) / 1 + 1)
#define BACKWARD(transposed, mask)                                                        \
	"\0[\"\", \"\", \"\", \"[4]\", \"[1, 1]\", \"[1, 1]\", \"[1, 1]\", \"" transposed \
	"\", \"[0, 0]\", \"1\", \"" mask "\"]"

static void convolutions(void **state)
{
	const uint64_t once = 2 * 2 * OUT * (4 * 3 * 3 * 3);
	const uint64_t back = 2 * 2 * 6 * 6 * (4 * 3 * 3 * 3);

	(void)state;
	assert_int_equal(
		WORK("aten::convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [4]]" FORWARD), once);
	assert_int_equal(
		WORK("aten::_convolution", "[[2, 3, 8, 8], [4, 3, 3, 3], [4]]" FORWARD), once);
	assert_int_equal(
		WORK("aten::convolution_overrideable", "[[2, 3, 8, 8], [4, 3, 3, 3], [4]]" FORWARD),
		once);
	assert_int_equal(
		WORK("aten::conv2d",
			"[[2, 3, 8, 8], [4, 3, 3, 3], [4]]\0[\"\", \"\", \"\", \"[2, 1]\", \"[1, 0]\", \"[1, 2]\", \"1\"]"),
		once);
	assert_int_equal(
		WORK("mkldnn::_convolution_pointwise",
			"[[2, 3, 8, 8], [4, 3, 3, 3], [4]]\0[\"\", \"\", \"\", \"[1, 0]\", \"[2, 1]\", \"[1, 2]\", \"1\"]"),
		once);
	assert_int_equal(
		WORK("aten::conv1d",
			"[[3, 8], [4, 3, 5], []]\0[\"\", \"\", \"\", \"[1]\", \"[2]\", \"[1]\", \"1\"]"),
		2 * 8 * 4 * 3 * 5); /* one image, without a batch */
	assert_int_equal(
		WORK("aten::conv3d",
			"[[2, 3, 4, 4, 4], [6, 3, 1, 1, 1], []]\0[\"\", \"\", \"\", \"[1]\", \"[0]\", \"[1]\", \"1\"]"),
		2 * 2 * 64 * 6 * 3);
	assert_int_equal(WORK("aten::conv_transpose2d", "[[2, 3, 8, 8], [3, 4, 3, 3]]"),
		2 * 2 * 64 * 3 * 4 * 9);
	assert_int_equal(
		WORK("aten::conv_transpose1d", "[[2, 3, 8], [3, 4, 3]]"), 2 * 2 * 8 * 3 * 4 * 3);
	assert_int_equal(WORK("aten::conv_transpose3d", "[[2, 3, 2, 2, 2], [3, 4, 1, 1, 1]]"),
		2 * 2 * 8 * 3 * 4);
	/* Depthwise: a kernel of one channel each. */
	assert_int_equal(WORK("aten::convolution_backward",
				 "[[2, 8, 6, 6], [2, 8, 8, 8], [8, 1, 3, 3]]" BACKWARD(
					 "False", "[True, True, False]")),
		2 * 2 * 2 * 36 * 8 * 9);
	assert_int_equal(WORK("aten::convolution_backward",
				 "[[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3]]" BACKWARD(
					 "False", "[True, True, True]")),
		2 * back);
	assert_int_equal(WORK("aten::convolution_backward",
				 "[[2, 4, 6, 6], [2, 3, 8, 8], [4, 3, 3, 3]]" BACKWARD(
					 "False", "[False, True, True]")),
		back); /* the first layer */
	assert_int_equal(WORK("aten::convolution_backward",
				 "[[2, 4, 8, 8], [2, 3, 6, 6], [3, 4, 3, 3]]" BACKWARD(
					 "True", "[True, True, True]")),
		2 * 2 * 2 * 36 * 3 * 4 * 9);
}

static void attention(void **state)
{
	static const char *const forward[] = { "aten::_scaled_dot_product_cudnn_attention",
		"aten::_scaled_dot_product_efficient_attention",
		"aten::_scaled_dot_product_flash_attention",
		"aten::_scaled_dot_product_flash_attention_for_cpu",
		"aten::_scaled_dot_product_fused_attention_overrideable" };
	static const char *const backward[] = {
		"aten::_scaled_dot_product_cudnn_attention_backward",
		"aten::_scaled_dot_product_efficient_attention_backward",
		"aten::_scaled_dot_product_flash_attention_backward",
		"aten::_scaled_dot_product_flash_attention_for_cpu_backward",
		"aten::_scaled_dot_product_fused_attention_overrideable_backward",
	};
	const uint64_t scores = 2 * 2 * 4 * 10 * 12;

	(void)state;
	for (size_t i = 0; i < 5; i++) {
		assert_int_equal(
			WORK(forward[i], "[[2, 4, 10, 16], [2, 2, 12, 16], [2, 2, 12, 8]]"),
			scores * (16 + 8));
		assert_int_equal(
			WORK(backward[i],
				"[[2, 4, 10, 8], [2, 4, 10, 16], [2, 2, 12, 16], [2, 2, 12, 8]]"),
			scores * (3 * 16 + 2 * 8));
	}
	assert_int_equal(WORK(forward[2], "[[2, 4, 10, 16], [2, 2, 12, 15], [2, 2, 12, 8]]"), 0);
}

static void the_outermost_counts(void **state)
{
	static const char with_arguments[] = "[[2, 3, 8, 8], [4, 3, 3, 3], [4]]" FORWARD;
	struct op_events x = { 0 };
	uint32_t outer = op_rig_operator(&x, "aten::convolution", 100, 400, 1);
	uint32_t inner = op_rig_operator(&x, "aten::_convolution", 110, 300, 2);
	uint32_t plain = op_rig_operator(&x, "aten::linear", 600, 100, 3);
	uint32_t product = op_rig_operator(&x, "aten::mm", 610, 50, 4);
	uint32_t other = op_rig_span(&x, OP_CPU, "aten::mm", OP_RIG_OTHER_THREAD, 120, 50);
	uint32_t shapes =
		intern_add(&x.shapes, with_arguments, sizeof with_arguments - 1, NULL) + 1;
	uint32_t small = intern_adds(&x.shapes, "[[8, 16], [16, 4]]") + 1;
	struct ops_tree tree;
	uint64_t *flops;

	(void)state;
	x.v.v[outer].detail = x.v.v[inner].detail = shapes;
	x.v.v[plain].detail = x.v.v[product].detail = x.v.v[other].detail = small;
	ops_tree_init(&tree, &x, false);
	flops = ops_work_of_all(&tree);
	assert_int_equal(flops[outer], 2 * 2 * OUT * (4 * 3 * 3 * 3));
	assert_int_equal(flops[inner], 0);
	assert_int_equal(flops[plain], 0);
	assert_int_equal(flops[product], 2 * 8 * 16 * 4);
	assert_int_equal(flops[other], 2 * 8 * 16 * 4); /* at the same time, elsewhere */
	free(flops);
	ops_tree_done(&tree);
	op_events_done(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(what_does_not_fit_is_not_known),
		cmocka_unit_test(convolutions),
		cmocka_unit_test(attention),
		cmocka_unit_test(the_outermost_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
