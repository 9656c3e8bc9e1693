// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <commensal/base/core/testing/manual_loop.hpp>
#include <commensal/base/store/memory_store.hpp>
#include <commensal/serve/gateway/covers.hpp>
#include <commensal/serve/gateway/testing/heard.hpp>
#include <commensal/trade/pay/ticket/testing/pair.hpp>

namespace commensal::gateway {
namespace {

using ledger::AccountKind;
using protocol::Amount;

/// A gateway whose tickets win 9 or nothing, always, and pay an auditor 1; a provider is there.
class CoversTest : public ::testing::Test {
 protected:
  static MoneyConfig config() {
    MoneyConfig config;
    config.face_value = Amount(9);
    config.win_probability = 1;
    config.hash_chain_depth = 6;
    return config;
  }
  void SetUp() override {
    ASSERT_TRUE(bank_.open());
    ASSERT_TRUE(lottery_.open());
    bank_.heed([this](const ledger::Entry& entry) { less_ += covers_.is_less(entry) ? 1 : 0; });
    ASSERT_TRUE(bank_.submit(ledger::Deposit{bank_.address(), Amount(1'000), core::Digest{}}));
    const auto id = roster_.admit(stream_, {}, "here");
    rpc::Hello hello;
    hello.address = pair_.provider_key.address();
    hello.signature = crypto::sign(
        pair_.provider_key,
        rpc::hello_digest(stream_->challenge().nonce, hello.address, bank_.address(), {}));
    std::optional<Roster::StreamId> replaced;
    ASSERT_TRUE(roster_.welcome(id, hello, replaced));
  }
  void fund(AccountKind kind, std::uint64_t units) {
    ASSERT_TRUE(bank_.submit(ledger::Fund{kind, Amount(units)}));
  }
  void take(AccountKind kind, std::uint64_t units) {
    ASSERT_TRUE(bank_.submit(ledger::AnnounceWithdrawal{kind, Amount(units)}));
  }
  std::size_t stale(bool at_once = false) { return covers_.stale(at_once).size(); }
  Covers::Cover tell() { return covers_.tell(pair_.provider_key.address()); }

  ticket::testing::Pair pair_{6};
  core::ManualClock clock_;
  store::MemoryStore disk_;
  store::JointStore store_{disk_};
  Bank bank_{store_, clock_, pair_.gateway_key, config().rules};
  Roster roster_{store_, pair_.rng(), pair_.gateway_key, clock_};
  core::testing::ManualLoop loop_{clock_};
  EventQueue events_{loop_, [](event::Any&) {}, [] {}};
  ticket::TicketBook tickets_{store_, clock_, Lottery::book_config(config())};
  Lottery lottery_{
      {loop_, store_, clock_, pair_.rng(), pair_.gateway_key, bank_, roster_, events_, tickets_},
      config()};
  Covers covers_{clock_, bank_, lottery_, roster_};
  std::shared_ptr<testing::Heard> stream_ = std::make_shared<testing::Heard>();
  int less_ = 0;
};

TEST_F(CoversTest, ProvidersAreToldWithinASecondAndAtOnceWhereItIsTooLittle) {
  fund(AccountKind::kEscrow, 100);
  fund(AccountKind::kPenaltyEscrow, 100);
  EXPECT_EQ(stale(), 0u) << "nobody was told anything yet";
  EXPECT_EQ(tell(), (Covers::Cover{Amount(100), Amount(100), 0}));
  EXPECT_EQ(stale(), 0u);
  fund(AccountKind::kEscrow, 1);
  EXPECT_EQ(stale(), 0u) << "a second for what is no harm";
  EXPECT_EQ(stale(true), 1u);
  clock_.advance_ms(1'000);
  EXPECT_EQ(stale(), 1u);
  tell();
  EXPECT_EQ(less_, 0);
  take(AccountKind::kEscrow, 91);
  EXPECT_EQ(less_, 1);
  EXPECT_EQ(stale(), 0u) << "10 are enough for one ticket";
  take(AccountKind::kEscrow, 1);
  EXPECT_EQ(stale(), 1u);
  EXPECT_EQ(tell(), (Covers::Cover{Amount(9), Amount(100), 0}));
  EXPECT_EQ(stale(), 0u);
  take(AccountKind::kPenaltyEscrow, 81);  // 20 are enough
  EXPECT_EQ(stale(), 1u);
  EXPECT_EQ(tell().penalty_escrow, Amount(19));
  EXPECT_EQ(less_, 3);
}

TEST_F(CoversTest, WhoHasLeftIsToldNothing) {
  fund(AccountKind::kEscrow, 100);
  tell();
  roster_.leave(1);
  take(AccountKind::kEscrow, 100);
  EXPECT_EQ(stale(true), 0u);
}

}  // namespace
}  // namespace commensal::gateway
