// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/tensor/tensor.hpp>
#include <string>

namespace commensal::graph::onnx {

struct NamedTensor {
  std::string name;  // may be empty
  tensor::Tensor tensor;
};

/// Reads one TensorProto (input_K.pb and output_K.pb of the ONNX backend tests). Data outside the
/// file is refused. Errors: kInvalidArgument, kUnsupported (element type), kNotFound.
core::Result<NamedTensor> read_tensor_file(const core::Path& path);

}  // namespace commensal::graph::onnx
