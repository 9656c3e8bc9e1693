// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/memory_budget.hpp>
#include <optional>
#include <random>
#include <vector>

namespace commensal::core {
namespace {

constexpr MemoryBudget::Bounds kBounds{
    .bytes_max = 1000, .owner_bytes_max = 400, .owner_leases_max = 3};

TEST(MemoryBudget, BoundsEachOwnerAndAll) {
  MemoryBudget budget(kBounds);
  auto a = *budget.lease("a");
  EXPECT_TRUE(a.set(400));
  EXPECT_EQ(a.set(401).error().code, ErrorCode::kOverBudget);
  EXPECT_EQ(a.bytes(), 400);
  auto b = *budget.lease("b");
  auto c = *budget.lease("c");
  EXPECT_TRUE(b.set(400));
  EXPECT_EQ(c.set(300).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(c.set(200));
  EXPECT_TRUE(a.set(300));
  EXPECT_TRUE(c.set(300));
  EXPECT_EQ(budget.held(), 1000);
}

TEST(MemoryBudget, TellsToWaitOnlyWhereThatHelps) {
  MemoryBudget budget(kBounds);
  auto a = *budget.lease("a"), b = *budget.lease("a");
  EXPECT_EQ(a.set(401).error().message,
            "this request needs 401 bytes, one account may have 400 under way (--memory of the "
            "gateway)");
  EXPECT_EQ(a.set(401).error().code, ErrorCode::kOverBudget);
  EXPECT_TRUE(a.set(300));
  EXPECT_EQ(b.set(200).error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(b.set(200).error().message.find("wait for some"), std::string::npos);
}

TEST(MemoryBudget, SaysWhatItWouldGrantAndHoldsNothing) {
  MemoryBudget budget(kBounds);
  auto a = *budget.lease("a"), b = *budget.lease("a");
  EXPECT_TRUE(a.set(300));
  EXPECT_TRUE(b.admits(100));
  EXPECT_EQ(b.admits(101).error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(b.admits(401).error().code, ErrorCode::kOverBudget);
  EXPECT_EQ(budget.held(), 300);
  EXPECT_TRUE(MemoryBudget::Lease().admits(1'000'000));
}

TEST(MemoryBudget, CountsWhatIsThereAlreadyBeyondTheBounds) {
  MemoryBudget budget(kBounds);
  auto a = *budget.lease("a");
  a.note(5000);
  EXPECT_EQ(budget.held(), 5000);
  auto b = *budget.lease("b");
  EXPECT_EQ(b.set(1).error().code, ErrorCode::kUnavailable);
  EXPECT_TRUE(a.set(600));  // less, though more than its own
  EXPECT_TRUE(b.set(1));
}

TEST(MemoryBudget, HasSoManyLeasesOfAnOwner) {
  MemoryBudget budget(kBounds);
  std::vector<MemoryBudget::Lease> leases;
  for (int i = 0; i < 3; ++i) leases.push_back(*budget.lease("a"));
  EXPECT_EQ(budget.lease("a").error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(budget.lease("b"));
  leases.pop_back();
  EXPECT_TRUE(budget.lease("a"));
}

TEST(MemoryBudget, ForgetsNothingAndNobody) {
  std::optional<MemoryBudget> budget(kBounds);
  std::mt19937_64 random(7);
  std::vector<MemoryBudget::Lease> leases;
  for (int i = 0; i < 10'000; ++i) {
    const auto kind = random() % 4;
    if (kind == 0 || leases.empty()) {
      if (auto made = budget->lease(std::string(1, static_cast<char>('a' + random() % 5)))) {
        leases.push_back(*std::move(made));
      }
    } else if (kind == 1) {
      std::swap(leases[random() % leases.size()], leases.back());
      leases.pop_back();
    } else {
      std::ignore = leases[random() % leases.size()].set(static_cast<std::int64_t>(random() % 500));
    }
    std::int64_t sum = 0;
    for (const auto& lease : leases) sum += lease.bytes();
    ASSERT_EQ(budget->held(), sum);
    ASSERT_LE(sum, kBounds.bytes_max);
  }
  budget.reset();  // leases may end later
}

}  // namespace
}  // namespace commensal::core
