// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <commensal/compute/tensor/float16.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;

template <class T, class From>
void check(const Shape& shape, const std::vector<From>& data) {
  SCOPED_TRACE(shape.text());
  std::vector<T> elements;
  for (const From x : data) {
    if constexpr (std::is_same_v<T, tensor::Float16>) {
      elements.push_back(tensor::to_float16(static_cast<float>(x)));
    } else {
      elements.push_back(static_cast<T>(x));
    }
  }
  expect_equal_to_ref({.name = "Det",
                       .attributes = {},
                       .inputs = {Tensor::of<T>(shape, elements)},
                       .constants = {}});
}
template <class From>
void check_all(const Shape& shape, const std::vector<From>& data) {
  check<float>(shape, data);
  check<double>(shape, data);
  check<tensor::Float16>(shape, data);
}

std::vector<float> values_of(const Tensor& x) {
  return {x.data<float>().begin(), x.data<float>().end()};
}

TEST(EqualityDet, OfEverySide) {
  for (std::int64_t side = 0; side <= 35; ++side) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      const Shape shape = {side < 12 ? 7 : 3, side, side};
      check_all(shape, values_of(random_tensor(shape, 5, values)));
    }
  }
}

TEST(EqualityDet, OfManyAndOfLarge) {
  for (const Shape& shape : {Shape{64, 16, 16},
                             {2, 3, 5, 5},
                             {3000, 3, 3},
                             {0, 4, 4},
                             {2, 0, 4, 4},
                             {4, 4},
                             {2, 203, 203}}) {
    check_all(shape, values_of(random_tensor(shape, 3)));
  }
}

// Few digits: pivots that are as large as others, of either sign, and none at all.
TEST(EqualityDet, PivotsThatTieOrVanish) {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    for (const std::int64_t side : {2, 3, 5, 16, 17}) {
      core::CounterRng rng(seed, 2);
      std::vector<float> data;
      for (std::int64_t i = 0; i < 4 * side * side; ++i) {
        data.push_back(static_cast<float>(rng.next_u32() % 3) - 1);
      }
      check_all({4, side, side}, data);
    }
  }
}

// A NaN where the pivot would be stays there; elsewhere it is passed over.
TEST(EqualityDet, NotNumbers) {
  for (const float odd :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (std::int64_t at = 0; at < 36; ++at) {
      std::vector<float> data = values_of(random_tensor({6, 6}, 4));
      data[static_cast<std::size_t>(at)] = odd;
      check_all({6, 6}, data);
      data[static_cast<std::size_t>((at * 7 + 3) % 36)] = -odd;
      check_all({6, 6}, data);
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
