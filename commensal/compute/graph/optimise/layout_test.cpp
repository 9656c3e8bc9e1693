// SPDX-License-Identifier: Apache-2.0
// Pictures in blocks of channels: random small networks give ref/'s bits.
#include <commensal/compute/graph/optimise/testing/fusion_cases.hpp>

namespace commensal::graph::optimise {
namespace {

using namespace testing;
using namespace graph::testing;
using kernels::Attributes;
using kernels::testing::case_count;
using kernels::testing::Draw;
using tensor::Shape;
using tensor::Tensor;

/// A network of convolutions and what usually stands around them, drawn from a seed.
class Pictures {
 public:
  explicit Pictures(std::uint64_t seed) : draw_(seed, 5) {
    const std::int64_t channels = draw_.of(std::array{1, 3, 8, 16, 20, 33, 48});
    const std::int64_t height = draw_.number(1, 30), width = draw_.number(1, 30);
    first_ = {maker_.input({draw_.number(1, 3), channels, height, width}), channels, height, width};
  }

  GraphMaker& make() {
    std::vector<Picture> made = {conv(first_)};
    const auto count = draw_.number(3, 10);
    for (std::int64_t i = 0; i < count; ++i) made.push_back(next(made));
    maker_.output(made.back().id);
    maker_.output(made[made.size() / 2].id);
    return maker_;
  }

 private:
  struct Picture {
    ValueId id;
    std::int64_t channels, height, width;
  };

  Picture next(const std::vector<Picture>& made) {
    const Picture& x = draw_.of(made);
    switch (draw_.number(0, 11)) {
      case 0:
        return each(x);
      case 1:
        return gate(conv(x));
      case 2:
        return pool(x, "MaxPool");
      case 3:
        return pool(x, "AveragePool");
      case 4:
        return concat(x, conv(x, true));
      case 5:
        return per_channel(x);
      case 6:
        return sum(x);
      case 7:
        return residual(x);
      case 8:
        return norm(x);
      case 9:
        return shuffle(x);
      case 10:
        return slice(x);
      default:
        return conv(x);
    }
  }

  Tensor random(const Shape& shape) {
    return kernels::testing::random_of(draw_, tensor::DType::kFloat32, shape);
  }

  /// Any convolution that leaves a picture, or one that keeps the size.
  Picture conv(const Picture& x, bool keeps = false) {
    const std::int64_t side = keeps ? draw_.of(std::array{1, 3}) : draw_.of(std::array{1, 2, 3, 5});
    const std::int64_t stride = keeps ? 1 : draw_.number(1, 2);
    const std::int64_t dilation = keeps ? 1 : draw_.number(1, 2);
    Ints pads(4, keeps ? side / 2 : 0);
    if (!keeps) {
      for (std::int64_t& pad : pads) pad = draw_.number(0, side - 1);
    }
    const std::int64_t reach = (side - 1) * dilation + 1;
    const std::int64_t rows = x.height + pads[0] + pads[2] - reach;
    const std::int64_t columns = x.width + pads[1] + pads[3] - reach;
    if (rows < 0 || columns < 0) return conv(x, true);
    std::int64_t group = 1;
    std::int64_t out = keeps ? x.channels : draw_.of(std::array{1, 16, 24, 32, 50, 64, 80});
    if (draw_.one_in(4)) group = out = x.channels;
    if (x.channels % 8 == 0 && draw_.one_in(5)) group = x.channels / 8, out = x.channels;
    Attributes attributes;
    attributes.set("group", group);
    attributes.set("strides", Ints{stride, stride});
    attributes.set("dilations", Ints{dilation, dilation});
    attributes.set("pads", pads);
    std::vector<ValueId> inputs = {x.id,
                                   maker_.constant(random({out, x.channels / group, side, side}))};
    if (draw_.one_in(2)) inputs.push_back(maker_.constant(random({out})));
    return {maker_.node("Conv", inputs, attributes), out, rows / stride + 1, columns / stride + 1};
  }

  Picture each(const Picture& x) {
    Picture y = x;
    const char* name = draw_.of({"Relu", "Sigmoid", "HardSigmoid", "Tanh", "Clip"});
    std::vector<ValueId> inputs = {x.id};
    if (std::string_view(name) == "Clip") {
      inputs.push_back(number_of(maker_, draw_.of(std::array{0.0f, -0.5f, -0.0f})));
      inputs.push_back(number_of(maker_, draw_.of(std::array{6.0f, 0.0f, 0.25f})));
    }
    y.id = maker_.node(name, inputs);
    return y;
  }
  Picture gate(Picture x) {
    const ValueId gate = maker_.node(draw_.of({"Sigmoid", "HardSigmoid"}), {x.id});
    x.id = maker_.node("Mul", draw_.one_in(2) ? std::vector{x.id, gate} : std::vector{gate, x.id});
    return x;
  }
  Picture pool(const Picture& x, std::string_view name) {
    const std::int64_t side = std::min({draw_.number(1, 4), x.height, x.width});
    const std::int64_t stride = draw_.number(1, 2), pad = draw_.number(0, side - 1);
    Attributes attributes;
    attributes.set("kernel_shape", Ints{side, side});
    attributes.set("strides", Ints{stride, stride});
    attributes.set("pads", Ints(4, pad));
    if (name == "AveragePool") attributes.set("count_include_pad", draw_.number(0, 1));
    return {maker_.node(name, {x.id}, attributes), x.channels,
            (x.height + 2 * pad - side) / stride + 1, (x.width + 2 * pad - side) / stride + 1};
  }
  Picture concat(const Picture& a, const Picture& b) {
    return {maker_.node("Concat", {a.id, b.id}, with("axis", std::int64_t{1})),
            a.channels + b.channels, a.height, a.width};
  }
  Picture per_channel(Picture x) {
    ValueId other = maker_.constant(random({x.channels, 1, 1}));
    if (draw_.one_in(2)) other = maker_.node("GlobalAveragePool", {x.id});
    x.id = maker_.node(draw_.of({"Add", "Mul", "Sub", "Div"}), {x.id, other});
    return x;
  }
  Picture sum(const Picture& x) {
    Picture y = conv(x, true);
    y.id = maker_.node("Add", {y.id, x.id});
    return y;
  }
  Picture residual(const Picture& x) {
    Picture y = conv(x, true);
    const Picture z = conv(x, true);
    y.id = maker_.node("Add", {y.id, z.id});
    return each(y);
  }
  Picture norm(Picture x) {
    std::vector<ValueId> inputs = {x.id};
    for (int i = 0; i < 3; ++i) inputs.push_back(maker_.constant(random({x.channels})));
    std::vector<float> variances;
    for (std::int64_t c = 0; c < x.channels; ++c) variances.push_back(draw_.real(0, 2));
    inputs.push_back(maker_.constant(Tensor::of<float>({x.channels}, variances)));
    x.id = maker_.node("BatchNormalization", inputs);
    return draw_.one_in(2) ? each(x) : x;
  }
  Picture shuffle(Picture x) {
    if (x.channels % 2 != 0) return x;
    const auto batch = maker_.integers({-1, 2, x.channels / 2, x.height, x.width});
    const ValueId groups = maker_.node("Reshape", {x.id, batch});
    const ValueId moved = maker_.node("Transpose", {groups}, with("perm", Ints{0, 2, 1, 3, 4}));
    x.id = maker_.node("Reshape", {moved, maker_.integers({-1, x.channels, x.height, x.width})});
    return x;
  }
  Picture slice(Picture x) {
    const std::int64_t begin = draw_.number(0, x.channels - 1);
    const std::int64_t end = draw_.number(begin + 1, x.channels);
    x.id = maker_.node(
        "Slice", {x.id, maker_.integers({begin}), maker_.integers({end}), maker_.integers({1})});
    x.channels = end - begin;
    return x;
  }

  Draw draw_;
  GraphMaker maker_;
  Picture first_;
};

TEST(EqualityLayout, RandomNetworksOfPictures) {
  std::ptrdiff_t blocked = 0;
  for (int seed = 0; seed < case_count(40); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    blocked += expect_same(Pictures(static_cast<std::uint64_t>(seed)).make(), Role::kBlockedConv);
  }
  EXPECT_GT(blocked, case_count(40));  // it is blocked pictures that were compared
}

// A convolution of `group` groups between two plain pictures, or with one more behind it.
std::ptrdiff_t blocked_alone(std::int64_t group, std::int64_t side, bool alone = true) {
  Draw draw(3, 1);
  GraphMaker maker;
  const auto random = [&](const Shape& shape) {
    return maker.constant(kernels::testing::random_of(draw, tensor::DType::kFloat32, shape));
  };
  Attributes attributes = with("group", group);
  attributes.set("pads", Ints(4, side / 2));
  ValueId y = maker.input({1, 32, 14, 14});
  y = maker.node("Conv", {y, random({32, 32 / group, side, side})}, attributes);
  if (!alone) y = maker.node("Conv", {y, random({16, 32, 1, 1})});
  maker.output(y);
  return expect_same(maker, Role::kBlockedConv);
}

TEST(EqualityLayout, LightConvolutionsByThemselvesStayPlain) {
  EXPECT_EQ(blocked_alone(1, 1), 0);
  EXPECT_EQ(blocked_alone(1, 5), 0);
  EXPECT_EQ(blocked_alone(32, 3), 0);
  EXPECT_EQ(blocked_alone(4, 3), 1);
  EXPECT_EQ(blocked_alone(1, 3), 1);  // Winograd's
  EXPECT_EQ(blocked_alone(32, 3, false), 2);
}

}  // namespace
}  // namespace commensal::graph::optimise
