// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx_pb.h>

#include <bit>

namespace onnx {
namespace {

bool read_varint(std::string_view& bytes, std::uint64_t& value) {
  value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (bytes.empty()) return false;
    const auto byte = static_cast<unsigned char>(bytes.front());
    bytes.remove_prefix(1);
    value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

bool read_fixed(std::string_view& bytes, std::size_t size, std::uint64_t& value) {
  if (bytes.size() < size) return false;
  value = 0;
  std::memcpy(&value, bytes.data(), size);  // little-endian, as WebAssembly is
  bytes.remove_prefix(size);
  return true;
}

template <class T>
constexpr std::uint32_t kWireOf = std::is_same_v<T, float> ? 5 : std::is_same_v<T, double> ? 1 : 0;

template <class T>
T number_of(std::uint64_t value) {
  if constexpr (std::is_same_v<T, float>) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value));
  } else if constexpr (std::is_same_v<T, double>) {
    return std::bit_cast<double>(value);
  } else {
    return static_cast<T>(value);
  }
}

// A field of another kind than the message has is one that nobody knows: it is passed over.
template <class T>
bool take_number(T& to, const WireField& field) {
  if (field.wire == kWireOf<T>) to = number_of<T>(field.value);
  return true;
}

bool take_text(std::string& to, const WireField& field) {
  if (field.is_text()) to = field.payload;
  return true;
}

// Packed, or each with a tag.
template <class T>
bool take_numbers(google::protobuf::RepeatedField<T>& to, const WireField& field) {
  if (field.wire == kWireOf<T>) to.add(number_of<T>(field.value));
  if (!field.is_text()) return true;
  std::string_view rest = field.payload;
  while (!rest.empty()) {
    std::uint64_t value = 0;
    const bool is_read = kWireOf<T> == 0 ? read_varint(rest, value)
                                         : read_fixed(rest, sizeof(T), value);
    if (!is_read) return false;
    to.add(number_of<T>(value));
  }
  return true;
}

bool take_texts(google::protobuf::RepeatedPtrField<std::string>& to, const WireField& field) {
  if (field.is_text()) *to.Add() = field.payload;
  return true;
}

template <class T>
bool take_item(google::protobuf::RepeatedPtrField<T>& to, const WireField& field) {
  return !field.is_text() || parse_into(*to.Add(), field.payload);
}

bool take_type(Inner<TypeProto>& to, const WireField& field) {
  if (field.is_text()) to.made()->keep(field.payload);
  return to.take(field);
}

}  // namespace

template <class Take>
bool for_each_field(std::string_view bytes, const Take& take) {
  while (!bytes.empty()) {
    std::uint64_t tag = 0, size = 0;
    if (!read_varint(bytes, tag) || tag >> 32 != 0) return false;
    WireField field{static_cast<std::uint32_t>(tag >> 3), static_cast<std::uint32_t>(tag & 7), 0,
                    {}};
    bool is_read = false;
    if (field.wire == 0) is_read = read_varint(bytes, field.value);
    if (field.wire == 1) is_read = read_fixed(bytes, 8, field.value);
    if (field.wire == 5) is_read = read_fixed(bytes, 4, field.value);
    if (field.wire == 2 && read_varint(bytes, size) && size <= bytes.size()) {
      field.payload = bytes.substr(0, static_cast<std::size_t>(size));
      bytes.remove_prefix(field.payload.size());
      is_read = true;
    }
    if (!is_read || field.number == 0 || !take(field)) return false;
  }
  return true;
}

bool OperatorSetIdProto::take(const WireField& field) {
  if (field.number == 1) return take_text(domain_, field);
  if (field.number == 2) return take_number(version_, field);
  return true;
}

bool StringStringEntryProto::take(const WireField& field) {
  if (field.number == 1) return take_text(key_, field);
  if (field.number == 2) return take_text(value_, field);
  return true;
}

bool TensorShapeProto_Dimension::take(const WireField& field) {
  if (field.number == 1 && field.wire == 0) {
    has_value_ = true;
    dim_param_.clear();
    return take_number(dim_value_, field);
  }
  if (field.number == 2 && field.is_text()) {
    has_value_ = false;
    return take_text(dim_param_, field);
  }
  return true;
}

bool TensorShapeProto::take(const WireField& field) {
  return field.number != 1 || take_item(dim_, field);
}

bool TypeProto_Tensor::take(const WireField& field) {
  if (field.number == 1) return take_number(elem_type_, field);
  if (field.number == 2) return shape_.take(field);
  return true;
}

bool TypeProto_Element::take(const WireField& field) {
  return field.number != 1 || take_type(elem_type_, field);
}

bool TypeProto::take(const WireField& field) {
  const bool is_case = field.number == kTensor || field.number == kSequence ||
                       field.number == kMap || field.number == kSparse || field.number == kOptional;
  if (!is_case || !field.is_text()) return true;
  const auto number = static_cast<int>(field.number);
  if (case_ != number) {  // the last one counts
    tensor_ = {};
    element_ = {};
    case_ = number;
  }
  if (case_ == kTensor) return tensor_.take(field);
  if (case_ == kSequence || case_ == kOptional) return element_.take(field);
  return true;
}

bool ValueInfoProto::take(const WireField& field) {
  if (field.number == 1) return take_text(name_, field);
  if (field.number == 2) return take_type(type_, field);
  return true;
}

bool TensorProto::take(const WireField& field) {
  switch (field.number) {
    case 1:
      return take_numbers(dims_, field);
    case 2:
      return take_number(data_type_, field);
    case 3:
      has_segment_ = has_segment_ || field.is_text();
      return true;
    case 4:
      return take_numbers(float_data_, field);
    case 5:
      return take_numbers(int32_data_, field);
    case 6:
      return take_texts(string_data_, field);
    case 7:
      return take_numbers(int64_data_, field);
    case 8:
      return take_text(name_, field);
    case 9:
      has_raw_data_ = has_raw_data_ || field.is_text();
      return take_text(raw_data_, field);
    case 10:
      return take_numbers(double_data_, field);
    case 11:
      return take_numbers(uint64_data_, field);
    case 13:
      return take_item(external_data_, field);
    case 14:
      if (field.wire == 0 && field.value <= EXTERNAL) {
        data_location_ = static_cast<DataLocation>(field.value);
      }
      return true;
    default:
      return true;
  }
}

bool AttributeProto::take(const WireField& field) {
  switch (field.number) {
    case 1:
      return take_text(name_, field);
    case 2:
      return take_number(f_, field);
    case 3:
      return take_number(i_, field);
    case 4:
      return take_text(s_, field);
    case 5:
      return t_.take(field);
    case 6:
      return g_.take(field);
    case 7:
      return take_numbers(floats_, field);
    case 8:
      return take_numbers(ints_, field);
    case 9:
      return take_texts(strings_, field);
    case 14:
      return take_type(tp_, field);
    case 20:
      if (field.wire == 0 && field.value <= TYPE_PROTOS) {
        type_ = static_cast<AttributeType>(field.value);
      }
      return true;
    case 21:
      return take_text(ref_attr_name_, field);
    default:
      return true;
  }
}

bool NodeProto::take(const WireField& field) {
  if (field.number == 1) return take_texts(input_, field);
  if (field.number == 2) return take_texts(output_, field);
  if (field.number == 3) return take_text(name_, field);
  if (field.number == 4) return take_text(op_type_, field);
  if (field.number == 5) return take_item(attribute_, field);
  if (field.number == 7) return take_text(domain_, field);
  return true;
}

bool GraphProto::take(const WireField& field) {
  if (field.number == 1) return take_item(node_, field);
  if (field.number == 2) return take_text(name_, field);
  if (field.number == 5) return take_item(initializer_, field);
  if (field.number == 11) return take_item(input_, field);
  if (field.number == 12) return take_item(output_, field);
  if (field.number == 15 && field.is_text()) ++sparse_;
  return true;
}

bool FunctionProto::take(const WireField& field) {
  if (field.number == 1) return take_text(name_, field);
  if (field.number == 4) return take_texts(input_, field);
  if (field.number == 5) return take_texts(output_, field);
  if (field.number == 7) return take_item(node_, field);
  if (field.number == 9) return take_item(opset_import_, field);
  if (field.number == 10) return take_text(domain_, field);
  return true;
}

bool ModelProto::take(const WireField& field) {
  if (field.number == 1) return take_number(ir_version_, field);
  if (field.number == 7) return graph_.take(field);
  if (field.number == 8) return take_item(opset_import_, field);
  if (field.number == 25) return take_item(functions_, field);
  return true;
}

bool ModelProto::ParseFromArray(const void* data, int size) {
  return parse_into(*this, {static_cast<const char*>(data), static_cast<std::size_t>(size)});
}

}  // namespace onnx
