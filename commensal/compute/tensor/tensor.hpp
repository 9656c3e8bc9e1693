// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <commensal/base/core/bytes.hpp>
#include <commensal/base/core/check.hpp>
#include <commensal/base/core/file.hpp>
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
  /// Read-only elements in a file, anywhere in it. Where `bytes` is not aligned for the type, they
  /// are copied when somebody first reads them here.
  static Tensor mapped(const TensorType& type, core::ByteView bytes,
                       std::shared_ptr<const core::MappedFile> file);
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
  core::ByteView bytes() const { return {elements_at(), static_cast<std::size_t>(type_.bytes())}; }
  std::span<std::uint8_t> mutable_bytes() {
    core::check(writable_, "only an allocated tensor is written");
    return {const_cast<std::uint8_t*>(data_), static_cast<std::size_t>(type_.bytes())};
  }
  template <class T>
  std::span<const T> data() const {
    core::check(kDTypeOf<T> == type_.dtype, "a tensor is read as what it is");
    return {reinterpret_cast<const T*>(elements_at()), static_cast<std::size_t>(elements())};
  }
  std::span<const std::string_view> strings() const {
    core::check(type_.dtype == DType::kString, "a tensor is read as what it is");
    return {reinterpret_cast<const std::string_view*>(data_), static_cast<std::size_t>(elements())};
  }
  /// For who reads all elements once: this tensor, or where it would copy them from a file for
  /// good, a copy of the reader's own.
  Tensor read_once() const;
  /// After that: the memory of a file's pages may go until somebody reads them again.
  void forget_pages() const;
  /// The elements as they lie, aligned or not, piece by piece: f(ByteView). Pages of a file are
  /// given back after each, so that reading takes no memory for good.
  template <class F>
  void for_pieces(const F& f) const {
    constexpr std::size_t kPiece = 4 << 20;
    const core::ByteView all(data_, static_cast<std::size_t>(type_.bytes()));
    for (std::size_t at = 0; at < all.size(); at += kPiece) {
      const auto piece = all.subspan(at, std::min(kPiece, all.size() - at));
      f(piece);
      forget_pages(piece);
    }
  }
  /// Where the elements lie, in memory or in a file: two tensors at one place are the same.
  const void* place() const { return data_; }

  /// What keeps the elements alive.
  const std::shared_ptr<const void>& owner() const { return owner_; }
  template <class T>
  std::span<T> mutable_data() {
    core::check(kDTypeOf<T> == type_.dtype, "a tensor is written as what it is");
    return {reinterpret_cast<T*>(mutable_bytes().data()), static_cast<std::size_t>(elements())};
  }

  /// The elements of `type` that begin `begin` bytes after the first of this tensor, an allocated
  /// one (checked, as the bounds are): both may be written.
  Tensor part(std::int64_t begin, const TensorType& type) const;

  /// The same elements under another shape of as many elements (checked).
  Tensor reshaped(const Shape& shape) const;

 private:
  struct InFile;
  void forget_pages(core::ByteView part) const;
  const std::uint8_t* elements_at() const { return is_unaligned_ ? copied_elements() : data_; }
  const std::uint8_t* copied_elements() const;

  TensorType type_;
  const std::uint8_t* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  bool writable_ = false;
  bool is_in_file_ = false;    // owner_ is an InFile
  bool is_unaligned_ = false;  // in a file
};

}  // namespace commensal::tensor
