// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/compute/tensor/elements.hpp>
#include <commensal/compute/tensor/named.hpp>

/// How tensors lie in an encoding, wherever one does. `Writer` and `Reader` are those of
/// base/protocol, which this room does not see: they find these functions beside the types.
namespace commensal::tensor {

/// u8, ONNX's number.
template <class Writer>
void write(Writer& writer, DType dtype) {
  writer.u8(static_cast<std::uint8_t>(dtype));
}
template <class Reader>
void read(Reader& reader, DType& dtype) {
  const auto made = any_dtype_from_onnx(reader.u8());
  if (made) dtype = *made;
  if (!made) reader.refuse(made.error().code, made.error().message);
}

/// dtype, rank (u8), dimensions (u64 each).
template <class Writer>
void write(Writer& writer, const TensorType& type) {
  write(writer, type.dtype);
  writer.u8(static_cast<std::uint8_t>(type.shape.rank()));
  for (const std::int64_t dim : type.shape.dims()) writer.u64(static_cast<std::uint64_t>(dim));
}

/// Errors: of an unknown dtype, of dimensions that make no shape.
template <class Reader>
core::Result<TensorType> read_type(Reader& reader) {
  const std::uint8_t number = reader.u8();
  std::vector<std::int64_t> dims(reader.u8());
  for (std::int64_t& dim : dims) dim = static_cast<std::int64_t>(reader.u64());
  COMMENSAL_TRY(reader.status());  // before what follows from zeros
  COMMENSAL_ASSIGN(const DType dtype, any_dtype_from_onnx(number));
  COMMENSAL_ASSIGN(const Shape shape, Shape::of(dims));
  return TensorType{dtype, shape};
}

template <class Reader>
void read(Reader& reader, TensorType& type) {
  auto made = read_type(reader);
  if (made) type = *std::move(made);
  if (!made) reader.refuse(made.error().code, made.error().message);
}

/// Type, size (u64), elements (elements.hpp).
template <class Writer>
void write(Writer& writer, const Tensor& tensor) {
  write(writer, tensor.type());
  const Tensor elements = encoded(tensor);
  writer.u64(elements.bytes().size());
  writer.raw(elements.bytes());
}

template <class Reader>
core::Result<Tensor> read_tensor(Reader& reader) {
  COMMENSAL_ASSIGN(const TensorType type, read_type(reader));
  const std::uint64_t size = reader.u64();
  COMMENSAL_TRY(reader.status());
  const core::ByteView bytes = reader.raw(size);
  COMMENSAL_TRY(reader.status());
  return decoded_copy(type, bytes);
}

/// Copies the elements. Refuses, in the reader, what is no tensor.
template <class Reader>
void read(Reader& reader, Tensor& tensor) {
  auto made = read_tensor(reader);
  if (made) tensor = *std::move(made);
  // Where the reader has refused already, its word stands.
  if (!made) reader.refuse(made.error().code, made.error().message);
}

}  // namespace commensal::tensor
