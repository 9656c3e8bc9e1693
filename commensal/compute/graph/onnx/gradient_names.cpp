// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/compute/graph/onnx/attribute_proto.hpp>
#include <commensal/compute/graph/onnx/gradient_names.hpp>

namespace commensal::graph::onnx {

bool is_gradient(const ::onnx::NodeProto& node) {
  // Of its domain the only one that names values.
  return node.domain() == "ai.onnx.preview.training" &&
         std::ranges::any_of(node.attribute(), [](const ::onnx::AttributeProto& attribute) {
           return attribute.name() == "xs" || attribute.name() == "y";
         });
}

core::Result<GradientNames> gradient_names(const ::onnx::NodeProto& node, ExternalFiles& files) {
  COMMENSAL_ASSIGN(const kernels::Attributes attributes, to_attributes(node, files));
  GradientNames names;
  COMMENSAL_ASSIGN(names.xs, attributes.texts("xs"));
  COMMENSAL_ASSIGN(names.zs, attributes.texts("zs"));
  COMMENSAL_ASSIGN(names.y, attributes.text("y", ""));
  if (names.xs.empty() || names.y.empty()) {
    return core::fail(core::ErrorCode::kInvalidArgument,
                      "expected attributes xs, names of values, and y, the name of one");
  }
  return names;
}

}  // namespace commensal::graph::onnx
