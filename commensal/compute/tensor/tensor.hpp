// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/tensor/arena.hpp>
#include <commensal/compute/tensor/dtype.hpp>
#include <commensal/compute/tensor/shape.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace commensal::tensor {

/// Element type and shape: all of a tensor but its data.
struct TensorType {
  DType dtype = DType::kUndefined;
  Shape shape;
  std::int64_t bytes() const { return shape.elements() * traits(dtype).size; }
  /// "float32[1,3,224,224]"
  std::string text() const;
  friend bool operator==(const TensorType&, const TensorType&) = default;
};

/// Whether the bytes are elements of the type, as every tensor's must be: a bool is 0 or 1, and of
/// an element of 4 bits the high half is 0. What comes from outside is checked by this.
/// Error: kInvalidArgument.
core::Result<void> check_elements(DType dtype, core::ByteView bytes);

/// A dense row-major array that shares its memory: copying a Tensor copies a pointer.
/// Little-endian; bool is one byte, 0 or 1. The data is aligned for its type.
/// Thread-safety: as a shared_ptr; concurrent reads are safe, writes are the writer's affair.
class Tensor {
 public:
  Tensor() = default;

  /// Uninitialised elements from `arena`. Error: kResourceExhausted.
  static core::Result<Tensor> allocate(Arena& arena, const TensorType& type);
  /// Elements on the heap, copied from `bytes` (as many as the type needs; checked).
  static Tensor copy_of(const TensorType& type, core::ByteView bytes);
  /// Read-only elements that `owner` keeps alive; `bytes` must be aligned for the type.
  static Tensor view_of(const TensorType& type, core::ByteView bytes,
                        std::shared_ptr<const void> owner);
  template <class T>
  static Tensor of(const Shape& shape, std::span<const T> values) {
    return copy_of({kDTypeOf<T>, shape},
                   {reinterpret_cast<const std::uint8_t*>(values.data()), values.size_bytes()});
  }

  /// A tensor of strings, which are any bytes. As many as `shape` has elements (checked).
  static Tensor of_strings(const Shape& shape, const std::vector<std::string>& values);
  /// The same without copying their bytes, which `owners` keep alive.
  static Tensor of_string_views(const Shape& shape, std::vector<std::string_view> values,
                                std::vector<std::shared_ptr<const void>> owners);

  bool defined() const { return type_.dtype != DType::kUndefined; }
  const TensorType& type() const { return type_; }
  DType dtype() const { return type_.dtype; }
  const Shape& shape() const { return type_.shape; }
  std::int64_t elements() const { return type_.shape.elements(); }

  /// Empty for strings: they are read by strings().
  core::ByteView bytes() const {
    return {data_, static_cast<std::size_t>(type_.bytes())};
  }
  std::span<std::uint8_t> mutable_bytes() {
    core::check(writable_, "only an allocated tensor is written");
    return {const_cast<std::uint8_t*>(data_), static_cast<std::size_t>(type_.bytes())};
  }
  template <class T>
  std::span<const T> data() const {
    core::check(kDTypeOf<T> == type_.dtype, "a tensor is read as what it is");
    return {reinterpret_cast<const T*>(data_), static_cast<std::size_t>(elements())};
  }
  std::span<const std::string_view> strings() const {
    core::check(type_.dtype == DType::kString, "a tensor is read as what it is");
    return {reinterpret_cast<const std::string_view*>(data_), static_cast<std::size_t>(elements())};
  }
  /// What keeps the elements alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  template <class T>
  std::span<T> mutable_data() {
    core::check(kDTypeOf<T> == type_.dtype, "a tensor is written as what it is");
    return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<std::size_t>(elements())};
  }

  /// The same elements under another shape of as many elements (checked).
  Tensor reshaped(const Shape& shape) const;

 private:
  TensorType type_;
  const std::uint8_t* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool writable_ = false;
};

}  // namespace commensal::tensor
