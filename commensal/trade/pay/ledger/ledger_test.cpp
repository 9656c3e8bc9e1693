// SPDX-License-Identifier: Apache-2.0
// Given a ledger, when a transaction, then these balances or this refusal.
#include <gmock/gmock.h>

#include <commensal/trade/pay/ledger/invariants.hpp>
#include <commensal/trade/pay/ledger/testing/people.hpp>
#include <memory>

namespace commensal::ledger {
namespace {

using ::testing::HasSubstr;
using testing::Person;
using ::testing::StartsWith;

class MoneyLedger : public ::testing::Test {
 protected:
  MoneyLedger() {
    Config config;
    config.operator_address = operator_.address;
    config.withdrawal_delay_ms = 1000;
    config.credit_cap = Amount(500);
    accept(operator_, Genesis{config});
  }

  Transaction made(const Person& sender, Body body) {
    Transaction transaction = testing::unsigned_transaction(operator_.address, ledger_.state(),
                                                            sender.address, std::move(body));
    sign(sender.key, transaction);
    return transaction;
  }
  void accept(const Person& sender, Body body) {
    const auto entry = ledger_.apply(made(sender, std::move(body)), now_ms_);
    ASSERT_TRUE(entry) << entry.error().message;
    const auto sound = check_all(ledger_.state());
    ASSERT_TRUE(sound) << sound.error().message;
  }
  /// The message; the state must not have changed.
  std::string refusal(const Transaction& transaction) {
    const Digest before = state_root(ledger_.state());
    const auto entry = ledger_.apply(transaction, now_ms_);
    EXPECT_EQ(state_root(ledger_.state()), before);
    return entry ? "accepted" : entry.error().message;
  }
  std::string refusal(const Person& sender, Body body) {
    return refusal(made(sender, std::move(body)));
  }
  std::uint64_t balance(const Person& person, AccountKind kind = AccountKind::kAvailable) {
    return ledger_.state().balance(person.address, kind).low();
  }
  void deposit(const Person& person, std::uint64_t amount) {
    accept(operator_, Deposit{person.address, Amount(amount), Digest{++references_}});
  }

  const Person operator_{1}, gateway_{2}, alice_{3}, bob_{4};
  Signatures signatures_;
  Ledger ledger_{signatures_};
  std::int64_t now_ms_ = 10;
  std::uint8_t references_ = 0;
};

TEST_F(MoneyLedger, DepositsAndWithdrawals) {
  deposit(alice_, 100);
  EXPECT_EQ(balance(alice_), 100u);
  EXPECT_EQ(ledger_.state().balances.get(kOutside), Amount(100));
  accept(alice_, Withdraw{Amount(30)});
  EXPECT_EQ(balance(alice_), 70u);
  EXPECT_EQ(ledger_.state().balances.get(kOutside), Amount(70));
  EXPECT_THAT(refusal(alice_, Withdraw{Amount(71)}),
              StartsWith("Withdraw: overdraft: available of"));
  EXPECT_THAT(refusal(alice_, Withdraw{Amount(0)}), HasSubstr("amount: 0, expected at least 1"));
  EXPECT_THAT(refusal(alice_, Deposit{alice_.address, Amount(1), Digest{99}}),
              HasSubstr("expected the operator"));
  EXPECT_THAT(refusal(operator_, Deposit{alice_.address, Amount(100), Digest{1}}),
              HasSubstr("reference: entry 1 has booked this payment already"));
  const Amount most = Amount::from_words(~0ull, ~0ull);
  EXPECT_THAT(refusal(operator_, Deposit{alice_.address, most, Digest{98}}),
              HasSubstr("exceeds 2^128 - 1"));
}

TEST_F(MoneyLedger, LockedMoneyLeavesAfterTheDelay) {
  deposit(alice_, 100);
  accept(alice_, Fund{AccountKind::kStake, Amount(60)});
  EXPECT_EQ(balance(alice_, AccountKind::kStake), 60u);
  EXPECT_THAT(refusal(alice_, Fund{AccountKind::kBurnt, Amount(1)}), HasSubstr("expected escrow"));
  EXPECT_THAT(refusal(alice_, Fund{AccountKind::kCreditPool, Amount(1)}),
              HasSubstr("expected the operator"));
  accept(alice_, AnnounceWithdrawal{AccountKind::kStake, Amount(50)});
  const std::uint64_t number = ledger_.state().scalars.entries - 1;
  EXPECT_EQ(balance(alice_, AccountKind::kWithdrawing), 50u);
  now_ms_ += 999;
  EXPECT_THAT(refusal(alice_, CompleteWithdrawal{number}),
              HasSubstr("announcement: released at 1010 ms, now it is 1009 ms"));
  EXPECT_THAT(refusal(bob_, CompleteWithdrawal{number}), HasSubstr("has none of number"));
  now_ms_ += 1;
  accept(alice_, CompleteWithdrawal{number});
  EXPECT_EQ(balance(alice_), 90u);
  EXPECT_THAT(refusal(alice_, CompleteWithdrawal{number}), HasSubstr("has none of number"));
}

TEST_F(MoneyLedger, AnnouncementsAreBounded) {
  deposit(alice_, 100);
  accept(alice_, Fund{AccountKind::kStake, Amount(100)});
  for (std::size_t i = 0; i < limits::kLedgerAnnouncementsMax; ++i) {
    accept(alice_, AnnounceWithdrawal{AccountKind::kStake, Amount(1)});
  }
  EXPECT_THAT(refusal(alice_, AnnounceWithdrawal{AccountKind::kStake, Amount(1)}),
              HasSubstr("at most 64 at a time"));
}

TEST_F(MoneyLedger, DebitsNeedThePayersWord) {
  deposit(alice_, 100);
  const Debit debit{alice_.address, gateway_.address, AccountKind::kAvailable,
                    Amount(10),     bob_.address,     Digest{1}};
  accept(alice_, debit);
  EXPECT_EQ(balance(gateway_), 10u);
  EXPECT_THAT(refusal(gateway_, debit), HasSubstr("allowance: 0 of"));
  EXPECT_THAT(refusal(bob_, debit), HasSubstr("expected the payer or the payee"));
  accept(alice_, Allow{gateway_.address, Amount(15)});
  accept(gateway_, debit);
  EXPECT_THAT(refusal(gateway_, debit), HasSubstr("allowance: 5 of"));
  EXPECT_EQ(balance(gateway_), 20u);
  Debit from_stake = debit;
  from_stake.from = AccountKind::kStake;
  EXPECT_THAT(refusal(alice_, from_stake), HasSubstr("expected available or credit"));
}

TEST_F(MoneyLedger, CreditIsCappedAndOnlySpent) {
  deposit(operator_, 1000);
  EXPECT_THAT(refusal(operator_, Fund{AccountKind::kCreditPool, Amount(501)}),
              HasSubstr("credit: 501 would be out or in the pool, at most 500"));
  accept(operator_, Fund{AccountKind::kCreditPool, Amount(500)});
  accept(operator_, GrantCredit{alice_.address, Amount(200)});
  EXPECT_THAT(refusal(operator_, GrantCredit{alice_.address, Amount(301)}), HasSubstr("overdraft"));
  EXPECT_THAT(refusal(alice_, GrantCredit{alice_.address, Amount(1)}),
              HasSubstr("expected the operator"));
  // What is out counts: the pool cannot be filled up behind it.
  EXPECT_THAT(refusal(operator_, Fund{AccountKind::kCreditPool, Amount(1)}), HasSubstr("501"));
  EXPECT_THAT(refusal(alice_, Withdraw{Amount(1)}), HasSubstr("overdraft"));
  EXPECT_THAT(refusal(alice_, Fund{AccountKind::kStake, Amount(1)}), HasSubstr("overdraft"));
  Debit debit{alice_.address, gateway_.address, AccountKind::kCredit,
              Amount(50),     alice_.address,   Digest{1}};
  EXPECT_THAT(refusal(alice_, debit), HasSubstr("credit: it cannot be paid to oneself"));
  debit.provider = bob_.address;
  accept(alice_, debit);
  EXPECT_EQ(balance(alice_, AccountKind::kCredit), 150u);
  EXPECT_EQ(balance(gateway_), 50u);
  accept(operator_, Fund{AccountKind::kCreditPool, Amount(50)});
}

TEST_F(MoneyLedger, RefusesWhatIsNotSignedForItNow) {
  deposit(alice_, 100);
  const Transaction good = made(alice_, Withdraw{Amount(1)});
  Transaction bad = good;
  bad.chain_id = 1;
  EXPECT_THAT(refusal(bad), HasSubstr("chain id: signed for 1, this ledger has 0"));
  bad = good;
  bad.ledger = bob_.address;
  EXPECT_THAT(refusal(bad), HasSubstr("ledger: signed for that of"));
  bad = good;
  bad.nonce = 1;
  EXPECT_THAT(refusal(bad), HasSubstr("is too early, expected 0"));
  bad = good;
  std::get<Withdraw>(bad.body).amount = Amount(2);
  EXPECT_THAT(refusal(bad), HasSubstr("signature: recovers to"));
  bad = good;
  bad.signatures.clear();
  EXPECT_THAT(refusal(bad), HasSubstr("0 signatures, expected 1 to 4"));
  bad = good;
  bad.signatures[0].bytes[32] |= 0x80;
  EXPECT_THAT(refusal(bad), HasSubstr("malleable"));
  bad = good;
  bad.sender = bob_.address;
  EXPECT_THAT(refusal(bad), HasSubstr("expected the sender"));
  // Signed for another chain, then relabelled: the signature is somebody else's.
  bad = good;
  bad.chain_id = 5;
  bad.signatures.clear();
  sign(alice_.key, bad);
  bad.chain_id = 0;
  EXPECT_THAT(refusal(bad), HasSubstr("signature: recovers to"));
  ASSERT_TRUE(ledger_.apply(good, now_ms_));
  EXPECT_THAT(refusal(good), HasSubstr("replay: nonce 0 of"));
}

TEST_F(MoneyLedger, TheClockDoesNotGoBack) {
  deposit(alice_, 100);
  --now_ms_;
  EXPECT_THAT(refusal(alice_, Withdraw{Amount(1)}),
              HasSubstr("clock: the machine's clock went back from 10 ms to 9 ms"));
  now_ms_ = -5;
  EXPECT_THAT(refusal(alice_, Withdraw{Amount(1)}), HasSubstr("clock"));
  now_ms_ = 10;
  accept(alice_, Withdraw{Amount(1)});
}

TEST_F(MoneyLedger, IsFoundedOnce) {
  EXPECT_THAT(refusal(operator_, Genesis{ledger_.state().scalars.config}),
              HasSubstr("founded once"));
  Ledger fresh(signatures_);
  const auto early = fresh.apply(made(alice_, Withdraw{Amount(1)}), 0);
  ASSERT_FALSE(early);
  EXPECT_THAT(early.error().message, HasSubstr("founded once"));
}

}  // namespace
}  // namespace commensal::ledger
