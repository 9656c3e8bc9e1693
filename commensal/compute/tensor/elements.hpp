// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/tensor.hpp>

/// Elements as bytes, wherever a tensor travels or is kept: those of numbers as they lie in memory;
/// of strings, one after the other, the length (u32, little-endian) and the bytes, as the Open
/// Inference Protocol has BYTES.
namespace commensal::tensor {

/// So many bytes they are.
std::int64_t encoded_bytes(const Tensor& tensor);
/// A tensor whose bytes() they are: this one, or one that was made of its strings.
Tensor encoded(const Tensor& tensor);
void append_encoded(std::string& out, const Tensor& tensor);

/// The tensor whose elements are all of `bytes`, which `owner` keeps alive; copied only where they
/// are not aligned for the type. Takes memory for strings that are there, not for those that the
/// shape speaks of. Error: kInvalidArgument.
core::Result<Tensor> decoded(const TensorType& type, core::ByteView bytes,
                             std::shared_ptr<const void> owner);
/// The same of a copy of `bytes`.
core::Result<Tensor> decoded_copy(const TensorType& type, core::ByteView bytes);

/// What the elements take in memory: never less than encoded_bytes().
std::int64_t held_bytes(const Tensor& tensor);

}  // namespace commensal::tensor
