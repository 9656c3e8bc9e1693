// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/base/core/result.hpp>
#include <map>
#include <string>

/// What must hold of a model before anything is made of it. Seen by leaf sources only.
namespace commensal::graph::onnx {

/// Domain ("" is the default one) to opset version.
using Opsets = std::map<std::string, int>;

/// "ai.onnx" is another spelling of the default domain.
std::string normal_domain(const std::string& domain);

/// Versions that this importer knows. Errors: kInvalidArgument, kUnsupported, naming what was
/// expected.
core::Result<Opsets> read_opsets(const ::onnx::ModelProto& model);

/// Names are fit to print and made once, nodes come after what they use, bounds of limits.hpp
/// hold, nothing unsupported lies outside the nodes. Names a node of a cycle, if there is one.
core::Result<void> check_structure(const ::onnx::ModelProto& model);

/// "node 'conv1' (Conv)", for messages.
std::string place_of(const ::onnx::NodeProto& node, int index);
/// The node's own name, or "<operator>_<index>".
std::string name_of(const ::onnx::NodeProto& node, int index);

}  // namespace commensal::graph::onnx
