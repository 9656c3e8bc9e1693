// SPDX-License-Identifier: Apache-2.0
#include <commensal/verify/receipt/tensor_codec.hpp>

namespace commensal::receipt {
namespace {

using core::ErrorCode;
using protocol::Reader;
using protocol::Writer;

tensor::TensorType read_type(Reader& reader) {
  const auto dtype = tensor::dtype_from_onnx(reader.u8());
  std::vector<std::int64_t> dims(reader.u8());
  for (std::int64_t& dim : dims) dim = static_cast<std::int64_t>(reader.u64());
  const auto shape = tensor::Shape::of(dims);
  if (!dtype) {
    reader.refuse(dtype.error().code, dtype.error().message);
    return {};
  }
  if (!shape) {
    reader.refuse(shape.error().code, shape.error().message);
    return {};
  }
  return {*dtype, *shape};
}

tensor::Tensor read_tensor(Reader& reader) {
  const tensor::TensorType type = read_type(reader);
  const std::uint64_t size = reader.u64();
  if (!reader.ok()) return {};
  if (size != static_cast<std::uint64_t>(type.bytes())) {
    reader.refuse(ErrorCode::kInvalidArgument,
                  fmt::format("{} bytes for {}, expected {}", size, type.text(), type.bytes()));
    return {};
  }
  const core::ByteView bytes = reader.raw(size);
  if (!reader.ok()) return {};
  if (auto checked = tensor::check_elements(type.dtype, bytes); !checked) {
    reader.refuse(checked.error().code, checked.error().message);
    return {};
  }
  return tensor::Tensor::copy_of(type, bytes);
}

}  // namespace

void write_type(Writer& writer, const tensor::TensorType& type) {
  writer.u8(static_cast<std::uint8_t>(type.dtype));
  writer.u8(static_cast<std::uint8_t>(type.shape.rank()));
  for (const std::int64_t dim : type.shape.dims()) writer.u64(static_cast<std::uint64_t>(dim));
}

void write_tensors(Writer& writer, const tensor::NamedTensors& tensors) {
  writer.count(tensors.size());
  for (const tensor::NamedTensor& item : tensors) {
    writer.text(item.name);
    write_type(writer, item.value.type());
    writer.u64(item.value.bytes().size());
    writer.raw(item.value.bytes());
  }
}

tensor::NamedTensors read_tensors(Reader& reader) {
  tensor::NamedTensors tensors;
  for (std::size_t left = reader.count(); left > 0 && reader.ok(); --left) {
    std::string name(reader.text());
    tensors.push_back({std::move(name), read_tensor(reader)});
  }
  return tensors;
}

}  // namespace commensal::receipt
