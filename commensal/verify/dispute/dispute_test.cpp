// SPDX-License-Identifier: Apache-2.0
// Whole disputes on random graphs: one side changes one element of one node. An honest side never
// loses, whichever it is, and a verdict stands by itself.
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/random_graph.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <map>

namespace commensal::dispute {
namespace {

using arbiter::Ending;
using arbiter::Referee;
using arbiter::Side;
using arbiter::VerdictFile;
using graph::testing::RandomGraph;
using kernels::testing::Draw;
using tensor::Tensor;

struct Tally {
  int proved = 0, undecided = 0, late = 0, harmless = 0;
  std::map<std::string, int> operators;
};

/// A graph and a lie that changes its outputs.
struct Story {
  std::unique_ptr<RandomGraph> made;
  std::unique_ptr<Case> one;
  std::unique_ptr<graph::Session> session;
  Lie lie;
  std::uint64_t from = 0;
};

Lie draw_lie(Draw& draw, const graph::Graph& graph, const std::vector<int>& sizes) {
  Lie lie;
  lie.node =
      static_cast<std::size_t>(draw.number(0, static_cast<std::int64_t>(graph.nodes.size()) - 1));
  lie.element = draw.number(0, std::max(0, sizes[lie.node] - 1));
  lie.mask = 1;
  return lie;
}

/// How many elements the first output of every node has.
struct Sizes final : graph::Tracer {
  explicit Sizes(const graph::Graph& one) : graph(one), sizes(one.nodes.size()) {}
  void after_node(const graph::Node& node, const kernels::Call&,
                  std::span<const Tensor> outputs) override {
    sizes[static_cast<std::size_t>(&node - graph.nodes.data())] =
        static_cast<int>(outputs[0].elements());
  }
  const graph::Graph& graph;
  std::vector<int> sizes;
};

Story story_of(std::uint64_t seed) {
  Story story;
  Draw draw(seed, 95);
  story.made = std::make_unique<RandomGraph>(seed, false);
  story.one = std::make_unique<Case>(story.made->finish(), story.made->inputs());
  graph::SessionOptions options;
  if (seed % 2 == 0) options.backend = graph::Backend::kRef;
  story.session =
      std::make_unique<graph::Session>(*graph::Session::create(story.one->graph, options));
  Sizes sizes(*story.one->graph);
  EXPECT_TRUE(story.session->run(story.one->inputs, {.tracer = &sizes}));
  story.lie = draw_lie(draw, *story.one->graph, sizes.sizes);
  if (sizes.sizes[story.lie.node] == 0) story.lie.mask = 0;
  story.from = static_cast<std::uint64_t>(draw.number(0, 1 << 20));
  return story;
}

class Disputes : public ::testing::Test {
 protected:
  core::ManualClock clock_;
  kernels::ThreadPool threads_{1};

  /// Plays the story with this side lying. Nothing if nobody can tell.
  std::optional<Referee> play_story(const Story& story, Side liar) {
    const Case& one = *story.one;
    const Rerun honest = rerun_on(*story.session, one.inputs);
    const Rerun bent = lying(*one.graph, story.lie, honest);
    const auto prepare = [&](Side side, const Rerun& rerun) {
      Hand hand = side == liar ? one.hand(side, rerun) : one.honest(side, *story.session);
      if (story.from % 2 == 0) hand.kept_bytes_max = 0;
      return Player::prepare(std::move(hand), threads_);
    };
    auto true_player = prepare(arbiter::other(liar), honest);
    auto false_player = prepare(liar, bent);
    if (!true_player || !false_player) return std::nullopt;
    if (true_player->output_root() == false_player->output_root()) return std::nullopt;
    const auto from = story.from % 3 == 0 ? std::nullopt : std::optional(story.from);
    Liar lies(*std::move(false_player), from);
    Player& provider = liar == Side::kProvider ? static_cast<Player&>(lies) : *true_player;
    Player& challenger = liar == Side::kProvider ? *true_player : static_cast<Player&>(lies);
    auto referee = Referee::open(one.setup(provider.output_root()), clock_);
    EXPECT_TRUE(referee) << referee.error().message;
    play(*referee, clock_, provider, challenger);
    EXPECT_TRUE(referee->outcome());
    return *std::move(referee);
  }
};

void count(const Referee& referee, Tally& tally) {
  const arbiter::Outcome& outcome = *referee.outcome();
  if (outcome.ending == Ending::kLate) ++tally.late;
  if (outcome.ending == Ending::kUndecided) ++tally.undecided;
  if (outcome.ending != Ending::kProved) return;
  ++tally.proved;
  ++tally.operators[outcome.finding->op];
}

TEST_F(Disputes, AnHonestSideNeverLoses) {
  Tally tally;
  const int cases = kernels::testing::case_count(150);
  std::uint64_t bytes_max = 0;
  for (int seed = 0; seed < cases; ++seed) {
    const Story story = story_of(static_cast<std::uint64_t>(seed));
    if (story.lie.mask == 0) continue;
    for (const Side liar : {Side::kProvider, Side::kChallenger}) {
      const auto referee = play_story(story, liar);
      if (!referee) {
        ++tally.harmless;
        continue;
      }
      const arbiter::Outcome& outcome = *referee->outcome();
      ASSERT_FALSE(outcome.wrong[at(arbiter::other(liar))]) << "seed " << seed << outcome.reason;
      ASSERT_NE(outcome.ending, Ending::kLate) << "seed " << seed << ": " << outcome.reason;
      if (outcome.ending == Ending::kProved) {
        ASSERT_TRUE(outcome.wrong[at(liar)]) << "seed " << seed << ": " << outcome.reason;
        ASSERT_EQ(outcome.finding->node, story.lie.node) << "seed " << seed;
        ASSERT_EQ(outcome.finding->element, static_cast<std::uint64_t>(story.lie.element));
      }
      count(*referee, tally);
      bytes_max = std::max(bytes_max, referee->bytes_moved(Side::kProvider) +
                                          referee->bytes_moved(Side::kChallenger));
    }
  }
  EXPECT_GT(tally.proved, cases / 3);
  RecordProperty("bytes_max", std::to_string(bytes_max));
  std::string operators;
  for (const auto& [name, times] : tally.operators)
    operators += fmt::format("{} {}, ", name, times);
  std::printf("%d proved, %d undecided, %d harmless, at most %llu bytes: %s\n", tally.proved,
              tally.undecided, tally.harmless, static_cast<unsigned long long>(bytes_max),
              operators.c_str());
}

}  // namespace
}  // namespace commensal::dispute
