// SPDX-License-Identifier: Apache-2.0
#include <commensal/serve/oip_grpc/messages.hpp>
#include <cstring>
#include <limits>
#include <utility>

namespace commensal::oip_grpc {

namespace {

using core::ErrorCode;
using core::Result;
using inference::InferTensorContents;
using tensor::DType;
using tensor::Tensor;
using tensor::TensorType;

tl::unexpected<core::Error> wrong_count(const TensorType& type, std::int64_t count) {
  return core::fail(ErrorCode::kInvalidArgument, "{} elements, the shape {} has {}", count,
                    type.shape.text(), type.shape.elements());
}

/// Where the elements of a type are, one by one.
template <class T, class Sent>
Result<Tensor> convert(const TensorType& type, const Sent& sent) {
  if (sent.size() != type.shape.elements()) return wrong_count(type, sent.size());
  std::vector<T> values;
  values.reserve(static_cast<std::size_t>(sent.size()));
  for (const auto value : sent) {
    if constexpr (std::is_integral_v<T>) {
      if (!std::in_range<T>(value))
        return core::fail(ErrorCode::kInvalidArgument, "{} is no {}", value,
                          tensor::traits(type.dtype).oip);
    }
    values.push_back(static_cast<T>(value));
  }
  return Tensor::of<T>(type.shape, values);
}

Result<Tensor> convert_bools(const TensorType& type, const InferTensorContents& contents,
                             const Owner&) {
  const auto& sent = contents.bool_contents();
  if (sent.size() != type.shape.elements()) return wrong_count(type, sent.size());
  const std::vector<std::uint8_t> values(sent.begin(), sent.end());
  return Tensor::copy_of(type, values);
}

Result<Tensor> convert_strings(const TensorType& type, const InferTensorContents& contents,
                               const Owner& owner) {
  const auto& sent = contents.bytes_contents();
  if (sent.size() != type.shape.elements()) return wrong_count(type, sent.size());
  return Tensor::of_string_views(type.shape, {sent.begin(), sent.end()}, {owner});
}

template <class T, auto kField>
Result<Tensor> convert_field(const TensorType& type, const InferTensorContents& contents,
                             const Owner&) {
  return convert<T>(type, (contents.*kField)());
}

template <auto kField>
int size_of(const InferTensorContents& contents) {
  return (contents.*kField)();
}

/// The fields of the message, and the types that come in each.
struct Field {
  std::string_view name;
  int (*size)(const InferTensorContents&);
};
using C = InferTensorContents;
constexpr Field kFields[] = {
    {"bool_contents", size_of<&C::bool_contents_size>},
    {"int_contents", size_of<&C::int_contents_size>},
    {"int64_contents", size_of<&C::int64_contents_size>},
    {"uint_contents", size_of<&C::uint_contents_size>},
    {"uint64_contents", size_of<&C::uint64_contents_size>},
    {"fp32_contents", size_of<&C::fp32_contents_size>},
    {"fp64_contents", size_of<&C::fp64_contents_size>},
    {"bytes_contents", size_of<&C::bytes_contents_size>},
};

// The accessors have overloads: which one is meant.
template <class T>
using Values = const google::protobuf::RepeatedField<T>& (C::*)() const;
constexpr Values<std::int32_t> kInts = &C::int_contents;
constexpr Values<std::int64_t> kInt64s = &C::int64_contents;
constexpr Values<std::uint32_t> kUints = &C::uint_contents;
constexpr Values<std::uint64_t> kUint64s = &C::uint64_contents;
constexpr Values<float> kFloats = &C::fp32_contents;
constexpr Values<double> kDoubles = &C::fp64_contents;

struct Row {
  DType dtype;
  std::size_t field;  // of kFields
  Result<Tensor> (*read)(const TensorType&, const InferTensorContents&, const Owner&);
};
constexpr Row kRows[] = {
    {DType::kBool, 0, convert_bools},
    {DType::kInt8, 1, convert_field<std::int8_t, kInts>},
    {DType::kInt16, 1, convert_field<std::int16_t, kInts>},
    {DType::kInt32, 1, convert_field<std::int32_t, kInts>},
    {DType::kInt64, 2, convert_field<std::int64_t, kInt64s>},
    {DType::kUint8, 3, convert_field<std::uint8_t, kUints>},
    {DType::kUint16, 3, convert_field<std::uint16_t, kUints>},
    {DType::kUint32, 3, convert_field<std::uint32_t, kUints>},
    {DType::kUint64, 4, convert_field<std::uint64_t, kUint64s>},
    {DType::kFloat32, 5, convert_field<float, kFloats>},
    {DType::kFloat64, 6, convert_field<double, kDoubles>},
    {DType::kString, 7, convert_strings},
};

}  // namespace

Result<TensorType> type_of(const Input& input) {
  const auto dtype = tensor::dtype_from_oip(input.datatype());
  if (!dtype)
    return core::fail(ErrorCode::kInvalidArgument, "the datatype '{}' is not supported",
                      input.datatype());
  COMMENSAL_ASSIGN(
      const tensor::Shape shape,
      tensor::Shape::of({input.shape().data(), static_cast<std::size_t>(input.shape_size())}));
  return TensorType{*dtype, shape};
}

bool has_contents(const InferTensorContents& contents) {
  return std::ranges::any_of(kFields, [&](const Field& one) { return one.size(contents) > 0; });
}

Result<Tensor> read_contents(const TensorType& type, const InferTensorContents& contents,
                             const Owner& owner) {
  const auto* const row = std::ranges::find(kRows, type.dtype, &Row::dtype);
  if (row == std::end(kRows))
    return core::fail(ErrorCode::kInvalidArgument, "{} comes in raw_input_contents only",
                      tensor::traits(type.dtype).oip);
  for (const Field& one : kFields) {
    if (&one == &kFields[row->field] || one.size(contents) == 0) continue;
    return core::fail(ErrorCode::kInvalidArgument, "the elements are in {}, those of {} come in {}",
                      one.name, tensor::traits(type.dtype).oip, kFields[row->field].name);
  }
  return row->read(type, contents, owner);
}

}  // namespace commensal::oip_grpc
