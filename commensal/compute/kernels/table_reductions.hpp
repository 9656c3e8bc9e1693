// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: sums, extremes, softmax.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kReductionRows[] = {
    {.name = "ArgMax", .kind = Kind::kReduction, .judge = &ref::kArgMax,
     .batching = {batching::along_first}, .shaping = kNone},
    {.name = "ArgMin", .kind = Kind::kReduction, .judge = &ref::kArgMin,
     .batching = {batching::along_first}, .shaping = kNone},
    {.name = "CumSum", .since = 11, .inputs = {2, 2}, .kind = Kind::kReduction,
     .judge = &ref::kCumSum},
    {.name = "Hardmax", .kind = Kind::kReduction, .judge = &ref::kHardmax,
     .batching = {batching::softmax}},
    {.name = "LogSoftmax", .kind = Kind::kReduction, .judge = &ref::kLogSoftmax,
     .cpu = cpu::log_softmax, .batching = {batching::softmax}, .shaping = kNone},
    {.name = "ReduceL1", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceL1,
     .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceL1", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceL1, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceL2", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceL2,
     .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceL2", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceL2, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceLogSum", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceLogSum,
     .batching = {batching::reduce}},
    {.name = "ReduceLogSum", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceLogSum, .batching = {batching::reduce}},
    {.name = "ReduceMax", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceMax,
     .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceMax", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceMax, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceMean", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceMean,
     .cpu = cpu::reduce_mean, .batching = {batching::reduce}, .role = Role::kReduceMean,
     .shaping = kSecond},
    {.name = "ReduceMean", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceMean, .cpu = cpu::reduce_mean, .batching = {batching::reduce},
     .role = Role::kReduceMean, .shaping = kSecond},
    {.name = "ReduceMin", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceMin,
     .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceMin", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceMin, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceProd", .until = 17, .kind = Kind::kReduction, .judge = &ref::kReduceProd,
     .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceProd", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceProd, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceSum", .until = 12, .kind = Kind::kReduction, .judge = &ref::kReduceSum,
     .cpu = cpu::reduce_sum, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceSum", .since = 13, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceSum, .cpu = cpu::reduce_sum, .batching = {batching::reduce},
     .shaping = kSecond},
    {.name = "ReduceSumSquare", .until = 17, .kind = Kind::kReduction,
     .judge = &ref::kReduceSumSquare, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "ReduceSumSquare", .since = 18, .inputs = {1, 2}, .kind = Kind::kReduction,
     .judge = &ref::kReduceSumSquare, .batching = {batching::reduce}, .shaping = kSecond},
    {.name = "Softmax", .kind = Kind::kReduction, .judge = &ref::kSoftmax, .cpu = cpu::softmax,
     .cuda = Cuda::kSoftmax, .batching = {batching::softmax}, .role = Role::kSoftmax,
     .shaping = kNone, .canonical = true},
};
// clang-format on

}  // namespace commensal::kernels
