// SPDX-License-Identifier: Apache-2.0
// Long chains of the letter network (models/letters), with cheats in them.
#include <gtest/gtest.h>

#include <commensal/base/store/fault_store.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/compute/graph/onnx/import.hpp>
#include <commensal/lab/serial/world.hpp>
#include <set>

namespace commensal::serial {
namespace {

using tensor::DType;
using tensor::Tensor;

std::shared_ptr<const graph::Graph> letters() {
  const auto imported =
      graph::onnx::import_file(COMMENSAL_SOURCE_DIR "/models/letters/letters.onnx");
  core::check(imported.has_value(), "the model is there");
  return *imported;
}

const std::vector<protocol::Feed> kFeeds = {{0, 0}, {1, 1}};  // next -> letter, state_out -> state

ChainOptions letters_chain(std::uint64_t steps, std::uint8_t seed) {
  ChainOptions options;
  options.graph = letters();
  options.feeds = kFeeds;
  const std::vector<std::int64_t> letter = {20};
  const std::vector<float> state(160, 0);
  options.inputs = {{"letter", Tensor::of<std::int64_t>({1}, letter)},
                    {"state", Tensor::of<float>({1, 160}, state)}};
  options.steps = steps;
  options.noise_exponent = 16;
  options.states = protocol::StateRule::kMovable;
  options.secret = core::Digest{seed};
  return options;
}

/// Computes some links with another network: one weight of one operator is a little larger.
class Cheat final : public chain::Engine {
 public:
  Cheat(const std::shared_ptr<const graph::Graph>& graph,
        const std::map<std::uint64_t, std::string>& lies)
      : roots_(verify::model_roots(*graph)), lies_(lies) {
    add("", graph);
    for (const auto& [step, weight] : lies) {
      if (!sessions_.contains(weight)) add(weight, bent(*graph, weight));
    }
  }
  const verify::ModelRoots& roots() const override { return roots_; }
  const graph::Graph& graph() const override { return sessions_.at("").graph(); }
  core::Result<chain::Values> run(std::uint64_t step, const chain::Values& inputs,
                                  const std::optional<noise::Noise>& noise,
                                  graph::Tracer* tracer) override {
    const auto lie = lies_.find(step);
    return sessions_.at(lie == lies_.end() ? "" : lie->second).run(inputs, noise, tracer);
  }

 private:
  void add(const std::string& name, std::shared_ptr<const graph::Graph> graph) {
    sessions_.emplace(name, *noise::NoisySession::create(std::move(graph), {}, kFeeds));
  }
  static std::shared_ptr<const graph::Graph> bent(const graph::Graph& exact,
                                                  const std::string& weight) {
    auto made = std::make_shared<graph::Graph>(exact);
    for (auto& [id, value] : made->initialisers) {
      if (exact.name_of(id) != weight) continue;
      std::vector<float> values(value.data<float>().begin(), value.data<float>().end());
      for (float& each : values) each *= 1.0009765625f;
      value = Tensor::of<float>(value.shape(), values);
    }
    return made;
  }

  verify::ModelRoots roots_;
  std::map<std::uint64_t, std::string> lies_;
  std::map<std::string, noise::NoisySession> sessions_;
};

struct Stores {
  store::MemoryStore client, provider;
  core::ManualClock clock;
  core::CounterRng rng{3};
  ChainWorld::Outside outside() { return {client, provider, clock, rng}; }
};

core::Result<ChainReport> run(const ChainWorld::Outside& outside, const ChainOptions& options) {
  COMMENSAL_ASSIGN(const auto world, ChainWorld::open(outside, options));
  return world->run([](const ChainReport&) {});
}

ChainReport run(const ChainOptions& options) {
  Stores stores;
  auto report = run(stores.outside(), options);
  EXPECT_TRUE(report) << report.error().message;
  return report ? *report : ChainReport();
}

/// `count` links of `steps`, from a seed.
std::set<std::uint64_t> drawn_links(std::uint64_t steps, std::size_t count, std::uint64_t seed) {
  core::CounterRng rng(seed);
  std::set<std::uint64_t> links;
  while (links.size() < count) links.insert(1 + rng.next_u64() % steps);
  return links;
}

TEST(SimChain, AnHonestOneOfManyLinksIsNeverAccused) {
  ChainOptions options = letters_chain(2000, 1);
  options.audit_probability = 0.05;
  const ChainReport report = run(options);
  EXPECT_EQ(report.steps, 2000u);
  EXPECT_TRUE(report.caught.empty());
  EXPECT_GT(report.audits, 50u);
  EXPECT_EQ(report.tickets.issued, 2000u);
  EXPECT_EQ(report.tickets.won, report.tickets.paid);
  EXPECT_GT(report.tickets.won, 0u);
  EXPECT_EQ(report.tickets.lost + report.tickets.won, 2000u);
}

// A cheat on 300 links at an audit probability of 1 % escapes with probability 0.99^300 < 5 %.
// Seed 2; no ticket wins, so that no audit but the drawn ones helps.
TEST(SimChain, ThreeHundredCheatsInTenThousandLinksAreCaught) {
  ChainOptions options = letters_chain(10'000, 2);
  options.audit_probability = 0.01;
  options.win_probability = 0;
  options.stops_at_mismatch = false;
  std::map<std::uint64_t, std::string> lies;
  for (const std::uint64_t link : drawn_links(10'000, 300, 2)) lies[link] = "head.bias";
  Cheat cheat(options.graph, lies);
  options.engine = &cheat;
  const ChainReport report = run(options);
  EXPECT_EQ(report.steps, 10'000u);
  EXPECT_GT(report.caught.size(), 0u);
  for (const CaughtLink& link : report.caught) {
    EXPECT_TRUE(lies.contains(link.step)) << link.step;
    EXPECT_EQ(link.node, "/head/Gemm");
  }
}

TEST(SimChain, WithEveryLinkAuditedThreeSingleCheatsAreLocated) {
  ChainOptions options = letters_chain(2000, 4);
  options.audit_probability = 1;
  options.stops_at_mismatch = false;
  const std::map<std::uint64_t, std::string> lies = {
      {17, "gates"}, {999, "table"}, {2000, "head.weight"}};
  Cheat cheat(options.graph, lies);
  options.engine = &cheat;
  const ChainReport report = run(options);
  std::map<std::uint64_t, std::string> found;
  for (const CaughtLink& link : report.caught) found[link.step] = link.node;
  EXPECT_EQ(found, (std::map<std::uint64_t, std::string>{
                       {17, "/MatMul"}, {999, "/Gather"}, {2000, "/head/Gemm"}}));
}

TEST(SimChain, StopsAtTheFirstMismatch) {
  ChainOptions options = letters_chain(50, 5);
  options.audit_probability = 1;
  Cheat cheat(options.graph, {{7, "gates"}, {9, "gates"}});
  options.engine = &cheat;
  const ChainReport report = run(options);
  EXPECT_EQ(report.steps, 7u);
  EXPECT_EQ(report.caught.size(), 1u);
}

TEST(SimChain, TheFirstLinkOfALongOneIsAlwaysAudited) {
  ChainOptions options = letters_chain(10, 6);
  options.audit_probability = 0;
  options.win_probability = 0;
  EXPECT_EQ(run(options).audits, 1u);
  options.steps = 9;
  EXPECT_EQ(run(options).audits, 0u);
}

TEST(SimChain, NoiseChangesTheStatesAndIsRepeatable) {
  ChainOptions options = letters_chain(20, 7);
  const core::Digest noisy = run(options).final_root;
  EXPECT_EQ(run(options).final_root, noisy);
  options.secret[0] = 8;
  EXPECT_NE(run(options).final_root, noisy);
  options.noise_exponent.reset();
  options.states = protocol::StateRule::kFinite;
  const core::Digest plain = run(options).final_root;
  EXPECT_NE(plain, noisy);
  options.secret[0] = 7;
  EXPECT_EQ(run(options).final_root, plain);
}

TEST(SimChain, GoesOnAfterACrashAtEveryWrite) {
  ChainOptions options = letters_chain(8, 9);
  options.round_links = 3;
  options.win_probability = 0.5;
  options.audit_probability = 0;
  const ChainReport whole = run(options);
  EXPECT_EQ(whole.tickets.won + whole.tickets.lost, 8u);
  for (const bool of_client : {true, false}) {
    bool is_over = false;
    for (std::uint64_t at = 0; !is_over; ++at) {
      for (const auto fault : {store::Fault::kCrashBefore, store::Fault::kCrashAfter}) {
        Stores stores;
        auto& below = of_client ? stores.client : stores.provider;
        store::FaultStore faulty(below, at, fault);
        ChainWorld::Outside outside{of_client ? static_cast<core::Store&>(faulty) : stores.client,
                                    of_client ? static_cast<core::Store&>(stores.provider) : faulty,
                                    stores.clock, stores.rng};
        auto report = run(outside, options);
        is_over = report.has_value();
        if (!report) report = run(stores.outside(), options);
        ASSERT_TRUE(report) << at << ": " << report.error().message;
        EXPECT_EQ(report->final_root, whole.final_root) << at;
        // A link that is committed to anew has another salt, so another draw.
        EXPECT_EQ(report->tickets.won + report->tickets.lost, 8u) << at;
        EXPECT_EQ(report->tickets.paid, report->tickets.won) << at;
      }
    }
  }
}

}  // namespace
}  // namespace commensal::serial
