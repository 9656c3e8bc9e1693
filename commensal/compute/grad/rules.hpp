// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/grad/step.hpp>

/// The rules of gradients; table.hpp says which operator has which.
namespace commensal::grad::rules {

// Of one input, the output beside it (elementwise.cpp).
void abs(Step&);
void acos(Step&);
void acosh(Step&);
void asin(Step&);
void asinh(Step&);
void atan(Step&);
void atanh(Step&);
void celu(Step&);
void cos(Step&);
void cosh(Step&);
void elu(Step&);
void erf(Step&);
void exp(Step&);
void gelu(Step&);
void hard_sigmoid(Step&);
void hard_swish(Step&);
void leaky_relu(Step&);
void log(Step&);
void mish(Step&);
void neg(Step&);
void reciprocal(Step&);
void relu(Step&);
void selu(Step&);
void shrink(Step&);
void sigmoid(Step&);
void sin(Step&);
void sinh(Step&);
void softplus(Step&);
void softsign(Step&);
void sqrt(Step&);
void swish(Step&);
void tan(Step&);
void tanh(Step&);
void thresholded_relu(Step&);
void flat(Step&);  // steps: nowhere a slope

// Of several (arithmetic.cpp).
void add(Step&);
void cast(Step&);
void clip(Step&);
void div(Step&);
void extreme(Step&);  // Max, Min
void mean(Step&);
void mod(Step&);
void mul(Step&);
void pow(Step&);
void prelu(Step&);
void sub(Step&);
void sum(Step&);
void where(Step&);

// products.cpp, windows.cpp
void gemm(Step&);
void matmul(Step&);
void average_pool(Step&);
void conv(Step&);
void conv_transpose(Step&);
void global_average_pool(Step&);
void global_max_pool(Step&);
void max_pool(Step&);

// normalise.cpp
void batch_normalization(Step&);
void instance_normalization(Step&);
void layer_normalization(Step&);
void rms_normalization(Step&);

// reduce.cpp
void cumsum(Step&);
void log_softmax(Step&);
void reduce_extreme(Step&);
void reduce_l1(Step&);
void reduce_l2(Step&);
void reduce_log_sum(Step&);
void reduce_log_sum_exp(Step&);
void reduce_mean(Step&);
void reduce_prod(Step&);
void reduce_sum(Step&);
void reduce_sum_square(Step&);
void softmax(Step&);

// loss.cpp
void cross_entropy(Step&);
void negative_log_likelihood(Step&);

// movement.cpp
void concat(Step&);
void depth_to_space(Step&);
void dropout(Step&);
void expand(Step&);
void identity(Step&);
void pad(Step&);
void reshape(Step&);
void slice(Step&);
void space_to_depth(Step&);
void split(Step&);
void tile(Step&);
void transpose(Step&);
void trilu(Step&);

// indexing.cpp
void gather(Step&);
void gather_elements(Step&);
void gather_nd(Step&);
void reverse_sequence(Step&);
void scatter_elements(Step&);
void scatter_nd(Step&);
void top_k(Step&);

// attention.cpp, einsum.cpp, recurrent.cpp, sampling.cpp
void attention(Step&);
void einsum(Step&);
void gru(Step&);
void lstm(Step&);
void resize(Step&);
void rnn(Step&);

// spelled_out.cpp
void global_lp_pool(Step&);
void group_normalization(Step&);
void lp_normalization(Step&);
void lp_pool(Step&);
void lrn(Step&);
void mean_variance_normalization(Step&);
void rotary_embedding(Step&);

}  // namespace commensal::grad::rules
