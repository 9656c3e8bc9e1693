// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/rng.hpp>
#include <commensal/base/store/joint_store.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/base/store/testing/fault_store.hpp>
#include <deque>
#include <map>

namespace commensal::store {
namespace {

using namespace testing;

core::Bytes bytes(std::string_view text) { return {text.begin(), text.end()}; }

TEST(JointStore, WhatIsHeldIsReadBackAndWrittenOnceAtTheEnd) {
  MemoryStore below;
  FaultStore counted(below, ~std::uint64_t{0}, Fault::kCrashBefore);
  JointStore store(counted);
  ASSERT_TRUE(store.apply({{"a", bytes("k1"), bytes("old")}, {"a", bytes("k3"), bytes("x")}}));
  store.hold();
  store.hold();
  ASSERT_TRUE(store.apply({{"a", bytes("k1"), bytes("new")}, {"a", bytes("k3"), std::nullopt}}));
  ASSERT_TRUE(store.release());
  ASSERT_TRUE(store.apply({{"a", bytes("k2"), bytes("y")}}));
  EXPECT_EQ(*store.get("a", bytes("k1")), bytes("new"));
  EXPECT_EQ(*below.get("a", bytes("k1")), bytes("old"));
  std::vector<core::Bytes> keys;
  ASSERT_TRUE(store.scan("a", {}, [&](core::ByteView key, core::ByteView) {
    keys.emplace_back(key.begin(), key.end());
    return true;
  }));
  EXPECT_EQ(keys, (std::vector{bytes("k1"), bytes("k2")}));
  EXPECT_EQ(counted.applies(), 1u);
  ASSERT_TRUE(store.release());
  EXPECT_EQ(counted.applies(), 2u);
  EXPECT_EQ(*below.get("a", bytes("k1")), bytes("new"));
  EXPECT_EQ(*below.get("a", bytes("k3")), std::nullopt);
}

TEST(JointStore, AfterAFailedReleaseNothingIsWrittenAnyMore) {
  MemoryStore below;
  FaultStore failing(below, 0, Fault::kFailBefore);
  JointStore store(failing);
  store.hold();
  ASSERT_TRUE(store.apply({{"a", bytes("k"), bytes("v")}}));
  EXPECT_FALSE(store.release());
  EXPECT_FALSE(store.apply({{"a", bytes("k"), bytes("v")}}));
  store.hold();
  EXPECT_FALSE(store.apply({{"a", bytes("k"), bytes("v")}}));
  EXPECT_EQ(*below.get("a", bytes("k")), std::nullopt);
}

TEST(JointStore, TogetherIsOneBatchAlsoOfAChangeThatFailsHalfway) {
  MemoryStore below;
  FaultStore counted(below, 1, Fault::kFailBefore);
  JointStore store(counted);
  const auto change = [&](core::Result<void> end) {
    return store.together([&]() -> core::Result<void> {
      COMMENSAL_TRY(store.apply({{"a", bytes("k1"), bytes("x")}}));
      COMMENSAL_TRY(store.apply({{"b", bytes("k2"), bytes("y")}}));
      return end;
    });
  };
  const auto refused = change(core::fail(core::ErrorCode::kInvalidArgument, "refused"));
  EXPECT_EQ(refused.error().message, "refused");
  EXPECT_EQ(counted.applies(), 1u);
  EXPECT_EQ(*below.get("a", bytes("k1")), bytes("x"));
  EXPECT_EQ(*below.get("b", bytes("k2")), bytes("y"));
  EXPECT_FALSE(change({}));  // the batch itself fails
  const auto both = change(core::fail(core::ErrorCode::kInvalidArgument, "refused"));
  EXPECT_NE(both.error().message, "refused");  // nothing is applied any more
}

/// Tasks and works run one by one, when the test says so.
class HandLoop final : public core::Loop {
 public:
  void post(Task task) override { tasks_.push_back(std::move(task)); }
  void after(std::int64_t, Task task) override { post(std::move(task)); }
  void offload(Lane, Task work, Task done) override {
    works_.push_back(
        [this, work = std::move(work), done = std::move(done)] { work(), post(done); });
  }
  bool work() { return run(works_); }
  bool turn() { return run(tasks_); }
  void rest() {
    while (work() || turn()) {
    }
  }

 private:
  static bool run(std::deque<Task>& tasks) {
    if (tasks.empty()) return false;
    const Task task = std::move(tasks.front());
    tasks.pop_front();
    task();
    return true;
  }

  std::deque<Task> tasks_, works_;
};

struct LaterJointStore : ::testing::Test {
  void later(const char* key, const char* value) {
    store.together_later(
        loop,
        [&] {
          return store.apply({{"a", bytes(key), bytes(value)}});
        },
        [this, key](const core::Result<void>& outcome) {
          told += outcome ? key : fmt::format("({}: {})", key, outcome.error().message);
        });
  }
  std::string keys() {
    std::string all;
    EXPECT_TRUE(store.scan("a", {}, [&](core::ByteView key, core::ByteView value) {
      all += fmt::format("{}={} ", std::string(key.begin(), key.end()),
                         std::string(value.begin(), value.end()));
      return true;
    }));
    return all;
  }

  HandLoop loop;
  MemoryStore below;
  FaultStore counted{below, 2, Fault::kFailBefore};
  JointStore store{counted};
  std::string told;
};

TEST_F(LaterJointStore, WhatComesWhileABatchIsWrittenIsOneBatchAfterIt) {
  later("1", "x");
  later("2", "x");
  later("1", "y");
  EXPECT_EQ(keys(), "1=y 2=x ");
  EXPECT_EQ(*store.get("a", bytes("1")), bytes("y"));
  EXPECT_EQ(*below.get("a", bytes("1")), std::nullopt);
  EXPECT_TRUE(loop.work());
  EXPECT_EQ(*below.get("a", bytes("1")), bytes("x"));
  EXPECT_EQ(keys(), "1=y 2=x ");
  EXPECT_EQ(told, "");
  loop.rest();
  EXPECT_EQ(told, "121");
  EXPECT_EQ(counted.applies(), 2u);
  EXPECT_EQ(*below.get("a", bytes("1")), bytes("y"));
}

TEST_F(LaterJointStore, WhoCannotWaitWritesWhatCameBeforeFirst) {
  later("1", "x");
  later("2", "x");
  ASSERT_TRUE(store.apply({{"a", bytes("1"), std::nullopt}}));
  EXPECT_EQ(counted.applies(), 2u);
  EXPECT_EQ(keys(), "2=x ");
  EXPECT_EQ(*below.get("a", bytes("2")), bytes("x"));
  EXPECT_EQ(told, "");  // by tasks of their own
  loop.rest();
  EXPECT_EQ(told, "12");
  EXPECT_EQ(counted.applies(), 2u);  // the lane has found nothing to do
}

TEST_F(LaterJointStore, ABatchThatFailsIsTheLast) {
  int durable = 0;
  std::string lost;
  const auto look = [&](const core::Result<void>& written) {
    written ? void(++durable) : void(lost += written.error().message);
  };
  store.when_durable(look);
  EXPECT_EQ(durable, 1);
  later("1", "x");
  loop.rest();
  later("2", "x");
  later("3", "x");
  store.when_durable(look);
  loop.rest();
  EXPECT_EQ(durable, 1);
  EXPECT_EQ(lost, "store: write 2 failed (a test)");
  later("4", "x");
  loop.rest();
  const std::string why = "store: write 2 failed (a test)";
  EXPECT_EQ(told, "12" + fmt::format("(3: {0})(4: {0})", why));
  EXPECT_EQ(store.apply({{"a", bytes("5"), bytes("x")}}).error().message, why);
  EXPECT_EQ(store.broken()->message, why);
}

TEST_F(LaterJointStore, NoVisitorWrites) {
  later("1", "x");
  const auto visit = [&](core::ByteView, core::ByteView) {
    return store.apply({{"a", bytes("2"), bytes("x")}}).has_value();
  };
  EXPECT_DEATH((void)store.scan("a", {}, visit), "a visitor of a scan called its own store");
}

TEST_F(LaterJointStore, AChangeThatFailsTellsSoWhenTheRestIsDurable) {
  store.together_later(
      loop,
      [&]() -> core::Result<void> {
        COMMENSAL_TRY(store.apply({{"a", bytes("1"), bytes("x")}}));
        return core::fail(core::ErrorCode::kInvalidArgument, "refused");
      },
      [this](const core::Result<void>& outcome) { told += outcome.error().message; });
  EXPECT_EQ(told, "");
  loop.rest();
  EXPECT_EQ(told, "refused");
  EXPECT_EQ(*below.get("a", bytes("1")), bytes("x"));
}

TEST_F(LaterJointStore, WhatIsToBeWrittenAtTheEndIsDropped) {
  {
    JointStore ending(counted);
    const auto apply = [&] { return ending.apply({{"a", bytes("1"), bytes("x")}}); };
    ending.together_later(loop, apply, [this](const core::Result<void>&) { told += "!"; });
  }
  EXPECT_TRUE(loop.work());
  EXPECT_EQ(counted.applies(), 0u);
  EXPECT_EQ(told, "");
}

/// Whatever order owners, lane and loop come in: reads see all that was applied, and the store
/// below what a prefix of it makes.
TEST(JointStores, ReadWhatWasAppliedAndKeepItsOrder) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    core::CounterRng rng(seed);
    HandLoop loop;
    MemoryStore below;
    JointStore store(below);
    std::map<std::string, std::string> all;
    std::vector<std::map<std::string, std::string>> history = {all};
    std::size_t durable = 0;
    for (int turn = 0; turn < 60; ++turn) {
      const std::string key(1, static_cast<char>('a' + rng.next_u32() % 4));
      const std::string value = std::to_string(turn);
      const auto change = [&] { return store.apply({{"s", bytes(key), bytes(value)}}); };
      const auto applied = [&] { all[key] = value, history.push_back(all); };
      switch (rng.next_u32() % 5) {
        case 0:
          applied();
          ASSERT_TRUE(change());
          durable = history.size() - 1;
          break;
        case 1:
          loop.work();
          break;
        case 2:
          loop.turn();
          break;
        default: {
          applied();
          store.together_later(loop, change, [&, now = history.size() - 1](const auto& outcome) {
            EXPECT_TRUE(outcome);
            durable = std::max(durable, now);
          });
        }
      }
      const auto read = [](core::Store& from) {
        std::map<std::string, std::string> found;
        EXPECT_TRUE(from.scan("s", {}, [&](core::ByteView at, core::ByteView is) {
          found[std::string(at.begin(), at.end())] = std::string(is.begin(), is.end());
          return true;
        }));
        return found;
      };
      ASSERT_EQ(read(store), all) << seed;
      const auto on_disk = std::ranges::find(history.begin() + static_cast<long>(durable),
                                             history.end(), read(below));
      ASSERT_NE(on_disk, history.end()) << seed << ": what was told of is there, and all before it";
    }
    loop.rest();
    EXPECT_EQ(durable, history.size() - 1);
  }
}

}  // namespace
}  // namespace commensal::store
