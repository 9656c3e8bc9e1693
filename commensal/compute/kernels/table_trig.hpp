// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: trigonometric and hyperbolic functions.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kTrigRows[] = {
    {.name = "Acos", .since = 7, .judge = &ref::kAcos, .cpu = cpu::acos, .cuda = Cuda::kAcos,
     .batching = {batching::elementwise}},
    {.name = "Acosh", .since = 9, .judge = &ref::kAcosh, .cpu = cpu::acosh, .cuda = Cuda::kAcosh,
     .batching = {batching::elementwise}},
    {.name = "Asin", .since = 7, .judge = &ref::kAsin, .cpu = cpu::asin, .cuda = Cuda::kAsin,
     .batching = {batching::elementwise}},
    {.name = "Asinh", .since = 9, .judge = &ref::kAsinh, .cpu = cpu::asinh, .cuda = Cuda::kAsinh,
     .batching = {batching::elementwise}},
    {.name = "Atan", .since = 7, .judge = &ref::kAtan, .cpu = cpu::atan, .cuda = Cuda::kAtan,
     .batching = {batching::elementwise}},
    {.name = "Atanh", .since = 9, .judge = &ref::kAtanh, .cpu = cpu::atanh, .cuda = Cuda::kAtanh,
     .batching = {batching::elementwise}},
    {.name = "Cos", .since = 7, .judge = &ref::kCos, .cpu = cpu::cos, .cuda = Cuda::kCos,
     .batching = {batching::elementwise}},
    {.name = "Cosh", .since = 9, .judge = &ref::kCosh, .cpu = cpu::cosh, .cuda = Cuda::kCosh,
     .batching = {batching::elementwise}},
    {.name = "Sin", .since = 7, .judge = &ref::kSin, .cpu = cpu::sin, .cuda = Cuda::kSin,
     .batching = {batching::elementwise}},
    {.name = "Sinh", .since = 9, .judge = &ref::kSinh, .cpu = cpu::sinh, .cuda = Cuda::kSinh,
     .batching = {batching::elementwise}},
    {.name = "Tan", .since = 7, .judge = &ref::kTan, .cpu = cpu::tan, .cuda = Cuda::kTan,
     .batching = {batching::elementwise}},
};
// clang-format on

}  // namespace commensal::kernels
