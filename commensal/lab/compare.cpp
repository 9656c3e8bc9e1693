// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/compute/tensor/small.hpp>
#include <commensal/lab/compare.hpp>

namespace commensal::lab {
namespace {

template <class T>
double widened(T value) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(value);
  } else {
    return static_cast<double>(tensor::to_float(value));
  }
}

template <class T>
bool near(T got, T expected, const Tolerance& tolerance) {
  if constexpr (std::is_integral_v<T>) {
    return got == expected;
  } else {
    const double a = widened(got), b = widened(expected);
    if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
    if (std::isinf(a) || std::isinf(b)) return a == b;
    return std::abs(a - b) <= tolerance.absolute + tolerance.relative * std::abs(b);
  }
}

core::Result<void> compare_strings(const tensor::Tensor& got, const tensor::Tensor& expected) {
  const auto a = got.strings(), b = expected.strings();
  const auto [at, other] = std::ranges::mismatch(a, b);
  if (at == a.end()) return {};
  return core::fail(core::ErrorCode::kDataLoss, "[{}]: got '{}', expected '{}'", at - a.begin(),
                    *at, *other);
}

}  // namespace

core::Result<void> compare(const tensor::Tensor& got, const tensor::Tensor& expected,
                           const Tolerance& tolerance) {
  if (got.type() != expected.type()) {
    return core::fail(core::ErrorCode::kDataLoss, "got {}, expected {}", got.type().text(),
                      expected.type().text());
  }
  if (got.dtype() == tensor::DType::kString) return compare_strings(got, expected);
  return tensor::with_type(got.dtype(), [&]<class T>() -> core::Result<void> {
    const auto a = got.data<T>(), b = expected.data<T>();
    std::size_t differing = 0, first = 0;
    for (std::size_t i = a.size(); i-- > 0;) {
      if (near<T>(a[i], b[i], tolerance)) continue;
      ++differing;
      first = i;
    }
    if (differing == 0) return {};
    return core::fail(core::ErrorCode::kDataLoss,
                      "{} of {} elements differ, first [{}]: got {}, expected {}", differing,
                      a.size(), first, widened(a[first]), widened(b[first]));
  });
}

core::Result<void> compare(const tensor::Value& got, const tensor::Value& expected,
                           const Tolerance& tolerance) {
  if (got.is_tensor() && expected.is_tensor()) {
    return compare(got.tensor(), expected.tensor(), tolerance);
  }
  if (got.text() != expected.text()) {
    return core::fail(core::ErrorCode::kDataLoss, "got {}, expected {}", got.text(),
                      expected.text());
  }
  for (std::size_t i = 0; got.is_sequence() && i < got.items().size(); ++i) {
    auto same = compare(got.items()[i], expected.items()[i], tolerance);
    if (!same) return core::in_context(fmt::format("item {}", i), same.error());
  }
  return {};
}

}  // namespace commensal::lab
