// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <commensal/compute/tensor/float16.hpp>
#include <commensal/serve/oip/classification.hpp>
#include <ranges>
#include <type_traits>

namespace commensal::oip {

namespace {

using core::ErrorCode;
using tensor::Bfloat16;
using tensor::Float16;
using tensor::Tensor;

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, Bfloat16>;
template <class T>
inline constexpr bool kIsNumber =
    (std::is_arithmetic_v<T> && !std::is_same_v<T, bool>) || kIsHalf<T>;

template <class T>
auto number(T value) {
  if constexpr (kIsHalf<T>) {
    return tensor::to_float(value);
  } else {
    return value;
  }
}

template <class N>
bool is_larger(N a, N b) {
  if constexpr (std::is_floating_point_v<N>) {
    if (std::isnan(b)) return !std::isnan(a);
  }
  return a > b;
}

template <class N>
std::string text_of(N value) {
  if constexpr (std::is_floating_point_v<N>) return fmt::format("{:f}", value);
  return fmt::format("{}", value);
}

/// Appends the texts of one row.
template <class T>
void classify_row(std::span<const T> row, std::size_t count, const LabelOf& label,
                  std::vector<std::string>& texts) {
  std::vector<std::size_t> best(count);
  const std::ranges::iota_view<std::size_t, std::size_t> all(0, row.size());
  std::ranges::partial_sort_copy(all, best, [&](std::size_t a, std::size_t b) {
    const auto x = number(row[a]), y = number(row[b]);
    return is_larger(x, y) || (!is_larger(y, x) && a < b);
  });
  for (const std::size_t at : best) {
    texts.push_back(fmt::format("{}:{}", text_of(number(row[at])), at));
    const std::string name = label ? label(static_cast<std::int64_t>(at)) : "";
    if (!name.empty()) texts.back() += ":" + name;
  }
}

}  // namespace

core::Result<void> check_class_count(std::int64_t classes) {
  if (classes >= 1 && classes <= kClassTextsMax) return {};
  return core::fail(ErrorCode::kInvalidArgument, "classification is {}: expected 1 to {}", classes,
                    kClassTextsMax);
}

bool has_classes(tensor::DType dtype) {
  return dtype != tensor::DType::kString &&
         tensor::with_type(dtype, []<class T>() { return kIsNumber<T>; });
}

core::Result<Tensor> classify(const Tensor& output, std::int64_t classes, bool has_rows,
                              const LabelOf& label) {
  COMMENSAL_TRY(check_class_count(classes));
  if (!has_classes(output.dtype()))
    return core::fail(ErrorCode::kInvalidArgument, "{} has no classes: expected numbers",
                      tensor::traits(output.dtype()).name);
  const bool by_rows = has_rows && output.shape().rank() > 0;
  const std::int64_t rows = by_rows ? output.shape().dims()[0] : 1;
  const std::int64_t length = rows == 0 ? 0 : output.elements() / rows;
  const std::int64_t count = std::min(classes, length);
  if (count > 0 && rows > kClassTextsMax / count)
    return core::fail(ErrorCode::kInvalidArgument, "{} classes of {} rows: at most {} texts", count,
                      rows, kClassTextsMax);
  std::vector<std::string> texts;
  tensor::with_type(output.dtype(), [&]<class T>() {
    if constexpr (kIsNumber<T>) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto row = output.data<T>().subspan(static_cast<std::size_t>(i * length),
                                                  static_cast<std::size_t>(length));
        classify_row(row, static_cast<std::size_t>(count), label, texts);
      }
    }
  });
  const tensor::Shape shape = by_rows ? tensor::Shape{rows, count} : tensor::Shape{count};
  return Tensor::of_strings(shape, texts);
}

}  // namespace commensal::oip
