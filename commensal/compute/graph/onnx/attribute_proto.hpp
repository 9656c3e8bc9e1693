// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/compute/graph/onnx/external.hpp>
#include <commensal/compute/kernels/attributes.hpp>

namespace commensal::graph::onnx {

/// The attributes of a node. Errors, naming the attribute: kInvalidArgument (twice, no name),
/// kUnsupported (subgraphs, sparse tensors, types, references).
core::Result<kernels::Attributes> to_attributes(const ::onnx::NodeProto& node,
                                                ExternalFiles& files);

}  // namespace commensal::graph::onnx
