// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/compute/graph/onnx/external.hpp>
#include <string>
#include <vector>

/// Seen by leaf sources of graph/onnx only: the header brings the protobuf classes with it.
namespace commensal::graph::onnx {

/// The one operator that is no row of the table: the importer has compute/grad put others in its
/// place (ONNX, docs/Operators.md, ai.onnx.preview.training).
bool is_gradient(const ::onnx::NodeProto& node);

/// The values that a Gradient names.
struct GradientNames {
  std::vector<std::string> xs, zs;
  std::string y;
};
/// Errors: those of to_attributes; kInvalidArgument (no xs, no y).
core::Result<GradientNames> gradient_names(const ::onnx::NodeProto& node, ExternalFiles& files);

}  // namespace commensal::graph::onnx
