// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <onnx/onnx_pb.h>

#include <commensal/base/core/result.hpp>

/// Seen by leaf sources of graph/onnx only: the header brings the protobuf classes with it.
namespace commensal::graph::onnx {

/// Puts the bodies of the model's own functions in the place of the nodes that call them, in its
/// graph and in the graphs inside it, and forgets the functions. Inner values are called
/// "FUNCTION:N/value", N counting the calls. (ONNX, IR specification, "Functions".)
/// Errors: kInvalidArgument (a function that calls itself, one defined twice, a call that does not
/// fit), kUnsupported (opsets that differ from the model's), kResourceExhausted (too many nodes).
core::Result<void> inline_functions(::onnx::ModelProto& model);

}  // namespace commensal::graph::onnx
