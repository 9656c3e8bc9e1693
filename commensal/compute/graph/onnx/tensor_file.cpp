// SPDX-License-Identifier: Apache-2.0
#include <onnx/onnx-data_pb.h>

#include <commensal/compute/graph/onnx/tensor_file.hpp>
#include <commensal/compute/graph/onnx/tensor_proto.hpp>
#include <commensal/compute/graph/onnx/text.hpp>
#include <limits>

namespace commensal::graph::onnx {

using core::ErrorCode;
using core::fail;
using core::Result;
using tensor::Value;

namespace {

Result<tensor::Tensor> tensor_of(const ::onnx::TensorProto& proto) {
  ExternalFiles none;
  return to_tensor(proto, std::nullopt, none);
}

Result<Value> value_of(const ::onnx::SequenceProto& proto);

Result<Value> value_of(const ::onnx::OptionalProto& proto) {
  switch (proto.elem_type()) {
    case ::onnx::OptionalProto::UNDEFINED:
      return Value();
    case ::onnx::OptionalProto::TENSOR: {
      COMMENSAL_ASSIGN(const tensor::Tensor held, tensor_of(proto.tensor_value()));
      return Value(held);
    }
    case ::onnx::OptionalProto::SEQUENCE:
      return value_of(proto.sequence_value());
    default:
      return fail(ErrorCode::kUnsupported, "an optional of kind {}", proto.elem_type());
  }
}

Result<Value> value_of(const ::onnx::SequenceProto& proto) {
  std::vector<Value> items;
  for (const auto& item : proto.tensor_values()) {
    COMMENSAL_ASSIGN(const tensor::Tensor made, tensor_of(item));
    items.emplace_back(made);
  }
  for (const auto& item : proto.sequence_values()) {
    COMMENSAL_ASSIGN(const Value made, value_of(item));
    items.push_back(made);
  }
  for (const auto& item : proto.optional_values()) {
    COMMENSAL_ASSIGN(const Value made, value_of(item));
    items.push_back(made);
  }
  return Value::sequence(std::move(items));
}

template <class Proto>
Result<Proto> parse(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto file,
                   core::MappedFile::open(path, std::numeric_limits<std::int32_t>::max()));
  Proto proto;
  if (proto.ParseFromArray(file->bytes().data(), static_cast<int>(file->bytes().size()))) {
    return proto;
  }
  return fail(ErrorCode::kInvalidArgument, "it is not an ONNX tensor, sequence or optional");
}

template <class Proto>
Result<NamedValue> read_container(const core::Path& path) {
  COMMENSAL_ASSIGN(const Proto proto, parse<Proto>(path));
  COMMENSAL_ASSIGN(Value value, value_of(proto));
  return NamedValue{one_line(proto.name()), std::move(value)};
}

Result<NamedTensor> read_tensor(const core::Path& path) {
  COMMENSAL_ASSIGN(const auto proto, parse<::onnx::TensorProto>(path));
  COMMENSAL_ASSIGN(tensor::Tensor value, tensor_of(proto));
  return NamedTensor{one_line(proto.name()), std::move(value)};
}

Result<NamedValue> read_value(const core::Path& path, const Declared& declared) {
  if (declared.containers.empty()) {
    COMMENSAL_ASSIGN(NamedTensor read, read_tensor(path));
    return NamedValue{std::move(read.name), Value(std::move(read.tensor))};
  }
  return declared.containers.front() == Container::kSequence
             ? read_container<::onnx::SequenceProto>(path)
             : read_container<::onnx::OptionalProto>(path);
}

}  // namespace

Result<NamedTensor> read_tensor_file(const core::Path& path) {
  auto read = read_tensor(path);
  return read ? read : core::in_context(fmt::format("'{}'", path.string()), read.error());
}

Result<NamedValue> read_value_file(const core::Path& path, const Declared& declared) {
  auto read = read_value(path, declared);
  return read ? read : core::in_context(fmt::format("'{}'", path.string()), read.error());
}

}  // namespace commensal::graph::onnx
