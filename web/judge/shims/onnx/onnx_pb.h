// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The messages of onnx.proto (ONNX 1.12), as far as the importer looks at them: WebAssembly has no
/// libprotobuf. The names are those that protoc generates, so that graph/onnx is compiled as it is.
/// What is read has been walked before (graph/onnx/wire.cpp), so nesting is bounded.
/// Source: protobuf.dev, "Encoding" and "C++ Generated Code Guide".

namespace google::protobuf {

template <class T>
class RepeatedField {
 public:
  int size() const { return static_cast<int>(items_.size()); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  const T* data() const { return items_.data(); }
  const T& operator[](int i) const { return items_[static_cast<std::size_t>(i)]; }
  void add(T item) { items_.push_back(item); }

 private:
  std::vector<T> items_;
};

/// Addresses hold until the next Add().
template <class T>
class RepeatedPtrField {
 public:
  int size() const { return static_cast<int>(items_.size()); }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  auto begin() { return items_.begin(); }
  auto end() { return items_.end(); }
  const T& operator[](int i) const { return items_[static_cast<std::size_t>(i)]; }
  T& operator[](int i) { return items_[static_cast<std::size_t>(i)]; }
  T* Mutable(int i) { return &(*this)[i]; }
  T* Add() { return &items_.emplace_back(); }
  void Add(T&& item) { items_.push_back(std::move(item)); }
  void Reserve(int count) { items_.reserve(static_cast<std::size_t>(count)); }
  void Clear() { items_.clear(); }
  void Swap(RepeatedPtrField* other) { items_.swap(other->items_); }

 private:
  std::vector<T> items_;
};

}  // namespace google::protobuf

namespace onnx {

/// One field as it lies in a message.
struct WireField {
  std::uint32_t number = 0, wire = 0;
  std::uint64_t value = 0;   // of varints and fixed numbers
  std::string_view payload;  // of what has a length

  bool is_text() const { return wire == 2; }
};

/// Calls take(field) for each; false where it is cut off or no protobuf.
template <class Take>
bool for_each_field(std::string_view bytes, const Take& take);

template <class Message>
bool parse_into(Message& message, std::string_view bytes) {
  return for_each_field(bytes, [&](const WireField& field) { return message.take(field); });
}

/// A message inside a message, which may be of its own kind.
template <class T>
class Inner {
 public:
  Inner() = default;
  Inner(const Inner& other) { *this = other; }
  Inner(Inner&&) noexcept = default;
  Inner& operator=(const Inner& other) {
    if (this != &other) held_ = other.held_ ? std::make_unique<T>(*other.held_) : nullptr;
    return *this;
  }
  Inner& operator=(Inner&&) noexcept = default;
  ~Inner() = default;

  bool has() const { return held_ != nullptr; }
  const T& get() const {
    static const T none{};
    return held_ ? *held_ : none;
  }
  T* made() {
    if (!held_) held_ = std::make_unique<T>();
    return held_.get();
  }
  bool take(const WireField& field) {
    return !field.is_text() || parse_into(*made(), field.payload);
  }

 private:
  std::unique_ptr<T> held_;
};

#define ONNX_NUMBER(type, name)             \
 public:                                    \
  type name() const { return name##_; }     \
  void set_##name(type to) { name##_ = to; } \
                                            \
 private:                                   \
  type name##_ = {};

#define ONNX_TEXT(name)                                           \
 public:                                                          \
  const std::string& name() const { return name##_; }             \
  std::string* mutable_##name() { return &name##_; }              \
  void set_##name(std::string to) { name##_ = std::move(to); }    \
                                                                  \
 private:                                                         \
  std::string name##_;

#define ONNX_NUMBERS(type, name)                                               \
 public:                                                                       \
  const google::protobuf::RepeatedField<type>& name() const { return name##_; } \
  int name##_size() const { return name##_.size(); }                           \
                                                                               \
 private:                                                                      \
  google::protobuf::RepeatedField<type> name##_;

#define ONNX_LIST(type, name)                                                     \
 public:                                                                          \
  const google::protobuf::RepeatedPtrField<type>& name() const { return name##_; } \
  const type& name(int i) const { return name##_[i]; }                            \
  google::protobuf::RepeatedPtrField<type>* mutable_##name() { return &name##_; } \
  type* mutable_##name(int i) { return name##_.Mutable(i); }                      \
  type* add_##name() { return name##_.Add(); }                                    \
  int name##_size() const { return name##_.size(); }                              \
  void clear_##name() { name##_.Clear(); }                                        \
                                                                                  \
 private:                                                                         \
  google::protobuf::RepeatedPtrField<type> name##_;

#define ONNX_TEXTS(name) \
  ONNX_LIST(std::string, name) \
 public: \
  void add_##name(std::string text) { *name##_.Add() = std::move(text); } \
 private:

#define ONNX_INNER(type, name)                              \
 public:                                                    \
  bool has_##name() const { return name##_.has(); }         \
  const type& name() const { return name##_.get(); }        \
  type* mutable_##name() { return name##_.made(); }         \
                                                            \
 private:                                                   \
  Inner<type> name##_;

class TypeProto;

class OperatorSetIdProto {
  ONNX_TEXT(domain)
  ONNX_NUMBER(std::int64_t, version)
 public:
  bool take(const WireField& field);
};

class StringStringEntryProto {
  ONNX_TEXT(key)
  ONNX_TEXT(value)
 public:
  bool take(const WireField& field);
};

class TensorShapeProto_Dimension {
  ONNX_TEXT(dim_param)
 public:
  bool has_dim_value() const { return has_value_; }
  std::int64_t dim_value() const { return has_value_ ? dim_value_ : 0; }
  bool take(const WireField& field);

 private:
  std::int64_t dim_value_ = 0;
  bool has_value_ = false;  // else a name
};

class TensorShapeProto {
  ONNX_LIST(TensorShapeProto_Dimension, dim)
 public:
  bool take(const WireField& field);
};

class TypeProto_Tensor {
  ONNX_NUMBER(std::int32_t, elem_type)
  ONNX_INNER(TensorShapeProto, shape)
 public:
  bool take(const WireField& field);
};

/// Of sequences and of optionals.
class TypeProto_Element {
  ONNX_INNER(TypeProto, elem_type)
 public:
  bool take(const WireField& field);
};

class TypeProto {
 public:
  int value_case() const { return case_; }
  bool has_tensor_type() const { return case_ == kTensor; }
  bool has_sequence_type() const { return case_ == kSequence; }
  bool has_optional_type() const { return case_ == kOptional; }
  const TypeProto_Tensor& tensor_type() const { return tensor_.get(); }
  const TypeProto_Element& sequence_type() const { return element_.get(); }
  const TypeProto_Element& optional_type() const { return element_.get(); }
  TypeProto_Tensor* mutable_tensor_type() {
    case_ = kTensor;
    return tensor_.made();
  }
  /// As it was read: protoc's order of fields is the one that files have.
  const std::string& SerializeAsString() const { return read_; }
  bool take(const WireField& field);
  void keep(std::string_view read) { read_.append(read); }

 private:
  enum Case { kNone = 0, kTensor = 1, kSequence = 4, kMap = 5, kSparse = 8, kOptional = 9 };
  int case_ = kNone;
  Inner<TypeProto_Tensor> tensor_;
  Inner<TypeProto_Element> element_;
  std::string read_;
};

class ValueInfoProto {
  ONNX_TEXT(name)
  ONNX_INNER(TypeProto, type)
 public:
  bool take(const WireField& field);
};

class TensorProto {
  ONNX_NUMBERS(std::int64_t, dims)
  ONNX_NUMBERS(float, float_data)
  ONNX_NUMBERS(std::int32_t, int32_data)
  ONNX_NUMBERS(std::int64_t, int64_data)
  ONNX_NUMBERS(double, double_data)
  ONNX_NUMBERS(std::uint64_t, uint64_data)
  ONNX_TEXTS(string_data)
  ONNX_LIST(StringStringEntryProto, external_data)
  ONNX_NUMBER(std::int32_t, data_type)
  ONNX_TEXT(name)
 public:
  enum DataLocation { DEFAULT = 0, EXTERNAL = 1 };
  DataLocation data_location() const { return data_location_; }
  void clear_data_location() { data_location_ = DEFAULT; }
  bool has_segment() const { return has_segment_; }
  bool has_raw_data() const { return has_raw_data_; }
  const std::string& raw_data() const { return raw_data_; }
  void set_raw_data(std::string to) {
    raw_data_ = std::move(to);
    has_raw_data_ = true;
  }
  bool take(const WireField& field);

 private:
  DataLocation data_location_ = DEFAULT;
  std::string raw_data_;
  bool has_segment_ = false, has_raw_data_ = false;
};

class NodeProto;
class GraphProto;

class AttributeProto {
 public:
  enum AttributeType {
    UNDEFINED = 0,
    FLOAT = 1,
    INT = 2,
    STRING = 3,
    TENSOR = 4,
    GRAPH = 5,
    FLOATS = 6,
    INTS = 7,
    STRINGS = 8,
    TENSORS = 9,
    GRAPHS = 10,
    SPARSE_TENSOR = 11,
    SPARSE_TENSORS = 12,
    TYPE_PROTO = 13,
    TYPE_PROTOS = 14,
  };
  bool take(const WireField& field);

  ONNX_TEXT(name)
  ONNX_TEXT(ref_attr_name)
  ONNX_TEXT(s)
  ONNX_NUMBER(float, f)
  ONNX_NUMBER(std::int64_t, i)
  ONNX_NUMBER(AttributeType, type)
  ONNX_NUMBERS(float, floats)
  ONNX_NUMBERS(std::int64_t, ints)
  ONNX_TEXTS(strings)
  ONNX_INNER(TensorProto, t)
  ONNX_INNER(GraphProto, g)
  ONNX_INNER(TypeProto, tp)
};

class NodeProto {
  ONNX_TEXTS(input)
  ONNX_TEXTS(output)
  ONNX_TEXT(name)
  ONNX_TEXT(op_type)
  ONNX_TEXT(domain)
  ONNX_LIST(AttributeProto, attribute)
 public:
  bool take(const WireField& field);
};

class GraphProto {
  ONNX_LIST(NodeProto, node)
  ONNX_LIST(TensorProto, initializer)
  ONNX_LIST(ValueInfoProto, input)
  ONNX_LIST(ValueInfoProto, output)
  ONNX_TEXT(name)
 public:
  int sparse_initializer_size() const { return sparse_; }
  bool take(const WireField& field);

 private:
  int sparse_ = 0;
};

class FunctionProto {
  ONNX_TEXT(name)
  ONNX_TEXT(domain)
  ONNX_TEXTS(input)
  ONNX_TEXTS(output)
  ONNX_LIST(NodeProto, node)
  ONNX_LIST(OperatorSetIdProto, opset_import)
 public:
  bool take(const WireField& field);
};

class ModelProto {
  ONNX_NUMBER(std::int64_t, ir_version)
  ONNX_LIST(OperatorSetIdProto, opset_import)
  ONNX_LIST(FunctionProto, functions)
  ONNX_INNER(GraphProto, graph)
 public:
  /// Whether it is protobuf.
  bool ParseFromArray(const void* data, int size);
  bool take(const WireField& field);
};

}  // namespace onnx
