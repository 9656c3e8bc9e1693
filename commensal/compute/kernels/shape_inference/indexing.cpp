// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/shape_inference/indexing.hpp>
#include <vector>

namespace commensal::kernels::shape_inference {

core::Result<tensor::Shape> with_dim(const tensor::Shape& shape, int axis, std::int64_t dim) {
  std::vector<std::int64_t> dims(shape.dims().begin(), shape.dims().end());
  dims[static_cast<std::size_t>(axis)] = dim;
  return tensor::Shape::of(dims);
}

}  // namespace commensal::kernels::shape_inference
