// SPDX-License-Identifier: Apache-2.0
// A dispute that is followed: each move judged once, and the same standing as from the beginning.
#include <gtest/gtest.h>

#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/verify/arbiter/course.hpp>
#include <commensal/verify/dispute/contest.hpp>

namespace commensal::dispute {
namespace {

using arbiter::Course;
using arbiter::Referee;
using arbiter::Said;
using arbiter::Side;
using tensor::Tensor;

/// A referee asks for the time whenever it judges a move.
class CountingClock final : public core::Clock {
 public:
  std::int64_t monotonic_ns() const override { return ++asked_, 0; }
  std::int64_t wall_ms() const override { return 0; }
  /// Since the last call.
  int asked() const { return std::exchange(asked_, 0); }

 private:
  mutable int asked_ = 0;
};

std::shared_ptr<const graph::Graph> sum() {
  const std::vector<float> values(512, 1);
  graph::testing::GraphMaker maker;
  const auto x = maker.input({512});
  maker.output(maker.node("Add", {x, maker.constant(Tensor::of<float>({512}, values))}));
  return maker.finish();
}

class Courses : public ::testing::Test {
 protected:
  Courses() {
    auto session = *graph::Session::create(one_.graph, {});
    const Rerun honest = rerun_on(session, one_.inputs);
    kernels::ThreadPool threads(1);
    const Lie lie{.node = 0, .element = 300, .mask = 0x40, .byte = 2};
    auto lies =
        *Player::prepare(one_.hand(Side::kProvider, lying(*one_.graph, lie, honest)), threads);
    auto tells = *Player::prepare(one_.hand(Side::kChallenger, honest), threads);
    Liar liar(std::move(lies), std::nullopt);
    setup_ = one_.setup(liar.output_root());
    auto referee = *Referee::open(setup_, clock_);
    while (!referee.outcome()) {
      for (const Side side : {Side::kProvider, Side::kChallenger}) {
        if (!referee.owes(side)) continue;
        Player& player = side == Side::kProvider ? static_cast<Player&>(liar) : tells;
        moves_.push_back({side, **player.answer(referee)});
        EXPECT_TRUE(referee.move(side, moves_.back().move));
      }
    }
  }
  std::span<const Said> first(std::size_t count) const { return std::span(moves_).first(count); }
  /// As one that begins now would.
  void expect_at(const Course& course, std::size_t count) const {
    Course fresh(clock_);
    ASSERT_TRUE(fresh.open(setup_) && fresh.go_to(first(count)));
    const Referee &now = course.referee(), &expected = fresh.referee();
    EXPECT_EQ(now.phase(), expected.phase());
    EXPECT_EQ(now.round(), expected.round());
    for (const Side side : {Side::kProvider, Side::kChallenger}) {
      EXPECT_EQ(now.owes(side), expected.owes(side));
      EXPECT_EQ(now.bytes_moved(side), expected.bytes_moved(side));
    }
    EXPECT_EQ(protocol::encode(now.file()), protocol::encode(expected.file()));
  }

  const Case one_{sum(), {Tensor::of<float>({512}, std::vector<float>(512, 2))}};
  CountingClock clock_;
  arbiter::Setup setup_;
  std::vector<Said> moves_;
};

TEST_F(Courses, HaveEachMoveJudgedOnce) {
  Course course(clock_);
  ASSERT_TRUE(course.open(setup_));
  ASSERT_TRUE(course.go_to(first(1)));
  clock_.asked();
  for (std::size_t count = 2; count <= moves_.size(); ++count) {
    ASSERT_TRUE(course.open(setup_) && course.go_to(first(count)));
    EXPECT_LE(clock_.asked(), 2) << count;  // for the move, and for the phase that it leads to
  }
  ASSERT_TRUE(course.open(setup_) && course.go_to(moves_));
  EXPECT_EQ(clock_.asked(), 0);
  EXPECT_TRUE(course.referee().outcome());
  expect_at(course, moves_.size());
}

TEST_F(Courses, BeginAnewWhereMovesWereTakenBackOrAreOthers) {
  Course course(clock_);
  ASSERT_TRUE(course.open(setup_));
  ASSERT_TRUE(course.go_to(moves_));
  ASSERT_TRUE(course.go_to(first(3)));
  expect_at(course, 3);
  std::vector<Said> swapped(moves_.begin(), moves_.begin() + 2);
  std::swap(swapped[0], swapped[1]);  // either may come first
  ASSERT_TRUE(course.go_to(swapped));
  expect_at(course, 2);
  ASSERT_TRUE(course.go_to(first(2)));
  expect_at(course, 2);
  ASSERT_TRUE(course.go_to({}));
  expect_at(course, 0);
}

TEST_F(Courses, StandBeforeAMoveThatIsRefused) {
  Course course(clock_);
  ASSERT_TRUE(course.open(setup_));
  std::vector<Said> bent(moves_.begin(), moves_.begin() + 4);
  bent[3].move.back() ^= 1;
  const auto refused = course.go_to(bent);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message.find("move 3"), 0) << refused.error().message;
  expect_at(course, 3);
  ASSERT_TRUE(course.go_to(first(4)));
  expect_at(course, 4);
}

TEST_F(Courses, TurnToAnotherDispute) {
  Course course(clock_);
  ASSERT_TRUE(course.open(setup_));
  ASSERT_TRUE(course.go_to(first(4)));
  arbiter::Setup other = setup_;
  other.challenger = one_.client.address();
  ASSERT_TRUE(course.open(other));
  EXPECT_EQ(course.referee().id(), arbiter::id_of(other));
  EXPECT_EQ(course.referee().round(), 0);
  EXPECT_FALSE(course.go_to(first(1)));
  other.input_salt[0] ^= 1;
  EXPECT_FALSE(course.open(other));
  ASSERT_TRUE(course.open(setup_));
  ASSERT_TRUE(course.go_to(moves_));
  expect_at(course, moves_.size());
}

}  // namespace
}  // namespace commensal::dispute
