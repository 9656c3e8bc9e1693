// SPDX-License-Identifier: Apache-2.0
#include <commensal/compute/kernels/cpu/testing/equality.hpp>

namespace commensal::kernels::cpu {
namespace {

using namespace testing;
using tensor::Shape;
using Texts = std::vector<std::string>;

/// A call of RNN, GRU or LSTM, whose optional inputs are given or not.
struct Layer {
  std::string_view name = "LSTM";
  std::int64_t seq = 5, batch = 3, width = 7, units = 19;
  std::string direction = "forward";
  bool bias = true, states = true, peepholes = false, batch_first = false;
  std::vector<std::int32_t> lengths = {};
  Values values = Values::kPlain;

  std::int64_t gates() const { return name == "RNN" ? 1 : name == "GRU" ? 3 : 4; }
  std::int64_t directions() const { return direction == "bidirectional" ? 2 : 1; }
  Tensor drawn(const Shape& shape, std::uint64_t seed) const {
    return random_tensor(shape, seed, values);
  }
  Case test() const {
    const std::int64_t d = directions(), rows = gates() * units;
    const Shape state = batch_first ? Shape{batch, d, units} : Shape{d, batch, units};
    Case made{.name = name, .opset = 14, .attributes = {}, .inputs = {}, .constants = {1, 2}};
    made.inputs = {drawn(batch_first ? Shape{batch, seq, width} : Shape{seq, batch, width}, 1),
                   drawn({d, rows, width}, 2), drawn({d, rows, units}, 3)};
    made.inputs.push_back(bias ? drawn({d, 2 * rows}, 4) : Tensor());
    made.inputs.push_back(lengths.empty() ? Tensor() : Tensor::of<std::int32_t>({batch}, lengths));
    made.inputs.push_back(states ? drawn(state, 5) : Tensor());
    if (name == "LSTM") {
      made.inputs.push_back(states ? drawn(state, 6) : Tensor());
      if (peepholes) made.inputs.push_back(drawn({d, 3 * units}, 7));
    }
    made.attributes.set("direction", direction);
    made.attributes.set("layout", std::int64_t{batch_first});
    made.outputs = name == "LSTM" ? 3 : 2;
    made.serves = seq * batch > 0;
    return made;
  }
};

constexpr std::string_view kNames[] = {"RNN", "GRU", "LSTM"};
constexpr const char* kDirections[] = {"forward", "reverse", "bidirectional"};

/// With everything that has no say in the order of things.
void check(const Layer& layer) {
  SCOPED_TRACE(fmt::format("{} {} {}x{}", layer.name, layer.direction, layer.seq, layer.batch));
  for (const std::int64_t choice : {0, 1}) {
    Case test = layer.test();
    test.attributes.set("linear_before_reset", choice);
    test.attributes.set("input_forget", choice);
    expect_equal_to_ref(test);
    if (layer.name == "RNN") return;
  }
}

TEST(EqualityRecurrent, Sizes) {
  for (const std::string_view name : kNames) {
    for (const char* direction : kDirections) {
      for (const std::int64_t batch : {1, 2, 9}) {
        for (const std::int64_t units : {1, 3, 16, 33, 70}) {
          check({.name = name, .batch = batch, .units = units, .direction = direction});
        }
      }
      check({.name = name, .seq = 1, .batch = 1, .width = 300, .units = 300});
      check({.name = name, .seq = 2, .batch = 3, .width = 1, .units = 270});
      check({.name = name, .direction = direction, .bias = false, .states = false});
    }
  }
}

TEST(EqualityRecurrent, SequencesOfAnyLength) {
  const std::vector<std::int32_t> all[] = {{5, 3, 4}, {0, 5, 1}, {0, 0, 0}, {5, 5, 5}, {2, 2, 3}};
  for (const std::string_view name : kNames) {
    for (const char* direction : kDirections) {
      for (const bool batch_first : {false, true}) {
        for (const auto& lengths : all) {
          check({.name = name,
                 .direction = direction,
                 .batch_first = batch_first,
                 .lengths = lengths});
        }
        check({.name = name, .direction = direction, .batch_first = batch_first});
      }
      check({.name = name, .batch = 1, .direction = direction, .lengths = {3}});
    }
    check({.name = name, .seq = 0});
    check({.name = name, .batch = 0});
  }
}

// More than is packed at once of x, or of h.
TEST(EqualityRecurrent, ManyItemsAndLongRows) {
  for (const std::string_view name : kNames) {
    check({.name = name, .seq = 2, .batch = 3, .width = 5001, .units = 2});
    check({.name = name, .seq = 1, .batch = 8300, .width = 1, .units = 2, .direction = "reverse"});
    Layer layer{.name = name, .seq = 3, .batch = 9001, .width = 1, .units = 1};
    for (std::int64_t i = 0; i < layer.batch; ++i) {
      layer.lengths.push_back(static_cast<std::int32_t>(i * 7919 % 4));
    }
    check(layer);
  }
  check({.name = "GRU", .seq = 1, .batch = 150, .width = 1, .units = 900});
}

TEST(EqualityRecurrent, EveryKindOfValue) {
  for (const std::string_view name : kNames) {
    for (const Values values : {Values::kSpecial, Values::kTiny}) {
      for (const bool peepholes : {false, true}) {
        for (const std::int64_t batch : {1, 3}) {
          // Few elements: most chains have no NaN in them.
          Layer layer{.name = name,
                      .seq = 2,
                      .batch = batch,
                      .width = 2,
                      .units = 3,
                      .direction = "bidirectional",
                      .peepholes = peepholes,
                      .values = values};
          check(layer);
          layer.lengths = std::vector<std::int32_t>(static_cast<std::size_t>(batch), 0);
          check(layer);  // the states as they came, NaN canonical
        }
      }
    }
  }
}

TEST(EqualityRecurrent, BoundsAndPeepholes) {
  for (const std::string_view name : kNames) {
    for (const bool peepholes : {false, true}) {
      for (const float bound : {0.0f, 0.25f, 3.0f}) {
        for (const std::int64_t choice : {0, 1}) {
          Case test =
              Layer{.name = name, .direction = "bidirectional", .peepholes = peepholes}.test();
          test.attributes.set("clip", bound);
          test.attributes.set("linear_before_reset", choice);
          test.attributes.set("input_forget", choice);
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

TEST(EqualityRecurrent, EveryActivationInEveryPlace) {
  const Texts all = {"Affine",     "Elu",     "HardSigmoid", "LeakyRelu", "Relu",           "Tanh",
                     "ScaledTanh", "Sigmoid", "Softplus",    "Softsign",  "ThresholdedRelu"};
  for (const std::string_view name : kNames) {
    const std::size_t each = name == "RNN" ? 1 : name == "GRU" ? 2 : 3;
    for (std::size_t first = 0; first < all.size(); ++first) {
      for (const Values values : {Values::kPlain, Values::kSpecial}) {
        for (const bool parameters : {false, true}) {
          Layer layer{.name = name, .seq = 3, .direction = "bidirectional", .values = values};
          if (values == Values::kSpecial) layer.units = 3, layer.width = 2;
          Case test = layer.test();
          Texts names;
          for (std::size_t i = 0; i < 2 * each; ++i) names.push_back(all[(first + i) % all.size()]);
          test.attributes.set("activations", names);
          if (parameters) {
            test.attributes.set("activation_alpha", std::vector<float>{0.3f, -0.7f, 1.9f});
            test.attributes.set("activation_beta", std::vector<float>{-0.2f, 0.6f});
          }
          SCOPED_TRACE(names[0]);
          expect_equal_to_ref(test);
        }
      }
    }
  }
}

}  // namespace
}  // namespace commensal::kernels::cpu
