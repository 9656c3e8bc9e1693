// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

/// Calls of DFT and STFT, checked.
namespace commensal::kernels::shape_inference {

/// One transform of length n: `terms` of its inputs are there, the others are 0; `bins` of its
/// outputs are asked for.
struct Transform {
  std::int64_t n = 1, terms = 1, bins = 1;
  bool complex = false, inverse = false;

  std::int64_t parts() const { return complex ? 2 : 1; }  // of an input
  std::int64_t steps() const { return terms * parts(); }
};

/// Transforms along an axis. The views count a number's parts as places of their own.
struct Dft {
  tensor::DType dtype = tensor::DType::kUndefined;
  Transform transform;
  tensor::Shape to;
  AxisView from_view, to_view;
};
core::Result<Dft> dft_of(const Call& call);

/// Transforms of frames of the signal, `step` apart.
struct Stft {
  tensor::DType dtype = tensor::DType::kUndefined;
  Transform transform;
  std::int64_t length = 0, step = 1, frames = 0;  // length: of the signal
  tensor::Shape to;
};
core::Result<Stft> stft_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
