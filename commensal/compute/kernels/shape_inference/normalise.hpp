// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>

namespace commensal::kernels::shape_inference {

/// A BatchNormalization call, checked: X [N, C, D...] and scale, B, mean, var [C]. Not spatial
/// (before opset 9) they are [C, D...]: every place is a channel of its own.
struct BatchNorm {
  TensorType type;  // of X and Y
  tensor::DType parameters = tensor::DType::kUndefined;
  float epsilon = 1e-5f;
  std::int64_t channels = 1, plane = 1;  // plane: elements of one channel of one image
  tensor::Shape parameter_shape;
  bool trains = false;  // mean and variance are the batch's own
  float momentum = 0.9f;
  int outputs = 1;
};
core::Result<BatchNorm> batch_norm_of(const Call& call);

/// An LRN call, checked: the window of channel c is [c - before, c + after], cut at the ends.
struct Lrn {
  TensorType type;
  float alpha = 0, beta = 0, bias = 0;
  std::int64_t size = 1, before = 0, after = 0;
  std::int64_t channels = 1, plane = 1;
};
core::Result<Lrn> lrn_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
