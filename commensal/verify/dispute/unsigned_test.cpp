// SPDX-License-Identifier: Apache-2.0
// Moves that are made without the key, by players that have seen nothing of what was before, and by
// other builds.
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/random_graph.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <set>

namespace commensal::dispute {
namespace {

using arbiter::Phase;
using arbiter::Referee;
using arbiter::Side;
using graph::testing::RandomGraph;

/// A dispute about a random graph, the first of whose nodes' elements is another one for one side.
class UnsignedMoves : public ::testing::Test {
 protected:
  bool draw(std::uint64_t seed, Side liar) {
    made_ = std::make_unique<RandomGraph>(seed, false);
    one_ = std::make_unique<Case>(made_->finish(), made_->inputs());
    session_.emplace(*graph::Session::create(one_->graph, {}));
    lie_.node = seed % one_->graph->nodes.size();
    liar_ = liar;
    const auto provider = player(Side::kProvider, true);
    const auto challenger = player(Side::kChallenger, true);
    if (!provider || !challenger) return false;
    if (provider->output_root() == challenger->output_root()) return false;
    setup_ = one_->setup(provider->output_root());
    return true;
  }
  std::unique_ptr<Player> player(Side side, bool has_key) {
    const Rerun honest = rerun_on(*session_, one_->inputs);
    Hand hand = one_->hand(side, side == liar_ ? lying(*one_->graph, lie_, honest) : honest);
    if (!has_key) hand.key = nullptr;
    auto made = Player::prepare(std::move(hand), threads_);
    if (!made) return nullptr;
    if (side != liar_) return std::make_unique<Player>(*std::move(made));
    return std::make_unique<Liar>(*std::move(made), std::nullopt);
  }
  const crypto::SecretKey& key(Side side) const {
    return side == Side::kProvider ? one_->provider : one_->challenger;
  }

  core::ManualClock clock_;
  kernels::ThreadPool threads_{1};
  std::unique_ptr<RandomGraph> made_;
  std::unique_ptr<Case> one_;
  std::optional<graph::Session> session_;
  Lie lie_;
  Side liar_ = Side::kProvider;
  arbiter::Setup setup_;
};

TEST_F(UnsignedMoves, AreTheSameOnceSignedWhoeverTakesOver) {
  std::set<Phase> seen;
  int played = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    if (!draw(seed, seed % 2 == 0 ? Side::kProvider : Side::kChallenger)) continue;
    ++played;
    auto referee = Referee::open(setup_, clock_);
    ASSERT_TRUE(referee) << referee.error().message;
    const auto signing_provider = player(Side::kProvider, true);
    const auto signing_challenger = player(Side::kChallenger, true);
    const auto keyless_provider = player(Side::kProvider, false);
    const auto keyless_challenger = player(Side::kChallenger, false);
    while (!referee->outcome()) {
      for (const Side side : {Side::kProvider, Side::kChallenger}) {
        if (!referee->owes(side)) continue;
        seen.insert(referee->phase());
        const bool is_provider = side == Side::kProvider;
        const auto expected =
            (is_provider ? signing_provider : signing_challenger)->answer(*referee);
        ASSERT_TRUE(expected) << expected.error().message;
        const auto unsigned_one =
            (is_provider ? keyless_provider : keyless_challenger)->answer(*referee);
        ASSERT_TRUE(unsigned_one && *unsigned_one);
        const auto is_signed = arbiter::sign_move(key(side), **unsigned_one);
        ASSERT_TRUE(is_signed) << is_signed.error().message;
        EXPECT_EQ(*is_signed, **expected);
        const auto fresh = player(side, true)->answer(*referee);
        ASSERT_TRUE(fresh) << fresh.error().message;
        EXPECT_EQ(**fresh, **expected) << arbiter::name_of(referee->phase());
        ASSERT_TRUE(referee->move(side, **expected));
      }
    }
    EXPECT_FALSE(referee->outcome()->wrong[at(arbiter::other(liar_))]);
  }
  EXPECT_GT(played, 10);
  for (const Phase phase :
       {Phase::kClaims, Phase::kCheckpoints, Phase::kSegmentClaims, Phase::kNodes, Phase::kFacts,
        Phase::kElements, Phase::kElementClaims, Phase::kSteps, Phase::kOperands}) {
    EXPECT_TRUE(seen.contains(phase)) << arbiter::name_of(phase);
  }
}

TEST_F(UnsignedMoves, AreNotMadeForAnotherRun) {
  std::uint64_t seed = 0;
  while (!draw(seed, Side::kProvider)) ++seed;
  auto referee = Referee::open(setup_, clock_);
  ASSERT_TRUE(referee);
  const auto provider = player(Side::kProvider, true);
  const auto challenger = player(Side::kChallenger, true);
  ASSERT_TRUE(referee->move(Side::kProvider, **provider->answer(*referee)));
  ASSERT_TRUE(referee->move(Side::kChallenger, **challenger->answer(*referee)));
  liar_ = Side::kChallenger;  // who takes over for the provider is honest
  const auto other = player(Side::kProvider, true)->answer(*referee);
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, core::ErrorCode::kFailedPrecondition);
}

// The fault: a build whose programs differ held an honest side to steps that it did not have.
TEST_F(UnsignedMoves, OfOtherProgramsAreRefused) {
  const std::string words =
      fmt::format("trace claim: it follows version {} of the arbiter's programs, expected {}",
                  arbiter::kProgramsVersion + 1, arbiter::kProgramsVersion);
  std::uint64_t seed = 0;
  while (!draw(seed, Side::kProvider)) ++seed;
  auto referee = Referee::open(setup_, clock_);
  ASSERT_TRUE(referee);
  const auto provider = player(Side::kProvider, true);
  const auto challenger = player(Side::kChallenger, true);
  auto move = *protocol::decode<arbiter::Move>(**challenger->answer(*referee));
  auto body = *arbiter::decode_body<arbiter::ClaimBody>(move.body);
  ++body.claim.programs;
  move.body = arbiter::encode_body(body);
  const core::Bytes bent = protocol::encode(move);
  EXPECT_EQ(referee->move(Side::kChallenger, bent).error().code,
            core::ErrorCode::kUnauthenticated);  // it is part of what is signed
  const auto refused =
      referee->move(Side::kChallenger, *arbiter::sign_move(key(Side::kChallenger), bent));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, core::ErrorCode::kUnsupported);
  EXPECT_EQ(refused.error().message, words);

  play(*referee, clock_, *provider, *challenger);
  arbiter::VerdictFile file = referee->file();
  for (const Side side : {Side::kProvider, Side::kChallenger}) {
    arbiter::TraceClaim& claim = file.words[at(side)].claim;
    ++claim.programs;
    claim = arbiter::sign_claim(key(side), claim);
  }
  EXPECT_EQ(arbiter::judge(file).error().message, words);
}

TEST_F(UnsignedMoves, OfNoKindAreNotSigned) {
  EXPECT_FALSE(arbiter::sign_move(key_of(1), {}));
  arbiter::Move move;
  move.body = {1, 2, 3};  // no claim
  EXPECT_FALSE(arbiter::sign_move(key_of(1), protocol::encode(move)));
  move.kind = arbiter::MoveKind::kLeaf;
  const core::Bytes leaf = protocol::encode(move);
  const auto unchanged = arbiter::sign_move(key_of(1), leaf);
  ASSERT_TRUE(unchanged);
  EXPECT_EQ(*unchanged, leaf);
}

}  // namespace
}  // namespace commensal::dispute
