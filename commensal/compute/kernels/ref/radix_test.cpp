// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/compute/kernels/ref/radix.hpp>
#include <commensal/compute/kernels/testing/random_values.hpp>
#include <numeric>

namespace commensal::kernels::ref {
namespace {

/// By comparison: NaNs are equal and above all numbers.
template <class T>
std::vector<std::int64_t> sorted_by_comparison(const std::vector<T>& values) {
  std::vector<std::int64_t> order(values.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, [&](std::int64_t i, std::int64_t k) {
    const T a = values[static_cast<std::size_t>(i)], b = values[static_cast<std::size_t>(k)];
    return a == a && (b != b || a < b);
  });
  return order;
}

template <class T>
void check_orders() {
  for (int seed = 0; seed < 60; ++seed) {
    testing::Draw draw(static_cast<std::uint64_t>(seed), 3);
    constexpr testing::Blend kBlends[] = {testing::Blend::kPlain, testing::Blend::kSpecial,
                                          testing::Blend::kWild};
    const testing::Blend blend = draw.of(kBlends);
    std::vector<T> values(static_cast<std::size_t>(draw.number(0, seed % 2 == 0 ? 40 : 700)));
    for (T& value : values) {
      const std::uint64_t bits = testing::random_bits(draw, tensor::kDTypeOf<T>, blend);
      std::memcpy(&value, &bits, sizeof value);
    }
    std::vector<typename SortKey<T>::Key> keys;
    for (const T value : values) keys.push_back(SortKey<T>::of(value));
    Pulse pulse;
    std::vector<std::int64_t> order(keys.size());
    sort_by_digits<typename SortKey<T>::Key>(pulse, keys, order);
    ASSERT_EQ(order, sorted_by_comparison(values)) << seed;
  }
}

TEST(Radix, SortsAsComparingDoes) {
  check_orders<float>();
  check_orders<double>();
  check_orders<std::int8_t>();
  check_orders<std::uint16_t>();
  check_orders<std::int32_t>();
  check_orders<std::int64_t>();
  check_orders<std::uint64_t>();
}

}  // namespace
}  // namespace commensal::kernels::ref
