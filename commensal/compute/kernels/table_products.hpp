// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: dot products, normalisation, pooling.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kProductRows[] = {
    {.name = "AveragePool", .kind = Kind::kReduction, .judge = &ref::kAveragePool,
     .cpu = cpu::average_pool, .batching = {batching::only_first}, .cost = cost::window,
     .role = Role::kAveragePool, .shaping = kNone},
    {.name = "BatchNormalization", .until = 13, .inputs = {5, 5}, .outputs_max = 5,
     .judge = &ref::kBatchNormalization, .cpu = cpu::batch_normalization,
     .batching = {batching::batch_norm}, .role = Role::kBatchNormalization},
    {.name = "BatchNormalization", .since = 14, .inputs = {5, 5}, .outputs_max = 3,
     .judge = &ref::kBatchNormalization, .cpu = cpu::batch_normalization,
     .batching = {batching::batch_norm}, .role = Role::kBatchNormalization},
    {.name = "Conv", .inputs = {2, 3}, .kind = Kind::kDotProduct, .judge = &ref::kConv,
     .cpu = cpu::conv, .pack = cpu::pack_conv, .cuda = Cuda::kConv,
     .batching = {batching::only_first}, .cost = cost::taps, .role = Role::kConv},
    {.name = "Gemm", .until = 6, .inputs = {3, 3}, .kind = Kind::kDotProduct, .judge = &ref::kGemm,
     .cpu = cpu::gemm, .pack = cpu::pack_gemm, .cuda = Cuda::kGemm, .batching = {batching::gemm},
     .role = Role::kGemm, .canonical = true},
    {.name = "Gemm", .since = 7, .inputs = {2, 3}, .kind = Kind::kDotProduct, .judge = &ref::kGemm,
     .cpu = cpu::gemm, .pack = cpu::pack_gemm, .cuda = Cuda::kGemm, .batching = {batching::gemm},
     .role = Role::kGemm, .canonical = true},
    {.name = "GlobalAveragePool", .kind = Kind::kReduction, .judge = &ref::kGlobalAveragePool,
     .cpu = cpu::global_average_pool, .batching = {batching::only_first},
     .role = Role::kGlobalAveragePool, .shaping = kNone},
    {.name = "GlobalLpPool", .kind = Kind::kReduction, .judge = &ref::kGlobalLpPool,
     .batching = {batching::only_first}, .shaping = kNone},
    {.name = "GlobalMaxPool", .kind = Kind::kReduction, .judge = &ref::kGlobalMaxPool,
     .cpu = cpu::global_max_pool, .batching = {batching::only_first}, .shaping = kNone},
    {.name = "GroupNormalization", .since = 18, .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kGroupNormalization, .cpu = cpu::group_normalization,
     .batching = {batching::only_first}, .shaping = kNone},
    {.name = "InstanceNormalization", .inputs = {3, 3}, .kind = Kind::kReduction,
     .judge = &ref::kInstanceNormalization, .cpu = cpu::instance_normalization,
     .cuda = Cuda::kInstanceNorm, .batching = {batching::only_first}, .shaping = kNone},
    {.name = "LRN", .kind = Kind::kReduction, .judge = &ref::kLrn, .cpu = cpu::lrn,
     .batching = {batching::only_first}, .shaping = kNone},
    {.name = "LayerNormalization", .since = 17, .inputs = {2, 3}, .outputs_max = 3,
     .kind = Kind::kReduction, .judge = &ref::kLayerNormalization, .cpu = cpu::layer_normalization,
     .cuda = Cuda::kLayerNorm, .batching = {batching::layer_norm}, .shaping = kNone},
    {.name = "LpNormalization", .kind = Kind::kReduction, .judge = &ref::kLpNormalization,
     .cpu = cpu::lp_normalization,
     .batching = {batching::along_last}, .shaping = kNone},
    {.name = "LpPool", .kind = Kind::kReduction, .judge = &ref::kLpPool,
     .cpu = cpu::lp_pool, .batching = {batching::only_first}, .cost = cost::window,
     .shaping = kNone},
    {.name = "MatMul", .inputs = {2, 2}, .kind = Kind::kDotProduct, .judge = &ref::kMatmul,
     .cpu = cpu::matmul, .pack = cpu::pack_matmul, .cuda = Cuda::kMatMul,
     .batching = {batching::matmul}, .role = Role::kMatMul, .canonical = true},
    {.name = "MaxPool", .until = 7, .kind = Kind::kReduction, .judge = &ref::kMaxPool,
     .cpu = cpu::max_pool, .batching = {batching::max_pool}, .cost = cost::window,
     .role = Role::kMaxPool, .shaping = kNone},
    {.name = "MaxPool", .since = 8, .outputs_max = 2, .kind = Kind::kReduction,
     .judge = &ref::kMaxPool, .cpu = cpu::max_pool, .batching = {batching::max_pool},
     .cost = cost::window, .role = Role::kMaxPool, .shaping = kNone},
    {.name = "MeanVarianceNormalization", .since = 9, .kind = Kind::kReduction,
     .judge = &ref::kMeanVarianceNormalization, .cpu = cpu::mean_variance_normalization,
     .shaping = kNone},
    {.name = "RMSNormalization", .since = 23, .inputs = {2, 2}, .kind = Kind::kReduction,
     .judge = &ref::kRmsNormalization,
     .cpu = cpu::rms_normalization, .batching = {batching::layer_norm}, .shaping = kNone},
};
// clang-format on

}  // namespace commensal::kernels
