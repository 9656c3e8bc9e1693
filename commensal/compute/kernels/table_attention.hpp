// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/transformer/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: what newer networks are made of.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kAttentionRows[] = {
    {.name = "Attention", .since = 23, .until = 23, .inputs = {3, 6}, .outputs_max = 4,
     .kind = Kind::kReduction, .judge = &ref::kAttention, .cpu = cpu::onnx_attention,
     .shaping = kNone, .checked = kNone},
    {.name = "Attention", .since = 24, .inputs = {3, 7}, .outputs_max = 4,
     .kind = Kind::kReduction, .judge = &ref::kAttention, .cpu = cpu::onnx_attention,
     .shaping = kSeventh, .checked = kNone},
    {.name = "Gelu", .since = 20, .judge = &ref::kGelu, .cpu = cpu::gelu,
     .batching = {batching::elementwise}},
    {.name = "Mish", .since = 18, .judge = &ref::kMish, .cpu = cpu::mish,
     .batching = {batching::elementwise}},
    {.name = "RotaryEmbedding", .since = 23, .inputs = {3, 4}, .judge = &ref::kRotaryEmbedding,
     .steering = kFourth},
    {.name = "Swish", .since = 24, .judge = &ref::kSwish, .cpu = cpu::swish,
     .batching = {batching::elementwise}},
    {.name = "TensorScatter", .since = 24, .inputs = {2, 3}, .kind = Kind::kMovement,
     .judge = &ref::kTensorScatter},
};
// clang-format on

}  // namespace commensal::kernels
