// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>
#include <limits>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;
using Ints = std::vector<std::int64_t>;

struct PoolCase {
  Shape x;
  Ints kernel, strides = {}, pads = {}, dilations = {};
  std::int64_t ceil_mode = 0;
};

const PoolCase kPools[] = {
    {{1, 8, 30, 30}, {3, 3}, {2, 2}, {1, 1, 1, 1}},
    {{2, 5, 13, 27}, {3, 3}, {2, 2}, {}, {}, 1},
    {{1, 3, 12, 12}, {2, 2}, {2, 2}},
    {{3, 2, 9, 40}, {5, 4}, {1, 3}, {2, 1, 2, 3}},
    {{1, 4, 20, 20}, {7, 6}, {1, 1}, {3, 3, 3, 3}},
    {{1, 4, 20, 20}, {2, 2}, {5, 5}},
    {{2, 3, 50}, {4}, {2}, {1, 1}},
    {{1, 2, 5, 6, 7}, {2, 2, 2}, {1, 1, 1}},
    {{2, 3, 7, 9, 37}, {3, 2, 3}, {2, 1, 2}, {1, 0, 2, 1, 1, 0}, {}, 1},
    {{1, 2, 4, 3, 5, 6}, {2, 2, 3, 2}, {1, 2, 1, 1}, {1, 1, 0, 1, 0, 1, 1, 0}},
    {{1, 2, 9, 11, 18}, {4, 4, 4}, {2, 2, 2}, {2, 2, 2, 2, 2, 2}},  // a lane for two taps
    {{2, 1, 600}, {33}, {7}, {16, 16}},
    {{1, 2, 10, 11}, {3, 3}, {1, 1}, {2, 2, 2, 2}},
    {{1, 2, 7, 13}, {5, 5}, {1, 1}, {2, 2, 2, 2}},
    {{1, 2, 3, 41}, {2, 3}, {1, 4}, {0, 1, 0, 1}, {1, 2}},
    {{1, 1, 30001}, {5}, {1}, {2, 2}, {3}},  // lines in several pieces
    {{1, 1, 60001}, {3}, {2}},
    {{1, 1, 60001}, {2}, {3}, {1, 1}},
    {{1, 1, 90003}, {4}, {4}, {0, 3}},
    {{1, 1, 9001}, {3}, {1}, {}, {4000}},
    {{1, 1, 40}, {2}, {1}, {64, 64}},  // most windows wholly outside
    {{1, 2, 3, 0}, {2, 1}, {1, 1}, {0, 1, 0, 1}},
    {{1, 1, 3000, 2}, {3, 1}, {1, 1}, {1, 0, 1, 0}},  // rows of next to nothing
    {{1, 1, 600, 9}, {300, 2}},                       // more rows than are listed
};

/// `detail`: count_include_pad, storage_order or p.
void check_pool(std::string_view name, const PoolCase& c, std::int64_t detail, int outputs = 1) {
  SCOPED_TRACE(c.x.text());
  for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
    Case test{.name = name,
              .opset = 18,
              .attributes = {},
              .inputs = {random_tensor(c.x, 1, values)},
              .constants = {},
              .outputs = outputs};
    const auto set = [&](const char* attribute, const Ints& list) {
      if (!list.empty()) test.attributes.set(attribute, list);
    };
    set("kernel_shape", c.kernel);
    set("strides", c.strides);
    set("pads", c.pads);
    set("dilations", c.dilations);
    test.attributes.set("ceil_mode", c.ceil_mode);
    if (name == "AveragePool") test.attributes.set("count_include_pad", detail);
    if (name == "MaxPool") test.attributes.set("storage_order", detail);
    if (name == "LpPool") test.attributes.set("p", detail);
    test.serves = c.x.elements() > 0;
    expect_equal_to_ref(test);
  }
}

TEST(EqualityPool, Max) {
  for (const PoolCase& c : kPools) check_pool("MaxPool", c, 0);
  check_pool("MaxPool", {{1, 3, 20, 20}, {3, 3}, {2, 2}, {}, {2, 2}}, 0);
}

TEST(EqualityPool, MaxWithItsPlaces) {
  for (const std::int64_t column_major : {0, 1}) {
    for (const PoolCase& c : kPools) check_pool("MaxPool", c, column_major, 2);
    check_pool("MaxPool", {{2, 3, 5, 20, 21}, {2, 3, 3}, {2, 1, 2}, {}, {3, 2, 2}}, column_major,
               2);
  }
}

// Where -infinity is the largest, and where there is nothing: padding is never a place.
TEST(EqualityPool, PlacesAmongInfinitiesAndPadding) {
  const std::vector<float> x(2 * 5 * 6, -std::numeric_limits<float>::infinity());
  for (const Ints& kernel : {Ints{3, 3}, Ints{1, 1}}) {
    Case test{.name = "MaxPool",
              .opset = 18,
              .attributes = {},
              .inputs = {Tensor::of<float>({1, 2, 5, 6}, x)},
              .constants = {},
              .outputs = 2};
    test.attributes.set("kernel_shape", kernel);
    test.attributes.set("pads", Ints{2, 2, 2, 2});
    expect_equal_to_ref(test);
  }
}

TEST(EqualityPool, Norms) {
  for (const std::int64_t p : {1, 2, 3, 5}) {
    for (const PoolCase& c : kPools) check_pool("LpPool", c, p);
  }
}

TEST(EqualityPool, Average) {
  for (const PoolCase& c : kPools) {
    check_pool("AveragePool", c, 0);
    check_pool("AveragePool", c, 1);
  }
}

TEST(EqualityPool, Global) {
  for (const std::string_view name : {"GlobalAveragePool", "GlobalMaxPool"}) {
    for (std::int64_t side = 1; side <= 12; ++side) {
      for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
        expect_equal_to_ref({.name = name,
                             .attributes = {},
                             .inputs = {random_tensor({2, 19, side, side + 2}, 1, values)},
                             .constants = {}});
      }
    }
    expect_equal_to_ref({.name = name,
                         .attributes = {},
                         .inputs = {random_tensor({1, 1, 3, 1 << 19}, 1, Values::kSpecial)},
                         .constants = {}});
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
