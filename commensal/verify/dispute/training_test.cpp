// SPDX-License-Identifier: Apache-2.0
// Disputes about a step of training: forward, backward and AdamW are one graph, a job's model like
// any other. One operation of the backward pass is wrong; the dispute ends there.
#include <gtest/gtest.h>

#include <commensal/compute/train/testing/step_graphs.hpp>
#include <commensal/verify/arbiter/program.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <commensal/verify/dispute/describe.hpp>

namespace commensal::dispute {
namespace {

using arbiter::Ending;
using arbiter::Side;
using tensor::Tensor;
using train::testing::StepGraph;

std::vector<StepGraph> training_steps() {
  return {train::testing::step_of_pictures(), train::testing::step_of_texts()};
}

/// The types of all nodes' first outputs, and which have no program.
struct Survey final : graph::Tracer {
  explicit Survey(const graph::Graph& one) : nodes(one.nodes.data()), types(one.nodes.size()) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    types[static_cast<std::size_t>(&node - nodes)] = outputs[0].type();
    arbiter::NodeCall described;
    described.node = node_text(*node.op, node.opset, node.attributes);
    described.node.outputs.resize(outputs.size(), 1);
    described.tensors =
        *arbiter::check_attributes(described.node, attribute_lists(node.attributes));
    for (const Tensor* input : call.inputs) {
      described.inputs.push_back(input == nullptr ? arbiter::Shaped{} : shaped_of(input->type()));
      described.lists.push_back(input == nullptr ? std::nullopt : list_of(*input));
    }
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      described.outputs.push_back(shaped_of(outputs[o].type()));
      if (outputs[o].elements() == 0) continue;
      const auto program = arbiter::Program::of(described, o, 0);
      if (!program) without.push_back(fmt::format("{}: {}", node.name, program.error().message));
    }
  }
  const graph::Node* nodes;
  std::vector<tensor::TensorType> types;
  std::vector<std::string> without;
};

class TrainingDisputes : public ::testing::Test {
 protected:
  /// How it ends if `liar` says that an element is another, and its steps are right up to `from`;
  /// nothing where nobody can tell.
  std::optional<arbiter::Outcome> play_lie(const Case& one, graph::Session& session, const Lie& lie,
                                           Side liar, std::optional<std::uint64_t> from) {
    const Rerun bent = lying(*one.graph, lie, rerun_on(session, one.inputs));
    auto tells = Player::prepare(one.honest(arbiter::other(liar), session), threads_);
    auto lies = Player::prepare(one.hand(liar, bent), threads_);
    EXPECT_TRUE(tells) << tells.error().message;
    EXPECT_TRUE(lies) << lies.error().message;
    if (!tells || !lies || tells->output_root() == lies->output_root()) return std::nullopt;
    Liar bold(*std::move(lies), from);
    const bool provides = liar == Side::kProvider;
    Player& provider = provides ? static_cast<Player&>(bold) : *tells;
    Player& challenger = provides ? *tells : static_cast<Player&>(bold);
    core::ManualClock clock;
    auto referee = arbiter::Referee::open(one.setup(provider.output_root()), clock);
    EXPECT_TRUE(referee) << referee.error().message;
    play(*referee, clock, provider, challenger);
    if (referee->outcome()->ending == Ending::kProved) {
      EXPECT_TRUE(arbiter::judge(referee->file())) << "a verdict needs nobody's word";
    }
    return referee->outcome();
  }

  kernels::ThreadPool threads_{1};
};

TEST_F(TrainingDisputes, EveryNodeOfAStepHasAProgram) {
  for (const StepGraph& step : training_steps()) {
    auto session = graph::Session::create(step.graph, {.backend = graph::Backend::kRef});
    ASSERT_TRUE(session);
    Survey survey(*step.graph);
    const auto made = session->run(step.inputs, {.tracer = &survey});
    ASSERT_TRUE(made) << step.name << ": " << made.error().message;
    EXPECT_TRUE(survey.without.empty()) << step.name << ": " << survey.without[0];
  }
}

TEST_F(TrainingDisputes, EndAtTheNodeAndElementThatAreWrong) {
  for (const StepGraph& step : training_steps()) {
    const Case one(step.graph, step.inputs);
    auto session = graph::Session::create(step.graph, {});
    ASSERT_TRUE(session);
    Survey survey(*step.graph);
    ASSERT_TRUE(session->run(step.inputs, {.tracer = &survey}));
    int proved = 0, harmless = 0;
    for (std::size_t node = step.forward; node < step.graph->nodes.size(); ++node) {
      const tensor::TensorType& type = survey.types[node];
      if (type.dtype != tensor::DType::kFloat32 || type.shape.elements() == 0) continue;
      SCOPED_TRACE(fmt::format("{}, {}", step.name, step.graph->nodes[node].name));
      const std::int64_t element = static_cast<std::int64_t>(node) % type.shape.elements();
      const Lie lie{.node = node, .element = element, .mask = 0x20, .byte = 2};
      const Side liar = node % 2 == 0 ? Side::kProvider : Side::kChallenger;
      const auto outcome = play_lie(one, *session, lie, liar, std::nullopt);
      if (!outcome) {
        ++harmless;
        continue;
      }
      ASSERT_EQ(outcome->ending, Ending::kProved) << outcome->reason;
      ASSERT_TRUE(outcome->wrong[at(liar)]) << outcome->reason;
      ASSERT_FALSE(outcome->wrong[at(arbiter::other(liar))]) << outcome->reason;
      ASSERT_EQ(outcome->finding->node, node) << outcome->reason;
      ASSERT_EQ(outcome->finding->element, static_cast<std::uint64_t>(element));
      ++proved;
    }
    EXPECT_GT(proved, 5 * harmless) << step.name;
    std::printf("%s: %zu nodes, %zu forward; %d lies behind those proved, %d harmless\n",
                step.name.c_str(), step.graph->nodes.size(), step.forward, proved, harmless);
  }
}

/// One multiply-add in the middle of a chain: of a gradient of weights, and of one on its way back.
TEST_F(TrainingDisputes, EndAtOneMultiplyAddOfTheBackwardPass) {
  std::map<std::string, int> proved;
  for (const StepGraph& step : training_steps()) {
    const Case one(step.graph, step.inputs);
    auto session = graph::Session::create(step.graph, {});
    ASSERT_TRUE(session);
    Survey survey(*step.graph);
    ASSERT_TRUE(session->run(step.inputs, {.tracer = &survey}));
    for (std::size_t node = step.forward; node < step.graph->nodes.size(); ++node) {
      if (step.graph->nodes[node].op->kind != kernels::Kind::kDotProduct) continue;
      SCOPED_TRACE(fmt::format("{}, {}", step.name, step.graph->nodes[node].name));
      const Lie lie{.node = node,
                    .element = survey.types[node].shape.elements() / 2,
                    .mask = 0x20,
                    .byte = 2};
      constexpr std::uint64_t kFrom = 2;
      const auto outcome = play_lie(one, *session, lie, Side::kProvider, kFrom);
      if (!outcome) continue;
      ASSERT_EQ(outcome->ending, Ending::kProved) << outcome->reason;
      EXPECT_TRUE(outcome->wrong[at(Side::kProvider)]) << outcome->reason;
      EXPECT_FALSE(outcome->wrong[at(Side::kChallenger)]) << outcome->reason;
      const arbiter::Finding& finding = *outcome->finding;
      EXPECT_EQ(finding.node, node);
      EXPECT_EQ(finding.step, kFrom % finding.steps) << arbiter::text_of(finding);
      if (finding.operation != scalar::Op::kFma32) continue;
      EXPECT_EQ(finding.operands.size(), 3U);
      ++proved[finding.op];
      std::printf("%s: %s\n", step.name.c_str(), arbiter::text_of(finding).c_str());
    }
  }
  for (const char* const op : {"Conv", "ConvTranspose", "Gemm", "MatMul"}) {
    EXPECT_GT(proved[op], 0) << op << ": no wrong multiply-add of it was proved";
  }
}

}  // namespace
}  // namespace commensal::dispute
