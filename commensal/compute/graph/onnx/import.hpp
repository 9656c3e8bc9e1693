// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/ir.hpp>
#include <memory>

namespace commensal::graph::onnx {

/// Opsets of the default domain that models may import.
inline constexpr int kOpsetMin = 1, kOpsetMax = 24;

/// Reads an ONNX model. Initialisers stay in the mapped file where their place in
/// it is aligned for their type; external data must lie in the model's own folder.
/// The result depends on nothing but the bytes.
/// Errors, one line each: kInvalidArgument (truncated, cyclic, absurd dimensions, checker's
/// findings), kUnsupported (operator named with its opset, element type), kPermissionDenied (data
/// outside the model's folder), kNotFound, kResourceExhausted.
core::Result<std::shared_ptr<const Graph>> import_file(const core::Path& path);

/// From a file that is open already; external data is refused.
core::Result<std::shared_ptr<const Graph>> import_file(
    std::shared_ptr<const core::MappedFile> file);

/// From memory, which `owner` keeps alive; external data is refused.
core::Result<std::shared_ptr<const Graph>> import_bytes(core::ByteView bytes,
                                                        std::shared_ptr<const void> owner);

}  // namespace commensal::graph::onnx
