// SPDX-License-Identifier: Apache-2.0
// The rules of a dispute and its end, on one small network: what is refused, by name and without a
// trace; what happens to who is late; that a verdict file stands by itself and cannot be bent.
#include <gtest/gtest.h>

#include <commensal/base/core/file.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/numerics.hpp>
#include <commensal/verify/dispute/contest.hpp>
#include <cstdlib>

namespace commensal::dispute {
namespace {

using arbiter::Ending;
using arbiter::Move;
using arbiter::MoveKind;
using arbiter::Phase;
using arbiter::Referee;
using arbiter::Side;
using arbiter::VerdictFile;
using tensor::Tensor;

using Shape = tensor::Shape;
Tensor drawn(std::uint64_t stream, const Shape& shape) {
  std::vector<float> values;
  for (std::int64_t i = 0; i < shape.elements(); ++i) {
    values.push_back(core::counter_symmetric_f32(9, stream, static_cast<std::uint64_t>(i)));
  }
  return Tensor::of<float>(shape, values);
}
std::vector<std::int64_t> ints(std::initializer_list<std::int64_t> values) { return values; }

/// Conv (Winograd), Add, Relu, Conv (direct), GlobalAveragePool, Flatten, Gemm, Softmax.
std::shared_ptr<const graph::Graph> network() {
  graph::testing::GraphMaker maker;
  kernels::Attributes padded, strided, axis;
  padded.set("pads", ints({1, 1, 1, 1}));
  strided.set("strides", ints({2, 2}));
  const auto x = maker.input({1, 16, 14, 14});
  const auto conv = maker.node("Conv", {x, maker.constant(drawn(1, {16, 16, 3, 3}))}, padded);
  const auto add = maker.node("Add", {conv, x});
  const auto relu = maker.node("Relu", {add});
  const auto wide = maker.node(
      "Conv", {relu, maker.constant(drawn(2, {24, 16, 3, 3})), maker.constant(drawn(3, {24}))},
      strided);
  const auto pooled = maker.node("GlobalAveragePool", {wide});
  const auto flat = maker.node("Flatten", {pooled});
  const auto gemm = maker.node(
      "Gemm", {flat, maker.constant(drawn(4, {24, 40})), maker.constant(drawn(5, {40}))});
  maker.output(maker.node("Softmax", {gemm}));
  return maker.finish();
}

class RefereeTest : public ::testing::Test {
 protected:
  RefereeTest() {
    session_ = std::make_unique<graph::Session>(*graph::Session::create(one_.graph, {}));
    honest_ = rerun_on(*session_, one_.inputs);
  }

  /// The provider lies at `node`; both are ready.
  void begin(std::size_t node, std::int64_t element, std::optional<std::uint64_t> from,
             Side liar = Side::kProvider) {
    lie_ = {node, 0, element, 0x40, 2};
    auto lies = Player::prepare(one_.hand(liar, lying(*one_.graph, lie_, honest_)), threads_);
    auto tells = Player::prepare(one_.hand(arbiter::other(liar), honest_), threads_);
    ASSERT_TRUE(lies && tells);
    auto false_one = std::make_unique<Liar>(*std::move(lies), from);
    auto true_one = std::make_unique<Player>(*std::move(tells));
    provider_ = liar == Side::kProvider ? std::move(false_one) : nullptr;
    if (provider_ == nullptr) provider_ = std::move(true_one);
    challenger_ = liar == Side::kProvider ? std::move(true_one) : std::unique_ptr<Player>();
    if (challenger_ == nullptr) challenger_ = std::move(false_one);
    auto opened = Referee::open(one_.setup(provider_->output_root()), clock_);
    ASSERT_TRUE(opened) << opened.error().message;
    referee_ = std::make_unique<Referee>(*std::move(opened));
  }
  Player& player(Side side) { return side == Side::kProvider ? *provider_ : *challenger_; }
  core::Bytes answer(Side side) {
    const auto made = player(side).answer(*referee_);
    EXPECT_TRUE(made && *made);
    return **made;
  }
  /// Until the phase is reached.
  void play_to(Phase phase) {
    while (referee_->phase() != phase && !referee_->outcome()) {
      for (const Side side : {Side::kProvider, Side::kChallenger}) {
        if (!referee_->owes(side)) continue;
        const auto moved = referee_->move(side, answer(side));
        ASSERT_TRUE(moved) << moved.error().message;
      }
    }
    ASSERT_EQ(referee_->phase(), phase);
  }
  /// Refused with these words, and nothing has changed.
  void expect_refused(Side side, core::ByteView move, const std::string& words) {
    const auto phase = referee_->phase();
    const auto round = referee_->round();
    const auto bytes = referee_->bytes_moved(side);
    const auto file = protocol::encode(referee_->file());
    const bool owes = referee_->owes(side);
    const auto moved = referee_->move(side, move);
    ASSERT_FALSE(moved) << "expected: " << words;
    EXPECT_NE(moved.error().message.find(words), std::string::npos) << moved.error().message;
    EXPECT_EQ(referee_->phase(), phase);
    EXPECT_EQ(referee_->round(), round);
    EXPECT_EQ(referee_->bytes_moved(side), bytes);
    EXPECT_EQ(referee_->owes(side), owes);
    EXPECT_EQ(protocol::encode(referee_->file()), file);
  }
  Move decoded(const core::Bytes& bytes) { return *protocol::decode<Move>(bytes); }
  VerdictFile verdict(std::size_t node, std::int64_t element, std::optional<std::uint64_t> from) {
    begin(node, element, from);
    play(*referee_, clock_, *provider_, *challenger_);
    EXPECT_EQ(referee_->outcome()->ending, Ending::kProved) << referee_->outcome()->reason;
    return referee_->file();
  }

  core::ManualClock clock_;
  kernels::ThreadPool threads_{1};
  Case one_{network(), {drawn(6, {1, 16, 14, 14})}};
  std::unique_ptr<graph::Session> session_;
  Rerun honest_;
  Lie lie_;
  std::unique_ptr<Player> provider_, challenger_;
  std::unique_ptr<Referee> referee_;
};

TEST_F(RefereeTest, FindsEveryLieOnEitherSide) {
  for (std::size_t node = 0; node < one_.graph->nodes.size(); ++node) {
    for (const Side liar : {Side::kProvider, Side::kChallenger}) {
      for (const auto from : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(4321)}) {
        begin(node, 17, from, liar);
        play(*referee_, clock_, *provider_, *challenger_);
        const arbiter::Outcome& outcome = *referee_->outcome();
        ASSERT_EQ(outcome.ending, Ending::kProved) << outcome.reason;
        EXPECT_TRUE(outcome.wrong[at(liar)]) << outcome.reason;
        EXPECT_FALSE(outcome.wrong[at(arbiter::other(liar))]) << outcome.reason;
        EXPECT_EQ(outcome.finding->node, node);
        EXPECT_EQ(outcome.finding->op, one_.graph->nodes[node].op->name);
        EXPECT_EQ(outcome.finding->element, 17u);
        if (from) {
          EXPECT_EQ(outcome.finding->step, *from % outcome.finding->steps);
        } else {
          EXPECT_EQ(outcome.finding->step, outcome.finding->steps - 1);
        }
      }
    }
  }
}

TEST_F(RefereeTest, RefusesWhatIsOutOfOrder) {
  begin(3, 17, 100);
  const core::Bytes claim = answer(Side::kProvider), other_claim = answer(Side::kChallenger);
  expect_refused(Side::kChallenger, claim, "another receipt or side");
  Move move = decoded(claim);
  move.round = 1;
  expect_refused(Side::kProvider, protocol::encode(move), "round 1, expected 0");
  move = decoded(claim);
  move.dispute[0] ^= 1;
  expect_refused(Side::kProvider, protocol::encode(move), "another dispute");
  move = decoded(claim);
  move.kind = MoveKind::kOperands;
  expect_refused(Side::kProvider, protocol::encode(move), "operands, expected claim");
  ASSERT_TRUE(referee_->move(Side::kProvider, claim));
  expect_refused(Side::kProvider, claim, "already moved");
  ASSERT_TRUE(referee_->move(Side::kChallenger, other_claim));
  expect_refused(Side::kProvider, claim, "round 0, expected 1");
  play_to(Phase::kFacts);
  Move facts = decoded(answer(Side::kChallenger));
  expect_refused(Side::kProvider, protocol::encode(facts), "has no move here");
  play(*referee_, clock_, *provider_, *challenger_);
  expect_refused(Side::kProvider, claim, "over");
}

TEST_F(RefereeTest, RefusesProofsThatDoNotHold) {
  begin(3, 17, 100);
  // Any bit of a move that both sides could check is missed by nobody.
  for (const Phase phase :
       {Phase::kClaims, Phase::kCheckpoints, Phase::kSegmentClaims, Phase::kNodes, Phase::kFacts,
        Phase::kElements, Phase::kElementClaims, Phase::kSteps, Phase::kOperands}) {
    play_to(phase);
    const core::Bytes right = answer(Side::kChallenger);
    for (std::size_t i = 0; i < right.size(); i += 1 + right.size() / 97) {
      core::Bytes bent = right;
      bent[i] ^= 0x10;
      expect_refused(Side::kChallenger, bent, "");
    }
    for (const std::size_t size : {std::size_t{0}, right.size() / 2, right.size() - 1}) {
      expect_refused(Side::kChallenger, core::ByteView(right).first(size), "");
    }
    core::Bytes longer = right;
    longer.push_back(0);
    expect_refused(Side::kChallenger, longer, "left over");
  }
}

TEST_F(RefereeTest, BoundsWhatASideMaySend) {
  begin(3, 17, 100);
  Move move;
  move.dispute = referee_->id();
  move.body.resize(limits::kDisputeMoveBytesMax);
  expect_refused(Side::kProvider, protocol::encode(move), "bytes, at most");
}

TEST_F(RefereeTest, WhoIsLateHasLost) {
  begin(3, 17, 100);
  play_to(Phase::kElements);
  ASSERT_TRUE(referee_->move(Side::kChallenger, answer(Side::kChallenger)));
  clock_.advance_ms(referee_->setup().move_ms_max);
  referee_->check_time();
  EXPECT_FALSE(referee_->outcome());  // the last moment is in time
  const core::Bytes late = answer(Side::kProvider);
  clock_.advance_ms(1);
  EXPECT_FALSE(referee_->move(Side::kProvider, late));
  ASSERT_TRUE(referee_->outcome());
  EXPECT_EQ(referee_->outcome()->ending, Ending::kLate);
  EXPECT_TRUE(referee_->outcome()->wrong[at(Side::kProvider)]);
  EXPECT_FALSE(referee_->outcome()->wrong[at(Side::kChallenger)]);
}

TEST_F(RefereeTest, NobodyChallengesWhatTheyAgreeOn) {
  begin(3, 17, 100);
  // A challenger that puts out what the receipt says has no claim to make.
  auto same =
      Player::prepare(one_.hand(Side::kChallenger, lying(*one_.graph, lie_, honest_)), threads_);
  ASSERT_TRUE(same);
  expect_refused(Side::kChallenger, **same->answer(*referee_), "those of the receipt");
  // A provider cannot go back to the right answer either.
  auto repentant = Player::prepare(one_.hand(Side::kProvider, honest_), threads_);
  ASSERT_TRUE(repentant);
  expect_refused(Side::kProvider, **repentant->answer(*referee_), "do not open the receipt");
}

TEST_F(RefereeTest, AVerdictFileStandsByItself) {
  const VerdictFile file = verdict(3, 17, 100);
  const core::Bytes bytes = protocol::encode(file);
  EXPECT_LT(bytes.size(), 64u << 10);
  const auto decoded = protocol::decode<VerdictFile>(bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  const auto found = arbiter::judge(*decoded);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_TRUE(found->wrong[0]);
  EXPECT_FALSE(found->wrong[1]);
  EXPECT_EQ(found->op, "Conv");
  EXPECT_EQ(found->step, 100u);
  EXPECT_EQ(scalar::operation(found->operation).name, "fma32");
  const std::string text = arbiter::text_of(*found);
  EXPECT_NE(text.find("the provider was wrong: node 3 (Conv)"), std::string::npos) << text;
}

// Whatever is done to a file, it never says that the honest side was wrong.
TEST_F(RefereeTest, ABentVerdictFileIsRefused) {
  for (const auto& [node, element] : {std::pair{std::size_t{0}, 17}, {3, 17}, {7, 17}}) {
    const core::Bytes bytes = protocol::encode(verdict(node, element, 7));
    for (std::size_t size = 0; size < bytes.size(); size += 1 + bytes.size() / 61) {
      EXPECT_FALSE(protocol::decode<VerdictFile>(core::ByteView(bytes).first(size)));
    }
    for (std::size_t i = 0; i < bytes.size(); i += 1 + bytes.size() / 499) {
      core::Bytes bent = bytes;
      bent[i] ^= static_cast<std::uint8_t>(1 << i % 8);
      const auto file = protocol::decode<VerdictFile>(bent);
      if (!file) continue;
      const auto found = arbiter::judge(*file);
      EXPECT_FALSE(found) << "byte " << i << " of " << bytes.size() << " counts for nothing";
    }
  }
}

// A file made of parts of two disputes.
TEST_F(RefereeTest, PartsOfOtherDisputesDoNotFit) {
  const VerdictFile file = verdict(3, 17, 100), other = verdict(3, 18, 90);
  const auto refused = [](const VerdictFile& mixed) { return !arbiter::judge(mixed).has_value(); };
  for (std::size_t s = 0; s < arbiter::kSides; ++s) {
    for (int part = 0; part < 5; ++part) {
      VerdictFile mixed = file;
      arbiter::Word& word = mixed.words[s];
      const arbiter::Word& from = other.words[s];
      if (part == 0) word.claim = from.claim;
      if (part == 1) word.trace = from.trace;
      if (part == 2) word.element_claim = from.element_claim;
      if (part == 3) word.steps = from.steps;
      if (part == 4) word.element = from.element;
      EXPECT_TRUE(refused(mixed) || word == file.words[s]) << "side " << s << " part " << part;
    }
  }
  VerdictFile swapped = file;
  std::swap(swapped.words[0], swapped.words[1]);
  EXPECT_TRUE(refused(swapped));
  VerdictFile short_of_one = file;
  short_of_one.operands.pop_back();
  EXPECT_TRUE(refused(short_of_one));
}

// Who lied in the first run and tells the truth about the segment contradicts its own checkpoint.
TEST_F(RefereeTest, ACheckpointThatNoNodeMade) {
  for (const Side liar : {Side::kProvider, Side::kChallenger}) {
    begin(2, 17, std::nullopt, liar);
    int runs = 0;
    const Rerun bent = lying(*one_.graph, lie_, honest_);
    const Rerun fickle = [&](graph::Tracer& tracer, core::Pacer* pacer) {
      return runs++ == 0 ? bent(tracer, pacer) : honest_(tracer, pacer);
    };
    Hand hand = one_.hand(liar, fickle);
    hand.kept_bytes_max = 0;  // it runs twice
    auto lies = Player::prepare(std::move(hand), threads_);
    ASSERT_TRUE(lies);
    Player& provider = liar == Side::kProvider ? *lies : *provider_;
    Player& challenger = liar == Side::kProvider ? *challenger_ : *lies;
    play(*referee_, clock_, provider, challenger);
    const arbiter::Outcome& outcome = *referee_->outcome();
    ASSERT_EQ(outcome.ending, Ending::kProved) << outcome.reason;
    EXPECT_EQ(outcome.finding->matter, arbiter::Matter::kCarried);
    EXPECT_TRUE(outcome.wrong[at(liar)]);
    EXPECT_FALSE(outcome.wrong[at(arbiter::other(liar))]);
    const auto decoded = protocol::decode<VerdictFile>(protocol::encode(referee_->file()));
    ASSERT_TRUE(decoded);
    const auto found = arbiter::judge(*decoded);
    ASSERT_TRUE(found) << found.error().message;
    EXPECT_EQ(arbiter::text_of(*found), outcome.reason);
  }
}

// Two runs without what was kept, and one more where there is no memory to keep it.
TEST_F(RefereeTest, WhatIsNotKeptIsRunAgain) {
  for (const bool is_short : {false, true}) {
    begin(3, 17, std::nullopt);
    int runs = 0;
    Hand hand = one_.hand(
        Side::kChallenger,
        [&](graph::Tracer& tracer, core::Pacer* pacer) -> core::Result<std::vector<Tensor>> {
          auto made = honest_(tracer, pacer);
          if (++runs > 1 || !is_short) return made;
          return core::fail(core::ErrorCode::kResourceExhausted, "full");
        });
    if (!is_short) hand.kept_bytes_max = 1;
    auto tells = Player::prepare(std::move(hand), threads_);
    ASSERT_TRUE(tells) << tells.error().message;
    play(*referee_, clock_, *provider_, *tells);
    EXPECT_EQ(referee_->outcome()->ending, Ending::kProved) << referee_->outcome()->reason;
    EXPECT_EQ(runs, is_short ? 3 : 2);
  }
}

// Both lie about one step: both are wrong.
TEST_F(RefereeTest, BothMayBeWrong) {
  begin(3, 17, 100);
  const Lie second{3, 0, 17, 0x20, 2};
  auto bent =
      Player::prepare(one_.hand(Side::kChallenger, lying(*one_.graph, second, honest_)), threads_);
  ASSERT_TRUE(bent);
  Liar challenger(*std::move(bent), std::nullopt);
  Liar provider(
      *Player::prepare(one_.hand(Side::kProvider, lying(*one_.graph, lie_, honest_)), threads_),
      std::nullopt);
  play(*referee_, clock_, provider, challenger);
  ASSERT_EQ(referee_->outcome()->ending, Ending::kProved);
  EXPECT_TRUE(referee_->outcome()->wrong[0] && referee_->outcome()->wrong[1]);
}

TEST_F(RefereeTest, ProgramsFollowThisVersionOfTheSpecification) {
  EXPECT_EQ(arbiter::kNumericsOfPrograms, static_cast<std::uint32_t>(kernels::kNumericsVersion));
}

// Seeds for tests/fuzz: COMMENSAL_WRITE_SEEDS=tests/fuzz/seeds/dispute
TEST_F(RefereeTest, WritesSeedsWhenAsked) {
  const char* folder = std::getenv("COMMENSAL_WRITE_SEEDS");
  if (folder == nullptr) GTEST_SKIP() << "COMMENSAL_WRITE_SEEDS is not set";
  const auto write = [&](const char* name, std::uint8_t first, core::ByteView bytes) {
    core::Bytes seed = {first};
    seed.insert(seed.end(), bytes.begin(), bytes.end());
    ASSERT_TRUE(core::write_file_atomically(core::Path(folder) / name, seed));
  };
  write("file", 0, protocol::encode(verdict(3, 17, 100)));
  begin(3, 17, 100);
  constexpr std::uint8_t kBodies[] = {2, 3, 7, 9, 10, 4, 5, 6};  // by MoveKind
  while (!referee_->outcome()) {
    const core::Bytes bytes = answer(Side::kChallenger);
    const Move move = decoded(bytes);
    const auto kind = static_cast<std::size_t>(move.kind);
    write(fmt::format("move{}", kind).c_str(), 1, bytes);
    write(fmt::format("body{}", kind).c_str(), kBodies[kind], move.body);
    for (const Side side : {Side::kProvider, Side::kChallenger}) {
      if (!referee_->owes(side)) continue;
      ASSERT_TRUE(referee_->move(side, answer(side)));
    }
  }
}

}  // namespace
}  // namespace commensal::dispute
