// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/compute/graph/onnx/external.hpp>
#include <commensal/compute/tensor/tensor.hpp>

/// Seen by leaf sources of graph/onnx only: the header brings the protobuf classes with it.
namespace commensal::graph::onnx {

/// The tensor that `proto` describes. `raw` is its raw_data where that was stripped from it; such
/// data, and external data, is viewed in place if it is aligned for its type, else copied, where it
/// is large and lies in a file no sooner than somebody reads it.
/// Errors (one line, without the tensor's name): kInvalidArgument (sizes that disagree, values out
/// of range), kUnsupported (element type), and those of ExternalFiles.
core::Result<tensor::Tensor> to_tensor(const ::onnx::TensorProto& proto,
                                       const std::optional<Extent>& raw, ExternalFiles& files);

}  // namespace commensal::graph::onnx
