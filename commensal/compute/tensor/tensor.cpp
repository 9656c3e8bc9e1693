// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/tensor/tensor.hpp>

#include <algorithm>
#include <commensal/compute/tensor/small.hpp>
#include <cstring>

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

Tensor Tensor::reshaped(const Shape& shape) const {
  core::check(shape.elements() == elements(), "a reshape keeps the number of elements");
  Tensor made = *this;
  made.type_.shape = shape;
  return made;
}

}  // namespace commensal::tensor
