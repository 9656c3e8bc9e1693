// SPDX-License-Identifier: Apache-2.0
// What the random cases of the other tests do not meet: exact small ones, and refusals.
#include <commensal/compute/grad/maker.hpp>
#include <commensal/compute/grad/testing/case.hpp>

namespace commensal::grad {
namespace {

using namespace testing;

TEST(Maker, TypesStayGoodWhenValuesAreAdded) {
  graph::testing::GraphMaker graph;
  const ValueId x = graph.input({2, 3});
  Maker maker(graph.graph(), {});
  const Value first = maker.constant(Tensor::of<float>({2}, {1.0f, 2.0f}));
  const tensor::TensorType& type = first.type();
  for (int i = 0; i < 1000; ++i) maker.input("more", type);
  EXPECT_EQ(&type, &first.type());
  EXPECT_EQ(type.text(), "float32[2]");
  EXPECT_FALSE(maker.known_type(x));
}

TEST(EqualityGradients, OfBatchNormalizationOfOneAxis) {
  for (const std::int64_t trains : {0, 1}) {
    check({"BatchNormalization of [N]",
           [&](Case& c) {
             const ValueId x = c.in({4}), scale = c.in({1}), bias = c.in({1});
             const ValueId mean = c.fixed({1}), variance = c.fixed({1}, 0.5f, 2);
             return std::vector{c.ops("BatchNormalization", {x, scale, bias, mean, variance},
                                      trains != 0 ? 3 : 1, with({{"training_mode", trains}}))[0]};
           },
           true, 5e-5});
  }
}

}  // namespace
}  // namespace commensal::grad
