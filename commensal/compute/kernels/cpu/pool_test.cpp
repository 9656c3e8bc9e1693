// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

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
    {{1, 2, 10, 11}, {3, 3}, {1, 1}, {2, 2, 2, 2}},
};

void check_pool(std::string_view name, const PoolCase& c, std::int64_t count_pads,
                int outputs = 1) {
  SCOPED_TRACE(c.x.text());
  for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
    Case test{.name = name,
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
    if (name == "AveragePool") test.attributes.set("count_include_pad", count_pads);
    expect_equal_to_ref(test);
  }
}

TEST(EqualityPool, Max) {
  for (const PoolCase& c : kPools) check_pool("MaxPool", c, 0);
  check_pool("MaxPool", {{1, 3, 20, 20}, {3, 3}, {2, 2}, {}, {2, 2}}, 0);
  check_pool("MaxPool", kPools[0], 0, 2);  // with indices
}

TEST(EqualityPool, Average) {
  for (const PoolCase& c : kPools) {
    check_pool("AveragePool", c, 0);
    check_pool("AveragePool", c, 1);
  }
}

TEST(EqualityPool, GlobalAverage) {
  for (std::int64_t side = 1; side <= 12; ++side) {
    for (const Values values : {Values::kPlain, Values::kSpecial, Values::kTiny}) {
      expect_equal_to_ref({.name = "GlobalAveragePool",
                           .attributes = {},
                           .inputs = {random_tensor({2, 19, side, side + 2}, 1, values)},
                           .constants = {}});
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
