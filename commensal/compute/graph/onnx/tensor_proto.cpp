// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <commensal/compute/graph/onnx/tensor_proto.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <cstring>
#include <limits>

namespace commensal::graph::onnx {

static_assert(std::endian::native == std::endian::little, "tensors are mapped, not converted");

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

namespace {

Result<void> check_size(const TensorType& type, std::size_t bytes) {
  if (static_cast<std::int64_t>(bytes) == type.bytes()) return {};
  return fail(ErrorCode::kInvalidArgument, "{} needs {} bytes of data, but has {}", type.text(),
              type.bytes(), bytes);
}

// ONNX packs two elements of 4 bits into a byte, the first one in the low half.
Result<Tensor> unpacked(const TensorType& type, core::ByteView packed) {
  const std::int64_t elements = type.shape.elements();
  const std::int64_t bytes = elements / 2 + elements % 2;
  if (static_cast<std::int64_t>(packed.size()) != bytes) {
    return fail(ErrorCode::kInvalidArgument, "{} needs {} bytes of data, but has {}", type.text(),
                bytes, packed.size());
  }
  core::Bytes made(static_cast<std::size_t>(elements));
  for (std::size_t i = 0; i < made.size(); ++i) {
    made[i] = tensor::four_bits(i % 2 == 0 ? packed[i / 2] : packed[i / 2] >> 4);
  }
  return Tensor::copy_of(type, made);
}

// Less is not worth the bookkeeping of Tensor::mapped.
constexpr std::size_t kMappedBytesMin = 4096;

Result<Tensor> from_extent(const TensorType& type, const Extent& extent) {
  if (tensor::is_four_bits(type.dtype)) return unpacked(type, extent.bytes);
  COMMENSAL_TRY(check_size(type, extent.bytes.size()));
  COMMENSAL_TRY(tensor::check_elements(type.dtype, extent.bytes));
  if (extent.file != nullptr && extent.bytes.size() >= kMappedBytesMin) {
    return Tensor::mapped(type, extent.bytes, extent.file);
  }
  const auto size = static_cast<std::uintptr_t>(tensor::traits(type.dtype).size);
  const bool aligned = reinterpret_cast<std::uintptr_t>(extent.bytes.data()) % size == 0;
  return aligned ? Tensor::view_of(type, extent.bytes, extent.owner)
                 : Tensor::copy_of(type, extent.bytes);
}

// Narrows the numbers of a typed field, as TensorProto packs them, to the element type.
template <class Element, class Field>
Result<Tensor> from_field(const TensorType& type, const Field& field) {
  if (field.size() != type.shape.elements()) {
    return fail(ErrorCode::kInvalidArgument, "{} needs {} elements, but has {}", type.text(),
                type.shape.elements(), field.size());
  }
  core::Bytes bytes(static_cast<std::size_t>(type.bytes()));
  for (int i = 0; i < field.size(); ++i) {
    using Number = std::remove_cvref_t<decltype(field[i])>;
    const auto element = static_cast<Element>(field[i]);
    if constexpr (std::is_integral_v<Number>) {
      if (static_cast<Number>(element) != field[i]) {
        return fail(ErrorCode::kInvalidArgument, "the value {} does not fit {}", field[i],
                    tensor::traits(type.dtype).name);
      }
    }
    std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(Element), &element,
                sizeof(Element));
  }
  return Tensor::copy_of(type, bytes);
}

using FieldReader = Result<Tensor> (*)(const TensorType&, const ::onnx::TensorProto&);

// Which field holds which element type: the comments of TensorProto in onnx.proto.
struct FieldRow {
  DType dtype;
  FieldReader read;
};

template <class Element>
Result<Tensor> from_int32(const TensorType& type, const ::onnx::TensorProto& proto) {
  return from_field<Element>(type, proto.int32_data());
}
template <class Element>
Result<Tensor> from_uint64(const TensorType& type, const ::onnx::TensorProto& proto) {
  return from_field<Element>(type, proto.uint64_data());
}
Result<Tensor> from_float(const TensorType& type, const ::onnx::TensorProto& proto) {
  return from_field<float>(type, proto.float_data());
}
Result<Tensor> from_double(const TensorType& type, const ::onnx::TensorProto& proto) {
  return from_field<double>(type, proto.double_data());
}
Result<Tensor> from_int64(const TensorType& type, const ::onnx::TensorProto& proto) {
  return from_field<std::int64_t>(type, proto.int64_data());
}

Result<Tensor> from_strings(const TensorType& type, const ::onnx::TensorProto& proto) {
  if (proto.string_data_size() != type.shape.elements()) {
    return fail(ErrorCode::kInvalidArgument, "{} needs {} elements, but has {}", type.text(),
                type.shape.elements(), proto.string_data_size());
  }
  return Tensor::of_strings(type.shape, {proto.string_data().begin(), proto.string_data().end()});
}

Result<Tensor> from_packed(const TensorType& type, const ::onnx::TensorProto& proto) {
  core::Bytes packed;
  for (const std::int32_t byte : proto.int32_data()) {
    if (byte < 0 || byte > 255) {
      return fail(ErrorCode::kInvalidArgument, "the value {} is no byte of {}", byte,
                  tensor::traits(type.dtype).name);
    }
    packed.push_back(static_cast<std::uint8_t>(byte));
  }
  return unpacked(type, packed);
}

constexpr FieldRow kFields[] = {
    {DType::kFloat32, from_float},
    {DType::kFloat64, from_double},
    {DType::kInt64, from_int64},
    {DType::kInt32, from_int32<std::int32_t>},
    {DType::kInt16, from_int32<std::int16_t>},
    {DType::kInt8, from_int32<std::int8_t>},
    {DType::kUint16, from_int32<std::uint16_t>},
    {DType::kUint8, from_int32<std::uint8_t>},
    {DType::kBool, from_int32<bool>},
    {DType::kFloat16, from_int32<std::uint16_t>},      // the bits
    {DType::kBfloat16, from_int32<std::uint16_t>},     // the bits
    {DType::kFloat8E4M3Fn, from_int32<std::uint8_t>},  // the bits, and so on
    {DType::kFloat8E4M3FnUz, from_int32<std::uint8_t>},
    {DType::kFloat8E5M2, from_int32<std::uint8_t>},
    {DType::kFloat8E5M2FnUz, from_int32<std::uint8_t>},
    {DType::kFloat8E8M0, from_int32<std::uint8_t>},
    {DType::kUint4, from_packed},
    {DType::kInt4, from_packed},
    {DType::kFloat4E2M1, from_packed},
    {DType::kUint32, from_uint64<std::uint32_t>},
    {DType::kUint64, from_uint64<std::uint64_t>},
};

Result<Extent> external_extent(const ::onnx::TensorProto& proto, ExternalFiles& files) {
  std::map<std::string, std::string> entries;
  for (const auto& entry : proto.external_data()) entries[entry.key()] = entry.value();
  return files.map(entries);
}

// The proto's own raw_data is copied, since the proto will go.
Result<Tensor> from_raw_field(const TensorType& type, const std::string& data) {
  const auto kept = std::make_shared<const std::string>(data);
  return from_extent(type, {core::as_bytes(*kept), kept});
}

}  // namespace

Result<Tensor> to_tensor(const ::onnx::TensorProto& proto, const std::optional<Extent>& raw,
                         ExternalFiles& files) {
  if (proto.has_segment()) return fail(ErrorCode::kUnsupported, "a tensor in segments");
  COMMENSAL_ASSIGN(const DType dtype, tensor::any_dtype_from_onnx(proto.data_type()));
  COMMENSAL_ASSIGN(
      const tensor::Shape shape,
      tensor::Shape::of({proto.dims().data(), static_cast<std::size_t>(proto.dims_size())}));
  const TensorType type{dtype, shape};
  if (dtype == DType::kString) return from_strings(type, proto);
  if (proto.data_location() == ::onnx::TensorProto::EXTERNAL) {
    COMMENSAL_ASSIGN(const Extent extent, external_extent(proto, files));
    return from_extent(type, extent);
  }
  if (raw) return from_extent(type, *raw);
  if (proto.has_raw_data()) return from_raw_field(type, proto.raw_data());
  for (const FieldRow& row : kFields) {
    if (row.dtype == dtype) return row.read(type, proto);
  }
  return fail(ErrorCode::kUnsupported, "no data field for {}", tensor::traits(dtype).name);
}

}  // namespace commensal::graph::onnx
