// SPDX-License-Identifier: Apache-2.0
// What an escrow lacks for a winner: its gateway has spent it on others, or on itself.
#include <commensal/trade/pay/ledger/testing/claims_fixture.hpp>

namespace commensal::ledger {
namespace {

using protocol::Outcome;
using ::testing::HasSubstr;
using testing::Person;
using testing::Step;

/// An escrow of 1000 and a penalty escrow of 50.
class MoneyShortfall : public testing::ClaimsFixture {
 protected:
  /// The gateway and a second key of its owner agree on how much of the escrow goes there.
  void drain(std::uint64_t amount) {
    const Person own(30);
    Step made = ticket(9);
    protocol::Job& job = made.receipt.job;
    job.provider = own.address;
    made.receipt.commitment =
        protocol::commit_step(protocol::job_id(job), 1, made.output_root, made.output_salt);
    const protocol::ReceiptBody body = made.receipt.body();
    made.receipt.provider = protocol::sign_batch(own.key, protocol::Role::kProvider, {&body, 1})[0];
    made.receipt.client = protocol::sign_batch(gateway(), protocol::Role::kClient, {&body, 1})[0];
    protocol::JointSettlement outcome{
        protocol::ticket_id(body), gateway_address(), own.address, Amount(amount), {}, {}, {}};
    outcome.by_client = protocol::sign_settlement(gateway(), outcome);
    outcome.by_holder = protocol::sign_settlement(own.key, outcome);
    accept(gateway(), Settle{made.receipt, {}, outcome});
    EXPECT_EQ(balance(own.address), amount);
  }
  std::uint64_t escrow() const { return balance(gateway_address(), AccountKind::kEscrow); }
  std::uint64_t penalty() const { return balance(gateway_address(), AccountKind::kPenaltyEscrow); }
  std::uint64_t claims() const { return balance(gateway_address(), AccountKind::kClaims); }
};

TEST_F(MoneyShortfall, ThePenaltyEscrowPaysWhatTheEscrowLacksAndAsMuchIsBurnt) {
  const Step made = ticket(3);
  drain(917);  // 83 are left, 103 are needed
  accept(provider(), Open{pair_.claim(made), {}});
  EXPECT_EQ(escrow(), 0u);
  EXPECT_EQ(claims(), 103u);
  EXPECT_EQ(penalty(), 10u);
  EXPECT_EQ(burnt(), 20u);
  accept(auditor_.key, judge(made, Outcome::kMatch, auditor_.key));
  EXPECT_EQ(balance(provider_address()), 100u);
  EXPECT_EQ(balance(auditor_.address), 3u);
  EXPECT_EQ(claims(), 0u);
}

TEST_F(MoneyShortfall, NothingIsBurntWhereTheEscrowCoversIt) {
  drain(897);  // exactly enough is left
  accept(provider(), Open{pair_.claim(ticket(3)), {}});
  EXPECT_EQ(escrow(), 0u);
  EXPECT_EQ(penalty(), 50u);
  EXPECT_EQ(burnt(), 0u);
}

TEST_F(MoneyShortfall, WhatIsOnItsWayOutAnswersToo) {
  accept(gateway(), AnnounceWithdrawal{AccountKind::kPenaltyEscrow, Amount(45)});
  accept(gateway(), AnnounceWithdrawal{AccountKind::kEscrow, Amount(1000)});
  EXPECT_EQ(balance(gateway_address(), AccountKind::kWithdrawing), 1045u);
  accept(provider(), Open{pair_.claim(ticket(3, 1017)), {}});  // 20 more than the escrow
  EXPECT_EQ(claims(), 1020u);
  EXPECT_EQ(balance(gateway_address(), AccountKind::kWithdrawing), 10u);
  EXPECT_EQ(penalty(), 0u);
  EXPECT_EQ(burnt(), 20u);
}

TEST_F(MoneyShortfall, WhatBothDoNotCoverIsRefusedAndCanBeSentAgain) {
  const Open open{pair_.claim(ticket(3)), {}};
  drain(923);  // 26 are missing, 52 would be needed of 50
  EXPECT_THAT(refusal(provider(), open), HasSubstr("it covers 77, 103 is needed"));
  EXPECT_THAT(refusal(provider(), open), HasSubstr("a penalty escrow of 50 not twice the rest"));
  fund(gateway(), {{AccountKind::kPenaltyEscrow, 2}}, 5);
  accept(provider(), open);
  EXPECT_EQ(penalty(), 0u);
  EXPECT_EQ(burnt(), 26u);
}

TEST_F(MoneyShortfall, AWithheldRevealIsPaidTheSameWay) {
  const Step made = ticket(3, 20);  // wins for sure: worth 20 before its draw
  drain(990);
  accept(provider(), Demand{made.receipt});
  now_ms_ += 101;
  accept(provider(), Default{made.receipt, {}});
  // 10 of the escrow, 10 of the penalty escrow and as many burnt; then the penalty of 11.
  EXPECT_EQ(escrow(), 0u);
  EXPECT_EQ(penalty(), 50u - 20u - 11u);
  EXPECT_EQ(burnt(), 10u + 6u);
  EXPECT_EQ(balance(provider_address()), 20u + 5u);
}

TEST_F(MoneyShortfall, NoAgreementTakesItOutOfThePenaltyEscrow) {
  drain(1000);
  const Step made = ticket(3);
  protocol::JointSettlement outcome{protocol::ticket_id(made.receipt.body()),
                                    gateway_address(),
                                    provider_address(),
                                    Amount(1),
                                    {},
                                    {},
                                    {}};
  outcome.by_client = protocol::sign_settlement(gateway(), outcome);
  outcome.by_holder = protocol::sign_settlement(provider(), outcome);
  EXPECT_THAT(refusal(gateway(), Settle{made.receipt, {}, outcome}),
              HasSubstr("it covers 0, 1 is needed"));
  EXPECT_EQ(penalty(), 50u);
}

}  // namespace
}  // namespace commensal::ledger
