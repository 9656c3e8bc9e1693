// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <optional>
#include <vector>

/// The protobuf wire format of an ONNX model, read once by hand before the protobuf classes see
/// it. Source: protobuf.dev, "Encoding"; the field numbers are those of onnx.proto.
namespace commensal::graph::onnx {

/// A model without the bulk of its initialisers.
struct Stripped {
  /// The model, with every initialiser's raw_data cut down to one byte (a mark that it was there:
  /// libonnx's checker asks for it).
  core::Bytes model;
  /// For each initialiser of the graph, in order: its raw_data as a view of the original bytes.
  std::vector<std::optional<core::ByteView>> raw;
};

/// Walks the whole model, iteratively, and refuses what the protobuf classes could be hurt by:
/// truncated fields, deep nesting, more messages than memory should hold. Views in the result
/// live as long as `model`. Errors: kInvalidArgument, kResourceExhausted.
core::Result<Stripped> strip(core::ByteView model);

}  // namespace commensal::graph::onnx
