// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/conv.hpp>
#include <commensal/compute/kernels/shape_inference/gemm.hpp>

/// Products of 8-bit codes: MatMulInteger, ConvInteger, QLinearMatMul, QLinearConv. Which scale and
/// zero point serves which element; depends on types and attributes alone, never on data.
namespace commensal::kernels::shape_inference {

/// Which inputs are what; -1: this operator has none. The first of them is the tensor of codes.
struct CodeOperand {
  int codes = 0, scale = -1, zero = -1;
};
struct CodeRoles {
  CodeOperand a, b, y;
  int bias = -1;
};
inline constexpr CodeRoles kInteger{{0, -1, 2}, {1, -1, 3}, {}, -1};
inline constexpr CodeRoles kRequantised{{0, 1, 2}, {3, 4, 5}, {-1, 6, 7}, 8};

/// Codes and zero points are uint8 or int8, alike, and scales are floats.
/// Error: kInvalidArgument or kUnsupported.
core::Result<void> check_codes(const Call& call, const CodeOperand& operand);

/// How a scale or zero point serves the elements: one for all, one for each row (or column, or
/// channel), or one for each row of each matrix.
struct Spread {
  bool single = true, everywhere = false;

  /// `count` of rows in a matrix; `full` the shape with one for each row of all matrices, or null.
  static core::Result<Spread> of(const Call& call, int input, std::int64_t count,
                                 const tensor::Shape* full);
  std::int64_t at(std::int64_t matrix, std::int64_t count, std::int64_t i) const {
    return single ? 0 : everywhere ? matrix * count + i : i;
  }
};
struct Spreads {
  Spread scale, zero;
};

/// MatMulInteger and QLinearMatMul: scales of A and Y by rows, of B by columns.
struct CodeMatMul {
  MatMul mm;
  Spreads a, b, y;

  static core::Result<CodeMatMul> of(const Call& call, const CodeRoles& roles);
};

/// ConvInteger and QLinearConv: one scale for X and for Y, those of W by output channels.
struct CodeConv {
  Conv conv;
  Spreads w;

  static core::Result<CodeConv> of(const Call& call, const CodeRoles& roles);
};

}  // namespace commensal::kernels::shape_inference
