// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/table.hpp>

/// Rows of the table: trigonometric and hyperbolic functions.
namespace commensal::kernels {

// clang-format off
inline constexpr Operator kTrigRows[] = {
    {.name = "Acos", .since = 7, .judge = &ref::kAcos, .cuda = Cuda::kAcos,
     .batching = {batching::elementwise}},
    {.name = "Acosh", .since = 9, .judge = &ref::kAcosh, .cuda = Cuda::kAcosh,
     .batching = {batching::elementwise}},
    {.name = "Asin", .since = 7, .judge = &ref::kAsin, .cuda = Cuda::kAsin,
     .batching = {batching::elementwise}},
    {.name = "Asinh", .since = 9, .judge = &ref::kAsinh, .cuda = Cuda::kAsinh,
     .batching = {batching::elementwise}},
    {.name = "Atan", .since = 7, .judge = &ref::kAtan, .cuda = Cuda::kAtan,
     .batching = {batching::elementwise}},
    {.name = "Atanh", .since = 9, .judge = &ref::kAtanh, .cuda = Cuda::kAtanh,
     .batching = {batching::elementwise}},
    {.name = "Cos", .since = 7, .judge = &ref::kCos, .cuda = Cuda::kCos,
     .batching = {batching::elementwise}},
    {.name = "Cosh", .since = 9, .judge = &ref::kCosh, .cuda = Cuda::kCosh,
     .batching = {batching::elementwise}},
    {.name = "Sin", .since = 7, .judge = &ref::kSin, .cuda = Cuda::kSin,
     .batching = {batching::elementwise}},
    {.name = "Sinh", .since = 9, .judge = &ref::kSinh, .cuda = Cuda::kSinh,
     .batching = {batching::elementwise}},
    {.name = "Tan", .since = 7, .judge = &ref::kTan, .cuda = Cuda::kTan,
     .batching = {batching::elementwise}},
};
// clang-format on

}  // namespace commensal::kernels
