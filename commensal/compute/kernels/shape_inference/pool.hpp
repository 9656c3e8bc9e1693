// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/window.hpp>

namespace commensal::kernels::shape_inference {

/// A pooling call over X [N, C, D...], checked; the global pools are windows of the whole image.
struct Pool {
  Window window;
  tensor::DType dtype = tensor::DType::kUndefined;
  std::int64_t planes = 0;    // N * C
  tensor::Shape shape;        // of Y
  bool count_pads = false;    // AveragePool: the padding counts in the divisor
  bool column_major = false;  // MaxPool's Indices: storage_order 1

  /// AveragePool's divisor at output position `at`: taps inside the image, or (count_pads) inside
  /// the image and its stated pads.
  std::int64_t divisor(const Dims& at) const;
  std::int64_t divisor_along(std::size_t d, std::int64_t at) const;  // its factor of dimension d
  std::vector<float> divisors(Pulse& pulse) const;  // of a plane's output positions
};

/// AveragePool and MaxPool: kernel_shape is required.
core::Result<Pool> pool_of(const Call& call);
core::Result<Pool> global_pool_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
