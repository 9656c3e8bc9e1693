// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/tensor/tensor.hpp>

#include <algorithm>
#include <commensal/compute/tensor/small.hpp>
#include <cstring>
#include <mutex>

namespace commensal::tensor {

std::string TensorType::text() const { return std::string(traits(dtype).name) + shape.text(); }

core::Result<void> check_elements(DType dtype, core::ByteView bytes) {
  if (dtype != DType::kBool && !is_four_bits(dtype)) return {};
  const std::uint8_t most = dtype == DType::kBool ? 1 : 15;
  if (std::all_of(bytes.begin(), bytes.end(), [most](auto byte) { return byte <= most; })) {
    return {};
  }
  if (dtype == DType::kBool) {
    return core::fail(core::ErrorCode::kInvalidArgument, "a bool that is neither 0 nor 1");
  }
  return core::fail(core::ErrorCode::kInvalidArgument, "{} of more than 4 bits",
                    traits(dtype).name);
}

core::Result<Tensor> Tensor::allocate(Arena& arena, const TensorType& type) {
  COMMENSAL_ASSIGN(auto block, arena.allocate(type.bytes()));
  Tensor made;
  made.type_ = type;
  made.data_ = reinterpret_cast<const std::uint8_t*>(block.get());
  made.owner_ = std::move(block);
  made.writable_ = true;
  return made;
}

Tensor Tensor::copy_of(const TensorType& type, core::ByteView bytes) {
  core::check(static_cast<std::int64_t>(bytes.size()) == type.bytes(), "the bytes fill the type");
  Arena heap(type.bytes() + type.bytes() / 4 + 4096);
  Tensor made = *allocate(heap, type);
  if (!bytes.empty()) std::memcpy(made.mutable_bytes().data(), bytes.data(), bytes.size());
  return made;
}

Tensor Tensor::view_of(const TensorType& type, core::ByteView bytes,
                       std::shared_ptr<const void> owner) {
  core::check(static_cast<std::int64_t>(bytes.size()) == type.bytes(), "the bytes fill the type");
  const auto size = static_cast<std::uintptr_t>(traits(type.dtype).size);
  core::check(size == 0 || reinterpret_cast<std::uintptr_t>(bytes.data()) % size == 0,
              "a view is aligned for its type");
  Tensor made;
  made.type_ = type;
  made.data_ = bytes.data();
  made.owner_ = std::move(owner);
  return made;
}

/// What a tensor in a file shares with its copies.
struct Tensor::InFile {
  core::ByteView bytes;
  std::shared_ptr<const core::MappedFile> file;
  mutable std::once_flag once{};
  mutable Tensor copy{};  // once somebody has read unaligned elements
};

Tensor Tensor::mapped(const TensorType& type, core::ByteView bytes,
                      std::shared_ptr<const core::MappedFile> file) {
  core::check(static_cast<std::int64_t>(bytes.size()) == type.bytes(), "the bytes fill the type");
  const auto size = static_cast<std::uintptr_t>(traits(type.dtype).size);
  Tensor made;
  made.type_ = type;
  made.data_ = bytes.data();
  made.is_in_file_ = true;
  made.is_unaligned_ = size != 0 && reinterpret_cast<std::uintptr_t>(bytes.data()) % size != 0;
  made.owner_ = std::shared_ptr<const InFile>(new InFile{bytes, std::move(file)});
  return made;
}

Tensor Tensor::read_once() const {
  if (!is_unaligned_) return *this;
  constexpr std::size_t kPiece = 4 << 20;  // what is in memory twice meanwhile
  const InFile& from = *static_cast<const InFile*>(owner_.get());
  Arena heap(type_.bytes() + type_.bytes() / 4 + 4096);
  Tensor made = *allocate(heap, type_);
  for (std::size_t at = 0; at < from.bytes.size(); at += kPiece) {
    const std::size_t count = std::min(kPiece, from.bytes.size() - at);
    std::memcpy(made.mutable_bytes().data() + at, from.bytes.data() + at, count);
    from.file->forget(from.bytes.subspan(at, count));
  }
  made.writable_ = false;
  return made;
}

const std::uint8_t* Tensor::copied_elements() const {
  const InFile& from = *static_cast<const InFile*>(owner_.get());
  std::call_once(from.once, [&] { from.copy = read_once(); });
  return from.copy.data_;
}

void Tensor::forget_pages() const {
  if (is_in_file_) forget_pages(static_cast<const InFile*>(owner_.get())->bytes);
}

void Tensor::forget_pages(core::ByteView part) const {
  if (is_in_file_) static_cast<const InFile*>(owner_.get())->file->forget(part);
}

Tensor Tensor::of_string_views(const Shape& shape, std::vector<std::string_view> values,
                               std::vector<std::shared_ptr<const void>> owners) {
  core::check(static_cast<std::int64_t>(values.size()) == shape.elements(), "a string an element");
  struct Kept {
    std::vector<std::string_view> views;
    std::vector<std::shared_ptr<const void>> owners;
  };
  auto kept = std::make_shared<const Kept>(Kept{std::move(values), std::move(owners)});
  Tensor made;
  made.type_ = {DType::kString, shape};
  made.data_ = reinterpret_cast<const std::uint8_t*>(kept->views.data());
  made.owner_ = std::move(kept);
  return made;
}

Tensor Tensor::of_strings(const Shape& shape, const std::vector<std::string>& values) {
  const auto kept = std::make_shared<const std::vector<std::string>>(values);
  return of_string_views(shape, {kept->begin(), kept->end()}, {kept});
}

Tensor Tensor::part(std::int64_t begin, const TensorType& type) const {
  core::check(writable_, "only of an allocated tensor others have parts");
  core::check(begin >= 0 && begin + type.bytes() <= type_.bytes(), "a part lies inside");
  core::check(begin % std::max<std::int64_t>(traits(type.dtype).size, 1) == 0,
              "a part is aligned for its type");
  Tensor made = *this;
  made.type_ = type;
  made.data_ += begin;
  return made;
}

Tensor Tensor::reshaped(const Shape& shape) const {
  core::check(shape.elements() == elements(), "a reshape keeps the number of elements");
  Tensor made = *this;
  made.type_.shape = shape;
  return made;
}

}  // namespace commensal::tensor
