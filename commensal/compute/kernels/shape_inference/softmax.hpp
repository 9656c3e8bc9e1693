// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/kernels/shape_inference/indexing.hpp>

namespace commensal::kernels::shape_inference {

/// A Softmax, LogSoftmax or Hardmax call, checked: rows of `view.length` elements,
/// `view.inner_size` apart. From opset 13 on a row lies along `axis`; before, the input is taken as
/// two-dimensional, cut before `axis`, and a row is all of the second dimension.
struct Softmax {
  TensorType type;
  AxisView view;
};
core::Result<Softmax> softmax_of(const Call& call);

}  // namespace commensal::kernels::shape_inference
