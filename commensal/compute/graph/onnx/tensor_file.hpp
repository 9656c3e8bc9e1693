// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <string>

namespace commensal::graph::onnx {

struct NamedTensor {
  std::string name;  // may be empty
  tensor::Tensor tensor;
};
struct NamedValue {
  std::string name;  // may be empty
  tensor::Value value;
};

/// Reads one TensorProto (input_K.pb and output_K.pb of the ONNX backend tests). Data outside the
/// file is refused. Errors: kInvalidArgument, kUnsupported (element type), kNotFound.
core::Result<NamedTensor> read_tensor_file(const core::Path& path);

/// Reads a TensorProto, SequenceProto or OptionalProto: the file does not say which it is, what
/// the model declares does. The same errors.
core::Result<NamedValue> read_value_file(const core::Path& path, const Declared& declared);

}  // namespace commensal::graph::onnx
