// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/protocol/encoding.hpp>
#include <commensal/compute/tensor/named.hpp>

namespace commensal::verify {

/// Canonical bytes of tensors: name, dtype (u8, ONNX's number), rank (u8), dimensions (u64 each),
/// element bytes (little-endian, u32-length... see protocol::Writer::bytes).
void write_tensors(protocol::Writer& writer, const tensor::NamedTensors& tensors);

/// Copies the elements out of the reader's bytes.
/// Errors: kInvalidArgument where sizes and shapes disagree or a bound of limits.hpp is passed.
core::Result<tensor::NamedTensors> read_tensors(protocol::Reader& reader);

}  // namespace commensal::verify
