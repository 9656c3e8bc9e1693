// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/ref/plan.hpp>

/// What ref/ offers to the table: one function per operator, in the file named above it.
namespace commensal::kernels::ref {

// activation.cpp
Columns celu();
Columns clip();
Columns elu();
Columns hard_sigmoid();
Columns hard_swish();
Columns leaky_relu();
Columns prelu();
Columns relu();
Columns selu();
Columns shrink();
Columns thresholded_relu();

// binary.cpp
Columns add();
Columns div();
Columns max();
Columns mean();
Columns min();
Columns mod();
Columns mul();
Columns sub();
Columns sum();

// cast.cpp
Columns cast();
Columns cast_like();

// conv.cpp
Columns conv();

// gemm.cpp
Columns gemm();
Columns matmul();

// generate.cpp
Columns constant();
Columns constant_of_shape();
Columns eye_like();
Columns range();
Columns shape();
Columns size();

// layer_norm.cpp
Columns instance_normalization();
Columns layer_normalization();

// layout.cpp
Columns concat();
Columns depth_to_space();
Columns expand();
Columns space_to_depth();
Columns split();
Columns tile();
Columns transpose();

// logic.cpp
Columns bit_shift();
Columns equal();
Columns greater();
Columns greater_or_equal();
Columns less();
Columns less_or_equal();
Columns logical_and();
Columns logical_or();
Columns logical_xor();
Columns pow();
Columns where();

// mask.cpp
Columns compress();
Columns gather_nd();
Columns trilu();

// normalise.cpp
Columns batch_normalization();
Columns lrn();

// pick.cpp
Columns gather();
Columns gather_elements();
Columns pad();
Columns slice();

// pool.cpp
Columns average_pool();
Columns global_average_pool();
Columns global_max_pool();
Columns max_pool();

// reduce.cpp
Columns arg_max();
Columns arg_min();
Columns reduce_l1();
Columns reduce_l2();
Columns reduce_log_sum();
Columns reduce_max();
Columns reduce_mean();
Columns reduce_min();
Columns reduce_prod();
Columns reduce_sum();
Columns reduce_sum_square();

// reshape.cpp
Columns dropout();
Columns flatten();
Columns identity();
Columns reshape();
Columns squeeze();
Columns unsqueeze();

// scan.cpp
Columns cum_sum();

// softmax.cpp
Columns hardmax();
Columns log_softmax();
Columns softmax();

// unary.cpp
Columns abs();
Columns ceil();
Columns erf();
Columns exp();
Columns floor();
Columns is_inf();
Columns is_nan();
Columns log();
Columns logical_not();
Columns neg();
Columns reciprocal();
Columns round();
Columns sigmoid();
Columns sign();
Columns softplus();
Columns softsign();
Columns sqrt();
Columns tanh();

// resize.cpp
Columns resize();

// conv_transpose.cpp
Columns conv_transpose();

// scatter.cpp
Columns max_unpool();
Columns scatter_elements();
Columns scatter_nd();

// order.cpp
Columns non_zero();
Columns top_k();
Columns unique();

// places.cpp
Columns one_hot();
Columns reverse_sequence();

// grid_sample.cpp
Columns grid_sample();

// boxes.cpp
Columns non_max_suppression();
Columns roi_align();

// einsum.cpp
Columns einsum();

// det.cpp
Columns det();

// quantise.cpp
Columns dequantize_linear();
Columns dynamic_quantize_linear();
Columns quantize_linear();

// quantised_products.cpp
Columns conv_integer();
Columns matmul_integer();
Columns qlinear_conv();
Columns qlinear_matmul();

// random.cpp
Columns bernoulli();
Columns multinomial();
Columns random_normal();
Columns random_normal_like();
Columns random_uniform();
Columns random_uniform_like();

// recurrent.cpp
Columns gru();
Columns lstm();
Columns rnn();

// training.cpp
Columns adagrad();
Columns adam();
Columns momentum();

// loss.cpp
Columns negative_log_likelihood_loss();
Columns softmax_cross_entropy_loss();

// log_sum_exp.cpp
Columns reduce_log_sum_exp();

// trig.cpp
Columns acos();
Columns acosh();
Columns asin();
Columns asinh();
Columns atan();
Columns atanh();
Columns cos();
Columns cosh();
Columns sin();
Columns sinh();
Columns tan();

}  // namespace commensal::kernels::ref
