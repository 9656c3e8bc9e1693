// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <commensal/lab/bench/verify/subject.hpp>
#include <commensal/verify/dispute/contest.hpp>

namespace commensal::lab::bench::verify {
namespace {

using arbiter::Ending;
using arbiter::Referee;
using arbiter::Side;
using core::Result;
using dispute::Case;
using dispute::Liar;
using dispute::Lie;
using dispute::Player;

constexpr double kInferencesMax = 3;
constexpr double kMibMax = 1;
constexpr int kElementsTried = 16;  // some lies are lost in a later maximum

struct Cost {
  std::string operation;  // what it was about
  double inferences = 0;  // of one side, with all its runs and moves
  double mib = 0;         // moves of both sides
};

class Table {
 public:
  Table(const Subject& subject, graph::Session& session)
      : case_(subject.graph, subject.inputs),
        session_(session),
        honest_(dispute::rerun_on(session, case_.inputs)),
        inference_s_(run_seconds(session, subject)) {}

  /// Nothing where a lie about this node changes no output, or about its operator no dispute is
  /// proved.
  Result<std::optional<Cost>> play(std::size_t node, core::Rng& rng);

 private:
  Result<std::optional<Player>> liar(std::size_t node, const core::Digest& truth, core::Rng& rng);

  Case case_;
  graph::Session& session_;
  dispute::Rerun honest_;
  double inference_s_;
  kernels::ThreadPool threads_{1};
};

Result<std::optional<Player>> Table::liar(std::size_t node, const core::Digest& truth,
                                          core::Rng& rng) {
  for (int i = 0; i < kElementsTried; ++i) {
    const Lie lie{node, 0, static_cast<std::int64_t>(rng.next_u64() % 1000), 0x40, 3};
    COMMENSAL_ASSIGN(
        auto made,
        Player::prepare(case_.hand(Side::kProvider, dispute::lying(*case_.graph, lie, honest_)),
                        threads_));
    if (made.output_root() != truth) return std::optional<Player>(std::move(made));
  }
  return std::nullopt;
}

Result<std::optional<Cost>> Table::play(std::size_t node, core::Rng& rng) {
  std::optional<Result<Player>> tells;
  const double first_run_s = cpu_seconds(
      [&] { tells.emplace(Player::prepare(case_.honest(Side::kChallenger, session_), threads_)); });
  if (!*tells) return tl::unexpected(tells->error());
  COMMENSAL_ASSIGN(auto bent, liar(node, (*tells)->output_root(), rng));
  if (!bent) return std::nullopt;
  Liar lies(*std::move(bent), 777'777);
  core::ManualClock clock;
  COMMENSAL_ASSIGN(auto referee, Referee::open(case_.setup(lies.output_root()), clock));
  const double played_s = cpu_seconds([&] { dispute::play(referee, clock, lies, **tells); });
  if (referee.outcome()->ending != Ending::kProved) return std::nullopt;
  const auto bytes = referee.bytes_moved(Side::kProvider) + referee.bytes_moved(Side::kChallenger);
  return Cost{
      fmt::format("{} ({})", case_.graph->nodes[node].name, case_.graph->nodes[node].op->name),
      (first_run_s + played_s / 2) / inference_s_, static_cast<double>(bytes) / (1 << 20)};
}

/// Nodes that compute: what others put out may be a weight itself.
std::vector<std::size_t> operations(const graph::Graph& graph) {
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    const kernels::Kind kind = graph.nodes[i].op->kind;
    if (kind == kernels::Kind::kElementwise || kind == kernels::Kind::kDotProduct ||
        kind == kernels::Kind::kReduction) {
      found.push_back(i);
    }
  }
  return found;
}

}  // namespace

Result<std::vector<bench::Row>> dispute_rows(const Subject& subject, int count, std::uint64_t seed,
                                             bool has_limits) {
  COMMENSAL_ASSIGN(auto session, graph::Session::create(subject.graph, {.threads = 1}));
  Table table(subject, session);
  core::CounterRng rng(seed, 5);
  std::vector<double> inferences, mib;
  Cost worst;
  const std::vector<std::size_t> nodes = operations(*subject.graph);
  int tried = 0;
  for (; static_cast<int>(inferences.size()) < count && tried < 4 * count; ++tried) {
    COMMENSAL_ASSIGN(const auto cost, table.play(nodes[rng.next_u64() % nodes.size()], rng));
    if (!cost) continue;
    if (cost->inferences > worst.inferences) worst = *cost;
    inferences.push_back(cost->inferences);
    mib.push_back(cost->mib);
  }
  if (inferences.empty()) {
    return core::fail(core::ErrorCode::kUnsupported, "no operator of {} can be disputed",
                      subject.name);
  }
  const auto limit = [&](double most) {
    return has_limits ? std::optional<double>(most) : std::nullopt;
  };
  const std::string suffix = has_limits ? "" : "_" + subject.name;
  const std::string how = fmt::format(
      "{}, {} disputes to their verdict about operators drawn out of {}; {} more changed no output "
      "or could not be proved",
      subject.name, inferences.size(), nodes.size(), tried - static_cast<int>(inferences.size()));
  const double most = *std::ranges::max_element(mib);
  return std::vector<bench::Row>{
      bench::row_at_most("dispute_inferences" + suffix, limit(kInferencesMax), inferences,
                         "all runs and moves of one side; " + how),
      bench::row_at_most("dispute_inferences_worst" + suffix, std::nullopt, {worst.inferences},
                         "the dearest of them, about " + worst.operation),
      bench::row_at_most("dispute_mib" + suffix, limit(kMibMax), {most},
                         "the most of both sides; " + how)};
}

}  // namespace commensal::lab::bench::verify
