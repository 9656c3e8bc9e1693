// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/reserves.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::gateway {
namespace {

using ledger::AccountKind;
using protocol::Amount;

constexpr std::uint64_t kBonds = 1'600;  // sixteen of 100

class ReservesOf : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(bank_.open()); }
  static MoneyConfig terms() {
    MoneyConfig config;
    config.escrow = Amount(1'000);
    config.penalty_escrow = Amount(50);
    return config;
  }
  void earn(std::uint64_t units) {
    ledger::Deposit deposit{bank_.address(), Amount(units), core::Digest{++paid_}};
    ASSERT_TRUE(bank_.submit(std::move(deposit)));
    ASSERT_TRUE(bank_.commit());
  }
  std::uint64_t has(AccountKind kind) const {
    return bank_.state().balance(bank_.address(), kind).low();
  }
  std::uint64_t entries() const { return bank_.state().scalars.entries; }

  ticket::testing::Pair pair_{6};
  core::ManualClock clock_;
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  Bank bank_{store_, clock_, pair_.gateway_key, ledger::Config()};
  core::testing::ManualLoop loop_{clock_};
  EventQueue events_{loop_, [](event::Any&) { ADD_FAILURE() << "nothing goes wrong"; }, [] {}};
  Reserves reserves_{clock_, bank_, events_, terms()};
  std::uint8_t paid_ = 0;
};

TEST_F(ReservesOf, WhatIsEarnedFillsThemUpAndTheRestStays) {
  earn(kBonds + 300);
  reserves_.fill();
  EXPECT_EQ(has(AccountKind::kEscrow), 300u);
  EXPECT_EQ(has(AccountKind::kPenaltyEscrow), 0u);
  clock_.advance_ms(1'000);
  earn(5'000);
  reserves_.fill();
  EXPECT_EQ(has(AccountKind::kEscrow), 1'000u);
  EXPECT_EQ(has(AccountKind::kPenaltyEscrow), 50u);
  EXPECT_EQ(has(AccountKind::kAvailable), kBonds + 5'300 - 1'050);
  const std::uint64_t before = entries();
  clock_.advance_ms(1'000);
  reserves_.fill();
  EXPECT_EQ(entries(), before) << "nothing is lacking";
}

TEST_F(ReservesOf, MoneyForAccusationsStays) {
  earn(kBonds);
  reserves_.fill();
  EXPECT_EQ(has(AccountKind::kEscrow), 0u);
  EXPECT_EQ(has(AccountKind::kAvailable), kBonds);
}

TEST_F(ReservesOf, TheyAreFilledOnceASecondAtMost) {
  earn(kBonds + 100);
  reserves_.fill();
  const std::uint64_t before = entries();
  for (int i = 0; i < 9; ++i) {
    clock_.advance_ms(100);
    earn(1);
    reserves_.fill();
  }
  EXPECT_EQ(entries(), before + 9) << "those of the deposits";
  clock_.advance_ms(100);
  reserves_.fill();
  EXPECT_EQ(has(AccountKind::kEscrow), 109u);
  EXPECT_EQ(entries(), before + 10);
}

}  // namespace
}  // namespace commensal::gateway
