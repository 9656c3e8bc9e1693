// SPDX-License-Identifier: Apache-2.0
// Disputes about whole networks, with the fast back end: a flipped bit in a convolution (by the
// Winograd clause and direct), in Softmax, Relu and Add. Says what they cost beside an inference.
// The networks are those of ./test (COMMENSAL_MODELS names their folder).
#include <gtest/gtest.h>

#include <commensal/base/core/cpu_time.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <cstdlib>

namespace commensal::dispute {
namespace {

using arbiter::Ending;
using arbiter::Referee;
using arbiter::Side;
using tensor::Tensor;

/// Of the processor, in this thread: the machine may have other work.
double seconds_of(const std::function<void()>& work) {
  const std::int64_t begin = core::thread_cpu_ns();
  work();
  return static_cast<double>(core::thread_cpu_ns() - begin) * 1e-9;
}

std::shared_ptr<const graph::Graph> load(const std::string& name) {
  const char* folder = std::getenv("COMMENSAL_MODELS");
  if (folder == nullptr) return nullptr;
  const auto graph = graph::onnx::import_file(core::Path(folder) / name);
  return graph ? *graph : nullptr;
}

std::vector<Tensor> inputs_of(const graph::Graph& graph) {
  std::vector<Tensor> made;
  for (const graph::ValueId id : graph.inputs) {
    auto dims = graph.values[static_cast<std::size_t>(id)].declared.dims;
    for (auto& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    const tensor::Shape shape = *tensor::Shape::of(dims);
    std::vector<float> values;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      values.push_back(core::counter_symmetric_f32(7, 1, static_cast<std::uint64_t>(i)));
    }
    made.push_back(Tensor::of<float>(shape, values));
  }
  return made;
}

/// The n-th node of this operator whose first weight has this kernel side (0: any).
std::optional<std::size_t> find(const graph::Graph& graph, std::string_view op, std::int64_t side,
                                int n) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const graph::Node& node = graph.nodes[i];
    if (node.op->name != op) continue;
    if (side != 0) {
      const auto& weight = graph.initialisers.at(node.inputs[1]);
      if (weight.shape()[2] != side || weight.shape()[1] < 16) continue;
    }
    if (n-- == 0) return i;
  }
  return std::nullopt;
}

struct Target {
  const char* op;
  std::int64_t side;
  int n;
};

void dispute(const std::string& file, std::span<const Target> targets) {
  const auto graph = load(file);
  if (graph == nullptr) GTEST_SKIP() << "COMMENSAL_MODELS has no " << file;
  const Case one(graph, inputs_of(*graph));
  const graph::SessionOptions options{.threads = 1};
  auto session = graph::Session::create(graph, options);
  ASSERT_TRUE(session);
  ASSERT_TRUE(session->run(one.inputs));
  double inference = 1e9;
  for (int i = 0; i < 5; ++i) {
    inference = std::min(inference, seconds_of([&] { (void)session->run(one.inputs); }));
  }
  kernels::ThreadPool threads(1);
  const Rerun honest = rerun_on(*session, one.inputs);
  for (const Target& target : targets) {
    const auto node = find(*graph, target.op, target.side, target.n);
    ASSERT_TRUE(node) << target.op;
    // By who has had no dispute before.
    auto fresh = graph::Session::create(graph, options);
    ASSERT_TRUE(fresh && fresh->run(one.inputs));
    std::optional<core::Result<Player>> tells;
    const double prepared = seconds_of(
        [&] { tells.emplace(Player::prepare(one.honest(Side::kChallenger, *fresh), threads)); });
    ASSERT_TRUE(*tells);
    // Some lies are lost in a later maximum: then another element.
    Lie lie{*node, 0, 0, 0x40, 3};
    std::unique_ptr<Player> lies;
    for (const std::int64_t element : {321, 10, 777, 500, 654}) {
      lie.element = element;
      auto bent = Player::prepare(one.hand(Side::kProvider, lying(*graph, lie, honest)), threads);
      ASSERT_TRUE(bent);
      lies = std::make_unique<Player>(*std::move(bent));
      if (lies->output_root() != (*tells)->output_root()) break;
    }
    ASSERT_NE(lies->output_root(), (*tells)->output_root()) << target.op;
    Liar liar(std::move(*lies), 777'777);
    core::ManualClock clock;
    auto referee = Referee::open(one.setup(liar.output_root()), clock);
    ASSERT_TRUE(referee);
    const double played = seconds_of([&] { play(*referee, clock, liar, **tells); });
    const arbiter::Outcome& outcome = *referee->outcome();
    ASSERT_EQ(outcome.ending, Ending::kProved) << outcome.reason;
    EXPECT_TRUE(outcome.wrong[0]);
    EXPECT_FALSE(outcome.wrong[1]);
    EXPECT_EQ(outcome.finding->node, *node);
    const auto bytes =
        referee->bytes_moved(Side::kProvider) + referee->bytes_moved(Side::kChallenger);
    EXPECT_LT(bytes, std::uint64_t{1} << 20);
    const core::Bytes encoded = protocol::encode(referee->file());
    const double judged = seconds_of([&] { EXPECT_TRUE(arbiter::judge(referee->file())); });
    std::printf(
        "%s, %s: %s\n  inference %.1f ms, run with checkpoints %.1f ms, moves of both sides %.1f "
        "ms: "
        "one side in all %.2f inferences; %llu bytes in %u rounds; file of %zu bytes, judged in "
        "%.0f "
        "us\n",
        file.c_str(), graph->nodes[*node].name.c_str(), outcome.reason.c_str(), inference * 1e3,
        prepared * 1e3, played * 1e3, (prepared + played / 2) / inference,
        static_cast<unsigned long long>(bytes), referee->round(), encoded.size(), judged * 1e6);
  }
}

TEST(DisputesOfNetworks, ResNet18) {
  constexpr Target kTargets[] = {
      {"Conv", 3, 2}, {"Conv", 1, 0}, {"Relu", 0, 5}, {"Add", 0, 3}, {"Gemm", 0, 0}};
  dispute("resnet18.onnx", kTargets);
}
TEST(DisputesOfNetworks, ResNet50) {
  constexpr Target kTargets[] = {{"Conv", 3, 2}, {"Conv", 1, 30}, {"Gemm", 0, 0}};
  dispute("torchvision/resnet50.onnx", kTargets);
}
TEST(DisputesOfNetworks, SqueezeNet) {
  constexpr Target kTargets[] = {{"Conv", 3, 3}, {"Conv", 1, 4}, {"Relu", 0, 7}, {"Concat", 0, 2}};
  dispute("squeezenet.onnx", kTargets);
}

}  // namespace
}  // namespace commensal::dispute
