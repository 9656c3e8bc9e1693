// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

/// What cpu/ offers to the table: fast kernels with the bits of ref/. Each handles the calls that
/// matter (binary32 first of all) and hands every other one to ref/.
namespace commensal::kernels::cpu {

// conv.cpp
core::Result<void> conv(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_conv(const Call& call, Isa isa);

// conv_transpose.cpp
core::Result<void> conv_transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_conv_transpose(const Call& call, Isa isa);

// deform_conv.cpp
core::Result<void> deform_conv(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_deform_conv(const Call& call, Isa isa);

// det.cpp
core::Result<void> det(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// einsum.cpp
core::Result<void> einsum(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// fourier.cpp
core::Result<void> dft(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> stft(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// gemm.cpp
core::Result<void> gemm(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_gemm(const Call& call, Isa isa);
core::Result<void> matmul(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_matmul(const Call& call, Isa isa);

// group_norms.cpp
core::Result<void> hardmax(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> lp_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> lrn(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> mean_variance_normalization(const Call& call, std::span<Tensor> outputs,
                                               Workspace& ws);
core::Result<void> rms_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// losses.cpp
core::Result<void> softmax_cross_entropy_loss(const Call& call, std::span<Tensor> outputs,
                                              Workspace& ws);

// pads.cpp
core::Result<void> center_crop_pad(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> pad(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// pool.cpp
core::Result<void> average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> global_average_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> global_max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> lp_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> max_pool(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// elementwise.cpp
core::Result<void> abs(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> acos(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> acosh(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> add(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> asin(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> asinh(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> atan(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> atanh(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> ceil(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> celu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> clip(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> cos(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> cosh(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> div(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> dropout(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> elu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> erf(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> exp(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> floor(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> gelu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> hard_sigmoid(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> hard_swish(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> leaky_relu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> log(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> max(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> mean(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> min(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> mish(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> mul(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> neg(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> pow(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reciprocal(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> relu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> round(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> selu(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sigmoid(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sin(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sinh(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> softplus(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sqrt(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sub(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> sum(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> swish(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> tan(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> tanh(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// normalise.cpp
core::Result<void> batch_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> group_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> instance_normalization(const Call& call, std::span<Tensor> outputs,
                                          Workspace& ws);
core::Result<void> layer_normalization(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> log_softmax(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> softmax(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// reduce.cpp
core::Result<void> arg_max(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> arg_min(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_l1(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_l2(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_log_sum(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_log_sum_exp(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_max(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_mean(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_min(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_sum(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> reduce_sum_square(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// top_k.cpp
core::Result<void> top_k(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// recurrent.cpp
core::Result<void> gru(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> lstm(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> rnn(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<std::shared_ptr<const Packed>> pack_gru(const Call& call, Isa isa);
core::Result<std::shared_ptr<const Packed>> pack_lstm(const Call& call, Isa isa);
core::Result<std::shared_ptr<const Packed>> pack_rnn(const Call& call, Isa isa);

// affine_grid.cpp
core::Result<void> affine_grid(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// sampling.cpp
core::Result<void> grid_sample(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> resize(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> roi_align(const Call& call, std::span<Tensor> outputs, Workspace& ws);

// movement.cpp
core::Result<void> concat(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> depth_to_space(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> expand(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> gather(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> slice(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> space_to_depth(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> split(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> tile(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> transpose(const Call& call, std::span<Tensor> outputs, Workspace& ws);
core::Result<void> trilu(const Call& call, std::span<Tensor> outputs, Workspace& ws);

}  // namespace commensal::kernels::cpu
