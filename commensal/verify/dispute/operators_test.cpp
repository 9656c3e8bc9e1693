// SPDX-License-Identifier: Apache-2.0
// Every operator that has a program in a dispute of its own: a graph of one node, one element of
// one output changed, by either side.
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/testing/random_values.hpp>
#include <commensal/compute/kernels/testing/samples.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <map>

namespace commensal::dispute {
namespace {

using arbiter::Ending;
using arbiter::Side;
using kernels::testing::Draw;
using kernels::testing::Sample;
using tensor::Tensor;

std::unique_ptr<Case> case_of(const Sample& sample) {
  graph::testing::GraphMaker maker;
  std::vector<graph::ValueId> ids;
  std::vector<Tensor> inputs;
  for (const Tensor& input : sample.inputs) {
    if (!input.defined()) {
      ids.push_back(graph::kAbsent);
      continue;
    }
    const auto dims = input.shape().dims();
    ids.push_back(maker.input({dims.begin(), dims.end()}, input.dtype()));
    inputs.push_back(input);
  }
  for (const graph::ValueId id :
       maker.node_of(sample.name, ids, sample.attributes, sample.opset, sample.outputs)) {
    maker.output(id);
  }
  return std::make_unique<Case>(maker.finish(), std::move(inputs));
}

bool has_strings(const Sample& sample) {
  return std::ranges::any_of(sample.inputs, [](const Tensor& x) {
    return x.defined() && x.dtype() == tensor::DType::kString;
  });
}

struct Bout {
  const Case& one;
  Rerun honest;
  kernels::ThreadPool threads{1};
  Draw draw{6, 98};
  std::uint64_t moved = 0;

  /// How it ends if `liar` says that element `lie` is another; nothing if that changes nothing.
  std::optional<arbiter::Outcome> play_lie(const Lie& lie, Side liar) {
    const Rerun bent = lying(*one.graph, lie, honest);
    auto tells = Player::prepare(one.hand(arbiter::other(liar), honest), threads);
    auto lies = Player::prepare(one.hand(liar, bent), threads);
    if (!tells || !lies || tells->output_root() == lies->output_root()) return std::nullopt;
    Liar bold(*std::move(lies), lie.element % 2 == 0 ? std::nullopt : std::optional(lie.element));
    const bool provides = liar == Side::kProvider;
    Player &provider = provides ? bold : *tells, &challenger = provides ? *tells : bold;
    core::ManualClock clock;
    auto referee = arbiter::Referee::open(one.setup(provider.output_root()), clock);
    EXPECT_TRUE(referee) << referee.error().message;
    play(*referee, clock, provider, challenger);
    moved = referee->bytes_moved(liar) + referee->bytes_moved(arbiter::other(liar));
    if (referee->outcome()->ending == Ending::kProved) stands_alone(referee->file());
    return referee->outcome();
  }
  /// A verdict needs nobody's word, and no bent byte passes.
  void stands_alone(const arbiter::VerdictFile& file) {
    EXPECT_TRUE(arbiter::judge(file));
    const core::Bytes encoded = protocol::encode(file);
    for (int i = 0; i < 3; ++i) {
      core::Bytes bent = encoded;
      const auto at = draw.number(0, static_cast<std::int64_t>(bent.size()) - 1);
      bent[static_cast<std::size_t>(at)] ^= static_cast<std::uint8_t>(draw.number(1, 255));
      const auto read = protocol::decode<arbiter::VerdictFile>(bent);
      EXPECT_FALSE(read && arbiter::judge(*read)) << "byte " << at;
    }
  }
};

TEST(DisputesOfOperators, EndInTheLieOfOneElement) {
  std::map<std::pair<std::string, Side>, int> proved;
  Draw draw(5, 97);
  for (const Sample& sample : kernels::testing::all_samples()) {
    if (has_strings(sample) || !sample.domain.empty()) continue;
    const auto one = case_of(sample);
    auto session = graph::Session::create(one->graph, {});
    if (!session) continue;
    const auto outputs = session->run(one->inputs);
    if (!outputs) continue;
    Bout bout{*one, rerun_on(*session, one->inputs)};
    for (std::size_t o = 0; o < outputs->size(); ++o) {
      if ((*outputs)[o].elements() == 0) continue;
      Lie lie{.node = 0, .output = o, .element = draw.number(0, (*outputs)[o].elements() - 1)};
      for (const Side liar : {Side::kProvider, Side::kChallenger}) {
        const auto outcome = bout.play_lie(lie, liar);
        if (!outcome || outcome->ending == Ending::kUndecided) continue;
        ASSERT_EQ(outcome->ending, Ending::kProved) << sample.name << ": " << outcome->reason;
        ASSERT_TRUE(outcome->wrong[at(liar)]) << sample.name << ": " << outcome->reason;
        ASSERT_FALSE(outcome->wrong[at(arbiter::other(liar))]) << sample.name;
        ASSERT_EQ(outcome->finding->element, static_cast<std::uint64_t>(lie.element));
        ASSERT_EQ(outcome->finding->output, o);
        ++proved[{sample.name, liar}];
      }
    }
  }
  for (const arbiter::OperatorRow& row : arbiter::disputable_operators()) {
    for (const Side liar : {Side::kProvider, Side::kChallenger}) {
      const int disputes = proved[{std::string(row.name), liar}];
      EXPECT_GT(disputes, 0) << row.name << ": no lie of side " << at(liar) << " was proved";
    }
  }
}

// A sequence as speech has it. Forwards, and of the last states, Y's earlier elements are operands;
// backwards every state before is computed.
TEST(DisputesOfOperators, AboutALongSequence) {
  Draw draw(7, 99);
  constexpr std::int64_t kSteps = 40, kWidth = 24, kHidden = 32;
  const auto floats = [&](const tensor::Shape& shape) {
    return kernels::testing::random_of(draw, tensor::DType::kFloat32, shape);
  };
  for (const char* direction : {"forward", "reverse"}) {
    Sample sample{.name = "LSTM", .opset = 14, .inputs = {}};
    sample.inputs = {floats({kSteps, 1, kWidth}), floats({1, 4 * kHidden, kWidth}),
                     floats({1, 4 * kHidden, kHidden}), floats({1, 8 * kHidden})};
    sample.attributes.set("hidden_size", kHidden);
    sample.attributes.set("direction", std::string(direction));
    sample.outputs = 3;
    const auto one = case_of(sample);
    auto session = graph::Session::create(one->graph, {});
    ASSERT_TRUE(session);
    Bout bout{*one, rerun_on(*session, one->inputs)};
    for (const std::size_t output : {0, 1, 2}) {
      const Lie lie{.node = 0, .output = output, .element = output == 0 ? 20 * kHidden + 5 : 7};
      const auto outcome = bout.play_lie(lie, Side::kProvider);
      ASSERT_TRUE(outcome);
      ASSERT_EQ(outcome->ending, Ending::kProved) << outcome->reason;
      EXPECT_TRUE(outcome->wrong[0]);
      EXPECT_FALSE(outcome->wrong[1]);
      EXPECT_EQ(outcome->finding->output, output);
      EXPECT_LT(bout.moved, std::uint64_t{1} << 18);
      std::printf("%s, output %zu: %llu operations, %llu bytes\n", direction, output,
                  static_cast<unsigned long long>(outcome->finding->steps),
                  static_cast<unsigned long long>(bout.moved));
    }
  }
}

}  // namespace
}  // namespace commensal::dispute
