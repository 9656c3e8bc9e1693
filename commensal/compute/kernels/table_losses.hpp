// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: losses and the logarithm of a sum.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kLossRows[] = {
    {.name = "NegativeLogLikelihoodLoss", .since = 12, .inputs = {2, 3}, .kind = Kind::kReduction,
     .judge = &ref::kNegativeLogLikelihoodLoss, .shaping = kNone, .checked = kSecond},
    {.name = "ReduceLogSumExp", .until = 17, .kind = Kind::kReduction,
     .judge = &ref::kReduceLogSumExp,
     .cpu = cpu::reduce_log_sum_exp, .batching = {batching::reduce}, .shaping = kNone},
    {.name = "ReduceLogSumExp", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceLogSumExp,
     .cpu = cpu::reduce_log_sum_exp, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "SoftmaxCrossEntropyLoss", .since = 12, .inputs = {2, 3}, .outputs_max = 2,
     .kind = Kind::kReduction, .judge = &ref::kSoftmaxCrossEntropyLoss,
     .cpu = cpu::softmax_cross_entropy_loss, .cost = cost::passes, .shaping = kNone,
     .checked = kSecond},
};
// clang-format on

}  // namespace commensal::kernels
