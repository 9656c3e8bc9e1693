// SPDX-License-Identifier: Apache-2.0
// A convolution and the depthwise one behind it, drawn from seeds, give ref/'s bits in one.
#include <commensal/compute/graph/optimise/testing/fusion_cases.hpp>

namespace commensal::graph::optimise {
namespace {

using namespace testing;
using namespace graph::testing;
using kernels::Attributes;
using kernels::testing::Draw;
using tensor::Shape;
using tensor::Tensor;

/// What lies between is larger than 512 KiB.
class Expansion {
 public:
  explicit Expansion(std::uint64_t seed) : draw_(seed, 9) {
    const bool picture = draw_.one_in(2);
    const std::int64_t stride = picture ? draw_.number(1, 2) : 1;
    const std::int64_t in = picture ? draw_.number(1, 4) : draw_.of(std::array{16, 24, 33});
    const std::int64_t out = draw_.of(std::array{64, 80, 100});
    const std::int64_t height = draw_.number(44, 52), width = draw_.number(48, 56);
    const ValueId x = maker_.input({draw_.number(1, 2), in, height * stride, width * stride});
    const std::int64_t side = picture ? draw_.of(std::array{1, 3, 5}) : 1;
    // What is not a picture of few channels is blocked by what stands before it.
    const ValueId from = picture ? x : each(conv(x, in, in, 1, 1, 1));
    const ValueId between = each(conv(from, in, out, side, stride, 1));
    const ValueId y = conv(between, out, out, draw_.of(std::array{3, 5}), draw_.number(1, 2), out);
    maker_.output(each(y));
  }
  const GraphMaker& maker() const { return maker_; }

 private:
  ValueId conv(ValueId x, std::int64_t in, std::int64_t out, std::int64_t side, std::int64_t stride,
               std::int64_t group) {
    Attributes attributes = with("group", group);
    attributes.set("strides", Ints{stride, stride});
    const std::int64_t before = side / 2, after = side > 1 ? draw_.number(side / 2, side - 1) : 0;
    attributes.set("pads", Ints{before, before, after, after});
    const auto random = [&](const Shape& shape) {
      return maker_.constant(kernels::testing::random_of(draw_, tensor::DType::kFloat32, shape));
    };
    std::vector<ValueId> inputs = {x, random({out, in / group, side, side})};
    if (draw_.one_in(2)) inputs.push_back(random({out}));
    return maker_.node("Conv", inputs, std::move(attributes));
  }

  ValueId each(ValueId x) {
    switch (draw_.number(0, 3)) {
      case 0:
        return maker_.node("Relu", {x});
      case 1:
        return maker_.node("Clip", {x, number_of(maker_, 0.0f), number_of(maker_, 6.0f)});
      case 2:
        return maker_.node("Mul", {x, maker_.node("Sigmoid", {x})});
      default:
        return x;
    }
  }

  Draw draw_;
  GraphMaker maker_;
};

TEST(EqualityExpansion, IsOneOperatorWithTheSameBits) {
  for (int seed = 0; seed < kernels::testing::case_count(12); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Expansion made(static_cast<std::uint64_t>(seed));
    const std::ptrdiff_t found = expect_same(made.maker(), Role::kBlockedExpand);
    // Of a batch it is run image by image.
    EXPECT_EQ(found + expect_same(made.maker(), Role::kByImage), 1);
  }
}

}  // namespace
}  // namespace commensal::graph::optimise
