// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/blocked/ops.hpp>
#include <commensal/compute/kernels/cpu/chain.hpp>
#include <commensal/compute/kernels/cpu/transformer/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

/// Rows of the table that no model file can name: what an optimised graph has in place of several
/// of the model's (graph/optimise). They give the bits of what they stand for.
namespace commensal::kernels {

template <InferFn kInfer>
inline constexpr Judge kTypes = {.infer = kInfer};

inline constexpr std::string_view kBlockedConvPacks[] = {"group", "way", "winograd_tile"};
inline constexpr std::string_view kRowsMatMulPacks[] = {"transB"};

// clang-format off
/// Pictures with channels in blocks of 16.
inline constexpr Operator kBlockedRows[] = {
    {.name = "BlockedAveragePool", .domain = kInternalDomain, .kind = Kind::kReduction,
     .judge = &kTypes<cpu::infer_blocked_pool>, .cpu = cpu::blocked_average_pool,
     .cost = cpu::blocked_pool_steps, .role = Role::kBlockedAveragePool, .by_image = true},
    {.name = "BlockedBinary", .domain = kInternalDomain, .inputs = {2, 2},
     .judge = &kTypes<cpu::infer_blocked_same>, .cpu = cpu::blocked_binary,
     .role = Role::kBlockedBinary, .by_image = true},
    {.name = "BlockedChannels", .domain = kInternalDomain, .inputs = {1, kMany},
     .kind = Kind::kMovement, .judge = &kTypes<cpu::infer_blocked_channels>,
     .cpu = cpu::blocked_channels, .pack = cpu::pack_blocked_channels,
     .role = Role::kBlockedChannels, .by_image = true},
    {.name = "BlockedConv", .domain = kInternalDomain, .inputs = {2, 4}, .kind = Kind::kDotProduct,
     .judge = &kTypes<cpu::infer_blocked_conv>, .cpu = cpu::blocked_conv,
     .pack = cpu::pack_blocked_conv, .packs = Packs{{0b110}, kBlockedConvPacks},
     .cost = cost::taps, .role = Role::kBlockedConv, .by_image = true},
    {.name = "BlockedExpand", .domain = kInternalDomain, .inputs = {3, 5},
     .kind = Kind::kDotProduct, .judge = &kTypes<cpu::infer_blocked_expand>,
     .cpu = cpu::blocked_expand, .pack = cpu::pack_blocked_expand,
     .cost = cpu::blocked_expand_steps,
     .role = Role::kBlockedExpand, .by_image = true},
    {.name = "BlockedGlobalAveragePool", .domain = kInternalDomain, .kind = Kind::kReduction,
     .judge = &kTypes<cpu::infer_blocked_global_pool>, .cpu = cpu::blocked_global_average_pool,
     .role = Role::kBlockedGlobalAveragePool, .by_image = true},
    {.name = "BlockedMaxPool", .domain = kInternalDomain, .kind = Kind::kReduction,
     .judge = &kTypes<cpu::infer_blocked_pool>, .cpu = cpu::blocked_max_pool,
     .cost = cpu::blocked_pool_steps, .role = Role::kBlockedMaxPool, .by_image = true},
    {.name = "BlockedNormalise", .domain = kInternalDomain, .inputs = {5, 5},
     .judge = &kTypes<cpu::infer_blocked_same>, .cpu = cpu::blocked_normalise,
     .pack = cpu::pack_blocked_normalise, .role = Role::kBlockedNormalise, .by_image = true},
    {.name = "BlockedToLast", .domain = kInternalDomain, .kind = Kind::kMovement,
     .judge = &kTypes<cpu::infer_blocked_to_last>, .cpu = cpu::blocked_to_last,
     .role = Role::kBlockedToLast, .by_image = true},
    {.name = "FromBlocked", .domain = kInternalDomain, .kind = Kind::kMovement,
     .judge = &kTypes<cpu::infer_from_blocked>, .cpu = cpu::from_blocked,
     .role = Role::kFromBlocked, .by_image = true},
    {.name = "LastToBlocked", .domain = kInternalDomain, .kind = Kind::kMovement,
     .judge = &kTypes<cpu::infer_last_to_blocked>, .cpu = cpu::last_to_blocked,
     .role = Role::kLastToBlocked, .by_image = true},
    {.name = "ToBlocked", .domain = kInternalDomain, .kind = Kind::kMovement,
     .judge = &kTypes<cpu::infer_to_blocked>, .cpu = cpu::to_blocked, .role = Role::kToBlocked,
     .by_image = true},
};

/// What transformers write in many operators.
inline constexpr Operator kTransformerRows[] = {
    {.name = "Attention", .domain = kInternalDomain, .inputs = {3, kMany},
     .kind = Kind::kReduction, .judge = &kTypes<cpu::infer_attention>, .cpu = cpu::attention,
     .role = Role::kFusedAttention},
    {.name = "GeluSteps", .domain = kInternalDomain, .judge = &kTypes<cpu::infer_gelu_steps>,
     .cpu = cpu::gelu_steps, .role = Role::kGeluSteps},
    {.name = "LayerNormSteps", .domain = kInternalDomain, .inputs = {3, 3},
     .kind = Kind::kReduction, .judge = &kTypes<cpu::infer_layer_norm_steps>,
     .cpu = cpu::layer_norm_steps, .role = Role::kLayerNormSteps},
    {.name = "RowsMatMul", .domain = kInternalDomain, .inputs = {2, 4}, .kind = Kind::kDotProduct,
     .judge = &kTypes<cpu::infer_rows_matmul>, .cpu = cpu::rows_matmul,
     .pack = cpu::pack_rows_matmul, .packs = Packs{{0b10}, kRowsMatMulPacks}, .cost = cost::row,
     .role = Role::kRowsMatMul},
};

/// Several of the model's elementwise ones.
inline constexpr Operator kChainRow[] = {
    {.name = "Chain", .domain = kInternalDomain, .inputs = {1, kMany}, .outputs_max = kMany,
     .judge = &kTypes<cpu::infer_chain>, .cpu = cpu::chain, .cost = cpu::chain_cost},
};

/// Has no function: graph/by_image.hpp runs its subgraph.
inline constexpr Operator kGraphRows[] = {
    {.name = "ByImage", .domain = kInternalDomain, .inputs = {1, kMany}, .outputs_max = kMany,
     .kind = Kind::kStructure, .role = Role::kByImage},
};
// clang-format on

}  // namespace commensal::kernels
