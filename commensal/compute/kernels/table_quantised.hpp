// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/cpu/quantized/ops.hpp>
#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: 8-bit codes and their products.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kQuantisedRows[] = {
    {.name = "ConvInteger", .since = 10, .inputs = {2, 4}, .kind = Kind::kDotProduct,
     .judge = &ref::kConvInteger, .cpu = cpu::conv_integer, .pack = cpu::pack_conv_integer,
     .batching = {batching::only_first}},
    {.name = "DequantizeLinear", .since = 10, .inputs = {2, 3}, .judge = &ref::kDequantizeLinear,
     .cpu = cpu::dequantize_linear, .batching = {batching::quantise}},
    {.name = "DynamicQuantizeLinear", .since = 11, .outputs_max = 3, .kind = Kind::kReduction,
     .judge = &ref::kDynamicQuantizeLinear, .cpu = cpu::dynamic_quantize_linear,
     .cost = cost::passes, .shaping = kNone},
    {.name = "MatMulInteger", .since = 10, .inputs = {2, 4}, .kind = Kind::kDotProduct,
     .judge = &ref::kMatmulInteger, .cpu = cpu::matmul_integer, .pack = cpu::pack_matmul_integer,
     .batching = {batching::integer_matmul}},
    {.name = "QLinearConv", .since = 10, .inputs = {8, 9}, .kind = Kind::kDotProduct,
     .judge = &ref::kQlinearConv, .cpu = cpu::qlinear_conv, .pack = cpu::pack_qlinear_conv,
     .batching = {batching::only_first}},
    {.name = "QLinearMatMul", .since = 10, .inputs = {8, 8}, .kind = Kind::kDotProduct,
     .judge = &ref::kQlinearMatmul, .cpu = cpu::qlinear_matmul, .pack = cpu::pack_qlinear_matmul,
     .batching = {batching::quantised_matmul}},
    {.name = "QuantizeLinear", .since = 10, .inputs = {2, 3}, .judge = &ref::kQuantizeLinear,
     .cpu = cpu::quantize_linear, .batching = {batching::quantise}},
};
// clang-format on

}  // namespace commensal::kernels
