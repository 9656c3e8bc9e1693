// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/value.hpp>

namespace commensal::lab {

/// How far a number may be from somebody else's: |got - expected| <= absolute + relative
/// |expected|. The defaults are those of the ONNX backend tests. Our own back ends are never
/// compared so.
struct Tolerance {
  double relative = 1e-3;
  double absolute = 1e-7;
};

/// Whether `got` is `expected` within the tolerance: same type, NaN equal to NaN, infinities and
/// integers exactly equal. The error says where they first differ.
core::Result<void> compare(const tensor::Tensor& got, const tensor::Tensor& expected,
                           const Tolerance& tolerance = {});
/// Sequences item by item; nothing is nothing.
core::Result<void> compare(const tensor::Value& got, const tensor::Value& expected,
                           const Tolerance& tolerance = {});

}  // namespace commensal::lab
