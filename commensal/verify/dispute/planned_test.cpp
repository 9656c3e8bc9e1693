// SPDX-License-Identifier: Apache-2.0
// A trace by planned runs has the bits of one node by node: at every checkpoint, in every segment.
#include <gtest/gtest.h>

#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/compute/graph/testing/random_graph.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <cstdlib>
#include <filesystem>

namespace commensal::dispute {
namespace {

namespace fs = std::filesystem;
using graph::testing::RandomGraph;
using tensor::Tensor;
using GraphPtr = std::shared_ptr<const graph::Graph>;

/// All that a model's own nodes get and make.
struct EveryNode final : graph::Tracer {
  explicit EveryNode(const graph::Graph& one) : nodes(one.nodes.data()), runs(one.nodes.size()) {}
  void after_node(const graph::Node& node, const kernels::Call& call,
                  std::span<const Tensor> outputs) override {
    NodeRun& run = runs[static_cast<std::size_t>(&node - nodes)];
    for (const Tensor* input : call.inputs) run.inputs.push_back(input ? *input : Tensor());
    run.outputs.assign(outputs.begin(), outputs.end());
  }
  const graph::Node* nodes;
  std::vector<NodeRun> runs;
};

bool are_same(const Tensor& a, const Tensor& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  return a.type() == b.type() && std::ranges::equal(a.bytes(), b.bytes());
}
bool are_same(const std::vector<Tensor>& a, const std::vector<Tensor>& b) {
  return std::ranges::equal(a, b, [](const Tensor& x, const Tensor& y) { return are_same(x, y); });
}

std::vector<graph::SessionOptions> all_paths(int threads_max) {
  std::vector<graph::SessionOptions> made;
  for (const kernels::Isa isa : kernels::available_isas()) {
    for (int threads = 1; threads <= threads_max; ++threads) {
      made.push_back({.isa = isa, .threads = threads});
    }
  }
  return made;
}

/// Returns whether it could be planned.
bool expect_same_trace(const GraphPtr& graph, const std::vector<Tensor>& inputs,
                       const graph::SessionOptions& options, const EveryNode& plain) {
  auto session = graph::Session::create(graph, options);
  EXPECT_TRUE(session);
  const auto planned = PlannedTrace::of(*session);
  if (planned == nullptr) return false;
  const RunOther run_other = [&](graph::Prepared& other, std::span<const Tensor> given) {
    return session->run_other(other, given);
  };
  const auto run = planned->run(run_other, inputs);
  EXPECT_TRUE(run) << run.error().message;
  if (!run || !*run) return false;
  EXPECT_TRUE(are_same((*run)->outputs, *session->run(inputs)));
  for (std::size_t n = 0; n < graph->nodes.size(); ++n) {
    const graph::Node& node = graph->nodes[n];
    for (std::size_t o = 0; o < node.outputs.size(); ++o) {
      const auto kept = (*run)->values.find(node.outputs[o]);
      if (kept == (*run)->values.end()) continue;
      EXPECT_TRUE(are_same(kept->second, plain.runs[n].outputs[o])) << node.name << " " << o;
    }
  }
  const std::uint64_t nodes = graph->nodes.size();
  for (std::uint64_t s = 0; s < arbiter::segment_count(nodes); ++s) {
    const std::size_t first = arbiter::segment_first(nodes, s);
    const std::size_t end = arbiter::segment_first(nodes, s + 1);
    const auto segment = planned->segment(run_other, inputs, **run, first, end - first);
    EXPECT_TRUE(segment && *segment) << (segment ? "no memory" : segment.error().message);
    for (std::size_t n = first; segment && *segment && n < end; ++n) {
      const NodeRun& got = (*segment)->runs[n - first];
      EXPECT_TRUE(are_same(got.inputs, plain.runs[n].inputs)) << graph->nodes[n].name;
      EXPECT_TRUE(are_same(got.outputs, plain.runs[n].outputs)) << graph->nodes[n].name;
    }
  }
  return true;
}

TEST(EqualityOfTraces, RandomGraphs) {
  int planned = 0;
  const int cases = kernels::testing::case_count(150);
  for (int seed = 0; seed < cases; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    RandomGraph made(static_cast<std::uint64_t>(seed), false);
    const GraphPtr graph = made.finish();
    EveryNode plain(*graph);
    auto judge = graph::Session::create(graph, {.backend = graph::Backend::kRef});
    ASSERT_TRUE(judge->run(made.inputs(), {.tracer = &plain}));
    for (const graph::SessionOptions& options : all_paths(2)) {
      planned += expect_same_trace(graph, made.inputs(), options, plain) ? 1 : 0;
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(planned, cases);
}

// ---- whole networks ---------------------------------------------------------------------

std::vector<fs::path> networks() {
  std::vector<fs::path> folders;
  for (const char* name : {"models/digits", "models/letters"}) {
    folders.push_back(fs::path(COMMENSAL_SOURCE_DIR) / name);
  }
  for (const char* name : {"COMMENSAL_MODELS", "COMMENSAL_TORCHVISION"}) {
    if (const char* given = std::getenv(name)) folders.emplace_back(given);
  }
  if (const char* data = std::getenv("COMMENSAL_DATA")) {
    for (const char* name : {"mnist", "ultraface"}) folders.push_back(fs::path(data) / name);
  }
  std::vector<fs::path> files;
  for (const fs::path& folder : folders) {
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(folder, none)) {
      if (entry.path().extension() == ".onnx") files.push_back(entry.path());
    }
  }
  return files;
}

/// Small numbers; zeros and ones where they may be indices or masks.
std::vector<Tensor> draw_inputs(const graph::Graph& graph) {
  std::vector<Tensor> made;
  for (const graph::ValueId id : graph.inputs) {
    const graph::Declared& declared = graph.values[static_cast<std::size_t>(id)].declared;
    auto dims = declared.dims;
    for (auto& dim : dims) dim = std::max<std::int64_t>(dim, 1);
    const tensor::Shape shape = *tensor::Shape::of(dims);
    std::vector<float> floats;
    std::vector<std::int64_t> integers;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
      floats.push_back(core::counter_symmetric_f32(7, 1, static_cast<std::uint64_t>(i)));
      integers.push_back(i * 5 % 3 == 0 ? 0 : 1);
    }
    const bool is_float = declared.dtype == tensor::DType::kFloat32;
    made.push_back(is_float ? Tensor::of<float>(shape, floats)
                            : Tensor::of<std::int64_t>(shape, integers));
  }
  return made;
}

TEST(EqualityOfTraces, Networks) {
  for (const fs::path& file : networks()) {
    SCOPED_TRACE(file.filename().string());
    const auto graph = graph::onnx::import_file(file);
    ASSERT_TRUE(graph) << graph.error().message;
    const std::vector<Tensor> inputs = draw_inputs(**graph);
    EveryNode plain(**graph);
    auto session = graph::Session::create(*graph, {.optimise = false});
    ASSERT_TRUE(session->run(inputs, {.tracer = &plain}));
    for (const graph::SessionOptions& options : all_paths(2)) {
      EXPECT_TRUE(expect_same_trace(*graph, inputs, options, plain)) << "was not planned";
    }
  }
}

// ---- players ----------------------------------------------------------------------------

/// All that this side says in a dispute about a lie that it did not tell.
std::vector<core::Bytes> said_by(const Case& one, const Rerun& bent, Hand hand) {
  kernels::ThreadPool threads(1);
  auto lies = Player::prepare(one.hand(arbiter::Side::kProvider, bent), threads);
  auto tells = Player::prepare(std::move(hand), threads);
  EXPECT_TRUE(lies && tells);
  Liar liar(*std::move(lies), std::nullopt);
  core::ManualClock clock;
  auto referee = arbiter::Referee::open(one.setup(liar.output_root()), clock);
  std::vector<core::Bytes> said;
  while (!referee->outcome()) {
    for (const auto side : {arbiter::Side::kProvider, arbiter::Side::kChallenger}) {
      Player& player = side == arbiter::Side::kProvider ? static_cast<Player&>(liar) : *tells;
      const auto move = *player.answer(*referee);
      if (!move) continue;
      EXPECT_TRUE(referee->move(side, *move));
      if (side == arbiter::Side::kChallenger) said.push_back(*move);
    }
  }
  EXPECT_TRUE(referee->outcome()->wrong[0] && !referee->outcome()->wrong[1]);
  return said;
}

TEST(PlannedPlayers, SayWhatOthersSay) {
  const auto graph =
      *graph::onnx::import_file(fs::path(COMMENSAL_SOURCE_DIR) / "models/digits/digits.onnx");
  const Case one(graph, draw_inputs(*graph));
  auto session = graph::Session::create(graph, {});
  const Rerun honest = rerun_on(*session, one.inputs);
  const Lie lie{.node = 0, .element = 10, .mask = 0x40, .byte = 3};
  const Rerun bent = lying(*graph, lie, honest);
  const Rerun never = [](graph::Tracer&, core::Pacer*) -> core::Result<std::vector<Tensor>> {
    return core::fail(core::ErrorCode::kInternal, "a planned side asks for no run node by node");
  };
  const auto by_nodes = said_by(one, bent, one.hand(arbiter::Side::kChallenger, honest));
  Hand hand = one.hand(arbiter::Side::kChallenger, never);
  plan_on(*session, hand);
  EXPECT_EQ(said_by(one, bent, hand), by_nodes);
  hand.kept_bytes_max = 0;
  EXPECT_EQ(said_by(one, bent, hand), by_nodes);
  // Where memory is short for the checkpoints together, they are made one after the other.
  hand.rerun = honest;
  hand.run_other = [](graph::Prepared&,
                      std::span<const Tensor>) -> core::Result<std::vector<Tensor>> {
    return core::fail(core::ErrorCode::kResourceExhausted, "no memory");
  };
  EXPECT_EQ(said_by(one, bent, hand), by_nodes);
}

}  // namespace
}  // namespace commensal::dispute
