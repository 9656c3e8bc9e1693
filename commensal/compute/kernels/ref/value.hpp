// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <bit>
#include <commensal/base/core/check.hpp>
#include <commensal/compute/kernels/operator.hpp>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <cstring>
#include <iterator>
#include <limits>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

/// Elements as values: what an element type computes in, and how it is loaded and stored.
namespace commensal::kernels::ref {

using tensor::Bfloat16;
using tensor::DType;
using tensor::Float16;
using tensor::Shape;

/// A set of element types that an operator accepts.
template <class... Ts>
struct Types {
  static constexpr bool has(DType dtype) { return ((tensor::kDTypeOf<Ts> == dtype) || ...); }
  /// "float32, float64"
  static std::string text() {
    std::string names;
    ((names += (names.empty() ? "" : ", ") + std::string(traits(tensor::kDTypeOf<Ts>).name)), ...);
    return names;
  }
};

using Floats = Types<float, double, Float16, Bfloat16>;
/// Transcendental functions: binary32 arithmetic only, until binary64 polynomials are specified.
using Floats32 = Types<float, Float16, Bfloat16>;
using Integers = Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t,
                       std::uint16_t, std::uint32_t, std::uint64_t>;
using Numbers = Types<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t,
                      std::int64_t, std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
using Everything =
    Types<float, double, Float16, Bfloat16, std::int8_t, std::int16_t, std::int32_t, std::int64_t,
          std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t, bool>;
/// What Conv, Gemm and MatMul take.
using Products = Types<float, double, Float16, Bfloat16, std::int32_t, std::int64_t, std::uint32_t,
                       std::uint64_t>;

/// Calls `f.template operator()<T>()` with the member of the set that is `dtype`, which `infer`
/// has checked to be one.
template <class T, class... Rest, class F>
auto visit(Types<T, Rest...>, DType dtype, F&& f) {
  if constexpr (sizeof...(Rest) > 0) {
    if (dtype != tensor::kDTypeOf<T>) return visit(Types<Rest...>{}, dtype, f);
  }
  core::check(dtype == tensor::kDTypeOf<T>, "the element type was checked by infer");
  return f.template operator()<T>();
}

/// The floating formats of 8 bits, which a few operators take.
using Floats8 = Types<tensor::Small<DType::kFloat8E4M3Fn>, tensor::Small<DType::kFloat8E4M3FnUz>,
                      tensor::Small<DType::kFloat8E5M2>, tensor::Small<DType::kFloat8E5M2FnUz>>;

template <class T>
inline constexpr bool kIsFloat8 = Floats8::has(tensor::kDTypeOf<T>);
template <class T>
inline constexpr bool kIsHalf =
    std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16> || kIsFloat8<T>;
/// What arithmetic on T is done in.
template <class T>
using Compute = std::conditional_t<kIsHalf<T>, float, T>;

template <class T>
Compute<T> load(T stored) {
  if constexpr (kIsHalf<T>) {
    return to_float(stored);
  } else {
    return stored;
  }
}

/// NaN becomes the canonical one; fp16 and bf16 are rounded to nearest even.
template <class T>
T store(Compute<T> value) {
  if constexpr (std::is_same_v<T, Float16>) {
    return tensor::to_float16(value);
  } else if constexpr (std::is_same_v<T, Bfloat16>) {
    return tensor::to_bfloat16(value);
  } else if constexpr (std::is_floating_point_v<T>) {
    // 0x7fc00000, 0x7ff8000000000000: no sign, no payload.
    return value != value ? std::numeric_limits<T>::quiet_NaN() : value;
  } else {
    return value;
  }
}

template <class T>
Scalar scalar_of(T stored) {
  Scalar made{tensor::kDTypeOf<T>, 0};
  std::memcpy(&made.bits, &stored, sizeof stored);
  return made;
}

/// The elements of an input of a call; whoever reads one counts a step of the call's pulse.
template <class T>
class Paced {
 public:
  Paced(const Call& call, int input) : call_(call), all_(call.in(input).data<T>()) {}
  const T& operator[](std::size_t i) const {
    call_.pulse();
    return all_[i];
  }
  class Iterator {
   public:
    using iterator_category = std::forward_iterator_tag;
    using value_type = T;
    using difference_type = std::ptrdiff_t;
    using pointer = const T*;
    using reference = const T&;
    Iterator() = default;
    Iterator(const Call& call, const T* at) : call_(&call), at_(at) {}
    const T& operator*() const {
      call_->pulse();
      return *at_;
    }
    Iterator& operator++() {
      ++at_;
      return *this;
    }
    Iterator operator++(int) {
      const Iterator before = *this;
      ++at_;
      return before;
    }
    bool operator==(const Iterator& other) const { return at_ == other.at_; }

   private:
    const Call* call_ = nullptr;
    const T* at_ = nullptr;
  };
  Iterator begin() const { return {call_, all_.data()}; }
  Iterator end() const { return {call_, all_.data() + all_.size()}; }
  std::size_t size() const { return all_.size(); }
  /// Uncounted.
  std::span<const T> all() const { return all_; }
  const T* data() const { return all_.data(); }

 private:
  const Call& call_;
  std::span<const T> all_;
};

template <class T>
Paced<T> paced(const Call& call, int input) {
  return {call, input};
}

/// The elements of a tensor in the type they are computed in; copies only where that differs.
template <class T>
class Widened {
 public:
  Widened(const Call& call, int input) {
    const Paced<T> all(call, input);
    if constexpr (kIsHalf<T>) {
      copy_.reserve(all.size());
      for (const T stored : all) copy_.push_back(load(stored));
      view_ = copy_;
    } else {
      view_ = all.all();
    }
  }
  Widened(const Widened&) = delete;
  Widened& operator=(const Widened&) = delete;

  const Compute<T>* data() const { return view_.data(); }
  Compute<T> operator[](std::int64_t i) const { return view_[static_cast<std::size_t>(i)]; }

 private:
  std::vector<std::conditional_t<kIsHalf<T>, float, char>> copy_;
  std::span<const Compute<T>> view_;
};

}  // namespace commensal::kernels::ref
