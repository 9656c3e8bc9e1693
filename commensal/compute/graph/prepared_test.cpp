// SPDX-License-Identifier: Apache-2.0
// Which plans are kept, and who waits for them.
#include <gtest/gtest.h>

#include <chrono>
#include <commensal/compute/graph/prepared.hpp>
#include <commensal/compute/graph/testing/graph_maker.hpp>
#include <commensal/compute/kernels/thread_pool.hpp>
#include <future>
#include <thread>

namespace commensal::graph {
namespace {

using testing::GraphMaker;

constexpr std::int64_t kKept = 8;

/// Several nodes that a plan has in one.
std::shared_ptr<const Graph> small_graph() {
  GraphMaker maker;
  const ValueId x = maker.input({-1, 64});
  const ValueId sum = maker.node("MatMul", {x, maker.floats({64, 32})});
  maker.output(maker.node("Relu", {maker.node("Add", {sum, maker.floats({32})})}));
  return maker.finish();
}

std::vector<tensor::TensorType> rows(std::int64_t count) {
  return {{tensor::DType::kFloat32, {count, 64}}};
}

std::optional<kernels::Isa> some_isa() {
  const auto isas = kernels::available_isas();
  return isas.empty() ? std::nullopt : std::optional(isas.back());
}

TEST(Prepared, KeepsThePlansThatWereUsedLast) {
  Prepared prepared(small_graph(), some_isa());
  const auto first = *prepared.planned(rows(1));
  std::vector<std::shared_ptr<const Program>> others;
  for (std::int64_t i = 2; i <= kKept + 1; ++i) {
    others.push_back(*prepared.planned(rows(i)));
    EXPECT_EQ(*prepared.planned(rows(1)), first) << "it was used just now; " << i;
  }
  EXPECT_EQ(*prepared.planned(rows(kKept + 1)), others.back());
  EXPECT_NE(*prepared.planned(rows(2)), others.front()) << "nobody has used it for longer";
}

// As of a loop whose turns have new types: it would plan for ever.
TEST(Prepared, OfABodyKeepsThePlansOfTheFirstTypes) {
  const auto cache = std::make_shared<PackCache>();
  Prepared body(small_graph(), some_isa(), cache);
  const auto is_plain = [&](std::int64_t count) {
    return *body.planned(rows(count)) == *body.plain();
  };
  for (std::int64_t i = 1; i <= kKept; ++i) EXPECT_FALSE(is_plain(i)) << i;
  EXPECT_TRUE(is_plain(100));
  const std::int64_t left = cache->inner_plans().nodes_left;
  for (int i = 0; i < 4; ++i) {
    EXPECT_TRUE(is_plain(100)) << "however often it is asked for";
    EXPECT_TRUE(is_plain(101));
  }
  for (std::int64_t i = 1; i <= kKept; ++i) EXPECT_FALSE(is_plain(i)) << i;
  EXPECT_EQ(cache->inner_plans().nodes_left, left);
}

TEST(Prepared, GivesBackWhatABodysPlansTook) {
  const auto cache = std::make_shared<PackCache>();
  const std::int64_t left = cache->inner_plans().nodes_left;
  {
    Prepared body(small_graph(), some_isa(), cache);
    for (std::int64_t i = 1; i <= kKept; ++i) ASSERT_TRUE(body.planned(rows(i)));
    EXPECT_LT(cache->inner_plans().nodes_left, left);
  }
  EXPECT_EQ(cache->inner_plans().nodes_left, left);
}

/// Rests in its first yield until it is let go; says stop from then on, where it is to.
class Resting final : public core::Pacer {
 public:
  explicit Resting(bool stops) : stops_(stops) {}
  bool pace(std::int64_t) override { return true; }
  bool yield() override {
    if (!is_there_) began.set_value();
    is_there_ = true;
    released_.wait();
    return !stops_;
  }
  std::promise<void> began, release;

 private:
  const bool stops_;
  bool is_there_ = false;
  std::shared_future<void> released_ = release.get_future().share();
};

TEST(Prepared, WhoseProgramIsThereDoesNotWaitForAnothersPlan) {
  for (const bool stops : {false, true}) {
    Prepared prepared(small_graph(), some_isa());
    const auto ready = *prepared.planned(rows(1)), plain = *prepared.plain();
    Resting pacer(stops);
    auto slow = std::async(std::launch::async, [&]() -> std::shared_ptr<const Program> {
      kernels::ThreadPool pool(1);
      const kernels::ThreadPool::Burst burst(pool, &pacer);
      const auto made = kernels::unless_stopped([&] { return prepared.planned(rows(2), &pool); });
      return made ? **made : nullptr;
    });
    pacer.began.get_future().wait();
    auto quick = std::async(std::launch::async, [&] {
      return std::pair(*prepared.planned(rows(1)), *prepared.plain());
    });
    const bool waits = quick.wait_for(std::chrono::seconds(20)) != std::future_status::ready;
    pacer.release.set_value();
    EXPECT_FALSE(waits);
    EXPECT_EQ(quick.get(), std::pair(ready, plain));
    EXPECT_EQ(slow.get() == nullptr, stops);
    EXPECT_TRUE(prepared.planned(rows(2))) << "who was stopped leaves it to the next";
  }
}

TEST(Prepared, WhoTakesOverFromOneThatWasStoppedIsWaitedForToo) {
  Prepared prepared(small_graph(), some_isa());
  const auto make = [&](Resting& pacer) -> std::shared_ptr<const Program> {
    kernels::ThreadPool pool(1);
    const kernels::ThreadPool::Burst burst(pool, &pacer);
    const auto made = kernels::unless_stopped([&] { return prepared.planned(rows(2), &pool); });
    return made ? **made : nullptr;
  };
  const auto asked = [&](Resting& pacer) {
    return std::async(std::launch::async, [&] { return make(pacer); });
  };
  constexpr auto kTimeToWait = std::chrono::milliseconds(100);  // less and nothing is tested
  Resting stopped(true), next(false);
  auto first = asked(stopped);
  stopped.began.get_future().wait();
  auto second = asked(next);
  std::this_thread::sleep_for(kTimeToWait);
  stopped.release.set_value();
  next.began.get_future().wait();
  auto third = std::async(std::launch::async, [&] { return *prepared.planned(rows(2)); });
  third.wait_for(kTimeToWait);
  next.release.set_value();
  EXPECT_EQ(first.get(), nullptr);
  const auto made = second.get();
  EXPECT_NE(made, nullptr);
  EXPECT_EQ(third.get(), made);
  EXPECT_EQ(*prepared.planned(rows(2)), made);
}

// The fault: who had been told to end waited until another's plan was made.
TEST(Prepared, WhoWaitsForAnothersPlanCanBeStopped) {
  Prepared prepared(small_graph(), some_isa());
  Resting slow(false);
  auto first = std::async(std::launch::async, [&] {
    kernels::ThreadPool pool(1);
    const kernels::ThreadPool::Burst burst(pool, &slow);
    return kernels::unless_stopped([&] { return prepared.planned(rows(2), &pool); }).has_value();
  });
  slow.began.get_future().wait();
  struct Never final : core::Pacer {
    bool pace(std::int64_t) override { return true; }
    bool yield() override { return false; }
  } never;
  auto second = std::async(std::launch::async, [&] {
    kernels::ThreadPool pool(1);
    const kernels::ThreadPool::Burst burst(pool, &never);
    return kernels::unless_stopped([&] { return prepared.planned(rows(2), &pool); }).has_value();
  });
  const bool waits = second.wait_for(std::chrono::seconds(20)) != std::future_status::ready;
  slow.release.set_value();
  EXPECT_FALSE(waits);
  EXPECT_FALSE(second.get());
  EXPECT_TRUE(first.get());
}

/// A weight that is folded, and packed, for each number of rows.
std::shared_ptr<const Graph> graph_of_rows() {
  GraphMaker maker;
  const ValueId x = maker.input({-1, 64});
  kernels::Attributes to;
  to.set("to", std::int64_t{1});
  const ValueId shape = maker.node("Cast", {maker.node("Shape", {x})}, to);
  const ValueId rows = maker.node("Gather", {shape, maker.integers({0})});
  maker.output(maker.node("MatMul", {x, maker.node("Mul", {rows, maker.floats({64, 32})})}));
  return maker.finish();
}

/// `count` constants of `values` floats, computed ahead, each of which meets all rows.
std::shared_ptr<const Graph> graph_of_constants(int count, std::int64_t values) {
  GraphMaker maker;
  ValueId sum = maker.input({-1, 64});
  for (int i = 0; i < count; ++i) {
    const ValueId wide = maker.node("ConstantOfShape", {maker.integers({values / 64, 1, 64})});
    sum = maker.node("Add", {sum, maker.node("ReduceMax", {maker.node("Add", {sum, wide})})});
  }
  maker.output(sum);
  return maker.finish();
}

// The fault: a file of some kilobytes made a plan of gigabytes, whatever the session was to take.
TEST(Prepared, WhatIsComputedAheadHasABudget) {
  constexpr std::int64_t kBytes = 1 << 20;
  const auto graph = graph_of_constants(100, kBytes / 4);
  Prepared prepared(graph, some_isa());
  ASSERT_TRUE(prepared.planned(rows(1)));
  EXPECT_GT(prepared.folded_bytes(), 10 * kBytes);
  EXPECT_LE(prepared.folded_bytes(), limits::kFoldedTotalBytesMax + kBytes);
  Prepared narrow(graph, some_isa(), nullptr, 10 * kBytes);
  ASSERT_TRUE(narrow.planned(rows(1)));
  EXPECT_LE(narrow.folded_bytes(), 10 * kBytes);
  for (std::int64_t i = 1; i <= kKept; ++i) ASSERT_TRUE(narrow.planned(rows(i)));
  EXPECT_LE(narrow.folded_bytes(), 20 * kBytes) << "of all plans";
}

TEST(Prepared, WhatIsComputedAheadInBodiesHasABudgetOfAllTogether) {
  const auto cache = std::make_shared<PackCache>();
  constexpr std::int64_t kBytes = 1 << 20;
  Prepared first(graph_of_constants(40, kBytes / 4), some_isa(), cache);
  Prepared second(graph_of_constants(40, kBytes / 4), some_isa(), cache);
  for (std::int64_t i = 1; i <= kKept; ++i) {
    ASSERT_TRUE(first.planned(rows(i)));
    ASSERT_TRUE(second.planned(rows(i)));
  }
  EXPECT_GE(cache->inner_plans().bytes_left, 0);
  EXPECT_LE(first.folded_bytes() + second.folded_bytes(), limits::kFoldedInnerTotalBytesMax);
}

/// Yields so often, then says stop.
class Stopping final : public core::Pacer {
 public:
  explicit Stopping(int yields) : left_(yields) {}
  bool pace(std::int64_t) override { return true; }
  bool yield() override { return left_-- > 0; }

 private:
  int left_;
};

TEST(Prepared, APlanThatIsWithdrawnTakesNothingFromTheOthers) {
  const auto isa = some_isa();
  if (!isa) GTEST_SKIP() << "nothing is packed here";
  Prepared prepared(graph_of_rows(), isa);
  std::vector<std::shared_ptr<const Program>> made;
  for (std::int64_t i = 1; i <= kKept; ++i) made.push_back(*prepared.planned(rows(i)));
  const std::size_t packed = prepared.packed_constants();
  EXPECT_GE(packed, static_cast<std::size_t>(kKept));
  int stopped = 0;
  for (;; ++stopped) {
    Stopping pacer(stopped);
    kernels::ThreadPool pool(1);
    const kernels::ThreadPool::Burst burst(pool, &pacer);
    if (kernels::unless_stopped([&] { return prepared.planned(rows(100), &pool); })) break;
    EXPECT_EQ(prepared.packed_constants(), packed) << "after yields: " << stopped;
    for (std::int64_t i = 1; i <= kKept; ++i) {
      ASSERT_EQ(*prepared.planned(rows(i)), made[static_cast<std::size_t>(i - 1)]) << stopped;
    }
  }
  EXPECT_GT(stopped, 0);
  made.clear();
  ASSERT_TRUE(prepared.planned(rows(101)));
  EXPECT_EQ(prepared.packed_constants(), packed) << "one has come, one has gone";
}

TEST(Prepared, WhoIsStoppedTakesNothingFromWhoComesNext) {
  const auto cache = std::make_shared<PackCache>();
  const auto& left = cache->inner_plans();
  const std::int64_t nodes = left.nodes_left, ops = left.ops_left, bytes = left.bytes_left;
  Prepared body(graph_of_rows(), some_isa(), cache);
  int stopped = 0;
  for (;; ++stopped) {
    Stopping pacer(stopped);
    kernels::ThreadPool pool(1);
    const kernels::ThreadPool::Burst burst(pool, &pacer);
    if (kernels::unless_stopped([&] { return body.planned(rows(100), &pool); })) break;
    EXPECT_EQ(left.nodes_left, nodes) << "after yields: " << stopped;
    EXPECT_EQ(left.ops_left, ops) << "after yields: " << stopped;
    EXPECT_EQ(left.bytes_left, bytes) << "after yields: " << stopped;
  }
  EXPECT_GT(stopped, 0);
  EXPECT_LT(left.ops_left, ops) << "what is kept is charged";
}

TEST(Prepared, MakesAPlanOnceForAllWhoWaitForIt) {
  Prepared prepared(small_graph(), some_isa());
  std::vector<std::future<std::shared_ptr<const Program>>> all;
  for (int i = 0; i < 4; ++i) {
    all.push_back(std::async(std::launch::async, [&] { return *prepared.planned(rows(3)); }));
  }
  for (auto& one : all) EXPECT_EQ(one.get(), *prepared.planned(rows(3)));
}

}  // namespace
}  // namespace commensal::graph
