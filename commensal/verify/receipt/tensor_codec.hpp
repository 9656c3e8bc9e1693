// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/named.hpp>

namespace commensal::receipt {

/// dtype (u8, ONNX's number), rank (u8), dimensions (u64 each).
void write_type(protocol::Writer& writer, const tensor::TensorType& type);

/// Count; for each its name, its type, its element bytes (u64 length, little-endian elements).
void write_tensors(protocol::Writer& writer, const tensor::NamedTensors& tensors);

/// Copies the elements out of the reader's bytes. Refuses, in the reader, sizes and shapes that
/// disagree, unknown types, and what passes a bound of limits.hpp.
tensor::NamedTensors read_tensors(protocol::Reader& reader);

}  // namespace commensal::receipt
